//! The files of a store: permissions to create, read and write them.

use super::*;

#[test]
fn folders_are_made_and_those_that_cannot_be_are_named() {
    let folder = TempDir::new().unwrap();
    let deep = folder.path().join("a/b/c/results.sqlite");
    Store::open(&deep).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(file.join("sub/results.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
    assert!(error.to_string().contains("file/sub"), "{error}");
    assert!(Store::open(file.join("results.sqlite")).is_err());
    let error = Store::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[test]
fn reading_makes_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.sqlite");
    assert!(matches!(Store::open_read_only(&path), Err(StoreError::Missing { .. })));
    assert!(!path.exists());
}

#[test]
fn reading_leaves_the_folder_as_it_was_and_sees_what_others_write() {
    let (folder, path, store) = store();
    let run = begin(&store);
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(recorded(&reader, &run), [] as [u32; 0]);
    store.record_cell(&run, &cell(3, 2)).unwrap();
    assert_eq!(recorded(&reader, &run), [3]);
    assert!(reader.record_cell(&run, &cell(1, 2)).is_err());
    drop((reader, store));
    // Whichever was closed first: opening and closing as a writer cleans up.
    drop(Store::open(&path).unwrap());
    let before = contents(folder.path());
    Store::open_read_only(&path).unwrap().load(&run).unwrap();
    let after = contents(folder.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after);
}

/// Whether permissions of a folder are enforced: not for root, and a container's root may be either.
fn binds(folder: &Path) -> bool {
    fs::write(folder.join("probe"), "").is_err()
}

#[test]
fn a_folder_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path, store) = store();
    let run = begin(&store);
    drop(store);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if !binds(folder.path()) {
        eprintln!("skipped: this user writes where nobody may");
        return;
    }
    assert!(matches!(Store::open(&path), Err(StoreError::NotWritable { .. })));
    assert_eq!(Store::open_read_only(&path).unwrap().load(&run).unwrap().id, run);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_never_changes_is_read_whatever_its_name() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("100% of? #results.sqlite");
    let store = Store::open(&path).unwrap();
    let run = begin(&store);
    drop(store);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let store = Store::connect(&path, Path::new(&immutable_uri(&path)), flags).unwrap();
    assert_eq!(store.load(&run).unwrap().id, run);
}

#[test]
fn what_is_written_is_synced_and_in_wal() {
    let (_folder, _, store) = store();
    assert_eq!(store.number("PRAGMA synchronous").unwrap(), 2, "FULL");
    let mode: String = store.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn other_tools_can_read_the_store() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 2)).unwrap();
    drop(store);
    let Ok(output) = Command::new("sqlite3").arg(&path).arg("SELECT sum(iteration) FROM sample").output() else {
        eprintln!("skipped: no sqlite3 here");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
}
