//! Stores of other versions and programs, and corrupt ones: rejected or read, and never changed.

use rusqlite::config::DbConfig;

use super::*;

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    for wal in [true, false] {
        let (folder, path, store) = store();
        begin(&store);
        store.batch(&format!("PRAGMA user_version = {}", VERSION + 1)).unwrap();
        if !wal {
            store.batch("PRAGMA journal_mode = DELETE").unwrap();
        }
        drop(store);
        let before = contents(folder.path());
        assert_eq!(before.len(), 2, "the store and the locks on its runs");
        for refused in [Store::open(&path), Store::open_read_only(&path)] {
            let Err(StoreError::Newer { found, known, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!((found, known), (VERSION + 1, VERSION));
        }
        assert!(contents(folder.path()) == before, "wal: {wal}");
    }
}

#[test]
fn a_version_that_is_newer_only_in_the_wal_is_refused_too() {
    let (folder, path, store) = store();
    store.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    store.batch(&format!("PRAGMA user_version = {}", VERSION + 1)).unwrap();
    let copy = TempDir::new().unwrap();
    for (file, bytes) in contents(folder.path()) {
        fs::write(copy.path().join(file.file_name().unwrap()), bytes).unwrap();
    }
    drop(store);
    let copied = copy.path().join(path.file_name().unwrap());
    let wal = copy.path().join("results.sqlite-wal");
    let before = (fs::read(&copied).unwrap(), fs::read(&wal).unwrap());
    for refused in [Store::open(&copied), Store::open_read_only(&copied)] {
        assert!(matches!(refused, Err(StoreError::Newer { .. })), "{refused:?}");
    }
    assert!((fs::read(&copied).unwrap(), fs::read(&wal).unwrap()) == before);
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.sqlite");
    let mut truncated = {
        drop(Store::open(&path).unwrap());
        fs::read(&path).unwrap()
    };
    truncated.truncate(50);
    for bytes in [b"hello".to_vec(), vec![0; 8192], b"SQLite format 3 but not quite".repeat(9), truncated] {
        fs::write(&path, &bytes).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
        assert!(matches!(Store::open_read_only(&path), Err(StoreError::NotADatabase { .. })));
        assert!(fs::read(&path).unwrap() == bytes);
    }
}

#[test]
fn another_programs_database_is_refused_and_left_as_it_is() {
    for (application, version) in [(0, 0), (77, 0), (0, 9)] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("places.sqlite");
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch(&format!(
                "CREATE TABLE place (url TEXT); PRAGMA application_id = {application}; PRAGMA user_version = {version};"
            ))
            .unwrap();
        other.close().unwrap();
        let before = contents(folder.path());
        assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })));
        assert!(matches!(Store::open_read_only(&path), Err(StoreError::Foreign { .. })));
        assert!(contents(folder.path()) == before);
    }
}

#[test]
fn a_damaged_store_is_an_error() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 2000)).unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    // All except the first page, so that it still looks like a store.
    for byte in &mut bytes[4096..] {
        *byte ^= 0x5a;
    }
    fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path).and_then(|store| store.load(&run).map(|_| ())).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn text_that_this_version_cannot_read_is_an_error_and_not_a_panic() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 1)).unwrap();
    for sql in [
        "UPDATE cell SET seed = 'many'",
        "UPDATE cell SET seed = '1', repeat = 4294967295",
        "UPDATE cell SET repeat = 0, corpus = '{'",
        "UPDATE run SET plan = '[]'",
    ] {
        store.batch(sql).unwrap();
        let error = store.load(&run).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. } | StoreError::Unreadable { .. }), "{error:?}");
    }
}

#[test]
fn a_kernel_that_an_older_program_wrote_into_one_field_is_read() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 1)).unwrap();
    let older = r#"{"mountmark":"0.1.0","kernel":"6.12.0 #1 SMP Debian","host_kernel":"","host_cpu":"","emulator":"",
        "packages":{},"image":"","clock":""}"#;
    store.execute("UPDATE cell SET environment = ?1", [older]).unwrap();
    let environment = &store.load(&run).unwrap().cells[0].environment;
    assert_eq!((environment.kernel.as_str(), environment.kernel_build.as_str()), ("6.12.0", "#1 SMP Debian"));
}

#[test]
fn a_store_of_the_first_version_is_read_as_it_is_and_migrated_by_the_next_writer() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 2)).unwrap();
    store.batch("DROP TABLE output; DROP TABLE device; DROP TABLE profile; PRAGMA user_version = 1").unwrap();
    drop(store);
    let reader = Store::open_read_only(&path).unwrap();
    assert!(reader.outputs(&run, None).unwrap().is_empty());
    assert!(reader.devices(&run, &DeviceUses::default()).unwrap().is_empty());
    assert_eq!(reader.load(&run).unwrap().cells.len(), 1);
    drop(reader);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.number("PRAGMA user_version").unwrap(), i64::from(VERSION));
    let kept = Output { cell: 1, task: "a".into(), iteration: 0, kind: OutputKind::Stdout, text: "x".into() };
    store.record_cell_with(&run, &cell(1, 2), std::slice::from_ref(&kept), &[], None).unwrap();
    assert_eq!(store.outputs(&run, None).unwrap(), [kept]);
}
