//! File systems with commands of their own: on a folder of another one, in FUSE, over NFS. Both are mounted, taken away and
//! brought back in the right order, and what was written is there.

use std::fs;

use crate::lab::{Lab, assert_has_figures};
use crate::tasks::{KEPT_FILE, definition};

/// The file after a change, and after a restart.
const TASKS: &str = r#"
[[task]]
id = "append"
title = "change the file, which a union may have to copy"
cold = true
run = "echo more >> file && echo more >> /tmp/reference && cmp /tmp/reference file"

[[task]]
id = "again"
title = "mounted again after an unmount"
run = "sync"
restart = { after = "unmount", then = "mount" }

[[task]]
id = "kept"
title = "the file is there"
run = "cmp /tmp/reference file"
"#;

/// What is durable is there after a power cut.
const CUT: &str = r#"
[[task]]
id = "usable"
title = "usable again after a power cut"
run = "echo kept > synced && sync synced . && echo gone > other"
restart = { after = "power-cut-cache-lost", then = "mount" }

[[task]]
id = "durable"
title = "the durable file is there"
run = "grep -q kept synced && cmp /tmp/reference file"

[[task]]
id = "repaired"
title = "checked after a power cut"
run = "echo kept > second && sync second ."
restart = { after = "power-cut-cache-lost", then = "repair" }

[[task]]
id = "second"
title = "it is mounted again"
run = "grep -q kept second"
"#;

/// The page with a file system that the built-in catalogue lacks.
const PAGE: &str = include_str!("../docs/how-to/folders.md");

#[test]
fn what_lies_on_a_folder_comes_back_with_its_data() {
    let Some(lab) = Lab::with_guests("what_lies_on_a_folder_comes_back_with_its_data", 2) else { return };
    let suite = lab.suite("tiny", &format!("{KEPT_FILE}{TASKS}{CUT}"));
    fs::create_dir_all(lab.path("config/mountmark/catalog/filesystems")).unwrap();
    lab.write("config/mountmark/catalog/filesystems/unionfs.toml", definition(PAGE));
    let all = ["ext4", "overlay", "overlay:committed@ext4@luks", "gocryptfs", "unionfs"];
    let plan = ["--fs", &all.join(","), "--suite", &suite, "--disk", "nvme", "--repeat", "1"];
    let ran = lab.run(&plan).ended_with(0);
    let results = ran.results();
    let tasks = ["write", "read", "append", "again", "kept", "usable", "durable", "repaired", "second"];
    for name in all {
        results.is_ok(name, &[&["mkfs", "mount", "umount", "fsck"], &tasks[..]].concat());
        let read = results.value(name, "read", "read_bytes");
        assert!(read >= 1_048_576.0, "{name} read {read} bytes: the rest came from a cache");
        assert!(results.value(name, "write", "written_bytes") >= 1_048_576.0, "{name} wrote nothing below");
    }
    // The whole file is copied up from the folder that was committed; xfs and btrfs would share its blocks.
    let wrote = |name: &str| results.value(name, "append", "written_bytes");
    assert!(wrote("overlay:committed@ext4@luks") > wrote("overlay") + 900_000.0, "{}", wrote("overlay"));
    // A program of the file system encrypts: it is no part of the task's own time.
    let of = |metric: &str, name: &str| results.value(name, "read", metric);
    assert!(of("busy", "gocryptfs") > 1.5 * of("busy", "ext4"), "{}", of("busy", "gocryptfs"));
    let own = |name: &str| of("user", name) + of("system", name);
    assert!(own("gocryptfs") < 1.5 * own("ext4"), "{} and {}", own("gocryptfs"), own("ext4"));
    let again = lab.run(&[&["--fs", "overlay:committed@ext4@luks,gocryptfs"], &plan[2..]].concat());
    assert_has_figures(&again.ended_with(0).results(), &results);

    // The list that the agent takes is the one that is printed: `agent::tests`. Here, that it is the one of this run.
    let dry = lab.run(&[&plan[..], &["--dry-run"]].concat()).ended_with(0).stdout;
    let lines = |start: &str| -> Vec<&str> { dry.lines().filter(|line| line.starts_with(start)).collect() };
    let cold = lines("overlay:committed@ext4@luks read remount:");
    let at =
        |text: &str| cold.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {cold:?}"));
    let order = ["umount /test-below", "cryptsetup close", "cryptsetup open", "mount -i -t ext4"];
    let places: Vec<usize> = order.iter().map(|text| at(text)).collect();
    assert!(cold[0].ends_with("umount /test") && places.is_sorted(), "{cold:?}");
    assert!(cold.last().is_some_and(|line| line.contains("-t overlay")), "{cold:?}");
    assert!(dry.contains("unionfs mkfs: mkdir /test-below/files/upper /test-below/files/lower"), "{dry}");
}

#[test]
fn servers_stay_as_long_as_what_they_serve() {
    let Some(lab) = Lab::with_guests("servers_stay_as_long_as_what_they_serve", 2) else { return };
    let suite = lab.suite("tiny", &format!("{KEPT_FILE}{TASKS}"));
    let all = ["nfs", "nfs:v3+async@xfs", "ntfs-3g", "bindfs", "fuse-overlayfs", "mergerfs"];
    let plan = ["--fs", &all.join(","), "--suite", &suite, "--disk", "nvme", "--repeat", "1"];
    let results = lab.run(&plan).ended_with(0).results();
    for name in all {
        results.is_ok(name, &["mkfs", "mount", "write", "read", "append", "again", "kept", "umount"]);
        let read = results.value(name, "read", "read_bytes");
        assert!(read >= 1_048_576.0, "{name} read {read} bytes: the rest came from a cache");
    }
}

#[test]
fn what_cannot_lie_there_is_refused() {
    let lab = Lab::without_guests();
    let refused = |arguments: &[&str], said: &[&str]| lab.run(arguments).ended_with(2).says(said);
    refused(&["--fs", "overlay@overlay"], &["lies on a folder of another file system itself"]);
    refused(&["--fs", "overlay@nosuch"], &["no file system named \"nosuch\"", "no layer is named so"]);
    refused(&["--fs", "ext4@xfs"], &["xfs is a file system, and not a layer"]);
    refused(&["--fs", "overlay@luks@ext4"], &["ext4 is a file system, and not a layer"]);
    refused(&["--fs", "overlay:noatime@ext4"], &["stands behind that one: overlay@ext4:noatime"]);
    refused(&["--lab", "host", "--fs", "overlay"], &["made in guests alone"]);
    let crash = lab.command(&["crash", "--fs", "nfs:async", "--workload", "rename-fsync-file"]).ended_with(2);
    crash.says(&["--fs nfs:async", "servers that stay"]);
    fs::create_dir_all(lab.path("config/mountmark/catalog/filesystems")).unwrap();
    let wrong = definition(PAGE).replace("unmount = ", "# ").replace("{folder}", "{target}");
    lab.write("config/mountmark/catalog/filesystems/unionfs.toml", &wrong);
    refused(&["--fs", "unionfs"], &["there is mount and no unmount", "{target} stands for nothing here"]);
}
