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

/// The entry of a folder with this prefix; of several the largest, since small ones describe the others.
fn beginning(folder: &Path, start: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten();
    let names = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let found = entries.filter(|entry| names(entry).starts_with(start));
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |data| data.len());
    found.map(|entry| entry.path()).max_by_key(size).unwrap_or_else(|| panic!("no {start}* in {}", folder.display()))
}

/// Files in the user's cache of a Debian kernel that was run before.
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
    // Nearly all other tests are on 6.12.
    assert_ran(&run(&lab, FS, "6.1"), FS, "6.1.");
}

/// A kernel of another suite of Debian, without a change to this machine's sources.
#[test]
#[ignore = "fetches 150 MB of what Debian has today: make nightly"]
fn a_kernel_of_another_suite_runs() {
    let Some(lab) = Lab::with_guests("a_kernel_of_another_suite_runs", 2) else { return };
    let results = run(&lab, "ext4,btrfs", "sid");
    let kernel = results.cell("ext4")["environment"]["kernel"].as_str().unwrap().to_owned();
    let release = kernel.split(' ').next().unwrap();
    assert_ran(&results, "ext4,btrfs", release);
    assert!(!release.starts_with("6."), "{kernel} is no newer than those of the other tests");
    let known = lab.command(&["list", "kernels"]).ended_with(0).stdout;
    let line = known.lines().find(|line| line.starts_with(release)).unwrap_or_else(|| panic!("{known}"));
    assert!(line.contains("Debian's sid, in the cache"), "{known}");
    assert_equal_figures(&results, &run(&lab, "ext4,btrfs", release));
    lab.run(&["--fs", "ext4", "--kernel", "sid:2.6"])
        .ended_with(3)
        .says(&["no Debian kernel", "the package lists have"]);
}

/// A folder with the same files as another, in folders of its own.
fn link_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => link_tree(&path, &target),
            // Hard links do not work across file systems.
            kind if kind.is_file() => {
                fs::hard_link(&path, &target).or_else(|_| fs::copy(&path, &target).map(drop)).unwrap()
            }
            _ => {}
        }
    }
}

#[test]
fn a_kernel_given_by_path_is_the_same_kernel() {
    let Some(lab) = Lab::with_guests("a_kernel_given_by_path_is_the_same_kernel", 1) else { return };
    let named = run(&lab, "ext4", "6.12");
    let Files { release, vmlinuz, vmlinux: unpacked, modules } = Files::of("6.12");
    let vmlinux = lab.path("vmlinux");
    fs::copy(unpacked, &vmlinux).unwrap();
    // Beside the image, where it is found by default; below an INSTALL_MOD_PATH; and all in a build tree.
    symlink(&modules, lab.path("modules")).unwrap();
    fs::create_dir_all(lab.path("root/lib/modules")).unwrap();
    symlink(&modules, lab.path("root/lib/modules").join(&release)).unwrap();
    let moved = lab.path("moved/lib/modules").join(&release);
    link_tree(&modules.join("kernel"), &moved.join("updates"));
    fs::copy(modules.join("modules.builtin"), moved.join("modules.builtin")).unwrap();
    let at = |path: &Path| path.display().to_string();
    let with = |image: &Path, modules: &str| format!("{},{}", at(image), at(&lab.path(modules)));
    for kernel in [
        format!("{},{}", at(&vmlinuz), at(&modules)),
        at(&vmlinux),
        with(&vmlinux, "modules"),
        with(&vmlinux, "root"),
        with(&vmlinux, "moved"),
    ] {
        let by_path = run(&lab, "ext4", &kernel);
        assert_ran(&by_path, "ext4", &release);
        assert_equal_figures(&named, &by_path);
    }
}

#[test]
fn a_kernel_without_what_guests_need_is_refused_at_once() {
    let Some(lab) = Lab::with_guests("a_kernel_without_what_guests_need_is_refused_at_once", 1) else { return };
    let suite = lab.suite("kernels", TASKS);
    // Fetches it if the cache is empty.
    run(&lab, "ext4", "6.12");
    let Files { release, vmlinux: unpacked, modules, vmlinuz } = Files::of("6.12");
    let vmlinux = lab.path("vmlinux");
    symlink(unpacked, &vmlinux).unwrap();
    let kernel = format!("{},{}", vmlinux.display(), modules.display());
    let whole = fs::read_to_string(vmlinuz.with_file_name(format!("config-{release}"))).unwrap();
    let without = |options: &[&str]| {
        let is_left_out = |line: &&str| options.iter().any(|option| line.starts_with(&format!("CONFIG_{option}=")));
        let text: Vec<_> = whole.lines().filter(|line| !is_left_out(line)).collect();
        lab.write(&format!("config-{release}"), &text.join("\n"))
    };
    let run = |disk: &str| lab.run(&["--fs", "ext4", "--suite", &suite, "--disk", disk, "--kernel", &kernel]);
    let doctor = || lab.command(&["doctor", "--kernel", &kernel, "--out", &lab.out().to_string_lossy()]);

    let config = without(&["DEVMEM", "BLK_DEV_PMEM"]);
    let devmem = "CONFIG_DEVMEM: disks and corpora are memory of the guest that lies beyond the kernel's own";
    run("ssd").ended_with(3).says(&[devmem, &config, &release]);
    run("ram").ended_with(3).says(&["CONFIG_BLK_DEV_PMEM (which needs CONFIG_LIBNVDIMM): the driver of the disk ram"]);
    let told = doctor().ended_with(3).stdout;
    assert!(told.contains(devmem) && told.contains("for the disk ram: CONFIG_BLK_DEV_PMEM"), "{told}");

    without(&["DEVTMPFS", "AIO"]);
    run("ram").ended_with(3).says(&["CONFIG_DEVTMPFS: disks appear in /dev"]);
    let told = doctor().ended_with(3).stdout;
    assert!(told.contains("for every guest: CONFIG_DEVTMPFS") && told.contains("CONFIG_AIO"), "{told}");
    assert!(told.contains("not tried"), "a guest was booted: {told}");
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
    // Data after the end of an ELF file is ignored: the same kernel, but another file.
    fs::OpenOptions::new().append(true).open(&vmlinux).unwrap().write_all(b"built again").unwrap();
    let again = by_path();
    assert_ne!(first, again);
    assert_eq!(snapshots(), 2, "what booted is the kernel of before");
}

#[test]
fn kernels_that_are_none_are_refused() {
    let lab = Lab::without_guests();
    let suite = lab.suite("kernels", TASKS);
    let refused = |kernel: &str, says: &[&str]| {
        let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--kernel", kernel]);
        assert!([2, 3].contains(&ran.code()), "{}", ran.text());
        ran.says(says);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    };
    refused("9.9", &["9.9", "6.12.", "6.1."]);
    let text = lab.write("vmlinuz-9.9", "no kernel");
    let folder = lab.path("nothing").to_string_lossy().into_owned();
    fs::create_dir(&folder).unwrap();
    for (kernel, says) in [
        ("/nowhere/vmlinuz-9.9", "there is no kernel /nowhere/vmlinuz-9.9"),
        ("vmlinuz-9.9", "there is no kernel vmlinuz-9.9"),
        (&text, "neither an ELF image (vmlinux) nor a bzImage (vmlinuz)"),
        (&folder, "holds no kernel"),
        ("/dev/zero", "neither a file nor a folder"),
    ] {
        refused(kernel, &[says, kernel]);
        // The cache has no fault.
        let told = lab.command(&["doctor", "--kernel", kernel]).ended_with(3).stdout;
        assert!(told.contains(says) && !told.contains("rm -r"), "{told}");
    }
    assert_eq!(lab.temporary_files(), [""; 0]);
}
