//! The host lab and a user's data: whatever happens to a run, only its own writes are ever removed.

use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::host::{
    SUITE, holds_zeroes, kill, leftovers, loop_devices, mountmark, obstacle, run_tiny, small_image, start_busy, text,
};

/// Runs a program of the machine, which must succeed; returns its output.
fn call(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Another file system, made in the leftovers of a killed run, belongs to the user: its data survives `clean`.
#[test]
fn clean_leaves_an_image_that_is_used_again() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(folder.path());
    let name = image.to_str().unwrap();
    let run = start_busy(folder.path(), 7655, false);
    kill(folder.path(), run);
    call("mke2fs", &["-q", "-F", "-t", "ext4", name]);
    // The user's own loop device may have the number of the run's: it stays.
    let device = call("losetup", &["--find", "--show", name]);
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    let is_attached = loop_devices(folder.path()).iter().any(|(name, _)| *name == device);
    let mounted = folder.path().join("mounted");
    fs::create_dir(&mounted).unwrap();
    call("mount", &["-t", "ext4", &device, mounted.to_str().unwrap()]);
    fs::write(mounted.join("letter"), "dear all").unwrap();
    call("umount", &[mounted.to_str().unwrap()]);
    call("losetup", &["-d", &device]);
    assert!(is_attached, "{}", text(&clean));
    assert_eq!(clean.status.code(), Some(1), "{}", text(&clean));
    assert!(text(&clean).contains(&format!("in use as {device}")), "{}", text(&clean));

    let before = fs::read(&image).unwrap();
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    assert!(clean.status.success() && text(&clean).contains("left as it is"), "{}", text(&clean));
    assert!(fs::read(&image).unwrap() == before, "{}", text(&clean));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// Rejected for any reason, a run must not have touched the image.
#[test]
fn a_refused_run_leaves_the_image_untouched() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(folder.path());
    call("mke2fs", &["-q", "-F", "-t", "ext4", image.to_str().unwrap(), "8M"]);
    let state = || {
        let data = fs::metadata(&image).unwrap();
        (fs::read(&image).unwrap(), data.mtime_nsec(), data.ctime_nsec(), data.blocks())
    };
    let before = state();
    let lacking = folder.path().join("lacking.toml");
    let suite = SUITE.replace("name = \"tiny\"", "name = \"lacking\"\ntools = [\"no-such-tool\"]");
    fs::write(&lacking, suite).unwrap();
    let refused: [(&[&str], i32); 3] =
        [(&["--suite", lacking.to_str().unwrap()], 3), (&["--disk-size", "500TiB"], 3), (&["--corpus", "nosuch"], 2)];
    for (arguments, code) in refused {
        for dry_run in [&[][..], &["--dry-run"]] {
            let mut run = run_tiny(folder.path(), 1);
            let output = run.arg("--force-image").args(arguments).args(dry_run).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{arguments:?} {dry_run:?}: {}", text(&output));
            assert!(state() == before, "{}", text(&output));
        }
    }
    let output = run_tiny(folder.path(), 1).args(["--force-image", "--dry-run"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(state() == before);
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// Files that a user names for what is written are no disks.
#[test]
fn no_report_and_no_image_is_written_over_a_disk() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk");
    fs::write(&image, vec![b'x'; 1 << 20]).unwrap();
    let device = call("losetup", &["--find", "--show", image.to_str().unwrap()]);
    let commands = [
        &["baseline", "save", &device, "--fs", "ext4"][..],
        &["baseline", "check", "x.toml", "--also", &device],
        &["crash", "--workload", "creat foo", "--export-log", &device],
        &["crash", "--workload", "creat foo", "--state", "e1.t2.1", "--export", &device],
    ];
    let ended = commands.map(|words| mountmark(folder.path()).args(words).output().unwrap());
    call("losetup", &["-d", &device]);
    for output in &ended {
        assert_eq!(output.status.code(), Some(2), "{}", text(output));
    }
    for output in [&ended[0], &ended[2], &ended[3]] {
        assert!(text(output).contains(&format!("{device} is a disk")), "{}", text(output));
    }
    assert!(fs::read(&image).unwrap().iter().all(|byte| *byte == b'x'));
}

/// An older, dead run has journalled the image that a living one uses now; other programs try to use it too.
#[test]
fn an_image_in_use_is_left_to_its_user() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(folder.path());
    let name = image.to_str().unwrap();
    // QEMU opens images like this.
    let drive = format!("file={name},format=raw,if=none,id=disk");
    let qemu = || {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(["-machine", "none", "-nodefaults", "-display", "none", "-S", "-qmp", "stdio", "-drive", &drive]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    match qemu() {
        Ok(mut guest) => {
            let mut greeting = [0; 8];
            guest.stdout.as_mut().unwrap().read_exact(&mut greeting).unwrap();
            let output = run_tiny(folder.path(), 1).output().unwrap();
            guest.kill().unwrap();
            guest.wait().unwrap();
            assert_eq!(output.status.code(), Some(3), "{}", text(&output));
            assert!(text(&output).contains("in use by another program"), "{}", text(&output));
        }
        Err(error) => eprintln!("skipped in part: there is no QEMU: {error}"),
    }
    let run = start_busy(folder.path(), 7656, false);
    kill(folder.path(), run);

    let mut run = start_busy(folder.path(), 13, true);
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    assert!(clean.status.success() && text(&clean).contains("another program uses it now"), "{}", text(&clean));
    let hard = folder.path().join("hard.img");
    fs::hard_link(&image, &hard).unwrap();
    let other = run_tiny(folder.path(), 1).arg("--force-image").arg("--image").arg(&hard).output().unwrap();
    assert_eq!(other.status.code(), Some(3), "{}", text(&other));
    if let Ok(guest) = qemu() {
        let output = guest.wait_with_output().unwrap();
        assert!(!output.status.success() && text(&output).contains("lock"), "{}", text(&output));
    }
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(holds_zeroes(&image), "given back empty, as large as this run found it");
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    // The second run wrote it after the first one, so what it holds need not be the first one's.
    assert!(clean.status.success() && text(&clean).contains("it was left as it is"), "{}", text(&clean));
    assert!(holds_zeroes(&image));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// Tasks have only three open files, cannot write to the agent's events, and see an allocated image as allocated; a
/// file moved to the image's name meanwhile is not touched.
#[test]
fn a_task_has_no_files_of_the_agents_and_an_image_keeps_its_room() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("disk.img");
    let file = fs::File::create(&image).unwrap();
    // SAFETY: takes plain numbers.
    let has_room = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 128 << 20) } == 0;
    if !has_room {
        file.set_len(128 << 20).unwrap();
        eprintln!("skipped in part: {} cannot allocate", folder.path().display());
    }
    drop(file);
    let moved = folder.path().join("moved.img");
    // ls itself has the listed folder open.
    let task = format!(
        "[ $(ls /proc/self/fd | wc -l) = 4 ] || exit 9
while read name value; do [ $name = PPid: ] && agent=$value; done < /proc/self/status
for process in $agent $(cat /proc/$agent/task/$agent/children); do
  for pipe in /proc/$process/fd/*; do [ -p $pipe ] && printf '\\377\\n' > $pipe; done
done
mv {} {} && echo precious > {0}",
        image.display(),
        moved.display()
    );
    let mut command = run_tiny(folder.path(), 1);
    let suite = fs::read_to_string(folder.path().join("tiny.toml")).unwrap();
    let suite = suite.replace("run = \"touch a b c\"", &format!("run = '''{task}'''"));
    fs::write(folder.path().join("tiny.toml"), suite).unwrap();
    // A descriptor without close-on-exec.
    let inherited = fs::File::open("/dev/null").unwrap();
    // SAFETY: takes plain numbers.
    assert!(unsafe { libc::fcntl(inherited.as_raw_fd(), libc::F_SETFD, 0) } == 0);
    let output = command.args(["--disk-size", "128MiB"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let result = String::from_utf8_lossy(&output.stdout);
    assert!(!result.contains("is no text"), "{result}");
    assert_eq!(result.contains("files with their room allocated"), has_room, "{result}");
    assert_eq!(result.contains("the image is allocated when the cell begins"), has_room, "{result}");
    assert_eq!(fs::read_to_string(&image).unwrap(), "precious\n");
    // The used file is the user's too.
    let data = fs::metadata(&moved).unwrap();
    assert!(data.len() == 128 << 20 && holds_zeroes(&moved));
    assert!(!has_room || data.blocks() * 512 >= 128 << 20, "{} blocks", data.blocks());
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}

/// Another device made from the image while in use survives the end of the run, with its contents.
#[test]
fn an_image_is_not_emptied_under_another_device() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(folder.path());
    let mut command = run_tiny(folder.path(), 1);
    let suite = fs::read_to_string(folder.path().join("tiny.toml")).unwrap();
    let suite = suite.replace("touch a b c", &format!("losetup --find {}", image.display()));
    fs::write(folder.path().join("tiny.toml"), suite).unwrap();
    let output = command.output().unwrap();
    let devices = loop_devices(folder.path());
    let holds_data = !holds_zeroes(&image);
    for (device, _) in &devices {
        call("losetup", &["-d", device]);
    }
    assert_eq!(devices.len(), 1, "{}", text(&output));
    assert!(output.status.success() && holds_data, "{}", text(&output));
    let before = fs::read(&image).unwrap();
    let clean = mountmark(folder.path()).arg("clean").output().unwrap();
    assert!(text(&clean).contains("another program had made a device of it"), "{}", text(&clean));
    assert!(fs::read(&image).unwrap() == before, "{}", text(&clean));
    assert_eq!(leftovers(folder.path()), Vec::<String>::new());
}
