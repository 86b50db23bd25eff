use super::*;
use crate::entry::tests::entry;

#[test]
fn entries_are_found_by_their_keys_among_other_files() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("not/there");
    let shelf = Folder::open(&path, Access::Write).unwrap();
    let (one, other) = (entry("a", 1.5, "n1"), entry("b", 2.5, "n1"));
    for entry in [&one, &other, &one] {
        shelf.put(&entry.pack().unwrap()).unwrap();
    }
    for name in ["notes.txt", "ab", ".tmpXYZ", "aa.cell"] {
        fs::write(path.join(&one.key.sha256[..2]).join(name), b"x").unwrap();
        let _ = fs::write(path.join(name), b"x");
    }
    let again = Folder::open(&path, Access::Read).unwrap();
    assert_eq!(again.look().unwrap(), 2);
    let found = again.get(&one.key.sha256);
    assert_eq!(found.len(), 1);
    assert_eq!(found.into_iter().next().unwrap().1.unwrap(), one);
    assert!(again.has(&other.key.sha256) && !again.has(&"0".repeat(64)));
    // Another process put it there after this one had looked.
    let late = entry("c", 1.0, "n2");
    shelf.put(&late.pack().unwrap()).unwrap();
    assert_eq!(again.get(&late.key.sha256).len(), 1);
}

#[test]
fn a_damaged_entry_is_written_again() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    let one = entry("a", 1.5, "n1");
    shelf.put(&one.pack().unwrap()).unwrap();
    let path = shelf.list()[0].path.clone();
    fs::write(&path, b"damaged").unwrap();
    assert!(shelf.get(&one.key.sha256)[0].1.is_err());
    shelf.put(&one.pack().unwrap()).unwrap();
    assert!(shelf.get(&one.key.sha256)[0].1.is_ok());
}

#[test]
fn a_folder_that_is_no_shelf_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let refused = |path: &Path, access| format!("{:#}", Folder::open(path, access).err().unwrap());
    assert!(refused(&root.path().join("none"), Access::Read).contains("there is no shelf"));
    for hidden in [".git", "lost+found"] {
        fs::create_dir(root.path().join(hidden)).unwrap();
    }
    assert!(refused(root.path(), Access::Read).contains("there is no shelf"));
    fs::write(root.path().join("letter.txt"), b"mine").unwrap();
    assert!(refused(root.path(), Access::Write).contains("other things in it, such as letter.txt"));
    fs::remove_file(root.path().join("letter.txt")).unwrap();
    Folder::open(root.path(), Access::Write).unwrap();
    fs::write(root.path().join("letter.txt"), b"mine").unwrap();
    Folder::open(root.path(), Access::Write).unwrap();
    fs::write(root.path().join(MARKER), b"2\n").unwrap();
    assert!(refused(root.path(), Access::Write).contains("layout \"2\""));
    let file = root.path().join("letter.txt");
    assert!(refused(&file, Access::Write).contains("cannot use the shelf"));
}

#[test]
fn many_processes_may_make_one_at_once() {
    for _ in 0..20 {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("shelf");
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| Folder::open(&path, Access::Write).map(drop))).collect();
            all.into_iter().for_each(|one| one.join().unwrap().unwrap());
        });
    }
}

#[test]
fn what_was_used_least_lately_goes_first() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    let all = ["a", "b", "c"].map(|part| entry(part, 1.0, "n1"));
    for (entry, hours) in all.iter().zip([3, 2, 1]) {
        shelf.put(&entry.pack().unwrap()).unwrap();
        let listed = shelf.list().into_iter().find(|listed| listed.path.to_string_lossy().contains(&entry.key.sha256));
        let file = File::options().write(true).open(listed.unwrap().path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    }
    shelf.mark_used(&all[0].key.sha256);
    let each = shelf.list()[0].bytes;
    assert_eq!(shelf.prune(each * 3, None).unwrap(), 0);
    assert_eq!(shelf.prune(each * 2 + each / 2, None).unwrap(), 1);
    assert_eq!(all.each_ref().map(|entry| shelf.has(&entry.key.sha256)), [true, false, true]);
}
