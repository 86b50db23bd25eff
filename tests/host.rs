//! The host lab on this machine: only as root and with loop devices.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::lab::heeding_signals;

pub(crate) const SUITE: &str = r#"
name = "tiny"
about = "two small tasks"
room = "8 MiB"
decisions = []

[[task]]
id = "create"
title = "create files"
run = "touch a b c"

[[task]]
id = "wait"
title = "wait"
run = "sleep $SECONDS_TO_WAIT"

[parameters.SECONDS_TO_WAIT]
value = 1
fixed = true
"#;

/// Why the lab cannot be tested here.
pub(crate) fn obstacle() -> Option<&'static str> {
    // SAFETY: takes no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("only root may mount");
    }
    if fs::File::open("/dev/loop-control").is_err() {
        return Some("there are no loop devices");
    }
    let kinds = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    (!kinds.contains("\text4")).then_some("the kernel has no ext4 loaded")
}

pub(crate) fn mountmark(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mountmark"));
    command.env("MOUNTMARK_CACHE", folder.join("cache")).env("MOUNTMARK_OUT", folder.join("results"));
    heeding_signals(&mut command, None);
    command
}

/// The latest run, as JSON.
pub(crate) fn shown(folder: &Path) -> serde_json::Value {
    let output = mountmark(folder).args(["show", "latest", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The configuration and repeat of a cell.
pub(crate) type Place = (String, u64);

/// The cells of a run that were planned, each of which there is once; a doubtful one may be measured again.
pub(crate) fn planned_cells(run: &serde_json::Value) -> BTreeMap<Place, &serde_json::Value> {
    let planned = run["planned_cells"].as_u64().unwrap();
    let mut found = BTreeMap::new();
    for cell in run["cells"].as_array().unwrap().iter().filter(|cell| cell["cell"].as_u64().unwrap() < planned) {
        let place = (cell["configuration"].as_str().unwrap().to_owned(), cell["repeat"].as_u64().unwrap());
        assert!(found.insert(place, cell).is_none(), "a cell was doubled: {cell}");
    }
    found
}

pub(crate) fn run_tiny(folder: &Path, seconds: u32) -> Command {
    run_tiny_on("ext4", folder, seconds)
}

pub(crate) fn run_tiny_on(filesystem: &str, folder: &Path, seconds: u32) -> Command {
    let suite = SUITE.replace("value = 1", &format!("value = {seconds}"));
    fs::write(folder.join("tiny.toml"), suite).unwrap();
    let mut command = mountmark(folder);
    command.args(["run", "--lab", "host", "--fs", filesystem, "--scale", "1", "--repeat", "1", "--format", "json"]);
    command.arg("--suite").arg(folder.join("tiny.toml")).arg("--image").arg(folder.join("disk.img"));
    command
}

/// Loop devices of this machine on files in the folder: names of devices and files.
pub(crate) fn loop_devices(folder: &Path) -> Vec<(String, String)> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let backed = devices.filter_map(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        Some((format!("/dev/{}", device.file_name().to_string_lossy()), file))
    });
    backed.filter(|(_, file)| file.starts_with(&*folder.to_string_lossy())).collect()
}

/// Loop devices on files in the folder, and files left in it but the cache's tag and the hash of the program, which stay.
pub(crate) fn leftovers(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = loop_devices(folder).into_iter().map(|(name, _)| name).collect();
    let cached = fs::read_dir(folder.join("cache")).unwrap().flatten().map(|entry| entry.path());
    let stays = |path: &PathBuf| path.ends_with("hashes") || path.ends_with("CACHEDIR.TAG");
    found.extend(cached.filter(|path| !stays(path)).map(|path| format!("{path:?}")));
    found
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_cell_is_measured_and_nothing_stays() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run_tiny(folder.path(), 1).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = result.to_string();
    for word in ["mkfs", "create", "umount", "fsck", "wall time of this machine"] {
        assert!(result.contains(word), "no {word} in {result}");
    }
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
    assert!(!folder.path().join("disk.img").exists());
    sees_requests(folder.path());
}

/// If the kernel permits tracepoints, the writes of mkfs are recorded as in its counters, and drawn; otherwise the
/// record says why not.
fn sees_requests(folder: &Path) {
    let output = mountmark(folder).args(["show", "latest", "--io", "mkfs", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let io: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mkfs = &io["devices"][0];
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let written = number(&mkfs["iostat"]["write"]["bytes"]);
    assert!(written > 0, "{mkfs}");
    if let Some(reason) = mkfs["lacking"].as_str() {
        assert!(reason.contains("were not seen"), "{reason}");
        return eprintln!("skipped: {reason}");
    }
    let drawn: u64 = mkfs["map"]["fields"].as_array().unwrap().iter().map(|field| number(&field[3])).sum();
    assert_eq!(drawn, written);
    let output = mountmark(folder).args(["show", "latest", "--format", "json"]).output().unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counted = figures["samples"].as_array().unwrap().iter().filter(|sample| {
        sample["task"] == "mkfs"
            && ["written_bytes", "settle_written_bytes"].contains(&sample["metric"].as_str().unwrap())
    });
    let counted: f64 = counted.map(|sample| sample["value"].as_f64().unwrap()).sum();
    assert_eq!(written as f64, counted, "the counters have seen the same");
}

/// Starts a run that a task keeps busy, and waits until a sign of life has reported that task.
pub(crate) fn start_busy(folder: &Path, seconds: u32, force: bool) -> Child {
    let mut command = run_tiny(folder, seconds);
    if force {
        command.arg("--force-image");
    }
    let run = command.stdout(Stdio::null()).spawn().unwrap();
    let sleeps = format!("sleep\0{seconds}\0");
    awaited("the task", || is_running(&sleeps).then_some(()));
    std::thread::sleep(Duration::from_millis(1200));
    run
}

/// Whether a process has this command line.
fn is_running(line: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|found| found == line.as_bytes())
}

/// SIGKILL: no cleanup by this program. Waits until the kernel has removed what it can, and no process of the run has the image
/// open: each shares its lock.
pub(crate) fn kill(folder: &Path, mut run: Child) {
    run.kill().unwrap();
    run.wait().unwrap();
    awaited("the loop device's end", || loop_devices(folder).is_empty().then_some(()));
    awaited("the last user of the image", || (!is_open(&folder.join("disk.img"))).then_some(()));
}

/// Whether a process has it open. Looked at from outside: the run's guard counts who opens the image.
fn is_open(path: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut files = processes.filter_map(|process| fs::read_dir(process.path().join("fd")).ok()).flatten().flatten();
    files.any(|file| fs::read_link(file.path()).is_ok_and(|target| target == path))
}

/// An empty image of 4 KiB.
pub(crate) fn small_image(folder: &Path) -> PathBuf {
    let image = folder.join("disk.img");
    fs::write(&image, vec![0; 4096]).unwrap();
    image
}

#[test]
fn a_killed_run_leaves_only_what_clean_removes() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(folder.path());
    let run = start_busy(folder.path(), 7654, false);
    kill(folder.path(), run);
    let again = run_tiny(folder.path(), 1).output().unwrap();
    assert_eq!(again.status.code(), Some(3), "{}", text(&again));
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    assert!(text(&clean).contains("removed test data in") && text(&clean).contains("disk.img"), "{}", text(&clean));
    assert!(is_given_back(&image));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// Every command is a line that can be found, no output controls a terminal, and nothing is made.
#[test]
fn a_dry_run_prints_every_command_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let suite = SUITE.replace("touch a b c", "touch a\n  echo '\\u001b[2J' > b").replace(
        "id = \"wait\"",
        "id = \"wait\"\nprepare = \"mkdir d\"\ncleanup = \"rmdir d\"\ncold = true\nrepeat = 3",
    );
    let suite = suite.replace("run = \"touch", "run = \"\"\"touch").replace("> b\"", "> b\"\"\"");
    fs::write(folder.path().join("dry.toml"), suite.replace("name = \"tiny\"", "name = \"dry\"")).unwrap();
    let dry = |lab: &[&str]| {
        let mut command = mountmark(folder.path());
        command.args(["run", "--dry-run", "--scale", "1", "--fs", "ext4:mkfs=-O ^has_journal,ext2", "--repeat", "2"]);
        let output = command.arg("--suite").arg(folder.path().join("dry.toml")).args(lab).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(!printed.chars().any(|letter| letter.is_control() && letter != '\n'), "{printed}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["dry.toml"], "nothing was made");
        printed
    };
    let holds = |printed: &str, lines: &[&str]| {
        let mut rest = printed.lines();
        for line in lines {
            assert!(rest.any(|found| found == *line), "no {line:?}, or not in its place, in {printed}");
        }
    };
    let printed = dry(&["--machine", "p3-2006", "--disk", "hdd"]);
    holds(
        &printed,
        &[
            "ext2 mkfs: mkfs.ext2 -q -F /dev/nbd0",
            "ext2 mount: mount -i -t ext2 /dev/nbd0 /test",
            "ext2 create title: create files",
            "ext2 create run: touch a",
            "ext2 create run:   echo '\\u{1b}[2J' > b",
            "ext2 wait title: wait (3 times in each cell)",
            "ext2 wait prepare: mkdir d",
            "ext2 wait remount: umount /test",
            "ext2 wait remount: mount -i -t ext2 /dev/nbd0 /test",
            "ext2 wait run: sleep $SECONDS_TO_WAIT",
            "ext2 wait cleanup: rmdir d",
            "ext2 umount: umount /test",
        ],
    );
    assert!(!printed.contains("as root"), "{printed}");
    assert!(printed.contains("\next4:mkfs=-O ^has_journal: 2 cells, each:\n"), "{printed}");
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let image = folder.path().join("disk.img");
    let printed = dry(&["--lab", "host", "--image", image.to_str().unwrap()]);
    assert!(printed.starts_with("as root: "), "{printed}");
    holds(&printed, &["ext2 mkfs: mkfs.ext2 -q -F /dev/loopN", "ext2 create run: touch a"]);
    assert!(printed.contains("a loop device on a new file without a name in "), "{printed}");
}

/// Leftovers of a killed run may be written for a while: by an unmount in the kernel, by a process that hangs.
#[test]
fn an_image_is_emptied_when_nothing_writes_it_any_more() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(folder.path());
    let mut run = run_tiny(folder.path(), 7657).stdout(Stdio::null()).spawn().unwrap();
    let (device, _) = awaited("a loop device", || loop_devices(folder.path()).pop());
    let late = fs::OpenOptions::new().write(true).open(device).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    let clean = mountmark(folder.path()).arg("clean").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    late.write_all_at(&[1; 8192], 0).unwrap();
    drop(late);
    let clean = clean.wait_with_output().unwrap();
    assert!(clean.status.success(), "{}", text(&clean));
    assert!(text(&clean).contains("disk.img"), "{}", text(&clean));
    assert!(is_given_back(&image));
}

/// The result of `find`, polled for a minute.
pub(crate) fn awaited<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} never appeared");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether an image is as before: [`run_tiny`]'s callers make one of 4 KiB.
pub(crate) fn is_given_back(image: &Path) -> bool {
    fs::metadata(image).unwrap().len() == 4096 && holds_zeroes(image)
}

pub(crate) fn holds_zeroes(path: &Path) -> bool {
    fs::read(path).unwrap().iter().all(|byte| *byte == 0)
}
