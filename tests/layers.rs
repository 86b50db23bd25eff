//! Layers below file systems: they are made, taken away and attached again, and what was written is there.

use std::fs;

use crate::lab::{Lab, Ran, Results, assert_has_figures};
use crate::tasks::{KEPT_FILE, definition};

/// What is durable is there after a restart and a power cut.
const CUT: &str = r#"
[[task]]
id = "usable"
title = "usable again after a power cut"
run = "echo kept > kept && sync kept . && echo gone > gone"
restart = { after = "power-cut-cache-lost", then = "mount" }

[[task]]
id = "kept"
title = "the durable file is there, the other is not"
run = "grep -q kept kept && test ! -e gone && cmp /tmp/reference file"
"#;

/// A file that is read in requests that each take all disks of a stripe.
const DIRECT: &str = r#"
[[task]]
id = "direct"
title = "read a file of 16 MiB in requests of 4 MiB"
prepare = "dd if=/dev/zero of=large bs=1M count=16 conv=fsync"
cold = true
run = "dd if=large of=/dev/null bs=4M iflag=direct"
"#;

/// Writes that each wait until they are durable.
const SYNCED: &str = r#"
[[task]]
id = "synced"
title = "write 32 blocks, each durable before the next"
run = "dd if=/dev/zero of=synced bs=4k count=32 oflag=dsync"
"#;

/// The page with a layer that the built-in catalogue lacks.
const PAGE: &str = include_str!("../docs/how-to/layers.md");

#[test]
fn what_lies_below_a_file_system_comes_back_with_its_data() {
    let Some(lab) = Lab::with_guests("what_lies_below_a_file_system_comes_back_with_its_data", 2) else { return };
    let suite = lab.suite("tiny", &format!("{KEPT_FILE}{CUT}"));
    fs::create_dir_all(lab.path("config/mountmark/catalog/layers")).unwrap();
    lab.write("config/mountmark/catalog/layers/late.toml", definition(PAGE));
    let all = ["ext4", "ext4@luks", "ext4@luks@lvm", "ext4@late"];
    // On the usual 2 GiB mkfs.ext4 makes a larger journal than on what is left of them beside a header.
    let plan = ["--fs", &all.join(","), "--suite", &suite, "--disk", "nvme", "--repeat", "1", "--disk-size", "512MiB"];
    let ran = lab.run(&plan).ended_with(0);
    let results = ran.results();
    for name in all {
        results.is_ok(name, &["mkfs", "mount", "write", "read", "usable", "kept", "umount", "fsck"]);
        assert!(results.value(name, "read", "read_bytes") >= 1_048_576.0, "{name} read from a cache");
    }
    // What encrypts is the kernel, in threads of its own.
    let busy = |name: &str| results.value(name, "read", "busy");
    assert!(busy("ext4@luks") > 1.5 * busy("ext4"), "{} and {}", busy("ext4@luks"), busy("ext4"));
    let usable = |name: &str| results.value(name, "capacity", "capacity_bytes");
    assert!(usable("ext4@luks") < usable("ext4"), "the header takes no room");
    // One that encrypts, in volumes; the others are parts of it, or lie straight on the disk.
    let again = lab.run(&[&["--fs", "ext4@luks@lvm"], &plan[2..]].concat()).ended_with(0).results();
    assert_has_figures(&again, &results);

    // The list that the agent takes is the one that is printed: `agent::tests`. Here, that it is the one of this run.
    let dry = lab.run(&[&plan[..], &["--dry-run"]].concat()).ended_with(0).stdout;
    let lines = |start: &str| dry.lines().filter(|line| line.starts_with(start)).collect::<Vec<_>>();
    for (part, count) in
        [(" luks: cryptsetup luksFormat", 1), (" luks: cryptsetup open", 1), (" luks: cryptsetup close", 1)]
    {
        assert_eq!(lines(&format!("ext4@luks{part}")).len(), count, "{part}:\n{dry}");
    }
    let close = lines("ext4@luks read remount: cryptsetup close layer0");
    assert_eq!((close.len(), lines("ext4@luks usable restart: cryptsetup").len()), (1, 2), "{dry}");
    assert!(dry.contains("ext4@luks mkfs: mkfs.ext4 -q -F /dev/mapper/layer0"), "{dry}");
}

#[test]
fn several_disks_are_one_to_a_file_system() {
    let Some(lab) = Lab::with_guests("several_disks_are_one_to_a_file_system", 2) else { return };
    let suite = lab.suite("tiny", &format!("{KEPT_FILE}{DIRECT}"));
    let all = ["ext4", "ext4@raid0:disks=4:chunk=64KiB", "xfs@raid5", "ext4@lvm:stripes=4", "btrfs:raid1"];
    let plan = ["--fs", &all.join(","), "--suite", &suite, "--disk", "maxtor-7y250m0", "--repeat", "1"];
    let ran = lab.run(&plan).ended_with(0);
    let results = ran.results();
    for name in all {
        results.is_ok(name, &["mkfs", "mount", "write", "read", "direct", "umount", "fsck"]);
        let read = results.value(name, "read", "read_bytes");
        assert!((1_048_576.0..8_000_000.0).contains(&read), "{name} read {read} bytes of all its disks");
    }
    let share = |name: &str| results.value(name, "capacity", "capacity_device");
    assert!(share("ext4@raid0:disks=4:chunk=64KiB") < 100.0 && share("btrfs:raid1") < 60.0, "{}", share("btrfs:raid1"));
    // The disks work at the same time; a faster disk would be bounded by the way to it.
    let direct = |name: &str| results.value(name, "direct", "elapsed");
    for stripe in ["ext4@raid0:disks=4:chunk=64KiB", "ext4@lvm:stripes=4"] {
        assert!(direct("ext4") > 2.5 * direct(stripe), "{stripe}: {} and {} s", direct("ext4"), direct(stripe));
    }
    // Of three disks one has the parity: half as much again is written.
    let written = |name: &str| results.value(name, "write", "written_bytes");
    assert!(written("btrfs:raid1") > 2.0 * 1_048_576.0, "{}", written("btrfs:raid1"));
    assert!(written("xfs@raid5") > 1.4 * 1_048_576.0, "{}", written("xfs@raid5"));
    let room = |name: &str| {
        results.value(name, "capacity", "capacity_bytes") / results.value("ext4", "capacity", "capacity_bytes")
    };
    assert!((3.0..5.0).contains(&room("ext4@lvm:stripes=4")), "{}", room("ext4@lvm:stripes=4"));
    let again = lab.run(&[&["--fs", "xfs@raid5"], &plan[2..]].concat()).ended_with(0).results();
    assert_has_figures(&again, &results);
}

/// Measures these tasks on a slow disk and a fast one.
fn on_two_disks(lab: &Lab, tasks: &str, all: &[&str]) -> Results {
    let suite = lab.suite("tiny", tasks);
    let plan = ["--fs", &all.join(","), "--suite", &suite, "--disk", "hdd+nvme", "--repeat", "1"];
    let results = lab.run(&plan).ended_with(0).results();
    for name in all {
        results.is_ok(name, &["mkfs", "mount", "synced", "umount", "fsck"]);
    }
    results
}

#[test]
fn a_second_disk_of_another_model_is_a_cache_or_has_the_log() {
    let Some(lab) = Lab::with_guests("a_second_disk_of_another_model_is_a_cache_or_has_the_log", 2) else { return };
    let results = on_two_disks(&lab, SYNCED, &["ext4", "ext4@writecache", "xfs", "xfs:external-log"]);
    let synced = |name: &str| results.value(name, "synced", "elapsed");
    for (one, other, times) in [("ext4", "ext4@writecache", 5.0), ("xfs", "xfs:external-log", 1.3)] {
        assert!(synced(one) > times * synced(other), "{other}: {} and {} s", synced(one), synced(other));
    }
    assert_has_figures(&on_two_disks(&lab, SYNCED, &["ext4@writecache"]), &results);
}

#[test]
#[ignore = "minutes: `make nightly`"]
fn each_layer_on_two_disks_comes_back() {
    let Some(lab) = Lab::with_guests("each_layer_on_two_disks_comes_back", 2) else { return };
    let caches = ["ext4@cache:mode=writeback", "ext4@bcache:mode=writeback", "ext4:external-journal"];
    let others = ["ext4@snapshot", "ext4@thin", "xfs@partition:start=63", "ext4@raid1:resync=running", "xfs:realtime"];
    // A file is read from the disks after they were taken away and attached again.
    let tasks = format!("{KEPT_FILE}{SYNCED}");
    let results = on_two_disks(&lab, &tasks, &[&["ext4"], &caches[..], &others].concat());
    let synced = |name: &str| results.value(name, "synced", "elapsed");
    for cache in caches {
        assert!(synced("ext4") > 3.0 * synced(cache), "{cache}: {} and {} s", synced("ext4"), synced(cache));
    }
    assert!(synced("ext4@snapshot") > synced("ext4"), "before what mkfs wrote is written again, it is copied");
}

#[test]
fn layers_that_cannot_be_are_refused() {
    let lab = Lab::without_guests();
    let refused = |arguments: &[&str], said: &[&str]| lab.run(arguments).ended_with(2).says(said);
    refused(&["--fs", "ext4@lusk"], &["no layer named \"lusk\"", "did you mean luks?"]);
    refused(&["--fs", "ext4@raid5:disks=2"], &["takes 3 to 16 disks"]);
    for chunk in
        ["raid0:chunk=1000", "raid5:chunk=3KiB", "raid6:chunk=2KiB", "raid10:chunk=0", "lvm:stripes=2:chunk=12KiB"]
    {
        refused(&["--fs", &format!("ext4@{chunk}")], &["give one of", "64KiB"]);
    }
    refused(&["--fs", "ext4@luks:key-size=7"], &["key-size=7: give one of", "512"]);
    refused(&["--fs", "ext4@luks:cipher=foo"], &["cipher=foo: give one of", "aes-xts-plain64"]);
    refused(&["--fs", "ext4@luks:iterations=3"], &["iterations=3: give one of", "1000"]);
    refused(&["--lab", "host", "--fs", "ext4@bcache"], &["made in guests alone"]);
    refused(&["--lab", "host", "--fs", "ext4:external-journal"], &["leave it away"]);
    refused(&["--fs", "ext4@cache:disks=3"], &["takes 2 disks"]);
    refused(&["--fs", "ext4:external-journal", "--disk", "ram"], &["its second disk needs a model"]);
    refused(&["--fs", "ext4:external-journal@luks"], &["takes disks itself"]);
    refused(&["--fs", "ext4@raid5", "--disk", "hdd+ssd"], &["has 2 of the 3 disks that ext4@raid5 takes"]);
    refused(&["--fs", "ext4@cache", "--disk", "hdd+ram"], &["a disk in memory and one with a model"]);
    refused(&["--fs", "ext4@cache", "--disk", "hdd+sdd"], &["no disk named \"sdd\"", "did you mean ssd or hdd?"]);
    refused(&["--fs", "ext4@cache", "--disk", "hdd+ssd", "--if", "flush=0"], &["--if", "hdd:seek=0.5+ssd"]);
}

/// A file that is durable, and then one that shares stripes with it and with what describes it.
const SHARED_STRIPES: &str = "creat a; write a 0+65536; fsync a | creat b; write b 0+4096; fsync b";

fn crash(lab: &Lab, fs: &str, device: &str) -> Ran {
    let effort = ["--images", "4", "--recoveries", "0", "--budget", "100s", "--no-shrink", "--jobs", "1"];
    lab.command(&[&["crash", "--fs", fs, "--workload", SHARED_STRIPES, "--device", device], &effort[..]].concat())
}

#[test]
fn parity_that_a_power_cut_left_behind_is_found_when_a_disk_is_gone() {
    let name = "parity_that_a_power_cut_left_behind_is_found_when_a_disk_is_gone";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let found = crash(&lab, "ext4@raid5", "sector+i11:0").ended_with(1).stdout;
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["With all its disks the same image is right", "This is the write hole", "--device sector+i11:0"] {
        assert!(found.contains(part), "{part}:\n{found}");
    }
}

#[test]
#[ignore = "minutes: `make nightly`"]
fn what_keeps_its_promises_on_one_disk_keeps_them_on_layers() {
    let Some(lab) = Lab::with_guests("what_keeps_its_promises_on_one_disk_keeps_them_on_layers", 1) else { return };
    for (fs, device) in [
        // A log of partial parity closes the write hole.
        ("ext4@raid5:policy=ppl", "sector+i11:each"),
        ("ext4@raid1", "sector+i11:each"),
        ("ext4@luks", "sector"),
        ("xfs@lvm:stripes=2", "sector"),
        ("ext4@integrity", "sector"),
        ("overlay", "request"),
        ("gocryptfs", "request"),
    ] {
        let said = crash(&lab, fs, device).ended_with(0).stdout;
        assert!(said.contains("No promise was broken in these images"), "{fs}:\n{said}");
    }
}
