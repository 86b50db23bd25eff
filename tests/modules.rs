//! File systems that are in no kernel: their modules are built from a Debian package of their source, for the guests' kernel.

use std::fs;

use crate::lab::{Lab, assert_equal_figures};

/// APFS, which nothing of this program knows: one file in the user's catalogue, with a module of Debian's.
const APFS: &str = r#"
name = "apfs"
about = "Apple's file system, written by a module of nobody's kernel"
mount_type = "apfs"
modules = ["?libcrc32c", "apfs"]
module_source = "apfs-dkms"
packages = ["apfsprogs"]
mkfs = ["mkapfs", "{options}", "{device}"]
mount_options = ["readwrite"]
min_size = "64 MiB"
no_fsck = "Debian's apfsck is an experiment."
"#;
const TASK: &str = r#"
[[task]]
id = "write"
title = "write a file"
prepare = "head -c 1048576 /dev/urandom > /tmp/reference"
run = "cp /tmp/reference file && sync"

[[task]]
id = "read"
title = "read it from the disk"
cold = true
run = "cmp /tmp/reference file"
"#;

/// A lab with APFS in its user's catalogue.
fn lab(test: &str) -> Option<Lab> {
    let lab = Lab::with_guests(test, 1)?;
    let folder = lab.path("config/mountmark/catalog/filesystems");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("apfs.toml"), APFS).unwrap();
    Some(lab)
}

#[test]
#[ignore = "fetches a compiler and builds a module: make nightly"]
fn anybodys_module_is_built_loaded_and_mounted_and_one_that_does_not_build_is_told() {
    let test = "anybodys_module_is_built_loaded_and_mounted_and_one_that_does_not_build_is_told";
    let Some(lab) = lab(test) else { return };
    let suite = lab.suite("tiny", TASK);
    // Debian 12's source of APFS is of its own kernel's time.
    let asked = ["--fs", "apfs,ext4", "--kernel", "6.1", "--suite", &suite, "--repeat", "1"];
    let results = lab.run(&asked).results();
    for name in ["apfs", "ext4"] {
        results.is_ok(name, &["mkfs", "write", "read"]);
    }
    let packages = &results.cell("apfs")["environment"]["packages"];
    assert!(packages["apfs-dkms"].is_string() && packages["gcc-12"].is_string(), "{packages}");
    assert_equal_figures(&results, &lab.run(&asked).results());
    // For a newer kernel it does not build: this one is left out, and says why; the next run says so at once.
    for _ in 0..2 {
        let ran = lab.run(&["--fs", "apfs,ext4", "--suite", &suite, "--repeat", "1"]);
        ran.says(&["apfs-dkms does not build for kernel 6.12", "error: ", ".log"]);
        ran.results().is_ok("ext4", &["write"]);
    }
}

#[test]
#[ignore = "builds a module for minutes: make nightly"]
fn zfs_is_built_made_mounted_used_and_repeats() {
    let Some(lab) = Lab::with_guests("zfs_is_built_made_mounted_used_and_repeats", 2) else { return };
    let suite = lab.suite("tiny", TASK);
    let asked = ["--fs", "zfs,zfs:mirror,zfs:raidz1,ext4", "--suite", &suite, "--repeat", "1"];
    let first = lab.run(&asked).results();
    for name in ["zfs", "zfs:mirror", "zfs:raidz1", "ext4"] {
        first.is_ok(name, &["mkfs", "write", "read"]);
    }
    assert_equal_figures(&first, &lab.run(&asked).results());
}
