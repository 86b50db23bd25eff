//! Real devices and mounted folders as targets of the host lab, on this machine: loop devices over files of the test
//! alone, as root.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::host::{SUITE, mountmark, obstacle, text};

/// A file system in memory; unmounted at the end.
struct Mounted(PathBuf);

impl Mounted {
    fn new(point: PathBuf) -> Mounted {
        fs::create_dir(&point).unwrap();
        assert!(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&point).status().unwrap().success());
        Mounted(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// A loop device on a file of the test; detached at the end.
pub(crate) struct Attached {
    pub(crate) path: String,
    pub(crate) file: PathBuf,
}

impl Attached {
    pub(crate) fn new(folder: &Path, name: &str) -> Attached {
        let file = folder.join(name);
        File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let output = Command::new("losetup").args(["--show", "-f"]).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        Attached { path: String::from_utf8_lossy(&output.stdout).trim().to_owned(), file }
    }

    pub(crate) fn start(&self) -> [u8; 64] {
        let mut start = [0; 64];
        File::open(&self.path).unwrap().read_exact_at(&mut start, 0).unwrap();
        start
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}

/// Why nothing can be tested here.
pub(crate) fn reason() -> Option<&'static str> {
    let has_losetup = Command::new("losetup").arg("--version").output().is_ok_and(|output| output.status.success());
    obstacle().or_else(|| (!has_losetup).then_some("there is no losetup"))
}

fn run(folder: &Path, seconds: u32, words: &[&str]) -> Command {
    let suite = SUITE.replace("value = 1", &format!("value = {seconds}"));
    fs::write(folder.join("tiny.toml"), suite).unwrap();
    let mut command = mountmark(folder);
    command.args(["run", "--lab", "host", "--scale", "1", "--repeat", "1", "--no-control", "--format", "json"]);
    command.arg("--suite").arg(folder.join("tiny.toml")).args(words);
    command
}

fn result(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", text(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_device_is_used_marked_and_used_again() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let output = run(folder.path(), 1, &["--fs", "ext2,ext4", "--device", &device.path]).output().unwrap();
    let printed = result(&output).to_string();
    for part in
        [device.path.as_str(), "mkfs", "fsck", "wall time of this machine; the disk is /dev/loop", "discarded before"]
    {
        assert!(printed.contains(part), "no {part} in {printed}");
    }
    assert!(device.start().starts_with(b"Mountmark: a disk for tests"), "it is given back without a file system");
    // The mark is enough to be used again; a file system is not.
    result(&run(folder.path(), 1, &["--fs", "ext2", "--device", &device.path]).output().unwrap());
    assert!(Command::new("mkfs.ext2").args(["-q", "-F", &device.path]).status().unwrap().success());
    let refused = run(folder.path(), 1, &["--fs", "ext2", "--device", &device.path]).output().unwrap();
    assert!(!refused.status.success() && text(&refused).contains("--wipe"), "{}", text(&refused));
    let file = device.file.display().to_string();
    result(&run(folder.path(), 1, &["--fs", "ext2", "--device", &device.path, "--wipe", &file]).output().unwrap());
    let shown = mountmark(folder.path()).args(["show", "latest"]).output().unwrap();
    assert!(text(&shown).contains(&device.path), "the disk is named: {}", text(&shown));
    assert_eq!(journals(folder.path()), 0);
}

/// Journals of runs in the cache.
pub(crate) fn journals(folder: &Path) -> usize {
    fs::read_dir(folder.join("cache/undo")).map_or(0, |entries| entries.count())
}

#[test]
fn each_configuration_visits_each_device() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (Attached::new(folder.path(), "one"), Attached::new(folder.path(), "two"));
    let both = format!("{},{}", one.path, two.path);
    let result = result(&run(folder.path(), 1, &["--fs", "ext2,ext4", "--device", &both]).output().unwrap());
    let cells = result["cells"].as_array().unwrap();
    // On a busy machine a disturbed cell is measured once more, on the same device.
    let is_disturbed = |cell: &serde_json::Value| {
        let notes = cell["notes"].as_array().unwrap();
        notes.iter().any(|note| note.as_str().unwrap().starts_with("disturbed"))
    };
    let disturbed = cells.iter().filter(|cell| is_disturbed(cell)).count();
    assert!((4..=4 + disturbed).contains(&cells.len()), "{cells:?}");
    let visits: BTreeSet<(&str, &str)> =
        cells.iter().map(|cell| (cell["configuration"].as_str().unwrap(), cell["disk"].as_str().unwrap())).collect();
    let wanted: BTreeSet<(&str, &str)> =
        ["ext2", "ext4"].into_iter().flat_map(|fs| [&one, &two].map(|disk| (fs, disk.path.as_str()))).collect();
    assert_eq!(visits, wanted);
}

#[test]
fn a_folder_of_a_mounted_file_system_is_used_and_left_as_it_was() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // The kernel's list of mounts has a space as an escape.
    let mounted = Mounted::new(folder.path().join("my place"));
    let place = &mounted.0;
    fs::write(place.join("mine"), "precious").unwrap();
    let name = place.display().to_string();
    let printed = result(&run(folder.path(), 1, &["--dir", &name]).output().unwrap()).to_string();
    assert!(printed.contains("\"filesystem\":\"tmpfs\""), "{printed}");
    assert!(printed.contains(&name) && printed.contains("create") && !printed.contains("\"mkfs\""), "{printed}");
    let left: Vec<_> = fs::read_dir(place).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["mine"]);
    let wrong = run(folder.path(), 1, &["--dir", &name, "--fs", "ext4"]).output().unwrap();
    assert!(text(&wrong).contains("--fs has no effect with --dir"), "{}", text(&wrong));
    // A killed run leaves its folder, and `clean` removes it.
    let mut killed = run(folder.path(), 1000, &["--dir", &name]).spawn().unwrap();
    let begin = Instant::now();
    while !fs::read_dir(place).unwrap().flatten().any(|entry| entry.path().join("c").exists()) {
        assert!(begin.elapsed() < Duration::from_secs(120), "the task never began");
        std::thread::sleep(Duration::from_millis(50));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let cleaned = mountmark(folder.path()).arg("clean").output().unwrap();
    assert!(text(&cleaned).contains("folder of a host lab that is gone"), "{}", text(&cleaned));
    let left: Vec<_> = fs::read_dir(place).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["mine"]);
}

#[test]
fn a_killed_runs_device_is_told_and_left() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let mut killed = run(folder.path(), 1000, &["--fs", "ext2", "--device", &device.path, "-v"])
        .stderr(std::process::Stdio::from(File::create(folder.path().join("said")).unwrap()))
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while !fs::read_to_string(folder.path().join("said")).unwrap().contains("create") {
        assert!(begin.elapsed() < Duration::from_secs(120), "the task never began");
        std::thread::sleep(Duration::from_millis(50));
    }
    // While it runs nobody else gets the device.
    let other = run(folder.path(), 1, &["--fs", "ext2", "--device", &device.path]).output().unwrap();
    let said = text(&other);
    assert!(!other.status.success() && said.contains("is mounted at") && said.contains("mountmark"), "{said}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let cleaned = mountmark(folder.path()).arg("clean").output().unwrap();
    let said = text(&cleaned);
    assert!(said.contains("left ") && said.contains(&device.path) && said.contains("--wipe"), "{said}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&device.path));
    let refused = run(folder.path(), 1, &["--fs", "ext2", "--device", &device.path]).output().unwrap();
    assert!(text(&refused).contains("which would be lost"), "{}", text(&refused));
}

#[test]
fn a_dry_run_shows_disk_and_commands_and_changes_nothing() {
    if let Some(reason) = reason() {
        return eprintln!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let device = Attached::new(folder.path(), "disk");
    let dry = run(folder.path(), 1, &["--fs", "ext4", "--device", &device.path]).arg("--dry-run").output().unwrap();
    let said = text(&dry);
    assert!(dry.status.success(), "{said}");
    for part in [
        format!("target: {}: loop device on", device.path),
        "it holds nothing known".to_owned(),
        format!("ext4 mkfs: mkfs.ext4 -q -F {}", device.path),
    ] {
        assert!(said.contains(&part), "no {part:?} in {said}");
    }
    assert_eq!(device.start(), [0; 64]);
    let guest = mountmark(folder.path()).args(["run", "--device", &device.path]).output().unwrap();
    assert!(text(&guest).contains("--device is an option of --lab host"), "{}", text(&guest));
}
