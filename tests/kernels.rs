//! The guest's kernel: two releases by name, one by path, one that does not exist.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::lab::{Lab, Results, assert_equal_figures};

const TASKS: &str = r#"
[[task]]
id = "work"
title = "write, list, remove"
run = "mkdir folder && dd if=/dev/zero of=folder/file bs=64k count=8 && find . && rm -r folder"
"#;

const FS: &str = "ext4,xfs,btrfs";

fn run(lab: &Lab, fs: &str, kernel: &str) -> Results {
    let suite = lab.suite("kernels", TASKS);
    lab.run(&["--fs", fs, "--suite", &suite, "--repeat", "1", "--kernel", kernel]).ended_with(0).results()
}

fn assert_ran(results: &Results, fs: &str, release: &str) {
    for name in fs.split(',') {
        results.is_ok(name, &["mkfs", "mount", "work", "umount", "fsck"]);
        let kernel = results.cell(name)["environment"]["kernel"].as_str().unwrap();
        assert!(kernel.starts_with(release), "{name} ran on {kernel}, not on {release}");
    }
}

/// The entry of a folder whose name begins so; of several the largest, since small ones describe the others.
fn beginning(folder: &Path, start: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten();
    let names = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let found = entries.filter(|entry| names(entry).starts_with(start));
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |data| data.len());
    found.map(|entry| entry.path()).max_by_key(size).unwrap_or_else(|| panic!("no {start}* in {}", folder.display()))
}

/// What the user's cache has of a Debian kernel that was run before.
struct Files {
    release: String,
    vmlinuz: PathBuf,
    vmlinux: PathBuf,
    modules: PathBuf,
}

impl Files {
    fn of(version: &str) -> Files {
        let cache = mountmark_lab::cache::default_folder();
        let package = beginning(&cache.join("packages"), &format!("linux-image-{version}"));
        let vmlinuz = beginning(&package.join("boot"), "vmlinuz-");
        let release = vmlinuz.file_name().unwrap().to_string_lossy().trim_start_matches("vmlinuz-").to_owned();
        let vmlinux = beginning(&cache.join("kernels"), &format!("vmlinux-{release}"));
        let folders = ["lib/modules", "usr/lib/modules"].map(|folder| package.join(folder).join(&release));
        let modules = folders.into_iter().find(|folder| folder.exists()).expect("its modules");
        Files { release, vmlinuz, vmlinux, modules }
    }
}

#[test]
fn both_long_term_kernels_run() {
    let Some(lab) = Lab::with_guests("both_long_term_kernels_run", 2) else { return };
    for kernel in ["6.1", "6.12"] {
        assert_ran(&run(&lab, FS, kernel), FS, &format!("{kernel}."));
    }
}

#[test]
fn a_kernel_given_by_path_is_the_same_kernel() {
    let Some(lab) = Lab::with_guests("a_kernel_given_by_path_is_the_same_kernel", 1) else { return };
    let named = run(&lab, "ext4", "6.12");
    let Files { release, vmlinuz, vmlinux: unpacked, modules } = Files::of("6.12");
    // An uncompressed kernel does not say its release: its name does.
    let vmlinux = lab.path(&format!("vmlinux-{release}"));
    symlink(unpacked, &vmlinux).unwrap();
    for image in [vmlinuz, vmlinux] {
        let by_path = run(&lab, "ext4", &format!("{},{}", image.display(), modules.display()));
        assert_ran(&by_path, "ext4", &release);
        assert_equal_figures(&named, &by_path);
    }
}

#[test]
fn a_kernel_that_is_built_again_in_its_place_is_another_one() {
    let Some(lab) = Lab::with_guests("a_kernel_that_is_built_again_in_its_place_is_another_one", 1) else { return };
    run(&lab, "ext4", "6.12");
    let Files { release, vmlinux: unpacked, modules, .. } = Files::of("6.12");
    let vmlinux = lab.path(&format!("vmlinux-{release}"));
    fs::copy(unpacked, &vmlinux).unwrap();
    let lab = lab.with_new_cache("cache");
    let snapshots = || {
        let entries = fs::read_dir(lab.path("cache/snapshots")).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    };
    let by_path = || {
        let results = run(&lab, "ext4", &format!("{},{}", vmlinux.display(), modules.display()));
        results.cell("ext4")["environment"]["kernel_image"].as_str().unwrap().to_owned()
    };
    let first = by_path();
    assert_eq!(snapshots(), 1);
    // Behind the end of an ELF file nothing is looked at: the same kernel, and another file.
    fs::OpenOptions::new().append(true).open(&vmlinux).unwrap().write_all(b"built again").unwrap();
    let again = by_path();
    assert_ne!(first, again);
    assert_eq!(snapshots(), 2, "what booted is the kernel of before");
}

#[test]
fn kernels_that_are_none_are_refused() {
    let Some(lab) = Lab::with_guests("kernels_that_are_none_are_refused", 1) else { return };
    let suite = lab.suite("kernels", TASKS);
    let refused = |kernel: &str, says: &[&str]| {
        let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--kernel", kernel]);
        assert!([2, 3].contains(&ran.code()), "{}", ran.text());
        ran.says(says);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    };
    refused("9.9", &["9.9", "6.12.", "6.1."]);
    refused("/nowhere/vmlinuz-9.9", &["/nowhere/vmlinuz-9.9"]);
    let text = lab.write("vmlinuz-9.9", "no kernel");
    refused(&text, &["vmlinuz-9.9", "modules"]);
    let modules = lab.path("modules");
    fs::create_dir_all(modules.join("kernel")).unwrap();
    refused(&format!("{text},{}", modules.display()), &["neither an ELF image nor a bzImage"]);
    assert_eq!(lab.temporary_files(), [""; 0]);
}
