//! Cache folders that are full, read-only, corrupt, moved or owned by others: a run works, or reports what is missing.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::lab::{Lab, assert_equal_figures, skip};
use crate::tasks::TOUCH;

/// Whether a user may create namespaces here, in which any user can mount a small or read-only file system.
pub fn has_namespaces(test: &str) -> bool {
    let mounts = "mount -t tmpfs none /mnt && mount --bind /mnt /mnt && mount -o remount,ro,bind /mnt";
    let tried = Command::new("unshare").args(["-rm", "sh", "-c", mounts]).output();
    match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => skip(test, &format!("no name spaces here: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => skip(test, &format!("no program unshare: {error}")),
    }
    false
}

/// A hard-linked copy of the downloads in the user's cache: replacing a file in one does not affect the other. The
/// user's cache must have been used before. Other kernels than the guest's, which are most of it, are left out.
fn downloads(lab: &Lab, name: &str) -> PathBuf {
    let cache = lab.path(name);
    fs::create_dir(&cache).unwrap();
    let users = mountmark_lab::cache::default_folder();
    for part in ["apt", "closures", "kernels", "packages"] {
        let copied = Command::new("cp").arg("-al").arg(users.join(part)).arg(&cache).status().unwrap();
        // Hard links do not work across devices.
        let copied = copied.success()
            || Command::new("cp").arg("-a").arg(users.join(part)).arg(&cache).status().unwrap().success();
        assert!(copied, "{part}");
    }
    let package = fs::read_to_string(cache.join("kernels/6_12.name")).unwrap();
    let release = package.trim().trim_start_matches("linux-image-").to_owned();
    for (part, start) in [("kernels", "vmlinux-"), ("packages", "linux-")] {
        for entry in fs::read_dir(cache.join(part)).unwrap().flatten().map(|entry| entry.path()) {
            let name = entry.file_name().unwrap().to_string_lossy();
            if name.starts_with(start) && !name.contains(&release) {
                let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
                removed.unwrap();
            }
        }
    }
    cache
}

#[test]
fn a_cache_without_room_is_told_at_once() {
    let test = "a_cache_without_room_is_told_at_once";
    if !has_namespaces(test) {
        return;
    }
    let lab = Lab::without_guests();
    let suite = lab.suite("one", TOUCH);
    let cache = lab.path("small");
    fs::create_dir(&cache).unwrap();
    // Full, so that apt-get would wait forever.
    let mount = format!(
        "mount -t tmpfs -o mode=700,size=5m none {0} && {{ head -c 10m /dev/zero > {0}/fill; mkdir -p {0}/apt/lists; mv {0}/fill {0}/apt; }} 2>/dev/null; exec \"$@\"",
        cache.display()
    );
    let begin = Instant::now();
    let lab = lab.with_cache(&cache).under(&["unshare", "-rm", "sh", "-c", &mount, "sh"]);
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite]).ended_with(3);
    ran.says(&["no space for", &cache.to_string_lossy(), "are free", "MOUNTMARK_CACHE"]);
    assert!(begin.elapsed() < Duration::from_secs(60), "it took {:?}", begin.elapsed());
}

#[test]
fn a_copied_cache_that_cannot_be_written_serves_what_it_holds() {
    let test = "a_copied_cache_that_cannot_be_written_serves_what_it_holds";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    if !has_namespaces(test) {
        return;
    }
    let suite = lab.suite("one", TOUCH);
    let plan = ["--fs", "ext2", "--suite", &suite, "--repeat", "1"];
    // Ensures that the user's cache has downloads to share.
    lab.run(&plan).ended_with(0);
    let cache = downloads(&lab, "cache");
    let lab = lab.with_cache(&cache);
    let before = lab.run(&plan).ended_with(0).results();
    let copy = lab.path("copy");
    // Other inodes, other times, and no holes.
    let copied = Command::new("cp").args(["-r", "--sparse=never"]).arg(&cache).arg(&copy).status().unwrap();
    assert!(copied.success());
    fs::remove_dir_all(&cache).unwrap();
    let mount = format!("mount --bind {0} {0} && mount -o remount,ro,bind {0} && exec \"$@\"", copy.display());
    let lab = lab.with_cache(&copy).under(&["unshare", "-rm", "sh", "-c", &mount, "sh"]);
    let after = lab.run(&plan).ended_with(0).results();
    assert_equal_figures(&before, &after);
    assert!(!cache.exists(), "something was made where the cache was before");
    // Missing entries cannot be made.
    let ran = lab.run(&["--fs", "ext3", "--suite", &suite, "--repeat", "1"]).ended_with(3);
    ran.says(&[&copy.to_string_lossy(), "lacks the image of a guest", "MOUNTMARK_CACHE"]);
    // Space for everything except the snapshot.
    let small = format!("mount -t tmpfs -o mode=700,size=50m none {}/snapshots && exec \"$@\"", copy.display());
    let lab = lab.under(&["unshare", "-rm", "sh", "-c", &small, "sh"]);
    lab.run(&plan).ended_with(3).says(&["no space for the snapshot", "it takes about", "are free", "MOUNTMARK_CACHE"]);
}

/// The only file with this path in a package of a cache.
fn file_of(cache: &Path, package: &str, path: &str) -> PathBuf {
    let folders = fs::read_dir(cache.join("packages")).unwrap().flatten().map(|entry| entry.path());
    let of_package =
        |folder: &PathBuf| folder.file_name().unwrap().to_string_lossy().starts_with(&format!("{package}_"));
    folders.filter(of_package).map(|folder| folder.join(path)).find(|path| path.exists()).expect("a file of a package")
}

#[test]
fn files_of_packages_that_were_lost_or_changed_are_fetched_again() {
    let test = "files_of_packages_that_were_lost_or_changed_are_fetched_again";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let suite = lab.suite("one", TOUCH);
    let plan = ["--fs", "ext2", "--suite", &suite, "--repeat", "1"];
    let before = lab.run(&plan).ended_with(0).results();
    let cache = downloads(&lab, "cache");
    let lab = lab.with_cache(&cache);
    // Replaced, not written to: the user's cache shares the contents.
    let (changed, lost) = (file_of(&cache, "tar", "bin/tar"), file_of(&cache, "coreutils", "bin/ls"));
    let sound = fs::read(&changed).unwrap();
    fs::remove_file(&changed).unwrap();
    fs::write(&changed, &sound).unwrap();
    fs::File::options().write(true).open(&changed).unwrap().write_all_at(&[0xa5; 64], 1000).unwrap();
    fs::remove_file(&lost).unwrap();
    let after = lab.run(&plan).ended_with(0).results();
    assert!(fs::read(&changed).unwrap() == sound && lost.exists(), "they were not fetched again");
    assert_equal_figures(&before, &after);

    // A version that no mirror has any more.
    let closure = fs::read_dir(cache.join("closures"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| fs::read_to_string(path).is_ok_and(|text| text.starts_with('[') && text.contains("\"tar\"")));
    let closure = closure.expect("a set of packages with tar");
    let folder = changed.ancestors().nth(2).unwrap();
    let version = folder.file_name().unwrap().to_string_lossy().split('_').nth(1).unwrap().to_owned();
    for path in fs::read_dir(cache.join("closures")).unwrap().flatten().map(|entry| entry.path()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        if text.starts_with('[') {
            fs::remove_file(&path).unwrap();
            fs::write(&path, text.replace(&format!("tar_{version}_"), "tar_0.1_").replace(&version, "0.1")).unwrap();
        }
    }
    assert!(fs::read_to_string(closure).unwrap().contains("tar_0.1_"));
    let ran = lab.run(&plan).ended_with(3);
    ran.says(&["tar 0.1", "no longer on the mirror", "remove ", "/closures"]);
}

#[test]
fn a_cache_of_another_user_is_refused() {
    let lab = Lab::without_guests();
    let suite = lab.suite("one", TOUCH);
    let cache = lab.path("cache");
    fs::create_dir(&cache).unwrap();
    let lab = lab.with_cache(&cache);
    let refused = |says: &[&str]| {
        let run = ["run", "--fs", "ext4", "--suite", &suite];
        for command in [&run[..], &["clean", "--cache"], &["list", "kernels"]] {
            lab.command(command).ended_with(3).says(says);
        }
        let told = lab.command(&["doctor"]).ended_with(3).stdout;
        for check in ["package lists", "kernel", "virtual lab", "kvm lab"] {
            assert!(told.contains(&format!("{check:<14} not tried: the cache cannot be used")), "{told}");
        }
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
    };
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&["other users may write", "chmod go-w", "removes your own shelf"]);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
    match chown(&cache, Some(12345), None) {
        Ok(()) => refused(&["belongs to user 12345", "MOUNTMARK_CACHE"]),
        Err(error) => skip("a_cache_of_another_user_is_refused", &format!("its second half: {error}")),
    }
}

#[test]
fn clean_leaves_a_guests_folder_to_a_run_of_another_pid_namespace() {
    let test = "clean_leaves_a_guests_folder_to_a_run_of_another_pid_namespace";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let spaces = ["unshare", "-r", "--pid", "--fork", "--mount-proc", "--kill-child"];
    match Command::new(spaces[0]).args(&spaces[1..]).arg("true").output() {
        Ok(output) if output.status.success() => {}
        other => return skip(test, &format!("no PID namespaces here: {other:?}")),
    }
    let long = "[[task]]\nid = \"long\"\ntitle = \"long\"\nrun = \"while :; do :; done\"\n";
    let suite = lab.suite("long", long);
    let mut run = lab.start_run(&["--fs", "ext2", "--suite", &suite, "--repeat", "1", "--verbose"]);
    run.wait_for("#1: long");
    let left = lab.temporary_files();
    assert!(left.iter().any(|name| name.starts_with("mountmark-guest-")), "{left:?}");
    // The run's pid belongs to no process there.
    let lab = lab.under(&spaces);
    let cache = lab.path("other");
    let lab = lab.with_cache(&cache);
    lab.command(&["clean"]).ended_with(0);
    assert_eq!(lab.temporary_files(), left);
    run.signal(libc::SIGKILL);
    run.wait();
    assert_eq!(lab.temporary_files(), left);
    let cleaned = lab.command(&["clean"]).ended_with(0);
    assert!(cleaned.stdout.contains("mountmark-guest-"), "{}", cleaned.text());
    assert_eq!(lab.temporary_files(), [""; 0]);
}

#[test]
fn the_cache_is_not_cleaned_away_under_a_run() {
    let lab = Lab::without_guests();
    let cache = lab.path("cache");
    for part in ["closures", "packages"] {
        fs::create_dir_all(cache.join(part)).unwrap();
    }
    let lab = lab.with_cache(&cache);
    let run = mountmark_lab::cache::open(&cache).unwrap();
    lab.command(&["clean", "--cache"]).ended_with(3).says(&["in use by a run"]);
    drop(run);
    lab.command(&["clean", "--cache"]).ended_with(0);
    assert!(!cache.exists());
}

#[test]
fn the_cells_that_go_with_the_cache_are_counted_before_and_after() {
    let lab = Lab::without_guests();
    let cache = lab.path("cache");
    let name = |digit: &str| format!("{}-{}.cell", digit.repeat(64), digit.repeat(16));
    for digit in ["0", "f"] {
        let part = cache.join("cells").join(digit.repeat(2));
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join(name(digit)), "a cell").unwrap();
    }
    fs::write(cache.join("cells/mountmark-shelf"), "1\n").unwrap();
    let lab = lab.with_cache(&cache);
    assert_eq!(lab.command(&["clean"]).ended_with(0).stdout, "nothing to clean\n");
    for (options, says) in [(&["--dry-run"][..], "would remove "), (&[], "removed ")] {
        let said = lab.command(&[&["clean", "--cache"], options].concat()).ended_with(0).stdout;
        let line = said.lines().find(|line| line.contains("/cells (")).unwrap_or_default();
        assert!(line.starts_with(says) && line.ends_with(": your own shelf, 2 measured cells"), "{said}");
    }
    assert!(!cache.exists());
    let help = lab.command(&["clean", "--help"]).ended_with(0).stdout;
    assert!(help.contains("your own shelf of measured cells"), "{help}");
}
