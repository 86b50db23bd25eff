//! Device I/O of tasks, recorded by a guest's modelled disk.

use serde_json::Value;

use crate::lab::{Lab, Results, assert_equal_figures};

const MIB: u64 = 1 << 20;

const TASKS: &str = r#"
[[task]]
id = "write"
title = "write 8 MiB"
run = "dd if=/dev/zero of=file bs=1M count=8 conv=fsync"

[[task]]
id = "nothing"
title = "do nothing"
run = "true"

[[task]]
id = "read"
title = "read 8 MiB"
cold = true
run = "cat file > /dev/null"
"#;

/// Figures and device use of a run of ext4 on `disk`.
fn measured(lab: &Lab, disk: &str) -> (Results, Vec<Value>) {
    let suite = lab.suite("io", TASKS);
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--disk", disk, "--repeat", "1"]).ended_with(0);
    let results = ran.results();
    results.is_ok("ext4", &["write", "nothing", "read"]);
    let out = lab.out().to_string_lossy().into_owned();
    let io = lab.command(&["show", "latest", "--io", "--format", "json", "--out", &out]).ended_with(0);
    let io: Value = serde_json::from_str(&io.stdout).unwrap_or_else(|error| panic!("{error} in {}", io.text()));
    (results, io["devices"].as_array().expect("devices").clone())
}

fn of<'a>(devices: &'a [Value], task: &str) -> &'a Value {
    devices.iter().find(|device| device["task"] == task).unwrap_or_else(|| panic!("nothing of {task}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn sum(values: &Value, of: impl Fn(&Value) -> u64) -> u64 {
    values.as_array().expect("a list").iter().map(of).sum()
}

#[test]
fn a_disk_sees_what_is_written_and_read_and_figures_repeat() {
    let Some(lab) = Lab::with_guests("a_disk_sees_what_is_written_and_read_and_figures_repeat", 1) else { return };
    let (results, devices) = measured(&lab, "nvme");
    for step in ["mkfs", "mount", "write", "nothing", "read", "umount", "fsck"] {
        assert!(of(&devices, step)["lacking"].is_null(), "{step}");
    }

    // Metadata and the journal come on top of the data.
    let write = of(&devices, "write");
    let written = number(&write["iostat"]["write"]["bytes"]);
    assert!((8 * MIB..9 * MIB).contains(&written), "{written} bytes written");
    assert!(number(&write["iostat"]["flush"]["requests"]) >= 1, "fsync flushes the disk's cache");
    assert_eq!(sum(&write["slices"], |slice| number(&slice["write"]["bytes"])), written);
    assert_eq!(sum(&write["map"]["fields"], |field| number(&field[3])), written);
    let requests = number(&write["iostat"]["write"]["requests"]);
    let sizes = write["sizes"].as_array().expect("sizes").iter().filter(|size| size["operation"] == "write");
    assert_eq!(sizes.map(|size| number(&size["requests"])).sum::<u64>(), requests);
    let seconds = |name: &str| write[name].as_f64().expect("seconds");
    let elapsed = results.value("ext4", "write", "elapsed");
    assert!((elapsed..elapsed + 0.01).contains(&seconds("returned_seconds")), "{} s", seconds("returned_seconds"));
    assert!(
        seconds("durable_seconds") >= seconds("returned_seconds") && seconds("seconds") >= seconds("durable_seconds")
    );
    let busy = write["iostat"]["utilisation_percent"].as_f64().expect("a share");
    assert!(busy > 0.0 && busy <= 100.0, "{busy} %");

    // The kernel's own counters, which are read separately, have counted the same requests.
    let counted = |task: &str, metric: &str| results.value("ext4", task, metric) as u64;
    let settled = counted("write", "written_bytes") + counted("write", "settle_written_bytes");
    assert_eq!(settled, written);
    let read = of(&devices, "read");
    assert_eq!(number(&read["iostat"]["read"]["bytes"]), counted("read", "read_bytes"));
    assert!(number(&read["iostat"]["read"]["bytes"]) >= 8 * MIB);
    assert_eq!(number(&read["iostat"]["read"]["requests"]), counted("read", "read_requests"));
    // The sync after each task flushes the disk's cache.
    let nothing = &of(&devices, "nothing")["iostat"];
    assert_eq!(["read", "write", "discard"].map(|kind| number(&nothing[kind]["requests"])), [0; 3], "{nothing}");

    let (again, same) = measured(&lab, "nvme");
    assert_equal_figures(&results, &again);
    assert_eq!(devices, same);
}

#[test]
fn a_disk_without_a_queue_says_so() {
    let Some(lab) = Lab::with_guests("a_disk_without_a_queue_says_so", 1) else { return };
    let (_, devices) = measured(&lab, "ram");
    let write = of(&devices, "write");
    assert!(write["lacking"].as_str().is_some_and(|reason| reason.contains("it has no queue")), "{write}");
    assert!(write["map"].is_null());
    let out = lab.out().to_string_lossy().into_owned();
    let show = |arguments: &[&str]| {
        let mut all = vec!["show", "latest", "--out", &out, "--io"];
        all.extend(arguments);
        lab.command(&all)
    };
    let table = show(&["write"]).ended_with(0);
    let words = table.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it has no queue") && !words.contains("Nothing was read"), "{}", table.text());
    show(&["no-such"]).ended_with(2).says(&["no-such", "mkfs, mount, write"]);
    show(&["--format", "csv"]).ended_with(2).says(&["cannot be written as csv", "table, markdown, json, html"]);
}
