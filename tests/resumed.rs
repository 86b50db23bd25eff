//! Runs of the host lab that are killed and go on: as root, with loop devices.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::host::{
    Place, awaited, kill, leftovers, loop_devices, mountmark, obstacle, planned_cells, shown, small_image, text,
};

const SUITE: &str = r#"
name = "tiny"
about = "one small task"
room = "8 MiB"
decisions = []

[[task]]
id = "create"
title = "create files"
run = "touch a b c; sleep 0.5"
"#;

/// Two file systems, three repeats: six cells on a file of the test's.
fn begin(folder: &Path) -> Command {
    fs::write(folder.join("tiny.toml"), SUITE).unwrap();
    let mut command = mountmark(folder);
    command.args(["run", "--lab", "host", "--fs", "ext2,ext4", "--scale", "1", "--repeat", "3", "--no-control"]);
    command.arg("--suite").arg(folder.join("tiny.toml")).arg("--image").arg(folder.join("disk.img"));
    command
}

/// Kills the run when `cells` have ended, wherever the next one is.
fn killed_after(folder: &Path, cells: usize) {
    let said = folder.join("said");
    let run = begin(folder).stdout(Stdio::null()).stderr(File::create(&said).unwrap()).spawn().unwrap();
    let mark = format!("[{cells}/6]");
    awaited("the cell", || fs::read_to_string(&said).unwrap().contains(&mark).then_some(()));
    // Into the next one, whose file system is made by now.
    awaited("a loop device", || loop_devices(folder).pop());
    kill(folder, run);
}

/// By configuration and repeat: in which sitting a cell was measured, and when it began.
fn cells(run: &Value) -> BTreeMap<Place, (u64, String)> {
    let measured = |cell: &Value| {
        let sitting = cell["environment"]["sitting"]["number"].as_u64().unwrap();
        (sitting, cell["started"].as_str().unwrap().to_owned())
    };
    planned_cells(run).into_iter().map(|(place, cell)| (place, measured(cell))).collect()
}

/// The command after another boot: the kernel's id of the boot is covered by another one.
fn after_a_boot(folder: &Path, words: &[&str]) -> Command {
    let id = folder.join("boot_id");
    fs::write(&id, "11111111-2222-3333-4444-555555555555\n").unwrap();
    let command = mountmark(folder);
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "sh", "-c", "mount --bind $0 /proc/sys/kernel/random/boot_id && exec \"$@\""]);
    outer.arg(&id).arg(command.get_program()).args(words);
    outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer
}

#[test]
fn a_killed_run_goes_on_and_says_where_it_was_cut() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = folder.path();
    small_image(folder);
    killed_after(folder, 2);
    let before = cells(&shown(folder));
    assert!((2..6).contains(&before.len()), "{before:?}");
    let resumed = mountmark(folder).arg("resume").output().unwrap();
    let said = text(&resumed);
    assert!(resumed.status.success(), "{said}");
    assert!(said.contains("removed test data in"), "what the killed run left is put back first: {said}");
    let run = shown(folder);
    assert_eq!(run["status"], "done");
    let after = cells(&run);
    assert_eq!(after.len(), 6, "none is lost: {after:?}");
    for (key, (sitting, started)) in &after {
        match before.get(key) {
            Some(known) => assert_eq!((*sitting, started), (1, &known.1), "{key:?} stays as it was"),
            None => assert_eq!(*sitting, 2, "{key:?}"),
        }
    }
    let table = mountmark(folder).args(["show", "latest"]).output().unwrap();
    let said = text(&table);
    assert!(said.contains(&format!("after {} of 6 cells", before.len())) && said.contains("it went on"), "{said}");
    assert!(!said.contains("started anew"), "{said}");
    let mut report = mountmark(folder);
    report.args(["report", "latest", "--format", "html", "-o"]).arg(folder.join("r.html"));
    assert!(report.status().unwrap().success());
    assert!(fs::read_to_string(folder.join("r.html")).unwrap().contains("it went on"));
    let again = mountmark(folder).arg("resume").output().unwrap();
    assert!(text(&again).contains("is complete"), "{}", text(&again));
    assert_eq!(leftovers(folder), Vec::<String>::new());
}

#[test]
fn after_a_boot_a_run_goes_on_and_on_another_place_it_does_not() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = folder.path();
    if !after_a_boot(folder, &["--version"]).output().is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: a mount cannot cover the kernel's id of this boot");
    }
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    small_image(folder);
    killed_after(folder, 2);
    let resumed = after_a_boot(folder, &["resume"]).output().unwrap();
    let said = text(&resumed);
    if machine.trim().is_empty() {
        return assert!(said.contains("no /etc/machine-id"), "{said}");
    }
    assert!(resumed.status.success(), "{said}");
    assert_eq!(cells(&shown(folder)).len(), 6);
    let table = text(&mountmark(folder).args(["show", "latest"]).output().unwrap());
    assert!(table.contains("after the machine was started anew"), "{table}");

    // Killed once more, and its image lies elsewhere now: refused, and nothing is measured.
    killed_after(folder, 2);
    let known = cells(&shown(folder)).len();
    text(&mountmark(folder).arg("clean").output().unwrap());
    fs::rename(folder.join("disk.img"), folder.join("other.img")).unwrap();
    fs::create_dir(folder.join("disk.img")).unwrap();
    let profiled = mountmark(folder).args(["resume", "--profile"]).output().unwrap();
    assert!(profiled.status.code() == Some(2) && text(&profiled).contains("use perf there"), "{}", text(&profiled));
    let refused = mountmark(folder).arg("resume").output().unwrap();
    let said = text(&refused);
    assert!(!refused.status.success() && said.contains("its place was") && said.contains("run it anew"), "{said}");
    assert_eq!(cells(&shown(folder)).len(), known);
}
