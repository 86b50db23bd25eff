//! Every file system that runs here, from mkfs to fsck: made, mounted, used, read again cold, unmounted, checked. Cold
//! data comes from the disk: nothing that mkfs, the tasks or an earlier mount have read or written is cached.

use crate::lab::{Lab, outcome};
use crate::tasks::{LIST, NAME, NAME_BYTES};

/// Those supported by a kernel 6.12 and Debian's packages.
const EXPECTED: [&str; 16] = [
    "ext2", "ext3", "ext4", "jfs", "reiserfs", "xfs", "btrfs", "f2fs", "nilfs2", "vfat", "exfat", "ntfs", "gfs2",
    "ocfs2", "udf", "minix",
];
/// Those that do not run, each for its own reason.
const UNAVAILABLE: [&str; 5] = ["hpfs", "ufs", "hfsplus", "bcachefs", "reiser4"];

/// Those on a folder whose mount needs nothing of the disk: the file system below is mounted by then.
const ON_FOLDER: [&str; 6] = ["bindfs", "fuse-overlayfs", "gocryptfs", "mergerfs", "overlay", "sshfs"];

/// Those that `folders` takes from mkfs to a clean fsck, too.
const IN_FOLDERS: [&str; 7] = ["bindfs", "fuse-overlayfs", "gocryptfs", "mergerfs", "nfs", "ntfs-3g", "overlay"];

const FILE_BYTES: f64 = 1_048_576.0;
const TASKS: &str = r#"
[[task]]
id = "write"
title = "write a file of 1 MiB and make a folder"
prepare = "head -c 1048576 /dev/urandom > /tmp/reference"
run = "dd if=/tmp/reference of=file bs=64k && mkdir folder"

[[task]]
id = "read"
title = "compare the file, read from the disk"
cold = true
run = "cmp /tmp/reference file && test -d folder"
"#;

/// Minimum number of bytes that a check reads. All files of tasks are gone by then.
fn fsck_reads(filesystem: &str) -> f64 {
    match filesystem {
        // It reads only the boot sector and the first records of the master file table.
        "ntfs" => 4096.0,
        _ => 16384.0,
    }
}

/// Names under the two heads of `mountmark list filesystems`, without variants; unavailable ones with their reason.
fn listed(text: &str) -> (Vec<String>, Vec<(String, String)>) {
    let (here, not_here) = text.split_once("Do not run here:\n").expect("both heads");
    // Those whose module is built first have tests of their own, which take minutes.
    let here: String = here.split_inclusive('\n').filter(|line| !line.contains("builds its module")).collect();
    assert!(here.starts_with("Run here ("), "{text}");
    let rows = |part: &str| -> Vec<(String, String)> {
        part.lines()
            .filter_map(|line| line.strip_prefix("  ").filter(|row| !row.starts_with(' ')))
            .filter_map(|row| row.split_once(' '))
            .map(|(name, about)| (name.to_owned(), about.trim().to_owned()))
            .collect()
    };
    (rows(&here).into_iter().map(|(name, _)| name).collect(), rows(not_here))
}

#[test]
fn every_file_system_goes_from_mkfs_to_a_clean_fsck() {
    all_go("every_file_system_goes_from_mkfs_to_a_clean_fsck", |name| !IN_FOLDERS.contains(&name));
}

#[test]
#[ignore = "each has a shorter way in make test: make nightly"]
fn those_on_folders_and_servers_go_the_same_way() {
    all_go("those_on_folders_and_servers_go_the_same_way", |name| IN_FOLDERS.contains(&name));
}

fn all_go(test: &str, is_taken: impl Fn(&str) -> bool) {
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let list = lab.command(&["list", "filesystems"]).ended_with(0);
    let (here, not_here) = listed(&list.stdout);
    for name in EXPECTED {
        assert!(here.iter().any(|found| found == name), "{name} does not run here:\n{}", list.stdout);
    }
    for name in UNAVAILABLE {
        if here.iter().any(|found| found == name) {
            continue;
        }
        let found = not_here.iter().find(|(found, _)| found == name);
        let (_, sentence) = found.unwrap_or_else(|| panic!("{name} is not listed:\n{}", list.stdout));
        assert!(sentence.split_whitespace().count() >= 5, "{name}: {sentence:?} is no sentence");
    }

    let here: Vec<&String> = here.iter().filter(|name| is_taken(name)).collect();
    assert!(here.len() >= IN_FOLDERS.len(), "{here:?}");
    let all = here.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",");
    let suite = lab.suite("tiny", &format!("{TASKS}{NAME}{LIST}"));
    let ran = lab.run(&["--fs", &all, "--suite", &suite, "--repeat", "1"]);
    let results = ran.results();
    let mut faults = Vec::new();
    for name in here {
        let skipped = results.run["configurations"].as_array().unwrap().iter().find(|c| c["name"] == name.as_str());
        assert!(skipped.is_some_and(|c| c["skipped"].is_null()), "{name} was skipped: {skipped:?}");
        let cell = results.cell(name);
        let mut check = |good: bool, what: String| {
            if !good {
                faults.push(format!("{name}: {what}"));
            }
        };
        check(outcome(cell).0 == "ok", format!("the cell: {:?}", outcome(cell)));
        if outcome(cell).0 != "ok" {
            continue;
        }
        for task in ["mkfs", "mount", "write", "read", "name", "list", "umount"] {
            let ended = results.task(name, task);
            check(ended.0 == "ok", format!("{task}: {ended:?}"));
            if ended.0 != "ok" {
                continue;
            }
            let value = |metric: &str| results.value(name, task, metric);
            check(value("elapsed") > 0.0, format!("{task} took {} s", value("elapsed")));
            check(value("durable") >= value("elapsed"), format!("{task} was durable before it returned"));
            check(value("cpu_percent") <= 101.0, format!("{task} used {} % of one processor", value("cpu_percent")));
        }
        let fsck = results.task(name, "fsck");
        let excused = fsck.0 == "skipped" && fsck.1.split_whitespace().count() >= 4;
        check(fsck.0 == "ok" || excused, format!("fsck: {fsck:?}"));
        let mut reads = vec![("read", FILE_BYTES), ("list", NAME_BYTES)];
        if !ON_FOLDER.contains(&name.as_str()) {
            reads.push(("mount", 512.0));
        }
        if fsck.0 == "ok" {
            reads.push(("fsck", fsck_reads(name)));
        }
        for (task, least) in reads.into_iter().filter(|(task, _)| results.task(name, task).0 == "ok") {
            let read = results.value(name, task, "read_bytes");
            check(read >= least, format!("{task} read {read} bytes from the disk, of at least {least}"));
        }
        if results.task(name, "write").0 == "ok" {
            let written = results.value(name, "write", "written_bytes");
            check(written >= FILE_BYTES, format!("{written} bytes reached the disk of a file of {FILE_BYTES}"));
        }
        for metric in ["capacity", "capacity_residual", "capacity_device"] {
            let percent = results.value(name, "capacity", metric);
            check(percent > 0.0 && percent <= 100.0, format!("{metric} is {percent} %"));
        }
        let kernel = cell["environment"]["kernel_build"].as_str().unwrap_or_default();
        check(kernel.contains(" SMP "), format!("the guest's kernel is only known as {kernel:?}"));
    }
    assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), ran.stderr);
    ran.ended_with(0);
}
