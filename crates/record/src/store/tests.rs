use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use mountmark_model::{Bytes, Cell, Configuration, DeviceRecord, Outcome, RealisedCorpus};
use proptest::prelude::*;
use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;
use serde_json::json;
use tempfile::TempDir;

use super::file::immutable_uri;
use super::open::VERSION;
use super::*;
use crate::{CellRecord, DeviceUse, DeviceUses, Output, Sample, TaskOutcome};

mod strangers;

fn plan() -> Plan {
    let disk = json!({"name": "ram", "about": "memory", "sources": [], "model": "ram"});
    let filesystem = json!({
        "name": "ext4", "about": "the fourth", "mount_type": "ext4", "modules": ["ext4"],
        "fsck": {"command": ["e2fsck", "-fn", "{device}"], "clean": [0]}, "min_size": 1 << 20
    });
    let configuration: Configuration = serde_json::from_value(json!({
        "name": "ext4:noatime", "filesystem": filesystem, "mkfs_options": [], "mount_options": ["noatime"]
    }))
    .unwrap();
    let cells: Vec<Cell> = (0..4)
        .map(|index| {
            serde_json::from_value(json!({
                "index": index, "repeat": index, "configuration": configuration, "seed": u64::MAX - index,
                "disk": disk, "disk_size": 1 << 30, "second_disk": null, "ram": 768 << 20,
                "parameters": {"COUNT": u64::MAX}, "pause_seconds": 0.1 + 0.2,
                "tasks": [{"id": "001", "title": "touch", "run": "touch a"}], "tools": [], "packages": []
            }))
            .unwrap()
        })
        .collect();
    let mut plan: Plan = serde_json::from_value(json!({
        "suite": "tiny", "suite_about": "a test", "lab": "virtual",
        "machine": {"name": "slow", "about": "", "shift": 1, "ram": 768 << 20, "disk": "ram", "second_disk": "ram",
            "sources": []},
        "scale": 0.1, "repeats": 4, "seed": u64::MAX, "configurations": ["ext4:noatime"], "kernel": "6.12",
        "tasks": [["001", "touch"]], "decisions": [], "cells": []
    }))
    .unwrap();
    plan.cells = cells;
    plan
}

fn environment() -> Environment {
    Environment {
        mountmark: "0.1.0".into(),
        kernel: "6.12.0".into(),
        kernel_build: "#1 \u{1F427}".into(),
        packages: BTreeMap::from([("e2fsprogs".into(), "1.47.2".into())]),
        ..Environment::default()
    }
}

fn cell(index: u32, samples: u32) -> CellRecord {
    let mut record = CellRecord::new(&plan().cells[index as usize % 4], &environment());
    record.index = index;
    record.samples = (0..samples)
        .map(|iteration| Sample {
            task: "001".into(),
            iteration,
            metric: "elapsed".into(),
            value: f64::from(iteration) / 3.0 + 0.001,
        })
        .collect();
    record.outcomes = vec![TaskOutcome { task: "001".into(), outcome: Outcome::Ok }];
    record.notes = vec!["the settle limit of 60 s passed".into()];
    record.log = "Linux version\n\u{1b}[0mlogin: \u{0}".into();
    record
}

fn store() -> (TempDir, PathBuf, Store) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    (folder, path, store)
}

fn begin(store: &Store) -> RunId {
    store.begin_run(&plan(), &environment(), "mountmark run --fs ext4:noatime").unwrap()
}

#[test]
fn a_run_comes_back_as_it_was_written() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let cells = [cell(2, 5), cell(0, 3)];
    for cell in &cells {
        store.record_cell(&run, cell).unwrap();
    }
    store.end_run(&run, RunStatus::Done).unwrap();
    drop(store);
    for store in [Store::open(&path).unwrap(), Store::open_read_only(&path).unwrap()] {
        let record = store.load(&run).unwrap();
        assert_eq!(record.plan, plan());
        assert_eq!(record.environment, environment());
        assert_eq!(record.cells, [cells[1].clone(), cells[0].clone()], "in the plan's order");
        assert_eq!(record.status, RunStatus::Done);
        assert_eq!(record.command_line, "mountmark run --fs ext4:noatime");
        assert!(record.ended >= Some(record.started));
        assert_eq!(recorded(&store, &run), [0, 2]);
        let summary = &store.runs().unwrap()[0];
        assert_eq!((summary.planned, summary.recorded, summary.failed, summary.seed), (4, 2, 0, u64::MAX));
        assert_eq!(summary.configurations, ["ext4:noatime"]);
    }
}

#[test]
fn names_tell_the_time() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    let text = run.as_str();
    assert_eq!(text.len(), "20261121-0345-a1b2".len());
    assert!(text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 => byte == b'-',
        14.. => byte.is_ascii_hexdigit(),
        _ => byte.is_ascii_digit(),
    }));
    let other = begin(&store);
    assert_ne!(run, other);
    assert_eq!(store.resolve("latest").unwrap(), other);
    assert_eq!(store.resolve(text).unwrap(), run);
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Ok),
        any::<String>().prop_map(|reason| Outcome::Skipped { reason }),
        any::<(String, String)>().prop_map(|(reason, detail)| Outcome::Failed { reason, detail }),
    ]
}

prop_compose! {
    fn records()(
        identity in any::<(u32, u32, String, u64, String)>(),
        disk_size in 0..=i64::MAX as u64,
        times in any::<(i64, i64)>(),
        outcome in outcomes(),
        kernel in any::<String>(),
        corpus in proptest::option::of(any::<(String, u64, Option<u64>)>()),
        outcomes in prop::collection::vec((any::<String>(), outcomes()), 0..4),
        samples in prop::collection::btree_map(
            (any::<String>(), any::<u32>(), any::<String>()),
            prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
            0..20,
        ),
        notes in prop::collection::vec(any::<String>(), 0..3),
        log in any::<String>(),
    ) -> CellRecord {
        let (index, repeat, configuration, seed, disk) = identity;
        let mut environment = Environment::default();
        environment.name_kernel(&kernel);
        CellRecord {
            index, repeat, configuration, seed, disk,
            disk_size: Bytes(disk_size),
            started: Timestamp(times.0),
            ended: Timestamp(times.1),
            outcome,
            environment,
            corpus: corpus.map(|(name, files, seed)| RealisedCorpus { name, files, seed, ..Default::default() }),
            outcomes: outcomes.into_iter().map(|(task, outcome)| TaskOutcome { task, outcome }).collect(),
            samples: samples
                .into_iter()
                .map(|((task, iteration, metric), value)| Sample { task, iteration, metric, value })
                .collect(),
            notes,
            log,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_recorded_is_loaded(record in records()) {
        let folder = TempDir::new().unwrap();
        let store = Store::connect(&folder.path().join("locks"), Path::new(":memory:"), OpenFlags::default()).unwrap();
        store.migrate().unwrap();
        let run = begin(&store);
        store.record_cell(&run, &record).unwrap();
        prop_assert_eq!(store.load(&run).unwrap().cells, [record]);
    }
}

#[test]
fn what_is_no_figure_is_refused_by_name_and_leaves_nothing() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut bad = cell(0, 3);
        bad.samples[2].value = value;
        let error = store.record_cell(&run, &bad).unwrap_err().to_string();
        assert!(error.contains("elapsed") && error.contains("001"), "{error}");
    }
    let mut twice = cell(0, 3);
    twice.samples[2].iteration = 1;
    assert!(matches!(store.record_cell(&run, &twice), Err(StoreError::DuplicateSample { .. })));
    let mut large = cell(0, 3);
    large.disk_size = Bytes(u64::MAX);
    assert!(matches!(store.record_cell(&run, &large), Err(StoreError::TooLarge { .. })));
    assert_eq!(recorded(&store, &run), [] as [u32; 0]);
    store.record_cell(&run, &cell(0, 3)).unwrap();
    assert!(matches!(store.record_cell(&run, &cell(0, 3)), Err(StoreError::CellExists { index: 0, .. })));
    assert_eq!(store.load(&run).unwrap().cells, [cell_at_same_time(&store, &run)]);
}

/// Positions of the cells that are in the store.
fn recorded(store: &Store, run: &RunId) -> Vec<u32> {
    store.load(run).unwrap().cells.iter().map(|cell| cell.index).collect()
}

fn cell_at_same_time(store: &Store, run: &RunId) -> CellRecord {
    let loaded = store.load(run).unwrap().cells.remove(0);
    CellRecord { started: loaded.started, ended: loaded.ended, ..cell(0, 3) }
}

#[test]
fn an_unknown_run_is_an_error_everywhere() {
    let (_folder, _, store) = store();
    let run = RunId::new("20261121-0345-none");
    assert!(store.load(&run).is_err());
    begin(&store);
    for error in [
        store.load(&run).map(|_| ()),
        store.record_cell(&run, &cell(0, 1)),
        store.end_run(&run, RunStatus::Done),
        store.delete_run(&run, false),
        store.resume_run(&run, false).map(drop),
    ] {
        assert!(matches!(error, Err(StoreError::UnknownRun { .. })), "{error:?}");
    }
}

/// All files of a folder with their bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

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
    // All but the first page, so that it still looks like a store.
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
    // Whichever was closed first: a writer that opens and closes cleans up.
    drop(Store::open(&path).unwrap());
    let before = contents(folder.path());
    Store::open_read_only(&path).unwrap().load(&run).unwrap();
    let after = contents(folder.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after);
}

/// The rights of a folder bind everybody but root, and a container's root may be either.
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

/// A copy of a store as a power failure would leave it, with the WAL cut after `keep` bytes.
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
    // An odd step, so that cuts fall within frames and between them.
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
    store.insert_cell(&run, &cell(0, 20_000)).unwrap();
    let length = fs::metadata(path.with_extension("sqlite-wal")).unwrap().len() as usize;
    assert!(length > 500_000, "{length}");
    let (_copy, copied) = crashed(&path, length);
    let after = Store::open(&copied).unwrap();
    assert_eq!(recorded(&after, &run), [] as [u32; 0]);
    after.record_cell(&run, &cell(0, 10)).unwrap();
    // And one that fails without dying.
    drop(transaction);
    assert_eq!(recorded(&store, &run), [] as [u32; 0]);
    store.record_cell(&run, &cell(0, 10)).unwrap();
}

#[test]
fn many_writers_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.sqlite");
    // They all make the store, too.
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

/// Makes the run that of a process that is gone.
fn orphan(store: &Store, run: &RunId) {
    store.execute("UPDATE run SET process = ?2 WHERE id = ?1", params![run.as_str(), json(&Process::dead())]).unwrap();
    store.locks.give_back(store.run_number(run).unwrap());
}

#[test]
fn a_run_whose_process_is_gone_was_interrupted() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Running);
    assert!(matches!(store.delete_run(&run, false), Err(StoreError::StillRunning { .. })));
    assert!(matches!(store.resume_run(&run, false), Err(StoreError::StillRunning { .. })));
    orphan(&store, &run);
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Interrupted);
    assert_eq!(store.load(&run).unwrap().status, RunStatus::Interrupted);
    store.resume_run(&run, false).unwrap();
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Running);
}

#[test]
fn a_run_is_resumed_with_the_cells_that_it_has_by_then() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(2, 1)).unwrap();
    orphan(&store, &run);
    let other = Store::open(&path).unwrap();
    assert_eq!(other.resume_run(&run, false).unwrap(), BTreeSet::from([2]));
    other.record_cell(&run, &cell(0, 1)).unwrap();
    other.end_run(&run, RunStatus::Interrupted).unwrap();
    assert_eq!(store.resume_run(&run, false).unwrap(), BTreeSet::from([0, 2]));
}

#[test]
fn a_run_on_a_machine_that_is_gone_is_taken_over_by_force_and_its_first_process_adds_nothing() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let elsewhere = Process::elsewhere();
    let assign = |process: &Process| {
        let values = params![run.as_str(), json(process)];
        store.execute("UPDATE run SET process = ?2 WHERE id = ?1", values).unwrap();
    };
    assign(&elsewhere);
    store.locks.give_back(store.run_number(&run).unwrap());
    let text = store.resume_run(&run, false).unwrap_err().to_string();
    assert!(text.contains("machine far-away") && text.contains("--force"), "{text}");
    // To a process of its own it is somebody else's.
    assert!(matches!(store.record_cell(&run, &cell(0, 1)), Err(StoreError::TakenOver { .. })));
    assert!(matches!(store.end_run(&run, RunStatus::Failed), Err(StoreError::TakenOver { .. })));
    assert_eq!(recorded(&store, &run), [] as [u32; 0]);
    Store::open(&path).unwrap().resume_run(&run, true).unwrap();
    store.record_cell(&run, &cell(0, 1)).unwrap();
    assert_eq!(recorded(&store, &run), [0]);
}

#[test]
fn a_run_in_another_container_is_known_by_its_lock() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let contained = Process::contained().with_lock(true);
    let values = params![run.as_str(), json(&contained)];
    store.execute("UPDATE run SET process = ?2 WHERE id = ?1", values).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    let status = || (reader.load(&run).unwrap().status, reader.runs().unwrap()[0].status);
    assert_eq!(status(), (RunStatus::Running, RunStatus::Running));
    assert!(matches!(store.delete_run(&run, false), Err(StoreError::StillRunning { .. })));
    // The kernel does the same when the process ends.
    store.locks.give_back(store.run_number(&run).unwrap());
    assert_eq!(status(), (RunStatus::Interrupted, RunStatus::Interrupted));
    store.delete_run(&run, false).unwrap();
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
fn failures_of_cells_and_tasks_are_counted_and_deleting_takes_all() {
    let (_folder, _, store) = store();
    let (run, other) = (begin(&store), begin(&store));
    let failed = Outcome::Failed { reason: "mkfs ended with 1".into(), detail: String::new() };
    let mut cells = [cell(0, 1), cell(1, 1), cell(2, 1)];
    cells[0].outcome = failed.clone();
    cells[1].outcomes.push(TaskOutcome { task: "fsck".into(), outcome: failed });
    for cell in &cells {
        store.record_cell(&run, cell).unwrap();
    }
    store.record_cell(&other, &cells[2]).unwrap();
    assert_eq!(store.runs().unwrap()[0].failed, 2);
    store.end_run(&run, RunStatus::Failed).unwrap();
    store.delete_run(&run, false).unwrap();
    assert_eq!(store.runs().unwrap().len(), 1);
    for table in ["cell", "task_outcome", "sample", "note"] {
        assert_eq!(store.number(&format!("SELECT count(*) FROM {table}")).unwrap(), 1, "{table}");
    }
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

/// `cargo test --release -p mountmark-record -- --ignored --nocapture speed`
#[test]
#[ignore = "takes seconds and measures"]
fn speed() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let begun = Instant::now();
    for index in 0..100 {
        store.record_cell(&run, &cell(index, 2000)).unwrap();
    }
    let written = begun.elapsed();
    drop(store);
    let begun = Instant::now();
    let record = Store::open_read_only(&path).unwrap().load(&run).unwrap();
    let loaded = begun.elapsed();
    let samples: usize = record.cells.iter().map(|cell| cell.samples.len()).sum();
    println!("{samples} samples in 100 cells: written in {written:?}, loaded in {loaded:?}");
    assert_eq!(samples, 200_000);
    assert!(loaded < Duration::from_millis(500), "{loaded:?}");
}

#[test]
fn outputs_come_back_for_all_tasks_or_one_and_go_with_their_run() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let output = |cell: u32, task: &str, kind: &str| Output {
        cell,
        task: task.into(),
        iteration: 0,
        kind: kind.into(),
        text: format!("{task}\n\u{0}{cell}"),
    };
    let (a, b, c) = (output(1, "a", "stdout"), output(1, "b", "stderr"), output(0, "a", "result"));
    store.record_cell_with(&run, &cell(1, 2), &[a.clone(), b.clone()], &[]).unwrap();
    store.record_cell_with(&run, &cell(0, 2), std::slice::from_ref(&c), &[]).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.outputs(&run, None).unwrap(), [c.clone(), a.clone(), b]);
    assert_eq!(reader.outputs(&run, Some("a")).unwrap(), [c.clone(), a]);
    assert_eq!((reader.results(&run, 0).unwrap(), reader.results(&run, 1).unwrap()), (vec![c], vec![]));
    assert!(reader.outputs(&run, Some("x")).unwrap().is_empty());
    store.end_run(&run, RunStatus::Done).unwrap();
    store.delete_run(&run, false).unwrap();
    assert_eq!(store.number("SELECT count(*) FROM output").unwrap(), 0);
}

#[test]
fn what_devices_saw_comes_back_for_all_one_task_or_one_repeat() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let device = |cell: u32, task: &str| DeviceUse {
        cell,
        task: task.into(),
        iteration: 0,
        record: DeviceRecord { size: 1 << 30, settled: u64::from(cell) + 5, ..DeviceRecord::default() },
    };
    let (a, b, c) = (device(1, "a"), device(1, "b"), device(0, "a"));
    store.record_cell_with(&run, &cell(1, 2), &[], &[a.clone(), b.clone()]).unwrap();
    store.record_cell_with(&run, &cell(0, 2), &[], std::slice::from_ref(&c)).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    let devices = |task: Option<&str>, repeat| {
        reader.devices(&run, &DeviceUses { task: task.map(str::to_owned), repeat }).unwrap()
    };
    assert_eq!(devices(None, None), [c.clone(), a.clone(), b.clone()]);
    assert_eq!(devices(Some("a"), None), [c.clone(), a.clone()]);
    assert_eq!((devices(None, Some(1)), devices(Some("b"), Some(0))), (vec![a, b], vec![]));
    store.batch("UPDATE device SET record = x'00'").unwrap();
    let error = reader.devices(&run, &DeviceUses::default()).unwrap_err().to_string();
    assert!(error.contains("record of a device"), "{error}");
    store.end_run(&run, RunStatus::Done).unwrap();
    store.delete_run(&run, false).unwrap();
    assert_eq!(store.number("SELECT count(*) FROM device").unwrap(), 0);
}

#[test]
fn a_store_of_the_first_version_is_read_as_it_is_and_migrated_by_the_next_writer() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(0, 2)).unwrap();
    store.batch("DROP TABLE output; DROP TABLE device; PRAGMA user_version = 1").unwrap();
    drop(store);
    let reader = Store::open_read_only(&path).unwrap();
    assert!(reader.outputs(&run, None).unwrap().is_empty());
    assert!(reader.devices(&run, &DeviceUses::default()).unwrap().is_empty());
    assert_eq!(reader.load(&run).unwrap().cells.len(), 1);
    drop(reader);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.number("PRAGMA user_version").unwrap(), i64::from(VERSION));
    let kept = Output { cell: 1, task: "a".into(), iteration: 0, kind: "stdout".into(), text: "x".into() };
    store.record_cell_with(&run, &cell(1, 2), std::slice::from_ref(&kept), &[]).unwrap();
    assert_eq!(store.outputs(&run, None).unwrap(), [kept]);
}
