//! The host lab on this machine: only as root and where there are loop devices.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SUITE: &str = r#"
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

/// Why the lab cannot be tried here.
fn obstacle() -> Option<&'static str> {
    // SAFETY: takes nothing, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("only root may mount");
    }
    if fs::File::open("/dev/loop-control").is_err() {
        return Some("there are no loop devices");
    }
    let kinds = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    (!kinds.contains("\text4")).then_some("the kernel has no ext4 loaded")
}

fn mountmark(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mountmark"));
    command.env("MOUNTMARK_CACHE", folder.join("cache")).env("MOUNTMARK_OUT", folder.join("results"));
    command
}

fn run_tiny(folder: &Path, seconds: u32) -> Command {
    let suite = SUITE.replace("value = 1", &format!("value = {seconds}"));
    fs::write(folder.join("tiny.toml"), suite).unwrap();
    let mut command = mountmark(folder);
    command.args(["run", "--lab", "host", "--fs", "ext4", "--scale", "1", "--repeat", "1", "--format", "json"]);
    command.arg("--suite").arg(folder.join("tiny.toml")).arg("--image").arg(folder.join("disk.img"));
    command
}

/// Loop devices of this machine that stand on files in the folder: their names, and the files'.
fn loop_devices(folder: &Path) -> Vec<(String, String)> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let backed = devices.filter_map(|device| {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        Some((format!("/dev/{}", device.file_name().to_string_lossy()), file))
    });
    backed.filter(|(_, file)| file.starts_with(&*folder.to_string_lossy())).collect()
}

/// Loop devices that stand on the folder, and files left in it.
fn leftovers(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = loop_devices(folder).into_iter().map(|(name, _)| name).collect();
    found.extend(fs::read_dir(folder.join("cache")).unwrap().flatten().map(|entry| format!("{:?}", entry.path())));
    found
}

fn text(output: &Output) -> String {
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

/// Where the kernel lets trace points be used, what mkfs wrote is seen as its counters have it, and drawn; otherwise the
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

#[test]
fn a_killed_run_leaves_only_what_clean_removes() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.img");
    fs::write(&image, vec![0; 4096]).unwrap();
    let mut run = run_tiny(folder.path(), 7654).stdout(Stdio::null()).spawn().unwrap();
    awaited("test data", || (fs::metadata(&image).unwrap().len() > 4096 && !holds_zeroes(&image)).then_some(()));
    // SIGKILL: nothing of ours can put anything right.
    run.kill().unwrap();
    run.wait().unwrap();
    let again = run_tiny(folder.path(), 1).output().unwrap();
    assert_eq!(again.status.code(), Some(3), "{}", text(&again));
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    assert!(text(&clean).contains("disk.img"), "{}", text(&clean));
    assert!(is_given_back(&image));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// What a killed run left may be written for a while: by an unmount in the kernel, by a process that hangs.
#[test]
fn an_image_is_emptied_when_nothing_writes_it_any_more() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.img");
    fs::write(&image, vec![0; 4096]).unwrap();
    let mut run = run_tiny(folder.path(), 7654).stdout(Stdio::null()).spawn().unwrap();
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

/// What `find` finds, within a minute.
fn awaited<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} never appeared");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether an image is what it was before: [`run_tiny`]'s callers make one of 4 KiB.
fn is_given_back(image: &Path) -> bool {
    fs::metadata(image).unwrap().len() == 4096 && holds_zeroes(image)
}

fn holds_zeroes(path: &Path) -> bool {
    fs::read(path).unwrap().iter().all(|byte| *byte == 0)
}
