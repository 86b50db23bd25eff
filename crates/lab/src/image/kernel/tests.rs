//! Every layout in which builds and distributions leave kernels.

mod made;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::layout::{Modules, images, is_path, split};
use super::*;
use made::{build, bzimage, elf, gzip, ikconfig, install, module, vmlinux, write};

const RELEASE: &str = "6.12.3-own";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn find(&self, wanted: &str) -> Result<Kernel> {
        let cache = self.at("cache");
        Kernel::find(wanted, &Packages::new(&cache), &cache)
    }

    /// The error of a kernel that is refused.
    fn refused(&self, wanted: &str) -> String {
        let error = format!("{:#}", self.find(wanted).expect_err(wanted));
        assert!(!self.at("cache/kernels").exists() || !error.contains("panicked"));
        error
    }
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[track_caller]
fn has_modules(kernel: &Kernel, names: &[&str]) {
    let files = kernel.module_files().unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), names);
}

#[test]
fn paths_are_told_from_debians_names() {
    for name in ["./vmlinux", "/boot/vmlinuz-6.1", "vmlinux", "vmlinux,modules", ".", "linux", "6.1/vmlinux", "./sid"] {
        assert!(is_path(name), "{name}");
    }
    for name in ["", "host", "6.12", "6.1.0-56-amd64", "linux-image-6.1.0-56-amd64", "sid", "trixie:6.12"] {
        assert!(!is_path(name), "{name}");
    }
}

#[test]
fn a_path_may_hold_commas() {
    let place = Place::new();
    let (image, modules) = (place.at("a,b/vmlinux"), place.at("c,d"));
    write(&image, b"");
    fs::create_dir(&modules).unwrap();
    assert_eq!(split(&path(&image)).unwrap(), (image.clone(), None));
    let both = format!("{},{}", image.display(), modules.display());
    assert_eq!(split(&both).unwrap(), (image.clone(), Some(modules)));
    assert_eq!(split("/no/x,/y,z").unwrap(), ("/no/x".into(), Some("/y,z".into())));
    let error = split(&format!("{},", image.display())).unwrap_err().to_string();
    assert!(error.contains("missing behind the comma"), "{error}");
}

#[test]
fn an_image_has_any_name_and_its_modules_any_layout() {
    let place = Place::new();
    for (name, bytes) in [
        ("vmlinux", vmlinux(RELEASE, b"", true)),
        ("my kernel", vmlinux(RELEASE, b"", true)),
        ("bzImage", bzimage(RELEASE, &gzip(&vmlinux(RELEASE, b"", true)))),
        ("zstd", {
            // The build appends the unpacked length.
            let packed = zstd::stream::encode_all(&vmlinux(RELEASE, b"", true)[..], 1).unwrap();
            bzimage(RELEASE, &[packed, vec![0; 4]].concat())
        }),
    ] {
        write(&place.at(name), &bytes);
    }
    install(&place.at("itself"), RELEASE);
    install(&place.at("root/lib/modules").join(RELEASE), RELEASE);
    install(&place.at("root/lib/modules/6.1.0"), "6.1.0");
    install(&place.at("usr-root/usr/lib/modules").join(RELEASE), RELEASE);
    build(&place.at("tree"), RELEASE);
    for image in ["vmlinux", "my kernel", "bzImage", "zstd"] {
        for modules in ["itself", "root", "root/lib/modules", "usr-root", "tree"] {
            let wanted = format!("{},{}", place.at(image).display(), place.at(modules).display());
            let kernel = place.find(&wanted).unwrap_or_else(|error| panic!("{wanted}: {error:#}"));
            assert_eq!(kernel.release, RELEASE);
            has_modules(&kernel, &["nbd", "xfs"]);
            assert_eq!((kernel.has_builtin("ext4"), kernel.has_builtin("jfs")), (Some(true), Some(false)), "{wanted}");
        }
    }
}

#[test]
fn modules_are_found_beside_the_image() {
    for (image, modules) in [
        ("vmlinux", "modules"),
        ("vmlinux", "lib/modules/6.12.3-own"),
        ("boot/vmlinuz", "lib/modules/6.12.3-own"),
        ("lib/modules/6.12.3-own/vmlinuz", "lib/modules/6.12.3-own"),
    ] {
        let place = Place::new();
        write(&place.at(image), &vmlinux(RELEASE, b"", true));
        install(&place.at(modules), RELEASE);
        has_modules(&place.find(&path(&place.at(image))).unwrap(), &["nbd", "xfs"]);
        // Modules of another kernel do not count.
        install(&place.at(modules), "6.1.0");
        assert_eq!(place.find(&path(&place.at(image))).unwrap().modules_folder(), None, "{image}");
    }
}

#[test]
fn a_build_tree_is_a_kernel() {
    let place = Place::new();
    build(&place.at("tree"), RELEASE);
    for wanted in ["tree", "tree/vmlinux", "tree/arch/x86/boot/bzImage"] {
        let kernel = place.find(&path(&place.at(wanted))).unwrap();
        has_modules(&kernel, &["nbd", "xfs"]);
        assert_eq!(kernel.has_builtin("ext4"), Some(true));
        assert!(kernel.config_from().is_some_and(|from| from.ends_with(".config")), "{:?}", kernel.config_from());
    }
    // The configuration was edited after the build.
    write(&place.at("tree/include/config/auto.conf"), b"#\n# Linux/x86 6.12.3 Kernel Configuration\nCONFIG_SYSFS=y\n");
    let kernel = place.find(&path(&place.at("tree"))).unwrap();
    assert!(kernel.config_from().is_some_and(|from| from.ends_with("auto.conf")), "{:?}", kernel.config_from());
    // Without the PVH entry the bzImage is used; without that nothing can start.
    write(&place.at("tree/vmlinux"), &vmlinux(RELEASE, b"", false));
    write(&place.at("tree/arch/x86/boot/bzImage"), &bzimage(RELEASE, &gzip(&vmlinux(RELEASE, b"", false))));
    let kernel = place.find(&path(&place.at("tree"))).unwrap();
    assert_eq!(kernel.image, place.at("tree/arch/x86/boot/bzImage"));
    fs::remove_file(place.at("tree/arch/x86/boot/bzImage")).unwrap();
    let error = format!("{:#}", place.find(&path(&place.at("tree"))).unwrap().check(&[For::All]).unwrap_err());
    assert!(error.contains("CONFIG_PVH") && error.contains("bzImage"), "{error}");
    fs::remove_file(place.at("tree/vmlinux")).unwrap();
    assert!(place.refused(&path(&place.at("tree"))).contains("build it with make"));
    // The last build's release differs from the image's.
    build(&place.at("tree"), RELEASE);
    write(&place.at("tree/include/config/kernel.release"), b"6.12.4-own\n");
    let error = place.refused(&format!("{},{}", place.at("tree/vmlinux").display(), place.at("tree").display()));
    assert!(error.contains("6.12.4-own") && error.contains(RELEASE), "{error}");
}

#[test]
fn a_root_with_one_kernel_is_that_kernel() {
    let place = Place::new();
    write(&place.at("root/boot/vmlinuz-6.12.3-own"), &bzimage(RELEASE, &gzip(&vmlinux(RELEASE, b"", true))));
    write(&place.at("root/boot/vmlinuz-6.12.3-own.old"), b"");
    write(&place.at("root/boot/config-6.12.3-own"), b"CONFIG_DEVMEM=y\n");
    symlink("vmlinuz-6.12.3-own", place.at("root/boot/vmlinuz")).unwrap();
    install(&place.at("root/lib/modules/6.12.3-own"), RELEASE);
    let kernel = place.find(&path(&place.at("root"))).unwrap();
    has_modules(&kernel, &["nbd", "xfs"]);
    assert!(kernel.config_from().is_some_and(|from| from.contains("boot/config-6.12.3-own")));
    write(&place.at("root/boot/vmlinuz-6.1.0"), b"");
    let error = place.refused(&path(&place.at("root")));
    assert!(error.contains("several kernels") && error.contains("vmlinuz-6.1.0"), "{error}");
    fs::create_dir(place.at("empty")).unwrap();
    assert!(place.refused(&path(&place.at("empty"))).contains("holds no kernel"));
    write(&place.at("source/Kconfig"), b"");
    assert!(images(&place.at("source")).unwrap_err().to_string().contains("O=FOLDER"));
}

#[test]
fn updates_come_before_extra_and_extra_before_the_kernels_own() {
    let place = Place::new();
    let folder = place.at("lib/modules/6.12.3-own");
    install(&folder, RELEASE);
    let own = |name: &str| Modules::named(&folder, RELEASE).unwrap().files().unwrap()[name].clone();
    for name in ["weak-updates/nbd.ko", "extra/nbd.ko.xz", "updates/dkms/nbd.ko.zst", "updates/nls-new.ko.gz"] {
        write(&folder.join(name), b"");
    }
    // Other files that a build leaves beside them are no modules.
    write(&folder.join("updates/xfs.ko.debug"), b"");
    symlink("/", folder.join("build")).unwrap();
    write(&folder.join("kernel/a/aaa.ko"), &module(RELEASE));
    assert_eq!(own("nbd"), folder.join("updates/dkms/nbd.ko.zst"));
    assert_eq!(own("nls_new"), folder.join("updates/nls-new.ko.gz"));
    assert_eq!(own("xfs"), folder.join("kernel/fs/xfs/xfs.ko"));
    fs::remove_file(folder.join("updates/dkms/nbd.ko.zst")).unwrap();
    assert_eq!(own("nbd"), folder.join("extra/nbd.ko.xz"));
    fs::remove_file(folder.join("extra/nbd.ko.xz")).unwrap();
    assert_eq!(own("nbd"), folder.join("kernel/drivers/block/nbd.ko"));
    fs::remove_file(folder.join("kernel/drivers/block/nbd.ko")).unwrap();
    assert_eq!(own("nbd"), folder.join("weak-updates/nbd.ko"));
}

#[test]
fn modules_of_another_kernel_are_named() {
    let place = Place::new();
    write(&place.at("vmlinux"), &vmlinux(RELEASE, b"", true));
    install(&place.at("root/lib/modules/6.1.0"), "6.1.0");
    install(&place.at("itself"), "6.1.0");
    fs::create_dir(place.at("empty")).unwrap();
    let refused = |modules: &str| place.refused(&format!("{},{modules}", place.at("vmlinux").display()));
    let error = refused(&path(&place.at("root")));
    assert!(error.contains("those of 6.1.0") && error.contains(RELEASE), "{error}");
    let error = refused(&path(&place.at("itself")));
    assert!(error.contains("built for kernel 6.1.0") && error.contains(RELEASE), "{error}");
    assert!(refused(&path(&place.at("empty"))).contains("INSTALL_MOD_PATH"));
    assert!(refused("~/modules").contains("does not expand a ~"));
    // A needed module, not the first of them, is from an earlier build.
    install(&place.at("mixed"), RELEASE);
    write(&place.at("mixed/updates/zzz.ko"), &module("6.12.2-own"));
    let kernel = place.find(&format!("{},{}", place.at("vmlinux").display(), place.at("mixed").display()));
    let Err(error) = super::super::modules::ModuleTree::open(&kernel.unwrap()).unwrap().resolve(&["zzz".into()]) else {
        panic!("a module of another kernel is loaded")
    };
    assert!(error.to_string().contains("6.12.2-own"), "{error}");
}

#[test]
fn a_configuration_is_read_from_the_image() {
    let place = Place::new();
    let config = "CONFIG_DEVMEM=y\nCONFIG_BLK_DEV_NBD=m\n# CONFIG_XFS_FS is not set\nCONFIG_EXT4_FS=y\nCONFIG_HZ=250\n";
    let image = vmlinux(RELEASE, &[b"IKCFG_ST and then not\0".to_vec(), ikconfig(config)].concat(), true);
    write(&place.at("vmlinux"), &image);
    write(&place.at("vmlinuz"), &bzimage(RELEASE, &gzip(&image)));
    // The configuration beside it may be of a later build.
    write(&place.at(".config"), b"# Linux/x86 6.12.3 Kernel Configuration\nCONFIG_XFS_FS=y\n");
    for name in ["vmlinux", "vmlinuz"] {
        let kernel = place.find(&path(&place.at(name))).unwrap();
        assert_eq!(kernel.config_from(), Some("the image itself"));
        let builtin = |module: &str| kernel.has_builtin(module);
        assert_eq!((builtin("ext4"), builtin("xfs"), builtin("nbd")), (Some(true), Some(false), Some(false)));
        // The configuration does not mention these, so the guest tries.
        assert_eq!((builtin("jfs"), builtin("zfs")), (None, None));
        let lacking: Vec<_> = kernel.lacking().iter().map(|need| need.option).collect();
        assert!(lacking.contains(&"UNIX") && lacking.contains(&"X86_IOPL_IOPERM"), "{lacking:?}");
        assert!(!lacking.contains(&"DEVMEM") && !lacking.contains(&"BLK_DEV_NBD"), "{lacking:?}");
        let error = kernel.check(&[For::Modelled]).unwrap_err().to_string();
        assert!(error.contains("CONFIG_UNIX") && error.contains("the image itself"), "{error}");
        assert!(!error.contains("CONFIG_SYSFS"), "{error}");
    }
    let lacks_debug_fs = |config: &str| {
        write(&place.at("btt"), &vmlinux(RELEASE, &ikconfig(config), true));
        place.find(&path(&place.at("btt"))).unwrap().lacking().iter().any(|need| need.option == "DEBUG_FS")
    };
    assert!(lacks_debug_fs("CONFIG_ND_BTT=m\n") && !lacks_debug_fs("CONFIG_ND_BTT=y\n"));
    assert!(!lacks_debug_fs("CONFIG_ND_BTT=m\nCONFIG_DEBUG_FS=y\n"));
    // Without one nothing is known.
    write(&place.at("vmlinux"), &vmlinux(RELEASE, b"", true));
    fs::remove_file(place.at(".config")).unwrap();
    let kernel = place.find(&path(&place.at("vmlinux"))).unwrap();
    assert_eq!((kernel.config_from(), kernel.lacking().len(), kernel.has_builtin("xfs")), (None, 0, None));
    // A configuration of another version belongs to another kernel.
    write(&place.at(".config"), b"# Linux/x86 6.12.30 Kernel Configuration\nCONFIG_XFS_FS=y\n");
    assert_eq!(place.find(&path(&place.at("vmlinux"))).unwrap().config_from(), None);
}

#[test]
fn what_is_no_kernel_is_refused_with_its_name() {
    let place = Place::new();
    let sound = vmlinux(RELEASE, b"", true);
    let packed = gzip(&sound);
    let other = |class: usize, machine: u8| {
        let mut elf = sound.clone();
        (elf[4], elf[18]) = (class as u8, machine);
        elf
    };
    let mut random: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    random[0] = 1;
    let mut flipped = bzimage(RELEASE, &packed);
    let middle = flipped.len() - 30;
    flipped[middle] ^= 0xff;
    let mut beyond = bzimage(RELEASE, &packed);
    beyond[0x248..0x24c].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut small = bzimage(RELEASE, &packed);
    small[0x236] = 0;
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", vec![], "it is empty"),
        ("text", b"#!/bin/sh\necho no kernel\n".to_vec(), "neither an ELF image"),
        ("random", random, "neither an ELF image"),
        ("header", sound[..40].to_vec(), "damaged or cut short"),
        ("elf alone", b"\x7fELF".to_vec(), "damaged or cut short"),
        ("32-bit", other(1, 3), "a guest can boot"),
        ("arm64", other(2, 183), "another processor"),
        ("silent", elf(".rodata", b"no message", true), "nothing in it tells its release"),
        ("flipped", flipped, "damaged"),
        ("beyond", beyond, "cut short"),
        ("half", bzimage(RELEASE, &packed)[..1100].to_vec(), "cut short"),
        ("32-bit bzImage", small, "another processor"),
        ("strange packing", bzimage(RELEASE, b"no packing at all"), "damaged"),
        ("no elf", bzimage(RELEASE, &gzip(b"a text")), "damaged"),
        ("no release", bzimage("", &packed), "damaged"),
        ("a release that climbs", bzimage("6.1/../../x", &packed), "damaged"),
    ];
    for (name, bytes, says) in cases {
        write(&place.at(name), &bytes);
        let error = place.refused(&path(&place.at(name)));
        assert!(error.contains(says) && error.contains(name), "{name}: {error}");
    }
    // Neither blocks, and neither is read for ever.
    let fifo = std::ffi::CString::new(path(&place.at("fifo"))).unwrap();
    // SAFETY: a path that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    assert!(place.refused(&path(&place.at("fifo"))).contains("neither a file nor a folder"));
    assert!(place.refused("/dev/zero").contains("neither a file nor a folder"));
    let error = place.refused("/nowhere/vmlinux");
    assert!(error.contains("/nowhere/vmlinux") && error.contains("6.12"), "{error}");
    // Truncated anywhere, it is refused or it is a kernel, and nothing panics.
    for end in (0..sound.len()).step_by(7) {
        write(&place.at("cut"), &sound[..end]);
        let _ = place.find(&path(&place.at("cut")));
    }
}

#[test]
fn a_packing_that_is_not_undone_here_is_left_to_the_kernel() {
    let place = Place::new();
    let image = place.at("bzImage");
    write(&image, &bzimage(RELEASE, b"\x02\x21\x4c\x18 lz4"));
    let kernel = place.find(&path(&image)).unwrap();
    assert_eq!((kernel.image, kernel.release.as_str()), (image, RELEASE));
}

#[test]
fn a_damaged_image_in_the_cache_is_made_again() {
    let place = Place::new();
    let sound = vmlinux(RELEASE, b"", true);
    write(&place.at("vmlinuz"), &bzimage(RELEASE, &gzip(&sound)));
    let find = || place.find(&path(&place.at("vmlinuz"))).unwrap().image;
    let kept = find();
    assert_eq!(fs::read(&kept).unwrap(), sound);
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let first = inode(&kept);
    assert_eq!((find(), inode(&kept)), (kept.clone(), first), "it was written again");
    // One wrong byte, same length.
    let mut damaged = sound.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&kept, &damaged).unwrap();
    assert_eq!(fs::read(find()).unwrap(), sound);
    fs::write(&kept, &sound[..middle]).unwrap();
    assert_eq!(fs::read(find()).unwrap(), sound);
    // An invalid note.
    fs::write(kept.with_file_name(format!("{}.sha256", kept.file_name().unwrap().to_str().unwrap())), "?").unwrap();
    assert_eq!(fs::read(find()).unwrap(), sound);
}
