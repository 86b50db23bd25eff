//! Cold caches on a disk without counters, and on the second disk.

use crate::lab::Lab;
use crate::tasks::{LIST, NAME, NAME_BYTES};

/// On the disk `ram` the kernel counts nothing by default.
const COUNTS: &str = "prepare = \"mount -o remount,bind,rw /sys; echo 1 > /sys/block/pmem0/queue/iostats\"\n\
                      cleanup = \"mount -o remount,bind,rw /sys; echo 0 > /sys/block/pmem0/queue/iostats\"\n";

#[test]
fn cold_is_cold_in_memory() {
    let Some(lab) = Lab::with_guests("cold_is_cold_in_memory", 2) else { return };
    let suite = lab.suite("ram", &format!("{NAME}{LIST}{COUNTS}"));
    let results = lab.run(&["--fs", "udf,reiserfs", "--suite", &suite, "--disk", "ram", "--repeat", "1"]).results();
    for name in ["udf", "reiserfs"] {
        results.is_ok(name, &["list", "umount"]);
        let read = results.value(name, "list", "read_bytes");
        assert!(read >= NAME_BYTES, "{name}: {read} bytes were read of longer names");
    }
}

/// The tasks check reads of the second disk themselves, as records cover only the disk under test: at least as many
/// sectors as the names fill.
const SECOND_DISK: &str = r#"
source = "tree"

[[task]]
id = "first"
title = "list what was laid out"
run = """SCRIPT"""

[[task]]
id = "again"
title = "list it again"
cold = true
run = """SCRIPT"""
"#;
const LIST_AND_COUNT: &str = r#"
set -e
read -r _ _ before _ < /sys/block/nbd1/stat
test $(ls -lR $SOURCE/tree | grep -c a-name) = 400
read -r _ _ after _ < /sys/block/nbd1/stat
echo $((after - before)) sectors >&2
test $((after - before)) -ge $((400 * 54 / 512))
"#;

#[test]
fn nothing_of_the_second_disk_is_cached() {
    let Some(lab) = Lab::with_guests("nothing_of_the_second_disk_is_cached", 1) else { return };
    let suite = lab.suite("second", &SECOND_DISK.replace("SCRIPT", LIST_AND_COUNT));
    let corpus = lab.path("corpus");
    std::fs::create_dir(&corpus).unwrap();
    for number in 1001..=1400 {
        let name = format!("corpus/a-name-of-which-the-disk-must-hold-each-character-{number}");
        std::fs::File::create(lab.path(&name)).unwrap();
    }
    let corpus = corpus.to_string_lossy();
    let results = lab.run(&["--fs", "ext2", "--suite", &suite, "--corpus", &corpus, "--repeat", "1"]).results();
    results.is_ok("ext2", &["first", "again"]);
}
