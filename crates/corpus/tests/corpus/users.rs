//! The user's own archives and folders: the same corpus in every form, and rejected input.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use mountmark_model::RealisedCorpus;
use tempfile::TempDir;

use super::{listing, own, packed, users};

fn refused(path: &Path, cache: &Path) -> String {
    let sentence = format!("{:#}", own(path, cache).unwrap_err());
    assert!(sentence.contains(path.to_str().unwrap()), "{sentence}");
    let left: Vec<_> = fs::read_dir(cache).map_or(Vec::new(), |entries| entries.flatten().collect());
    assert!(left.is_empty(), "left behind: {left:?}");
    sentence
}

#[test]
fn every_form_of_the_users_files_is_the_same_corpus() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (root, tar) = users(home.path());
    let (stored, plain) = own(&tar, cache.path()).unwrap();
    assert_eq!(fs::read(&stored).unwrap(), fs::read(&tar).unwrap());
    let summary = |c: &RealisedCorpus| {
        (c.files, c.directories, c.others, c.bytes, [c.size_min, c.size_median, c.size_mean, c.size_max], c.max_depth)
    };
    assert_eq!(summary(&plain), (3, 4, 1, 71_000, [0, 1000, 23_667, 70_000], 3));
    assert_eq!((plain.name.as_str(), plain.seed), (tar.to_str().unwrap(), None));
    for (kind, bytes) in packed(&fs::read(&tar).unwrap()) {
        // The name is misleading.
        let path = home.path().join(format!("{kind}.zip"));
        fs::write(&path, bytes).unwrap();
        let (_, corpus) = own(&path, cache.path()).unwrap();
        assert_eq!((corpus.sha256, corpus.tar_bytes), (plain.sha256.clone(), plain.tar_bytes), "{kind}");
    }
    let (folder, corpus) = own(&root, cache.path()).unwrap();
    assert_eq!(summary(&corpus), summary(&plain));
    let order = |path: &Path| {
        let mut entries = listing(path);
        entries.sort();
        entries
    };
    assert_eq!(order(&folder), order(&tar));
    let unpacked = home.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    assert!(Command::new("tar").arg("-C").arg(&unpacked).arg("-xf").arg(&folder).status().unwrap().success());
    let same = Command::new("diff").arg("-r").arg("--no-dereference").arg(&root).arg(unpacked.join("mine")).status();
    assert!(same.unwrap().success());
}

#[test]
fn what_is_no_archive_is_refused_with_a_reason() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let cache = cache.path();
    let path = home.path().join("input");
    let say = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refused(&path, cache)
    };
    assert!(refused(&home.path().join("absent"), cache).contains("No such file"));
    assert!(say(b"").contains("empty"));
    assert!(say(b"hello").contains("no tar archive"));
    let secret = format!("root:$6$secret:19000:0:99999:7:::\n{}", "x".repeat(2000));
    assert!(!say(secret.as_bytes()).contains("secret"));
    assert!(say(&[b'z'; 5000]).contains("no tar archive"));
    assert!(say(b"BZh91AY&SY rest").contains("bzip2"));
    assert!(say(&[0; 10_240]).contains("no regular file"));
    for (kind, bytes) in packed(&[b'q'; 3000]) {
        assert!(say(&bytes).contains("no tar archive"), "{kind}");
        let _ = bytes;
    }
    for (kind, bytes) in packed(b"") {
        assert!(say(&bytes).contains("empty"), "{kind}");
    }
    let empty = home.path().join("folder");
    fs::create_dir(&empty).unwrap();
    assert!(refused(&empty, cache).contains("no regular file"));
    assert!(refused(Path::new("/dev/null"), cache).contains("not a regular file"));
}

#[test]
fn damage_is_found_and_placed() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (_, tar) = users(home.path());
    let whole = fs::read(&tar).unwrap();
    let path = home.path().join("input");
    let say = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refused(&path, cache.path())
    };
    // At every block boundary: in headers, in contents, before the end marker.
    let end = whole.len() - whole.iter().rev().take_while(|byte| **byte == 0).count();
    for cut in (512..=end).step_by(4 * 512) {
        let sentence = say(&whole[..cut]);
        assert!(sentence.contains("damaged after entry") && sentence.contains("\"mine/"), "{cut}: {sentence}");
    }
    let aligned = end.next_multiple_of(512);
    assert!(say(&whole[..aligned]).contains("end marker"), "cut before the end marker");
    for (kind, bytes) in packed(&whole) {
        assert!(say(&bytes[..bytes.len() / 2]).contains("damaged"), "{kind}");
        let mut wrong = bytes.clone();
        let middle = bytes.len() / 2;
        wrong[middle..middle + 20].fill(0x55);
        assert!(say(&wrong).contains("damaged"), "{kind}");
    }
    let mut spoilt = whole.clone();
    spoilt[512 + 3] ^= 0x40;
    assert!(say(&spoilt).contains("after entry 1"), "{}", say(&spoilt));
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = home.path().join("bad.tar");
    let say = |name: &[u8], link: Option<&str>, before: Option<(&str, &str)>| {
        let mut builder = tar::Builder::new(Vec::new());
        if let Some((name, target)) = before {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            builder.append_link(&mut header, name, target).unwrap();
        }
        let mut header = tar::Header::new_gnu();
        // The library rejects such names, but other programs write them.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        if let Some(target) = link {
            header.set_entry_type(tar::EntryType::Link);
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, &b""[..]).unwrap();
        fs::write(&path, builder.into_inner().unwrap()).unwrap();
        refused(&path, cache.path())
    };
    assert!(say(b"/etc/passwd", None, None).contains("\"/etc/passwd\" is refused: its name is absolute"));
    assert!(say(b"a/../../b", None, None).contains("goes up"));
    assert!(say(b"..", None, None).contains("goes up"));
    assert!(say(b"a/b", Some("../c"), None).contains("hard link"));
    assert!(say(b"a/b/c", None, Some(("a/b", "/etc"))).contains("symbolic link"));
}

#[test]
fn depth_is_counted_from_the_top_folder_and_directories_may_be_implied() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = home.path().join("odd.tar");
    let build = |names: &[&str]| {
        let mut builder = tar::Builder::new(Vec::new());
        for name in names {
            let mut header = tar::Header::new_ustar();
            header.set_size(3);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, &b"abc"[..]).unwrap();
        }
        fs::write(&path, builder.into_inner().unwrap()).unwrap();
        own(&path, cache.path()).unwrap().1
    };
    let top = build(&["t/a", "t/b/c/d"]);
    assert_eq!((top.files, top.directories, top.max_depth), (2, 3, 3));
    let bare = build(&["a", "b/c"]);
    assert_eq!((bare.files, bare.directories, bare.max_depth), (2, 1, 2));
    let dots = build(&["./a", "./b/c"]);
    assert_eq!((dots.files, dots.directories, dots.max_depth), (2, 1, 2));
}

#[test]
fn devices_and_endless_names_are_refused() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = home.path().join("own.tar");
    let entry = |kind: tar::EntryType, name: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        builder.append_data(&mut header, name, &b""[..]).unwrap();
        builder.finish().unwrap();
        refused(&path, cache.path())
    };
    for kind in [tar::EntryType::Block, tar::EntryType::Char, tar::EntryType::Fifo] {
        assert!(entry(kind, "mine/disk").contains("the entry \"mine/disk\" is refused: it is a device"));
    }
    assert!(entry(tar::EntryType::Regular, &"a/".repeat(3000)).contains("longer than 4096 bytes"));
}
