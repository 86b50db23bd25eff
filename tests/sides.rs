//! `--compare`: two builds of a program beside each other, and what makes the difference.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::lab::{Lab, Ran, skip};

fn build(lab: &Lab, folder: &str, text: &str) -> String {
    let path = lab.path(folder).join("tool");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

/// A command of `mountmark` on the test's store.
fn on_store(lab: &Lab, words: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    let (command, rest) = words.split_first().expect("a command");
    lab.command(&[&[*command, "--out", &out], rest].concat())
}

#[test]
fn two_builds_are_rows_of_one_run_and_the_cause_is_named() {
    let Some(lab) = Lab::with_guests("two_builds_are_rows_of_one_run_and_the_cause_is_named", 2) else { return };
    let work = "for i in 1 2 3; do echo $i > f$i; done\n";
    let old = build(&lab, "old", &format!("#!/bin/sh\n{work}"));
    let new =
        build(&lab, "new", &format!("#!/bin/sh\n{work}dd if=/dev/zero of=big bs=4k count=24 oflag=sync status=none\n"));
    let sides = format!("{old},{new}");
    let once = ["--repeat", "1", "--conditions", "fixed"];
    let words = [&["run", "--fs", "ext4"], &once[..], &["--compare", &sides, "--", "./tool"]].concat();
    let ran = on_store(&lab, &words).ended_with(0);
    assert!(ran.stdout.contains("ext4#old") && ran.stdout.contains("ext4#new"), "{}", ran.text());
    ran.says(&["new beside old", "compare latest#old latest#new", "why latest#old latest#new --task tool"]);

    let beside = on_store(&lab, &["compare", "latest#old", "latest#new", "--fail-on", "2%"]).ended_with(1);
    beside.says(&["regression: ext4, tool"]);
    assert!(beside.stdout.contains("what is brought: tool ("), "{}", beside.text());
    on_store(&lab, &["compare", "latest#new", "latest#old", "--fail-on", "2%"]).ended_with(0);
    on_store(&lab, &["compare", "latest#old", "latest#older"]).ended_with(2).says(&["has no side", "old, new"]);
    let one = on_store(&lab, &["show", "latest#new"]).ended_with(0);
    assert!(one.stdout.contains(" ext4") && !one.stdout.contains("ext4#"), "{}", one.text());
    on_store(&lab, &["report", "latest#new"]).ended_with(2).says(&["a report has all sides"]);
    on_store(&lab, &["compare", "latest#old", "latest#old"]).ended_with(2).says(&["name two runs"]);

    let why = on_store(&lab, &["why", "latest#old", "latest#new", "--task", "tool"]).ended_with(0);
    let said: String = why.stdout.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(said.contains("ext4 (new) takes") && said.contains("write of dd"), "{}", why.text());
    assert!(why.stdout.contains("dd > write"), "{}", why.text());
}

#[test]
fn a_command_is_measured_and_explained_in_one_line() {
    const TEST: &str = "a_command_is_measured_and_explained_in_one_line";
    let Some(lab) = Lab::with_guests(TEST, 1) else { return };
    if !Path::new("/usr/bin/sort").is_file() {
        return skip(TEST, "this machine has no sort");
    }
    let brought = ["--with", "mysort=/usr/bin/sort", "--prepare", "seq 3000 > words"];
    let words =
        [&["why", "--fs", "ext4", "--format", "json"], &brought[..], &["--", "./mysort", "-R", "words"]].concat();
    let ran = on_store(&lab, &words).ended_with(0);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.text()));
    let programs = found["programs"].as_array().unwrap();
    assert!(programs.iter().any(|one| one["file"] == "/test/mysort"), "{programs:?}");
    let calls = found["system_calls"].as_array().unwrap();
    assert!(calls.iter().any(|one| one["program"] == "mysort" && one["system_call"] == "read"), "{calls:?}");
}

#[test]
fn what_names_no_two_sides_is_wrong_use() {
    let lab = Lab::without_guests();
    let tool = build(&lab, "old", "#!/bin/sh\n");
    let refused = |words: &[&str], says: &[&str]| on_store(&lab, words).ended_with(2).says(says);
    let twice = format!("{tool},/no/such");
    refused(&["run", "--compare", &twice, "--", "./tool"], &["--compare", "/no/such"]);
    refused(&["run", "--compare", &tool, "--", "./tool"], &["give two or more"]);
    refused(&["run", "--compare", "a,b"], &["say what to measure"]);
    refused(&["run", "--suite", "fsbench-2004", "--compare", "X=1,2"], &["--compare X=1,2"]);
    let two = format!("{tool},/bin/cat");
    refused(&["run", "--compare", &two, "--", "sh", "-c", "./tool"], &["say what the command calls it"]);
    refused(&["why", "latest", "--", "true"], &["leave one of the two away"]);
    refused(
        &["bisect", "--good", "6.1", "--bad", "6.12", "--fs", "ext4", "--compare", "/bin/cat,/bin/ls", "--", "./tool"],
        &["--compare", "leave it away"],
    );
}
