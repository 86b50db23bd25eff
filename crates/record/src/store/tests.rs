//! Writes and reads runs and cells.

mod beside;
mod failures;
mod folders;
mod formats;
mod runs;
mod strangers;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Bytes, Cell, Configuration, DeviceRecord, Outcome, RealisedCorpus};
use proptest::prelude::*;
use rusqlite::OpenFlags;
use serde_json::json;
use tempfile::TempDir;

use super::file::immutable_uri;
use super::open::VERSION;
use super::*;
use crate::{CellEnvironment, CellRecord, DeviceUse, DeviceUses, Output, OutputKind, Profiles, Sample, TaskOutcome};

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
    plan.cells = cells.into_iter().map(PlannedCell::from).collect();
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

impl Store {
    fn record_cell(&self, run: &RunId, cell: &CellRecord) -> Result<(), StoreError> {
        self.record_cell_with(run, cell, &[], &[], None)
    }

    fn record_cell_with(
        &self,
        run: &RunId,
        cell: &CellRecord,
        outputs: &[Output],
        devices: &[DeviceUse],
        profiles: Option<&Profiles>,
    ) -> Result<(), StoreError> {
        self.record_cells(run, &[CellToRecord { cell, outputs, devices, profiles }])
    }
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
            environment: CellEnvironment { key: kernel, ..environment.into() },
            corpus: corpus
                .map(|(name, files, seed)| Arc::new(RealisedCorpus { name, files, seed, ..Default::default() })),
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
        bad.samples.iter_mut().skip(2).for_each(|(_, last)| *last = value);
        let error = store.record_cell(&run, &bad).unwrap_err().to_string();
        assert!(error.contains("elapsed") && error.contains("001"), "{error}");
    }
    let mut twice = cell(0, 3);
    twice.samples.retain(|sample| sample.iteration < 2);
    let again = twice.samples.iter().last().unwrap().owned();
    twice.samples.push(again);
    assert!(matches!(store.record_cell(&run, &twice), Err(StoreError::DuplicateSample { .. })));
    let mut large = cell(0, 3);
    large.disk_size = Bytes(u64::MAX);
    assert!(matches!(store.record_cell(&run, &large), Err(StoreError::TooLarge { .. })));
    assert_eq!(recorded(&store, &run), [] as [u32; 0]);
    store.record_cell(&run, &cell(0, 3)).unwrap();
    assert!(matches!(store.record_cell(&run, &cell(0, 3)), Err(StoreError::CellExists { index: 0, .. })));
    assert_eq!(store.load(&run).unwrap().cells, [cell_at_same_time(&store, &run)]);
}

/// Indices of the cells in the store.
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
