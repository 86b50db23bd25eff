use super::*;
use crate::{FileSystem, Fsck, Recovery, Variant};

fn filesystem(mkfs: &[&str]) -> FileSystem {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let text = "name = 'x'\nabout = 'x'\nmount_type = 'x'\nmodules = []\nmin_size = '1 MiB'";
    FileSystem { mkfs: list(mkfs), ..toml::from_str(text).unwrap() }
}

fn with(program: &str, mkfs: &str, mount: &str) -> Configuration {
    let words = |text: &str, at: char| text.split(at).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    Configuration {
        name: "x".into(),
        filesystem: filesystem(&[program, "{options}", "{device}"]),
        mkfs_options: words(mkfs, ' '),
        mount_options: words(mount, ','),
        layers: Vec::new(),
        own_disks: None,
        below: None,
    }
}

fn refused(configuration: &Configuration, word: &str) {
    let reason = foreign(configuration).unwrap_or_else(|| panic!("{configuration:?} is accepted"));
    assert!(reason.contains(word) && reason.contains("leave it away"), "{reason}");
}

#[test]
fn settings_stay() {
    for (program, mkfs) in [
        ("mkfs.ext4", "-O ^has_journal,^metadata_csum"),
        (
            "mkfs.ext4",
            "-Onone,extents -I256 -m0 -E lazy_itable_init=0,root_owner=0:0 -J size=4 -L label -b 1024 -U random",
        ),
        ("mkfs.ext4", "-T largefile4 -E stride=16,stripe_width=64 -i 16384 -N 10000 -qF"),
        ("mkfs.xfs", "-m crc=0 -d agcount=4,su=64k,sw=2 -l internal=1,size=64m -i size=512,maxpct=25 -n size=8k"),
        ("mkfs.xfs", "-m reflink=0,rmapbt=1 -s size=4096 -L some-label -K"),
        ("mkfs.btrfs", "-m single -d dup --csum xxhash64 --nodesize=16k -O no-holes,^extref -L x -M"),
        ("mkfs.f2fs", "-O extra_attr,inode_checksum,compression -l label -t 0 -s 1 -w 4096"),
        ("mkfs.bcachefs", "--compression=zstd:3 --block_size=4k --fs_label=x"),
        ("mkfs.nilfs2", "-b 4096 -B 2048 -L x"),
        ("mkfs.vfat", "-F 32 -s 8 -n NAME"),
        ("mkfs.ntfs", "-c 4096 -L x --quick"),
        ("mkfs.reiser4", "-o create=reg40,hash=r5_hash"),
        ("mkreiserfs", "-h r5 --format 3.6 -s 8193"),
        ("own.mkfs", "-a --fast -m2 --size=4k,x=1 --name"),
    ] {
        assert_eq!(foreign(&with(program, mkfs, "")), None, "{program} {mkfs}");
    }
    let mount = "noatime,nodev,dev,nosuid,data=writeback,commit=5,errors=remount-ro,journal_checksum,journal_ioprio=3,\
                 journal_async_commit,auto_da_alloc,logbsize=256k,filestreams,dirsync,nodiratime,compress=zstd:3,discard=async,\
                 subvolid=5,compress_extension=*,context=system_u:object_r:tmp_t:s0,usrjquota=aquota.user,jqfmt=vfsv1,\
                 stripe=16,nobarrier,barrier=0,iocharset=utf8,umask=022,lockproto=lock_nolock,heartbeat=none,x-own=1";
    assert_eq!(foreign(&with("mkfs.ext4", "", mount)), None);
}

#[test]
fn files_and_devices_in_mkfs_options_are_refused() {
    for (program, mkfs, word) in [
        ("mkfs.btrfs", "/dev/sdb", "/dev/sdb: it holds a path"),
        ("mkfs.btrfs", "disk.img", "belongs to no option"),
        ("mkfs.btrfs", "-q disk.img", "belongs to no option"),
        ("mkfs.btrfs", "-m single disk.img", "belongs to no option"),
        ("mkfs.btrfs", "--rootdir dir", "--rootdir is no option"),
        ("mkfs.btrfs", "--rootd=dir", "--rootd is no option"),
        ("mkfs.btrfs", "-r dir", "-r is no option"),
        ("mkfs.btrfs", "-qrdir", "-r is no option"),
        ("mkfs.btrfs", "-- disk.img", "--: "),
        ("mkfs.btrfs", "{device}", "has characters"),
        ("mkfs.btrfs", "LABEL=x", "finds a device by its mark"),
        ("mkfs.xfs", "-l logdev=/dev/sdb,size=64m", "it holds a path"),
        ("mkfs.xfs", "-llogdev=sdb", "value of logdev="),
        ("mkfs.xfs", "-r rtdev=x", "value of rtdev="),
        ("mkfs.xfs", "-d file,name=disk.img", "file makes another file"),
        ("mkfs.xfs", "-d name=disk.img", "value of name="),
        ("mkfs.xfs", "-p proto", "-p is no option"),
        ("mkfs.xfs", "-pproto", "-p is no option"),
        ("mkfs.xfs", "-c options=x", "-c is no option"),
        ("mkfs.ext4", "-J device=/dev/sdb", "it holds a path"),
        ("mkfs.ext4", "-Jdevice=sdb", "value of device="),
        ("mkfs.ext4", "-J device=UUID=6d7b8a8e-0000-4000-8000-000000000000", "value of device="),
        ("mkfs.ext4", "-J device=LABEL=journal", "value of device="),
        ("mkfs.ext4", "-qJdevice=sdb", "value of device="),
        ("mkfs.ext4", "-U 6d7b8a8e-0000-4000-8000-000000000000", "a UUID can be that"),
        ("mkfs.ext4", "-O journal_dev", "journal_dev makes"),
        ("mkfs.ext4", "-z undo", "-z is no option"),
        ("mkfs.ext4", "-d .", "-d is no option"),
        ("mkfs.ext4", "-l list", "-l is no option"),
        ("mkfs.ext4", "-E ../x", "it holds a path"),
        ("mkfs.ext4", "-L ..", "it holds a path"),
        ("mkfs.ext4", "-L ~root", "it holds a path"),
        ("mkfs.ext4", "-L $(reboot)", "has characters"),
        ("mkfs.ext4", "-L @list", "has characters"),
        ("mkfs.ext4", "-L sd[ab]", "has characters"),
        ("mkfs.ext4", "100000", "belongs to no option"),
        ("mkfs.ext4", "-", "belongs to no option"),
        ("mkfs.f2fs", "-c sdb", "-c is no option"),
        ("mkfs.bcachefs", "--label=ssd sdb", "belongs to no option"),
        ("mkfs.bcachefs", "--source=dir", "--source is no option"),
        ("mkfs.vfat", "-C disk.img", "-C is no option"),
        ("mkreiserfs", "-j sdb", "-j is no option"),
        ("jfs_mkfs", "-J device=sdb", "value of device="),
        ("own.mkfs", "disk.img", "may take it for a file or device"),
        ("own.mkfs", "-q disk.img", "may take it for a file or device"),
        ("own.mkfs", "--log-device=sdb", "value of --log-device"),
        ("own.mkfs", "-ldevice=sdb", "value of device="),
        ("own.mkfs", "--rootdir=x", "value of --rootdir"),
    ] {
        refused(&with(program, mkfs, ""), word);
    }
}

#[test]
fn files_and_devices_in_mount_options_are_refused() {
    for (mount, word) in [
        ("logdev=/dev/sdb", "mount=logdev=/dev/sdb: it holds a path"),
        ("noatime,device=sdb", "value of device="),
        ("journal_dev=0x0801", "value of journal_dev="),
        ("journal_dev=2049", "value of journal_dev="),
        ("journal_path=j", "value of journal_path="),
        ("jdev=j", "value of jdev="),
        ("loop", "loop makes"),
        ("loop=loop3", "value of loop="),
        ("bind", "bind makes"),
        ("RBIND", "RBIND makes"),
        ("remount", "something else than mount"),
        ("move", "something else than mount"),
        ("make-shared", "something else than mount"),
        ("X-mount.mkdir", "something else than mount"),
        ("x-mount.subdir=x", "something else than mount"),
        ("offset=4096", "something else than mount"),
        ("verity.hashdevice=x", "something else than mount"),
        ("helper=x", "value of helper="),
        ("uhelper=x", "value of uhelper="),
        ("lowerdir=x", "value of lowerdir="),
        ("UUID=x", "by its mark"),
    ] {
        refused(&with("mkfs.ext4", "", mount), word);
    }
}

#[test]
fn commands_of_a_catalogue_are_held_to_it_too() {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let plain = with("mkfs.ext4", "", "");
    let of = |filesystem: FileSystem| Configuration { filesystem, ..plain.clone() };
    for (mkfs, word) in [
        (&["mkfs.btrfs", "{device}", "/dev/sdb"][..], "the catalogue's mkfs, /dev/sdb"),
        (&["dd", "if=/dev/zero", "of={device}"], "it holds a path"),
        (&["sh", "-c", "mkfs.ext4 {device} > x"], "has characters"),
        (&["busybox", "mkfs.ext2", "{device}"], "may take it for a file"),
        (&["mkfs.ext4", "{device}1"], "has characters"),
        (&["mkfs.ext4", "{device}/../sda"], "it holds a path"),
    ] {
        refused(&of(filesystem(mkfs)), word);
    }
    let own = filesystem(&["own.mkfs", "--device={device}", "-f"]);
    assert_eq!(foreign(&of(own.clone())), None);
    // As a plan of a store may have them, which nobody looks up in a catalogue.
    let script = vec![list(&["sh", "-c", "rm -rf /home", "{device}"])];
    for filesystem in [
        FileSystem { mount: script.clone(), ..own.clone() },
        FileSystem { attach: script.clone(), ..own.clone() },
        FileSystem { unmount: script.clone(), ..own.clone() },
        FileSystem { detach: script.clone(), ..own.clone() },
        FileSystem { after_mkfs: script, ..own },
    ] {
        assert!(foreign(&of(filesystem)).is_some_and(|reason| reason.contains("is made in guests alone")));
    }
    let fsck = |words: &[&str]| {
        Some(Fsck { command: list(words), clean: vec![0], unable_says: vec![], meaning: Default::default() })
    };
    let recovery = |before: &[&str], repair: &[&str]| {
        Some(Recovery { before_mount: list(before), repair: list(repair), ..Recovery::default() })
    };
    let base = filesystem(&["mkfs.ext4", "{device}"]);
    let of_fsck = |words: &[&str]| of(FileSystem { fsck: fsck(words), ..base.clone() });
    refused(&of_fsck(&["e2fsck", "-n", "-j", "sdb", "{device}"]), "the catalogue's fsck, -j");
    refused(&of_fsck(&["e2fsck", "-n", "-z", "undo", "{device}"]), "the catalogue's fsck, -z");
    refused(&of_fsck(&["xfs_repair", "-l", "/dev/sdb", "{device}"]), "the catalogue's fsck, -l");
    refused(&of_fsck(&["btrfs", "device", "add", "sdb", "{device}"]), "the catalogue's fsck, device");
    assert_eq!(foreign(&of_fsck(&["btrfs", "check", "--readonly", "{device}"])), None);
    let none: [&str; 0] = [];
    for (before, repair, word) in [
        (&["e2fsck", "-y", "{device}", "sdb"][..], &none[..], "before_mount, sdb"),
        (&none, &["tune2fs", "-J", "device=sdb", "{device}"], "recovery: repair"),
    ] {
        refused(&of(FileSystem { recovery: recovery(before, repair), ..base.clone() }), word);
    }
}

/// Every file system of the catalogue, with each of its variants.
#[test]
fn the_catalogues_own_commands_are_accepted() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/filesystems");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        // What an option takes away is read by plans alone; without promises (L1, ...) a variant is, too.
        let lines = text.lines().filter(|line| !line.starts_with("without = ") || line.contains("\"L"));
        let filesystem: FileSystem = toml::from_str(&lines.collect::<Vec<_>>().join("\n")).unwrap();
        let variants = filesystem.variants.values().cloned();
        for variant in variants.chain([Default::default()]).map(Variant::on_disks) {
            let mkfs = if variant.command.is_empty() { filesystem.mkfs.clone() } else { variant.command };
            // What goes through a shell is not looked into, so it is for guests alone; so are commands of its own, and a
            // word that names the second disk.
            let is_script = mkfs.first().is_some_and(|program| program == "sh");
            let names_second = variant.mkfs.iter().any(|word| word.contains(Variant::SECOND));
            let is_for_guests = is_script || filesystem.has_own_commands() || names_second;
            let configuration = Configuration {
                name: filesystem.name.clone(),
                mkfs_options: variant.mkfs,
                mount_options: filesystem.mount_options.iter().chain(&variant.mount).cloned().collect(),
                filesystem: FileSystem {
                    mkfs,
                    recovery: variant.recovery.or(filesystem.recovery.clone()),
                    fsck: variant.fsck.or(filesystem.fsck.clone()),
                    ..filesystem.clone()
                },
                layers: Vec::new(),
                own_disks: variant.disks,
                below: None,
            };
            assert_eq!(foreign(&configuration).is_some(), is_for_guests, "{}", configuration.name);
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}
