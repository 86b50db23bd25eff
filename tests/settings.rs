//! Commands that change settings of the kernel, of the disk or of a mount: each is refused, or ends its cell, or its campaign
//! judges nothing. What puts back what it set is none of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::crash_apps::shows;
use crate::lab::{Lab, outcome};

/// Commands that must find a file or folder read-only.
const REFUSED: [&str; 28] = [
    "echo 3 > /proc/sys/vm/drop_caches",
    "echo 5 > /proc/sys/vm/dirty_ratio",
    "echo 100000 > /proc/sys/vm/dirty_background_bytes",
    "echo 100 > /proc/sys/vm/dirty_expire_centisecs",
    "echo 100 > /proc/sys/vm/dirty_writeback_centisecs",
    "echo 500 > /proc/sys/vm/vfs_cache_pressure",
    "echo x > /proc/sys/kernel/core_pattern",
    "echo 1 4 1 7 > /proc/sys/kernel/printk",
    "echo 100 > /proc/sys/fs/aio-max-nr",
    "echo s > /proc/sysrq-trigger",
    "echo write through > /sys/block/nbd0/queue/write_cache",
    "echo none > /sys/block/nbd0/queue/scheduler",
    "echo 0 > /sys/block/nbd0/queue/iostats",
    "echo 0 > /sys/block/nbd0/queue/read_ahead_kb",
    "echo 4 > /sys/block/nbd0/queue/nr_requests",
    "echo 4 > /sys/block/nbd0/queue/max_sectors_kb",
    "echo 0 > /sys/block/nbd0/queue/rotational",
    "echo 2 > /sys/block/nbd0/queue/nomerges",
    "echo write through > /sys/class/block/nbd0/queue/write_cache",
    "echo 0 > /sys/block/nbd0/bdi/read_ahead_kb",
    "echo 1 > /sys/block/nbd0/bdi/max_ratio",
    "echo 1 > /sys/fs/ext4/nbd0/mb_group_prealloc",
    "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
    "echo 0 > /sys/module/nbd/parameters/nbds_max",
    "echo 0 > /sys/module/workqueue/parameters/power_efficient",
    "chmod 666 /sys/block/nbd0/queue/write_cache",
    "mkdir /sys/kernel/mine",
    "rm /proc/sys/vm/dirty_ratio",
];

/// What has those commands refused, and counts them.
fn refused() -> String {
    let mut script = "n=0; try() { if (eval \"$1\") 2> /tmp/said; then echo \"not refused: $1\" >&2; exit 1; fi; \
                      grep -q 'Read-only file system' /tmp/said || { echo \"$1\" >&2; cat /tmp/said >&2; exit 1; }; n=$((n + 1)); }\n"
        .to_owned();
    for command in REFUSED {
        let _ = writeln!(script, "try \"{command}\"");
    }
    script + &format!("test $n -eq {}\n", REFUSED.len())
}

/// Commands that get past that, and what the sentence must say; nothing if the cell must not fail. A sentence names three
/// settings, so that so many are changed in one cell.
const CHANGED: [(&str, &[&str]); 10] = [
    (
        // What is put back, or ends with the command.
        "mount -o remount,nobarrier $TEST && touch b && mount -o remount,barrier $TEST && \
         echo write through > $Q/write_cache && touch b && echo write back > $Q/write_cache && \
         mount -o remount,bind,noatime $TEST && mkdir d && mount -t tmpfs none d && touch d/b && \
         head -c 1M /dev/zero > s && chmod 600 s && mkswap s && swapon $TEST/s && swapoff $TEST/s && \
         mount -o remount,ro $TEST && mount -o remount,rw $TEST && touch b",
        &[],
    ),
    // What is not.
    (
        "echo write through > $Q/write_cache; blockdev --setra 64 /dev/nbd0; blockdev --setro /dev/nbd0",
        &[
            "queue/write_cache was `write back` and is `write through`",
            "read_ahead_kb was `",
            "is `32`",
            "/ro was `0` and is `1`",
        ],
    ),
    (
        "echo none > $Q/scheduler; echo 0 > $Q/iostats; echo 4 > $Q/nr_requests",
        &["queue/scheduler was `", "[none]", "queue/iostats was `1` and is `0`", "queue/nr_requests was `"],
    ),
    (
        "echo 64 > $Q/max_sectors_kb; echo 0 > $Q/rotational; echo 2 > $Q/nomerges",
        &["queue/max_sectors_kb was `", "queue/nomerges was `0` and is `2`", "rotational was `1`"],
    ),
    (
        "echo 5 > /proc/sys/vm/dirty_ratio; echo x > /proc/sys/kernel/core_pattern; \
         mkdir /tmp/s; mount -t sysfs none /tmp/s; echo 77 > /tmp/s/block/nbd0/queue/read_ahead_kb",
        &["/proc/sys/vm/dirty_ratio was `", "is `5`", "core_pattern was `core` and is `x`", "read_ahead_kb"],
    ),
    (
        "echo never > /sys/kernel/mm/transparent_hugepage/enabled; \
         mkdir /tmp/p; mount -t proc none /tmp/p; echo 77 > /tmp/p/sys/vm/dirty_expire_centisecs",
        &["transparent_hugepage/enabled was `", "[never]", "is `77`"],
    ),
    ("mount -o remount,nobarrier $TEST", &["the mount option at ", "nobarrier"]),
    (
        "mount -o remount,commit=1 $TEST; mount -o remount,size=1M /tmp",
        &["the mount option at ", "commit=1", "the mount option at /tmp was nothing", "size=1024k"],
    ),
    ("tune2fs -o nobarrier /dev/nbd0", &["after the remount before task after", "nobarrier"]),
    (
        "head -c 1M /dev/zero > s && chmod 600 s && mkswap s && swapon $TEST/s",
        &["swap was nothing and is `", "/s file 1"],
    ),
];
/// The number of the first case.
const FIRST: usize = 1000;

#[test]
fn settings_are_refused_or_a_change_ends_the_cell() {
    let Some(lab) = Lab::with_guests("settings_are_refused_or_a_change_ends_the_cell", 2) else { return };
    let mut script =
        "Q=/sys/block/nbd0/queue; for at in /sys /proc/sys; do mount -o remount,bind,rw $at; done\ncase $CASE in\n"
            .to_owned();
    for (number, (command, _)) in (FIRST..).zip(CHANGED) {
        let _ = writeln!(script, "{number}) {command};;");
    }
    let suite = format!(
        "name = \"settings\"\nabout = \"settings\"\nroom = \"16 MiB\"\n\
         packages = [\"util-linux\", \"e2fsprogs\"]\ntools = [\"swapoff\", \"mkswap\", \"swapon\", \"blockdev\", \"tune2fs\"]\n\
         [parameters.CASE]\nvalue = {FIRST}\nfixed = true\n\
         [[task]]\nid = \"refused\"\ntitle = \"refused\"\nrun = '''[ $CASE = {FIRST} ] || exit 0\n{}'''\n\
         [[task]]\nid = \"sets\"\ntitle = \"sets {{CASE}}\"\nrun = '''{script}esac'''\n\
         [[task]]\nid = \"after\"\ntitle = \"after\"\ncold = true\nrun = \"true\"\n",
        refused()
    );
    let suite = lab.write("settings.toml", &suite);
    let last = FIRST + CHANGED.len() - 1;
    let vary = format!("CASE={FIRST}..{last}:{}", CHANGED.len());
    let results = lab
        .run(&["--fs", "ext4", "--suite", &suite, "--disk", "hdd", "--repeat", "1", "--vary", &vary])
        .ended_with(1)
        .results();
    let mut cells = BTreeMap::new();
    for cell in results.cells() {
        let tasks = cell["tasks"].as_array().unwrap();
        let name = tasks.iter().find_map(|ended| ended["task"].as_str()?.strip_prefix("refused@")).unwrap();
        let refused = tasks.iter().find(|ended| ended["task"] == format!("refused@{name}")).unwrap();
        assert_eq!(outcome(refused).0, "ok", "{:?}", outcome(refused));
        cells.insert(name.parse::<usize>().unwrap(), cell);
    }
    assert_eq!(cells.len(), CHANGED.len());
    let mut wrong = String::new();
    for (number, (command, says)) in (FIRST..).zip(CHANGED) {
        let (word, reason, _) = outcome(cells[&number]);
        let ended: Vec<_> = cells[&number]["tasks"].as_array().unwrap().iter().map(outcome).collect();
        let is_right = match says {
            [] => word == "ok" && ended.iter().all(|ended| ended.0 != "failed"),
            says => {
                word == "failed"
                    && reason.contains("a setting is another: ")
                    && says.iter().all(|text| reason.contains(text))
            }
        };
        if !is_right {
            let _ = writeln!(wrong, "{command}: {word}: {reason}: {ended:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn an_application_cannot_forge_a_finding_by_settings() {
    let Some(lab) = Lab::with_guests("an_application_cannot_forge_a_finding_by_settings", 1) else { return };
    // Without a right to mount, nothing gets past the refusal.
    let step = format!(
        "for at in /sys /proc/sys; do ! mount -o remount,bind,rw $at || exit 1; done\n\
         ! mount -t sysfs none /tmp || exit 1\n{}\necho $STEP > file; sync",
        refused()
    );
    let text = format!(
        "name = \"settings\"\ntitle = \"One\"\nabout = \"One\"\nsteps = [{}]\n\
         check = 'test $RETURNED -eq 0 || test -s file'\n",
        Value::from(step)
    );
    let path = lab.path("settings.toml");
    fs::write(&path, text).unwrap();
    let app = path.to_str().unwrap();
    let ran = lab.command(&["crash", "--fs", "ext4", "--device", "request", "--recoveries", "0", "--app", app]);
    shows(&ran.ended_with(0), &["No promise was broken"]);
}
