use super::*;
use crate::entry::tests::entry;
use crate::{Keys, Shelf};

#[test]
fn entries_are_found_by_their_keys_among_other_files() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("not/there");
    let shelf = Folder::open(&path, Access::Write).unwrap();
    let (one, other) = (entry("a", 1.5, "n1"), entry("b", 2.5, "n1"));
    for entry in [&one, &other, &one] {
        shelf.put(&entry.pack().unwrap(), &|_| true).unwrap();
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
    shelf.put(&late.pack().unwrap(), &|_| true).unwrap();
    assert_eq!(again.get(&late.key.sha256).len(), 1);
}

#[test]
fn a_damaged_entry_is_written_again() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    let one = entry("a", 1.5, "n1");
    shelf.put(&one.pack().unwrap(), &|_| true).unwrap();
    let path = shelf.list().unwrap()[0].path.clone();
    fs::write(&path, b"damaged").unwrap();
    assert!(shelf.get(&one.key.sha256)[0].1.is_err());
    shelf.put(&one.pack().unwrap(), &|_| true).unwrap();
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
        shelf.put(&entry.pack().unwrap(), &|_| true).unwrap();
        let listed =
            shelf.list().unwrap().into_iter().find(|listed| listed.path.to_string_lossy().contains(&entry.key.sha256));
        let file = File::options().write(true).open(listed.unwrap().path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    }
    shelf.mark_used(&all[0].key.sha256);
    let each = shelf.list().unwrap()[0].bytes;
    assert_eq!(shelf.prune(each * 3, None).unwrap(), Pruned::default());
    assert_eq!(shelf.prune(each * 2 + each / 2, None).unwrap(), Pruned { cells: 1, unfinished: 0 });
    assert_eq!(all.each_ref().map(|entry| shelf.has(&entry.key.sha256)), [true, false, true]);
}

#[test]
fn files_in_the_making_go_when_nobody_makes_them_any_more() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    shelf.put(&entry("a", 1.0, "n1").pack().unwrap(), &|_| true).unwrap();
    let part = shelf.list().unwrap()[0].path.parent().unwrap().to_owned();
    // What a killed run leaves, with the name that the program gives it.
    let left = |folder: &Path| tempfile::Builder::new().prefix(PARTIAL).tempfile_in(folder).unwrap().keep().unwrap().1;
    let (old, other, young) = (left(&part), left(root.path()), left(&part));
    let foreign =
        [part.join(".tmp"), part.join(".tmpfiles-of-mine"), root.path().join(".tmp.a1.b"), part.join("x.tmp")];
    foreign.iter().for_each(|path| fs::write(path, b"mine").unwrap());
    fs::create_dir(part.join(".tmpFolder")).unwrap();
    for path in foreign.iter().chain([&old, &other]) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - ABANDONED - Duration::from_secs(60)).unwrap();
    }
    assert_eq!(shelf.prune(u64::MAX, None).unwrap(), Pruned { cells: 0, unfinished: 2 });
    assert!(!old.exists() && !other.exists() && young.exists());
    assert!(foreign.iter().all(|path| path.exists()) && part.join(".tmpFolder").exists());
}

#[test]
fn a_shelf_among_ten_thousand_foreign_files_is_a_shelf() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    let one = entry("a", 1.0, "n1");
    shelf.put(&one.pack().unwrap(), &|_| true).unwrap();
    let part = shelf.list().unwrap()[0].path.parent().unwrap().to_owned();
    for number in 0..5000 {
        fs::write(root.path().join(format!("letter {number}")), b"").unwrap();
        fs::write(part.join(format!("{number:064x}-{number:016x}.cell.txt")), b"").unwrap();
    }
    let again = Folder::open(root.path(), Access::Write).unwrap();
    assert_eq!(again.list().unwrap().len(), 1);
    assert!(again.get(&one.key.sha256)[0].1.is_ok());
    assert_eq!(again.prune(0, None).unwrap(), Pruned { cells: 1, unfinished: 0 });
    assert_eq!(fs::read_dir(&part).unwrap().count(), 5000);
}

#[test]
fn a_part_that_cannot_be_listed_is_not_empty() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    let (one, other) = (entry("a", 1.0, "n1"), entry("b", 1.0, "n1"));
    for entry in [&one, &other] {
        shelf.put(&entry.pack().unwrap(), &|_| true).unwrap();
    }
    let part = root.path().join(&one.key.sha256[..2]);
    fs::remove_dir_all(&part).unwrap();
    // What nobody can list, not even root.
    std::os::unix::fs::symlink(&part, &part).unwrap();
    let is_named = |error: String| error.contains("cannot list the shelf") && error.contains(&*part.to_string_lossy());
    let error = Folder::open(root.path(), Access::Read).err().unwrap();
    assert!(is_named(format!("{error:#}")), "{error:#}");
    assert!(shelf.look().is_err() && shelf.has(&one.key.sha256), "what was known stays known");
    assert!(shelf.prune(0, None).is_err());

    // A run goes on with what there is, and says it once.
    let again =
        Shelf::open(&root.path().join("own"), &[(root.path().to_owned(), Access::Read)], Keys::default()).unwrap();
    assert!(again.has(&other.key.sha256) && !again.has_now(&one.key.sha256));
    assert!(again.get(&one.key.sha256, &|_| Ok(())).unwrap().entry.is_none());
    let troubles = again.troubles();
    assert!(troubles.iter().any(|trouble| is_named(trouble.clone())), "{troubles:?}");

    // No folder, or none any more, is none of a shelf's.
    for is_there in [false, true] {
        fs::remove_file(&part).unwrap();
        match is_there {
            false => std::os::unix::fs::symlink(root.path().join("none"), &part).unwrap(),
            true => fs::write(&part, "mine").unwrap(),
        }
        assert_eq!(shelf.look().unwrap(), 1);
    }
}

#[test]
fn a_damaged_entry_hides_no_other_fault_of_its_key() {
    let root = tempfile::tempdir().unwrap();
    let shelf = Folder::open(root.path(), Access::Write).unwrap();
    for value in [1.0, 2.0, 3.0] {
        shelf.put(&entry("a", value, "n1").pack().unwrap(), &|_| true).unwrap();
    }
    let paths = shelf.paths();
    fs::write(&paths[0], b"damaged").unwrap();
    let (sound, faults) = crate::sound(&shelf, &entry("a", 1.0, "n1").key.sha256);
    let said: Vec<String> = faults.iter().map(|fault| format!("{fault:#}")).collect();
    assert_eq!((sound, said.len()), (0, 2), "{said:?}");
    assert!(said[0].contains("damaged") && said[1].contains("two results"), "{said:?}");
    fs::remove_file(&paths[1]).unwrap();
    let (sound, faults) = crate::sound(&shelf, &entry("a", 1.0, "n1").key.sha256);
    assert_eq!((sound, faults.len()), (1, 1));
}
