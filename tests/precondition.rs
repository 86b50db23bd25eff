//! Disks that are brought into steady state: on loop devices over files of the test alone, as root; refusals need neither.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::host::{SUITE, awaited, loop_devices, mountmark, shown, text};
use crate::real::{Attached, journals, reason};

const MIB: u64 = 1 << 20;

/// A run on a device, whose first task notes how much of the device's file is allocated.
fn run(folder: &Path, device: &Attached, words: &[&str]) -> Command {
    let look = format!("touch a; stat -c %b {} >> {}", device.file.display(), folder.join("blocks").display());
    let suite = SUITE.replace("touch a b c", &look);
    fs::write(folder.join("tiny.toml"), suite).unwrap();
    let mut command = mountmark(folder);
    command.args(["run", "--lab", "host", "--scale", "1", "--repeat", "1", "--no-control", "--device", &device.path]);
    command.arg("--suite").arg(folder.join("tiny.toml")).args(words);
    command
}

/// A run under way, and the file with what it says.
fn begun(folder: &Path, device: &Attached, words: &[&str]) -> (Child, PathBuf) {
    let said = folder.join("said");
    let mut command = run(folder, device, words);
    (command.stdout(Stdio::null()).stderr(File::create(&said).unwrap()).spawn().unwrap(), said)
}

/// Ends a run as Ctrl-C does.
fn interrupted(mut run: Child) -> ExitStatus {
    // SAFETY: a signal to a child that was not waited for.
    assert_eq!(unsafe { libc::kill(run.id().cast_signed(), libc::SIGINT) }, 0);
    run.wait().unwrap()
}

#[test]
fn a_disk_is_written_before_the_first_cell_and_keeps_it_until_the_last() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let output = run(folder.path(), &device, &["--fs", "ext2,ext4", "--precondition=1"]).output().unwrap();
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(": 128 MiB written in") && said.contains("round 5 of at most 25: "), "{said}");
    assert!(said.contains("preconditioned  ") && said.contains(": 2 x 64.0 MiB written, "), "the head says it: {said}");
    // A discard would have made holes in the file; some zeros that mkfs writes do, too.
    let blocks = fs::read_to_string(folder.path().join("blocks")).unwrap();
    let blocks: Vec<u64> = blocks.lines().map(|line| line.parse().unwrap()).collect();
    assert!(blocks.len() >= 2 && blocks.iter().all(|blocks| blocks * 512 >= 48 * MIB), "{blocks:?}");
    let shown = shown(folder.path());
    assert!(shown["environment"]["preconditioned"]["rounds"].as_array().unwrap().len() >= 5, "{shown}");
    for cell in shown["cells"].as_array().unwrap() {
        let done = &cell["environment"]["preconditioned"];
        assert_eq!((done["disk"].as_str(), done["size"].as_u64()), (Some(&*device.path), Some(64 * MIB)), "{done}");
        let notes = cell["notes"].to_string();
        assert!(notes.contains("was not discarded before mkfs") && !notes.contains("any more"), "{notes}");
    }
    assert!(shown["configurations"].to_string().contains("nodiscard"), "{}", shown["configurations"]);
    assert!(device.start().starts_with(b"Mountmark: a disk for tests"), "it is given back");
    assert!(fs::metadata(&device.file).unwrap().blocks() * 512 < 48 * MIB, "and empty");
    assert_eq!(journals(folder.path()), 0);
}

#[test]
fn ctrl_c_ends_it_at_once_and_leaves_an_empty_disk() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let (run, said) = begun(folder.path(), &device, &["--fs", "ext2", "--precondition=3600"]);
    awaited("the first round", || fs::read_to_string(&said).unwrap().contains("written in").then_some(()));
    let undo = fs::read_dir(folder.path().join("cache/undo")).unwrap().flatten();
    let journal = undo.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|kind| kind == "json"));
    assert!(fs::read_to_string(journal.unwrap()).unwrap().contains("what --precondition wrote"));
    let begin = Instant::now();
    let status = interrupted(run);
    // A second, and what a busy machine needs to empty the disk.
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert_eq!(status.code(), Some(130), "{}", fs::read_to_string(&said).unwrap());
    assert!(device.start().starts_with(b"Mountmark: a disk for tests"));
    assert!(fs::metadata(&device.file).unwrap().blocks() * 512 < 48 * MIB, "what was written is discarded");
    assert_eq!((journals(folder.path()), loop_devices(folder.path()).len()), (0, 1), "the test's own device alone");
    let show = mountmark(folder.path()).args(["show", "latest"]).output().unwrap();
    assert!(!show.status.success(), "no run was begun: {}", text(&show));
}

#[test]
fn a_resumed_run_brings_the_disk_into_steady_state_again() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let (run, said) = begun(folder.path(), &device, &["--fs", "ext2,ext4", "--precondition=1"]);
    awaited("the first cell", || fs::read_to_string(&said).unwrap().contains("[1/2]").then_some(()));
    assert_eq!(interrupted(run).code(), Some(130), "{}", fs::read_to_string(&said).unwrap());
    assert_eq!(shown(folder.path())["cells"].as_array().unwrap().len(), 1);
    let resumed = mountmark(folder.path()).arg("resume").output().unwrap();
    let said = text(&resumed);
    assert!(
        resumed.status.success() && said.contains("preconditioning") && said.contains("round 5 of at most 25: "),
        "{said}"
    );
    let shown = shown(folder.path());
    let cells = shown["cells"].as_array().unwrap();
    // What the machine disturbed is measured again.
    let own = cells.iter().filter(|cell| cell["cell"].as_u64().is_some_and(|cell| cell < 2)).count();
    assert_eq!((shown["status"].as_str(), own), (Some("done"), 2), "{shown}");
    for cell in cells {
        assert_eq!(cell["environment"]["preconditioned"]["disk"].as_str(), Some(&*device.path), "{cell}");
    }
    assert_eq!(journals(folder.path()), 0);
}

#[test]
fn a_dry_run_says_what_would_be_written_and_writes_nothing() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let dry = run(folder.path(), &device, &["--fs", "ext4", "--precondition", "--dry-run"]).output().unwrap();
    let said = text(&dry);
    assert!(dry.status.success(), "{said}");
    for part in ["2 times from end to end (128 MiB in all)", "in rounds of 60 s", "mkfs.ext4 -q -F -E nodiscard /dev/"]
    {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert_eq!((device.start(), fs::metadata(&device.file).unwrap().blocks()), ([0; 64], 0));
}

#[test]
fn what_is_no_disk_is_refused_with_reason_and_mend() {
    let folder = tempfile::tempdir().unwrap();
    for (words, reason) in [
        (&[][..], "guest disks are models"),
        (&["--lab", "host"], "an image is a file, in memory or wherever"),
        (&["--lab", "host", "--image", "/dev/shm"], "name the disk itself with --device"),
        (&["--lab", "host", "--dir", "/tmp"], "the disk below --dir is in use"),
    ] {
        let output = mountmark(folder.path()).args(["run", "--precondition"]).args(words).output().unwrap();
        let said = text(&output);
        assert!(said.contains("--precondition: ") && said.contains(reason) && said.contains("--device"), "{said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
    for wrong in ["--precondition=0", "--precondition=x", "--precondition=3601"] {
        assert_eq!(mountmark(folder.path()).args(["run", wrong]).output().unwrap().status.code(), Some(2));
    }
}
