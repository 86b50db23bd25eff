//! What people bring: job files and suites as they are kept beside programs, each with the figures that it can give, or
//! with the reason that it has none.
//!
//! More of what people bring is tried where its kind is: devices in options in `danger/options.toml`, overlays and their
//! module in `programs.rs`, FIFOs and nodes in `crash.rs`, what a check says in the catalogue's tests of `plan`, and the lines
//! that name a cause in the agent's.

use std::path::Path;

use serde_json::Value;

use crate::lab::{Lab, Results};

/// A file of `fixtures/brought`.
fn brought(name: &str) -> String {
    format!("{}/tests/fixtures/brought/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn has(results: &Results, task: &str, metric: &str) -> bool {
    results.figures().keys().any(|(_, _, of, _, named)| of == task && named == metric)
}

fn notes(results: &Results) -> String {
    results.cell("ext4")["notes"].to_string()
}

/// One guest for all: each job file is a task.
#[test]
fn job_files_have_the_figures_that_they_can_give() {
    let Some(lab) = Lab::with_guests("job_files_have_the_figures_that_they_can_give", 1) else { return };
    let suite = brought("brought-jobs.toml");
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1", "--scale", "1", "--no-control"]);
    let ran = ran.ended_with(0);
    let results = ran.results();
    let whole = ["log", "pace", "names", "stat", "unlink", "check", "nothing", "readers", "laid", "included", "syncs"];
    results.is_ok("ext4", &whole);
    let value = |task: &str, metric: &str| results.value("ext4", task, metric);

    // The sync is in metrics of its own, and the write into the cache is not taken for it.
    let (sync, write) = (value("commit", "sync_latency_p99"), value("commit", "latency_p99"));
    assert!(sync > 5.0 * write, "{sync} s, {write} s");
    assert_eq!((value("commit", "sync_operations"), value("with", "sync_operations")), (113.0, 31.0));
    assert!(value("every", "sync_latency_mean") > 0.0);
    for task in ["at-end", "range"] {
        assert!(!has(&results, task, "sync_latency_mean"), "{task}");
    }
    // Written through, a write is the sync, and has all of it in its own time.
    for task in ["o-sync", "o-dsync"] {
        assert!(!has(&results, task, "sync_latency_mean") && value(task, "latency_mean") > 10.0 * write, "{task}");
    }

    // What a job fixes is no figure of the file system.
    assert!(!has(&results, "paced", "rate") && has(&results, "paced", "sync_latency_mean"));
    assert!(notes(&results).contains("the job fixes its rate by rate_iops=100"), "{}", notes(&results));

    // Sections of one name that ran one after the other are two figures, and neither is their sum.
    assert!(has(&results, "both", "write_operations") && !has(&results, "both", "read_operations"));
    assert!(has(&results, "both-2", "read_operations") && !has(&results, "both-2", "write_operations"));

    // stat and unlink move no data, whatever fio counts; with so few of them its clock is too coarse for a rate.
    for task in ["ask-a", "ask-b", "remove", "smoke"] {
        assert!(!has(&results, task, "rate") && has(&results, task, "latency_mean"), "{task}");
        assert!(!has(&results, task, "read_rate") && !has(&results, task, "write_rate"), "{task}");
        let why = format!("{task}: fio counts whole milliseconds");
        assert!(notes(&results).contains(&why), "{}", notes(&results));
    }
    let (word, reason, _) = results.task("ext4", "empty");
    assert!(word == "skipped" && reason.contains("its operations moved no data"), "{word}: {reason}");

    // The first figure of what syncs is what its syncs take.
    let out = lab.out().display().to_string();
    let text = lab.command(&["show", "latest", "--out", &out]).ended_with(0).stdout;
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what:?} in {text}"));
    assert!(place("commit fio commit (mean sync, s)") < place("commit fio commit (rate, KiB/s)"), "{text}");

    // Latencies of sections are no sum.
    for metric in ["latency_p99", "latency_mean", "sync_latency_p99"] {
        let text = lab.command(&["show", "latest", "--metric", metric, "--out", &out]).ended_with(0).stdout;
        assert!(text.contains(" fio ") && !text.contains("total of"), "{text}");
    }

    // Room for one shared file, and for the whole of one that is read in part.
    assert_eq!(value("many", "read_operations"), 16.0 * 64.0);
    assert_eq!(value("part", "read_operations"), 128.0);
}

/// What could run nowhere is refused before a guest starts, with the cure.
#[test]
fn what_could_not_run_is_refused_with_its_cure() {
    let lab = Lab::without_guests();
    for (name, says) in [
        ("half.fio", ["size=50%", "add filesize= or write a size"]),
        ("uncounted.toml", ["its phase \"work\" counts, and no task shows its figures", "add a [[task]] with part_of"]),
        ("no-size.toml", ["its files have no size", "say files.size"]),
        ("beside.toml", ["its operation can be done once to each file", "run it once, or for a number of operations"]),
        ("one-block.toml", ["block is 1.00 MiB, and no file is larger than 64.0 KiB", "take a smaller block"]),
    ] {
        let path = brought(name);
        assert!(Path::new(&path).exists(), "{path}");
        lab.run(&["--fs", "ext4", "--suite", &path, "--dry-run"]).ended_with(2).says(&says);
    }
}

/// Tasks that print what a script may print. The first has a figure in it.
const PRINTED: &str = r#"
[[task]]
id = "figure"
title = "a script with a figure of its own"
run = "echo begun >&2; touch made; echo 'files/s 12.5'"

[[task]]
id = "silent"
title = "nothing is printed"
run = "sleep 0.1"

[[task]]
id = "bytes"
title = "bytes that are no text, without an end of line"
run = "printf 'a\\0b\\377c'"

[[task]]
id = "flood"
title = "100 MB"
run = "printf begin; head -c 100000000 /dev/zero; printf end"

[[task]]
id = "child"
title = "a child that holds the pipe"
run = "(sleep 100000 & echo child &); echo left"

[[task]]
id = "lines"
title = "line by line"
run = "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done"

[[task]]
id = "fails"
title = "says why on standard output"
run = "echo 'ready'; echo 'cannot open the index: it is corrupt'; exit 3"
"#;

/// One guest for what is printed, and for what a label stands for.
#[test]
fn what_commands_print_is_kept_and_a_label_shortens_headings() {
    let Some(lab) = Lab::with_guests("what_commands_print_is_kept_and_a_label_shortens_headings", 1) else { return };
    let full = "ext4:mkfs=-O ^has_journal#bare";
    let suite = lab.suite("printed", PRINTED);
    let ran = lab.run(&["--fs", full, "--suite", &suite, "--repeat", "1", "--scale", "1", "--no-control"]);
    let ran = ran.ended_with(1);
    let results = ran.results();
    results.is_ok(full, &["figure", "silent", "bytes", "flood", "child", "lines"]);
    let (word, reason, _) = results.task(full, "fails");
    assert!(word == "failed" && reason.ends_with("exit code 3: cannot open the index: it is corrupt"), "{reason}");

    let out = lab.out().display().to_string();
    let show = |more: &[&str]| lab.command(&[&["show", "latest", "--out", &out], more].concat()).ended_with(0).stdout;
    let all: Value = serde_json::from_str(&show(&["--raw", "--format", "json"])).unwrap();
    let all = all["outputs"].as_array().unwrap();
    let printed = |task: &str, kind: &str| {
        let found = all.iter().find(|output| output["task"] == task && output["kind"] == kind);
        found.map_or("", |output| output["text"].as_str().unwrap())
    };
    assert_eq!((printed("figure", "stdout"), printed("figure", "stderr")), ("files/s 12.5\n", "begun\n"));
    assert!(all.iter().all(|output| output["task"] != "silent" && output["configuration"] == full), "{all:?}");
    assert_eq!(printed("bytes", "stdout"), "a\0b\u{fffd}c");
    let flood = printed("flood", "stdout");
    let half = 16 << 10;
    assert!(flood.starts_with("begin\0\0") && flood.ends_with("\0end"), "{}", flood.len());
    assert!(flood.contains(&format!("\n[{} bytes are left out]\n", 100_000_008 - 2 * half)), "{}", flood.len());
    assert!(printed("child", "stdout").contains("left\n"));
    let lines = printed("lines", "stdout");
    assert!(lines.starts_with("0\n1\n2\n") && lines.ends_with("\n19999\n") && lines.len() < 2 * half + 100);
    assert!(printed("fails", "stdout").contains("ready\n"));
    assert_eq!(show(&["--raw", "bytes"]).trim_end(), "a\0b\u{fffd}c");
    let text = show(&["--raw"]);
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what:?} in {text}"));
    let heads = ["==> ext4#bare #1, figure, stdout <==", "==> ext4#bare #1, lines, stdout <==", "fails, failed: "];
    assert!(place(heads[0]) < place(heads[1]) && place(heads[1]) < place(heads[2]), "{text}");

    // What it is short for is told once; programs get the whole name.
    let legend = "ext4#bare = ext4:mkfs=-O ^has_journal";
    for more in [&[][..], &["--verdict"], &["--io"], &["--format", "markdown"]] {
        let text = show(more);
        assert!(text.replace('\\', "").contains(legend), "{more:?}: {text}");
        assert_eq!(text.replace('\\', "").matches("has_journal").count(), 1, "{more:?}: {text}");
    }
    assert!(ran.stderr.contains("ext4#bare #1") && !ran.stderr.contains("has_journal"), "{}", ran.stderr);
    assert!(show(&["--format", "csv"]).contains(full));
    let twice = lab.run(&["--fs", "ext4#a,ext4:noatime#a", "--suite", &suite, "--dry-run"]);
    twice.ended_with(2).says(&["tables call it ext4#a", "give each a label of its own"]);
}
