//! Power failures, kills, full disks and other writers: a cell is stored completely or not at all.

use super::*;

/// A copy of a store as after a power failure, with the WAL cut after `keep` bytes.
fn crashed(from: &Path, keep: usize) -> (TempDir, PathBuf) {
    let copy = TempDir::new().unwrap();
    let path = copy.path().join("results.sqlite");
    fs::copy(from, &path).unwrap();
    let mut wal = fs::read(from.with_extension("sqlite-wal")).unwrap();
    wal.truncate(keep);
    fs::write(path.with_extension("sqlite-wal"), wal).unwrap();
    (copy, path)
}

#[test]
fn a_cell_is_there_whole_or_not_at_all_wherever_the_power_fails() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let record = cell(0, 400);
    store.record_cell(&run, &record).unwrap();
    let length = fs::metadata(path.with_extension("sqlite-wal")).unwrap().len() as usize;
    let mut counts = BTreeMap::new();
    // An odd step, so that cuts are within frames and between them.
    for keep in (0..length).step_by(1733).chain([length]) {
        let (_copy, path) = crashed(&path, keep);
        let store = Store::open(&path).unwrap();
        let cells = store.load(&run).map(|run| run.cells).unwrap_or_default();
        assert!(cells.is_empty() || cells == [record.clone()], "cut at {keep}");
        *counts.entry(cells.len()).or_insert(0) += 1;
    }
    assert!(counts[&0] > 1 && counts[&1] >= 1, "{counts:?}");
}

#[test]
fn a_killed_writer_leaves_nothing_of_its_cell() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    // A small cache makes SQLite write to the WAL before the commit.
    store.batch("PRAGMA cache_size = 4").unwrap();
    let transaction = store.write().unwrap();
    store.insert_cell(&run, store.own_run(&run).unwrap(), &cell(0, 20_000)).unwrap();
    let length = fs::metadata(path.with_extension("sqlite-wal")).unwrap().len() as usize;
    assert!(length > 500_000, "{length}");
    let (_copy, copied) = crashed(&path, length);
    let after = Store::open(&copied).unwrap();
    assert_eq!(recorded(&after, &run), [] as [u32; 0]);
    after.record_cell(&run, &cell(0, 10)).unwrap();
    // A transaction that fails without a crash.
    drop(transaction);
    assert_eq!(recorded(&store, &run), [] as [u32; 0]);
    store.record_cell(&run, &cell(0, 10)).unwrap();
}

#[test]
fn many_writers_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.sqlite");
    // All of them create the store, too.
    let runs: Vec<RunId> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let store = Store::open(&path).unwrap();
                    let run = begin(&store);
                    for index in 0..20 {
                        store.record_cell(&run, &cell(index, 50)).unwrap();
                    }
                    store.end_run(&run, RunStatus::Done).unwrap();
                    run
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let store = Store::open_read_only(&path).unwrap();
    for run in runs {
        assert_eq!(store.load(&run).unwrap().cells.len(), 20);
    }
}

#[test]
fn many_may_make_the_store_at_once() {
    for _ in 0..50 {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("results.sqlite");
        let together = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    Store::open(&path).unwrap();
                });
            }
        });
        assert!(Store::open_read_only(&path).unwrap().runs().unwrap().is_empty());
    }
}

#[test]
fn a_full_disk_loses_the_cell_and_nothing_else_and_says_so() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 10)).unwrap();
    let pages = store.number("PRAGMA page_count").unwrap();
    store.number(&format!("PRAGMA max_page_count = {pages}")).unwrap();
    let error = store.record_cell(&run, &cell(1, 20_000)).unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
    assert!(error.to_string().contains("free some"), "{error}");
    assert_eq!(recorded(&store, &run), [0]);
    store.number("PRAGMA max_page_count = 1000000").unwrap();
    store.record_cell(&run, &cell(1, 20_000)).unwrap();
    assert_eq!(recorded(&store, &run), [0, 1]);
}
