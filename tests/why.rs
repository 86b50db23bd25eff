//! A profiler in the emulator changes no figure, and its ledgers add up to them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::lab::{Lab, assert_equal_figures, skip};
use crate::repeat;

/// Behind the tasks of [`repeat`].
const FAILS: &str = r#"
[[task]]
id = "fails"
title = "fail"
run = "exit 3"
"#;

/// Why this machine's QEMU cannot load the profiler.
fn lacking() -> Option<String> {
    let said = std::process::Command::new("qemu-system-x86_64").arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let major = said.split_whitespace().find_map(|word| word.split('.').next()?.parse::<u32>().ok());
    major.is_none_or(|major| major < 10).then(|| format!("the profiler needs QEMU 10, and this is {said}"))
}

/// A lab whose QEMU can load the profiler.
pub fn lab(test: &str) -> Option<Lab> {
    let lab = Lab::with_guests(test, 1)?;
    if let Some(reason) = lacking() {
        skip(test, &reason);
        return None;
    }
    Some(lab)
}

fn why(lab: &Lab, arguments: &[&str]) -> crate::lab::Ran {
    let out = lab.out();
    let mut all = vec!["why", "--out", out.to_str().unwrap()];
    all.extend(arguments);
    lab.command(&all)
}

fn list<'a>(found: &'a Value, key: &str) -> &'a [Value] {
    found[key].as_array().unwrap_or_else(|| panic!("no list {key} in {found}"))
}

/// Asserts that each ledger adds up to its task's time, with hardly anything that is not attributed.
fn assert_adds_up(found: &Value) {
    for total in list(found, "totals") {
        let of = |key: &str| -> i64 {
            let own = list(found, "ledgers").iter().filter(|line| line["configuration"] == total["configuration"]);
            own.map(|line| line[key].as_i64().unwrap()).sum()
        };
        for key in ["returned", "durable"] {
            assert_eq!(of(key), total[key].as_i64().unwrap(), "{key} of {total}");
        }
        let rest = list(found, "ledgers")
            .iter()
            .find(|line| line["configuration"] == total["configuration"] && line["kind"] == "unattributed");
        let rest = rest.map_or(0, |line| line["durable"].as_i64().unwrap());
        assert!(rest.abs() * 200 <= total["durable"].as_i64().unwrap(), "{rest} ns of {total} are nobody's");
    }
}

/// Runs a file system on each kind of disk, and once more with the profiler, where there is one: all figures are the same.
fn assert_disks_repeat(test: &str, disks: &[(&str, &str, &str)]) {
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let lacking = lacking();
    if let Some(reason) = &lacking {
        skip(test, &format!("the second runs are made without the profiler: {reason}"));
    }
    let suite = lab.suite("profiled", &format!("{}{FAILS}", repeat::TASKS));
    let mut elapsed = BTreeMap::new();
    for (disk, fs, kernel) in disks {
        let plan = ["--fs", fs, "--suite", &suite, "--disk", disk, "--kernel", kernel, "--repeat", "1"];
        let run = || lab.run(&plan).ended_with(1).results();
        let one = run();
        assert!(one.figures().len() > 100, "{disk}");
        elapsed.insert(*disk, one.value(fs.split(',').next().unwrap(), "read", "elapsed"));
        if lacking.is_some() {
            assert_equal_figures(&one, &run());
            continue;
        }
        // fsck comes last, so that all figures of the cells are compared.
        let found = why(&lab, &["--task", "fsck", "--fs", fs, "--format", "json"]);
        let found: Value = serde_json::from_str(&found.ended_with(0).stdout).unwrap();
        assert!(found["differs"].is_null(), "{found}");
        assert_eq!(found["equal_figures"].as_u64().unwrap() as usize, one.figures().len(), "{disk}");
        assert_adds_up(&found);
    }
    assert!(elapsed["ram"] < elapsed["nvme"] && elapsed["nvme"] < elapsed["hdd"], "reads took {elapsed:?} s");
}

#[test]
fn every_kind_of_disk_repeats_and_the_profiler_changes_no_figure() {
    let disks = [("ram", "ext4", "6.12"), ("hdd", "jfs", "6.12"), ("ssd", "btrfs", "6.12"), ("nvme", "xfs", "6.1")];
    assert_disks_repeat("every_kind_of_disk_repeats_and_the_profiler_changes_no_figure", &disks);
}

#[test]
#[ignore = "minutes: make nightly"]
fn the_profiler_changes_no_figure_of_any_file_system() {
    let disks = [("ram", "ext4,xfs"), ("hdd", "ext2,jfs"), ("ssd", "btrfs,reiserfs"), ("nvme", "ext3,xfs")];
    let disks = disks.map(|(disk, fs)| (disk, fs, "6.12"));
    assert_disks_repeat("the_profiler_changes_no_figure_of_any_file_system", &disks);
}

#[test]
fn a_ledger_tells_who_ran_and_what_was_waited_for() {
    let Some(lab) = lab("a_ledger_tells_who_ran_and_what_was_waited_for") else { return };
    let suite = lab.suite("profiled", &format!("{}{FAILS}", repeat::TASKS));
    // Profiles that are kept are asked often, and guests run once.
    lab.run(&["--fs", "ext4,xfs", "--suite", &suite, "--disk", "hdd", "--repeat", "1", "--profile"]).ended_with(1);
    let explained = |task: &str, more: &[&str]| why(&lab, &[&["--task", task], more].concat()).ended_with(0).stdout;
    let json = |task: &str| serde_json::from_str::<Value>(&explained(task, &["--format", "json"])).unwrap();
    let read = json("read");
    assert_adds_up(&read);
    let durable = |found: &Value, configuration: &str, kind: &str, name: &str| {
        let is_it =
            |line: &&Value| line["configuration"] == configuration && line["kind"] == kind && line["name"] == name;
        list(found, "ledgers").iter().find(is_it).map_or(0, |line| line["durable"].as_i64().unwrap())
    };
    for configuration in ["ext4", "xfs"] {
        let total = list(&read, "totals").iter().find(|total| total["configuration"] == configuration).unwrap();
        let waited = durable(&read, configuration, "waiting", "read");
        assert!(waited > total["returned"].as_i64().unwrap() / 4, "{configuration} waits for its disk: {waited}");
        let programs = list(&read, "programs").iter();
        let of_cat: Vec<&Value> =
            programs.filter(|line| line["configuration"] == configuration && line["program"] == "cat").collect();
        let sum = of_cat.iter().map(|line| line["durable"].as_i64().unwrap()).sum::<i64>();
        assert!(sum > 0 && sum == durable(&read, configuration, "program", "cat"), "{of_cat:?}");
        for (file, function) in [("/usr/bin/cat", Value::Null), ("/usr/lib/libc.so.6", "read".into())] {
            assert!(of_cat.iter().any(|line| line["file"] == file && line["function"] == function), "{of_cat:?}");
        }
        assert!(of_cat.iter().all(|line| line["file"].is_string()), "all that cat executes is of a file: {of_cat:?}");
    }
    assert!(durable(&read, "ext4", "function", "ext4:ext4_mpage_readpages") > 0, "modules' functions have names");
    // The cause is the same text for people, and stacks are lines that end with a time for each.
    let text = explained("files", &["--fs", "ext4,xfs"]);
    assert!(text.contains("until durable") && text.contains("together") && text.contains("unattributed"), "{text}");
    let folded = explained("files", &["--fs", "ext4,xfs", "--format", "folded"]);
    let is_stack = |line: &str| line.rsplitn(3, ' ').take(2).all(|time| time.parse::<u64>().is_ok());
    assert!(folded.lines().count() > 100 && folded.lines().all(is_stack));
    assert!(folded.lines().any(|line| line.starts_with("touch;") && line.contains("do_syscall_64;")), "{folded}");
    assert!(folded.lines().any(|line| line.starts_with("touch;libc.so.6:malloc ")), "{folded}");
    assert!(explained("files", &["--fs", "ext4", "--format", "svg"]).contains("<svg"));

    for (arguments, says) in [
        (["--task", "nothing", "--fs", "ext4"], ["suite profiled", "no task \"nothing\"", "write, files, read"]),
        (["--task", "write", "--fs", "jfs"], ["has no \"jfs\"", "ext4", "xfs"]),
        (["--task", "fails", "--fs", "ext4"], ["failed on ext4", "exit code 3", "no time"]),
        (["--task", "write", "--repeat", "2"], ["write", "repeat 2", "no figure"]),
        (["--task", "write", "--format", "csv"], ["csv", "folded", "json"]),
    ] {
        why(&lab, &arguments).ended_with(2).says(&says);
    }
    // As if another lab had measured it.
    let store = rusqlite::Connection::open(lab.out().join("results.sqlite")).unwrap();
    let changed = store.execute("UPDATE run SET plan = replace(plan, '\"lab\":\"virtual\"', '\"lab\":\"host\"')", []);
    assert_eq!(changed.unwrap(), 1);
    why(&lab, &["--task", "write"]).ended_with(2).says(&["wall time", "perf record", "virtual lab"]);
}

#[test]
fn waits_lead_to_what_the_requests_touched() {
    let Some(lab) = lab("waits_lead_to_what_the_requests_touched") else { return };
    let suite = lab.suite("profiled", repeat::TASKS);
    let fs = "ext3,xfs,btrfs,jfs";
    lab.run(&["--fs", fs, "--suite", &suite, "--disk", "hdd", "--repeat", "1", "--profile"]).ended_with(0);
    let json = |task: &str| -> Value {
        let said = why(&lab, &["--task", task, "--fs", fs, "--format", "json"]).ended_with(0).stdout;
        serde_json::from_str(&said).unwrap()
    };
    let durable = |found: &Value, name: &str, operation: &str, part: &dyn Fn(&str) -> bool| -> i64 {
        let of = list(found, "requests").iter().filter(|line| line["configuration"] == name);
        let of = of.filter(|line| line["operation"] == operation && line["part"].as_str().is_some_and(part));
        of.map(|line| line["durable"].as_i64().unwrap()).sum()
    };
    let (files, read) = (json("files"), json("read"));
    for found in [&files, &read] {
        for line in list(found, "ledgers").iter().filter(|line| line["kind"] == "waiting") {
            let (name, operation) = (line["configuration"].as_str().unwrap(), line["name"].as_str().unwrap());
            if ["read", "write"].contains(&operation) {
                let parts = durable(found, name, operation, &|_| true);
                assert_eq!(parts, line["durable"].as_i64().unwrap(), "{operation}s of {name} add up");
            }
        }
    }
    for name in ["ext3", "xfs"] {
        assert!(durable(&files, name, "write", &|part| part == "journal") > 0, "{name} commits new files: {files}");
    }
    assert!(durable(&files, "btrfs", "write", &|part| part == "file_tree") > 0, "{files}");
    for name in ["ext3", "xfs", "btrfs"] {
        let [data, unused, all] = ["data", "unused", ""].map(|of| {
            [&files, &read].map(|found| {
                ["read", "write"]
                    .map(|kind| durable(found, name, kind, &|part| part.starts_with(of)))
                    .iter()
                    .sum::<i64>()
            })
        });
        assert!(data[1] > 0, "{name} reads files: {read}");
        assert!(unused.iter().sum::<i64>() * 20 <= all.iter().sum(), "what {name} touches is in use: {files} {read}");
    }
    assert!(durable(&read, "ext3", "read", &|part| part == "mapping") > 0, "a block says where the file lies: {read}");
    assert!(durable(&files, "jfs", "write", &|part| part.starts_with("sixteenth_")) > 0, "{files}");
    let text = why(&lab, &["--task", "files", "--fs", "ext3,xfs"]).ended_with(0).stdout;
    assert!(text.contains("What was waited for") && text.contains("writes to the journal"), "{text}");
}

#[test]
fn kept_profiles_say_what_another_run_with_the_profiler_says() {
    let Some(lab) = lab("kept_profiles_say_what_another_run_with_the_profiler_says") else { return };
    let suite = lab.suite("profiled", repeat::TASKS);
    let plan = ["--fs", "ext4,xfs", "--suite", &suite, "--disk", "ssd", "--repeat", "1"];
    let json = |arguments: &[&str]| {
        let told = why(&lab, &[arguments, &["--format", "json"]].concat()).ended_with(0);
        serde_json::from_str::<Value>(&told.stdout).unwrap()
    };
    let plain = lab.run(&plan).ended_with(0).results();
    let anew = json(&["--task", "files"]);
    let kept = lab.run(&[&plan[..], &["--profile"]].concat()).ended_with(0);
    kept.says(&["profiles"]);
    // The profiler is no reason for another figure.
    assert_eq!(kept.results().figures(), plain.figures());
    let from_store = json(&["--task", "files"]);
    for key in ["totals", "ledgers", "programs", "system_calls", "differences"] {
        assert_eq!(from_store[key], anew[key], "{key}");
    }
    // Ten programs make a folder each.
    let made: Vec<&Value> =
        list(&from_store, "system_calls").iter().filter(|call| call["system_call"] == "mkdir").collect();
    assert!(made.len() == 2 && made.iter().all(|call| call["calls"] == 10), "{made:?}");
    let flat = json(&["--task", "files", "--no-callers"]);
    assert_adds_up(&flat);
    assert_eq!(flat["programs"], from_store["programs"]);

    let page = lab.path("report.html");
    let out = lab.out().to_string_lossy().into_owned();
    let report = ["report", "--why", "1", "--out", &out, "--output", page.to_str().unwrap()];
    lab.command(&report).ended_with(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("until durable") && page.contains("<iframe"), "the explanation and its flame graph");
}

#[test]
fn a_change_between_two_kernels_is_told_by_function() {
    let Some(lab) = lab("a_change_between_two_kernels_is_told_by_function") else { return };
    let suite = lab.suite("profiled", repeat::TASKS);
    let run = |kernel: &str| {
        let plan =
            ["--fs", "ext4", "--suite", &suite, "--disk", "ssd", "--repeat", "1", "--profile", "--kernel", kernel];
        lab.run(&plan).ended_with(0).results().run["run"].as_str().unwrap().to_owned()
    };
    let (old, new) = (run("6.1"), run("6.12"));
    let told = why(&lab, &[&old, &new, "--task", "fsck", "--format", "json"]).ended_with(0);
    assert_adds_up(&serde_json::from_str(&told.stdout).unwrap());
    let text = why(&lab, &[&old, &new, "--task", "files"]).ended_with(0).stdout;
    assert!(text.contains("not there") && text.contains("6.1.0-") && text.contains("with all that it calls"), "{text}");
    why(&lab, &[&old, &old, "--task", "files"]).ended_with(2);
    why(&lab, &[&old, &new, "--task", "files", "--fs", "jfs"]).ended_with(2).says(&["jfs"]);
}

#[test]
fn a_qemu_that_is_too_old_is_refused_before_anything_else() {
    let Some(lab) = lab("a_qemu_that_is_too_old_is_refused_before_anything_else") else { return };
    // As Debian 12's package has it.
    let old = "#!/bin/sh\ncase $1 in --version) echo 'QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b2)';; \
               -help) echo '-plugin [file=]<file>';; *) exit 1;; esac\n";
    let qemu = lab.write("qemu-system-x86_64", old);
    std::fs::set_permissions(&qemu, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("PATH={}:{}", lab.path("").display(), std::env::var("PATH").unwrap());
    let lab = lab.under(&["/usr/bin/env", &path]);
    for ran in [lab.command(&["self-check", "profiler", "--fs", "ext4"]), lab.run(&["--profile", "--fs", "ext4"])] {
        let ran = ran.ended_with(3);
        ran.says(&["needs QEMU 10", "7.2.22", "bookworm-backports"]);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn the_self_check_finds_all_figures_equal() {
    let Some(lab) = lab("the_self_check_finds_all_figures_equal") else { return };
    let check = |more: &[&str]| lab.command(&[&["self-check", "profiler", "--fs", "ext4"], more].concat());
    let ran = check(&["--disk", "ssd", "--scale", "0.001"]);
    let row = ran.stdout.lines().find(|line| line.contains("ssd ")).unwrap_or_else(|| panic!("{}", ran.text()));
    assert!(row.contains(" figures: all equal to the last bit; processor time "), "{row}");
    // How long guests take beside other tests is not for a test to judge.
    assert!([0, 1].contains(&ran.code()) && ran.stdout.matches("median of 1 cells").count() == 2, "{}", ran.text());
    check(&["--scale", "much"]).ended_with(2).says(&["--scale"]);
    check(&["--disk", "paper"]).ended_with(2).says(&["paper"]);
}
