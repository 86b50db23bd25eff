//! Unusable folders and files: stores that are read-only or foreign, caches that are corrupt.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;

use crate::lab::Lab;
use crate::made;
use crate::tasks::TOUCH;

#[test]
fn a_store_that_cannot_be_made_is_refused() {
    let lab = Lab::without_guests();
    let suite = lab.suite("one", TOUCH);
    let file = lab.write("file", "a regular file");
    let out = format!("{file}/below");
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--out", &out]).ended_with(3);
    ran.says(&["cannot create the folder", &out]);
    let out = format!("{}/results.sqlite", lab.path("taken").display());
    fs::create_dir_all(&out).unwrap();
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--out", &lab.path("taken").to_string_lossy()]);
    ran.ended_with(3).says(&["results.sqlite"]);
}

#[test]
fn stores_of_others_are_left_as_they_are() {
    let lab = Lab::without_guests();
    let suite = lab.suite("one", TOUCH);
    fs::create_dir(lab.out()).unwrap();
    let path = lab.out().join("results.sqlite");
    let out = lab.out().to_string_lossy().into_owned();
    let refused = |says: &[&str]| {
        let before = fs::read(&path).unwrap();
        lab.run(&["--fs", "ext4", "--suite", &suite]).ended_with(3).says(says);
        for command in [vec!["show", "latest", "--out", &out], vec!["runs", "--out", &out]] {
            lab.command(&command).ended_with(3).says(says);
        }
        assert_eq!(fs::read(&path).unwrap(), before, "the store was changed");
        let files: Vec<_> = fs::read_dir(lab.out()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(files, ["results.sqlite"]);
    };
    fs::write(&path, "a text of the user's").unwrap();
    refused(&["is not a results store"]);

    fs::remove_file(&path).unwrap();
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('a');").unwrap();
    drop(foreign);
    refused(&["database of another program"]);

    fs::remove_file(&path).unwrap();
    drop(mountmark_record::Store::open(&path).unwrap());
    let marked = Connection::open(&path).unwrap();
    marked.execute_batch("PRAGMA user_version = 0;").unwrap();
    marked.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(marked);
    refused(&["database of another program"]);

    fs::remove_file(&path).unwrap();
    drop(mountmark_record::Store::open(&path).unwrap());
    let newer = Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 9999;").unwrap();
    newer.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(newer);
    refused(&["has format 9999", "use a newer mountmark"]);
}

#[test]
fn a_folder_that_cannot_be_looked_into_has_a_reason() {
    let lab = Lab::without_guests();
    std::os::unix::fs::symlink("round", lab.path("round")).unwrap();
    let out = lab.path("round").to_string_lossy().into_owned();
    let ran = lab.command(&["runs", "--out", &out]).ended_with(3);
    ran.says(&["cannot look for the results store", &out, "symbolic links"]);
    assert!(!ran.text().contains("no runs yet"), "{}", ran.text());
}

#[test]
fn a_store_on_a_full_disk_can_be_read() {
    let test = "a_store_on_a_full_disk_can_be_read";
    let lab = Lab::without_guests();
    let plan = made::plan("piszcz-2006", &["ext4"], 1, 1, "0.005");
    made::record(&lab, &plan, &[], |_, _, _| Some(1.0));
    let full = lab.path("full");
    fs::create_dir(&full).unwrap();
    // While it is open: with data in the WAL only.
    let store = mountmark_record::Store::open(lab.out().join("results.sqlite")).unwrap();
    let last = store.runs().unwrap().pop().unwrap().id;
    store.begin_run(&plan, &mountmark_model::Environment::default(), "of-the-wal").unwrap();
    let script = "mount -t tmpfs -o size=4m none \"$1\" && echo mounted && cp \"$2\"/results.sqlite* \"$1\" && \
                  rm -f \"$1\"/*-shm && { [ \"$4\" = wal ] || rm \"$1\"/*-wal; }; cat /dev/zero > \"$1/fill\" 2>/dev/null; \
                  sum() { cat \"$1\"/results.sqlite \"$1\"/results.sqlite-wal 2>/dev/null | cksum; }; before=$(sum \"$1\"); \
                  \"$3\" runs --out \"$1\" && \"$3\" show \"$5\" --out \"$1\"; echo \"code $?\"; \
                  [ \"$before\" = \"$(sum \"$1\")\" ] && echo unchanged; \
                  \"$3\" run --fs ext4 --suite \"$6\" --out \"$1\"; echo \"code $?\"";
    let suite = lab.suite("one", TOUCH);
    for wal in ["wal", "none"] {
        let mut command = std::process::Command::new("unshare");
        command.args(["-rm", "sh", "-c", script, "sh"]).arg(&full).arg(lab.out()).arg(crate::lab::binary());
        let output = command.args([wal, last.as_str(), &suite]).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !text.contains("mounted") {
            crate::lab::skip(test, &format!("a file system of its own cannot be mounted: {text}"));
            return;
        }
        assert!(text.contains("code 0") && text.contains("unchanged") && text.contains("mkfs"), "{wal}: {text}");
        assert!(text.contains("code 3") && text.contains("no space is left for the results store"), "{wal}: {text}");
        assert_eq!(text.contains("of-the-wal") || text.matches("running").count() == 1, wal == "wal", "{wal}: {text}");
    }
    drop(store);
}

#[test]
fn a_cache_folder_that_cannot_be_made_is_refused() {
    let lab = Lab::without_guests();
    let suite = lab.suite("one", TOUCH);
    let file = lab.write("file", "a regular file");
    let cache = Path::new(&file).join("cache");
    let lab = lab.with_cache(&cache);
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite]).ended_with(3);
    ran.says(&["cannot make the cache folder", &cache.to_string_lossy(), "MOUNTMARK_CACHE"]);
}

/// Changes some bytes in the middle of a file.
fn damage(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    file.write_all_at(&[0xa5; 4096], middle).unwrap();
}

/// Files named `name` in the folders of `folder`.
fn files(folder: &Path, name: &str) -> Vec<std::path::PathBuf> {
    let folders = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path().join(name));
    folders.filter(|path| path.exists()).collect()
}

#[test]
fn what_is_damaged_in_the_cache_is_made_again() {
    let Some(lab) = Lab::with_guests("what_is_damaged_in_the_cache_is_made_again", 1) else { return };
    let suite = lab.suite("one", TOUCH);
    let plan = ["--fs", "ext2", "--suite", &suite, "--repeat", "1"];
    // Ensures that the user's cache has downloads to share.
    lab.run(&plan).ended_with(0);
    let lab = lab.with_new_cache("cache");
    let cache = lab.path("cache");
    // The kernel's file still has its length, and the entry for 6.12 names no package.
    let kernels = cache.join("kernels");
    let users = fs::read_link(&kernels).unwrap();
    fs::remove_file(&kernels).unwrap();
    fs::create_dir(&kernels).unwrap();
    let package = fs::read_to_string(users.join("6_12.name")).unwrap();
    let release = package.trim().trim_start_matches("linux-image-");
    for file in fs::read_dir(&users).unwrap().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.contains(release) || name == "6_12.name" {
            fs::copy(file.path(), kernels.join(name)).unwrap();
        }
    }
    let vmlinux = fs::read_dir(&kernels).unwrap().flatten().map(|entry| entry.path());
    let vmlinux = vmlinux.filter(|path| path.to_string_lossy().contains("/vmlinux-6.12."));
    let vmlinux = vmlinux.max_by_key(|path| fs::metadata(path).unwrap().len()).expect("the kernel");
    damage(&vmlinux);
    fs::write(kernels.join("6_12.name"), b"garbage\xff").unwrap();
    let run = || lab.run(&plan).ended_with(0).results().is_ok("ext2", &["mkfs", "mount", "one", "umount", "fsck"]);
    run();
    let same = |name: &std::ffi::OsStr| fs::read(kernels.join(name)).unwrap() == fs::read(users.join(name)).unwrap();
    assert!(same(vmlinux.file_name().unwrap()), "the damaged kernel is still there");
    assert!(same("6_12.name".as_ref()), "the garbage is still there");
    let [image] = files(&cache.join("images"), "initramfs.cpio").try_into().expect("one image");
    let [ram] = files(&cache.join("snapshots"), "ram").try_into().expect("one snapshot");
    let sound = fs::read(&image).unwrap();

    damage(&image);
    run();
    assert!(fs::read(&image).unwrap() == sound, "the damaged image is still there");

    damage(&ram);
    let damaged = fs::metadata(&ram).unwrap().modified().unwrap();
    run();
    assert!(fs::metadata(&ram).unwrap().modified().unwrap() > damaged, "the damaged memory is still there");

    // One is truncated, and one has an invalid description.
    fs::File::options().write(true).open(&ram).unwrap().set_len(4096).unwrap();
    fs::write(image.with_file_name("image.json"), "{").unwrap();
    run();
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 9, "the cache holds something new");
}
