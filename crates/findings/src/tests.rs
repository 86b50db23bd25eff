mod conditions;
mod gaps;
mod labels;
mod layers;
mod missing;
mod one_run;
pub(crate) mod page;
mod partial;
mod programs;
mod verdicts;
mod words;

use std::sync::Arc;

use mountmark_cells::{Plan, PlannedCell};
use mountmark_document::forms::Subject;
use mountmark_document::writers::Options;
use mountmark_model::{Cell, Environment, Metric, Outcome, RealisedCorpus};
use mountmark_record::{CellRecord, RunId, RunRecord, RunStatus, Sample, TaskOutcome, Timestamp};
use serde_json::json;

use crate::device::show::Device;
use crate::name::find_metric;
use crate::registry::{Format, SUBJECTS};
use crate::run::show::Run;

/// A subject in a format, as written to a pipe of this width.
pub(crate) fn written<S: Subject>(subject: &S, format: &str, width: usize) -> String {
    let options = Options { width, ..Options::default() };
    Format::find::<S>(Some(format)).unwrap().write(subject, &options).unwrap()
}

fn of<'a>(run: &'a RunRecord, metric: Option<&'static Metric>) -> Run<'a> {
    Run { run, metric }
}

fn table(run: &RunRecord, options: &Options) -> String {
    Format::find::<Run>(Some("table")).unwrap().write(&of(run, None), options).unwrap()
}

fn by(run: &RunRecord, metric: &'static Metric) -> String {
    written(&of(run, Some(metric)), "table", 100)
}

fn formats() -> impl Iterator<Item = Format> {
    SUBJECTS.iter().find(|subject| subject.command == "show").unwrap().formats()
}

/// 2026-11-21T03:45:12Z
const STARTED: Timestamp = Timestamp(1_795_232_712_000);

fn plan(names: &[&str], repeats: u32) -> Plan {
    let disk = json!({"name": "ram", "about": "memory", "sources": [], "model": "ram"});
    let cells: Vec<Cell> = (0..repeats)
        .flat_map(|repeat| names.iter().map(move |name| (repeat, name)))
        .enumerate()
        .map(|(index, (repeat, name))| {
            let filesystem = name.split(':').next().unwrap();
            serde_json::from_value(json!({
                "index": index, "repeat": repeat, "seed": 7 + repeat, "disk": disk, "disk_size": 1 << 30,
                "configuration": {
                    "name": name, "mkfs_options": [], "mount_options": ["noatime"],
                    "filesystem": {"name": filesystem, "about": "", "mount_type": filesystem, "modules": [],
                        "min_size": 1 << 20}
                },
                "second_disk": null, "ram": 768 << 20, "parameters": {}, "pause_seconds": 0.0,
                "tasks": [], "tools": [], "packages": []
            }))
            .unwrap()
        })
        .collect();
    let mut plan: Plan = serde_json::from_value(json!({
        "suite": "tiny", "suite_about": "two tasks", "lab": "virtual",
        "machine": {"name": "slow", "about": "", "shift": 1, "ram": 768 << 20, "disk": "ram", "second_disk": "ram",
            "sources": []},
        "scale": 0.02, "repeats": repeats, "seed": 7, "configurations": names, "kernel": "6.12",
        "tasks": [["001", "touch 10,000 files"], ["002", "copy a tree"]], "decisions": [], "cells": []
    }))
    .unwrap();
    plan.cells = cells.into_iter().map(PlannedCell::from).collect();
    plan
}

fn environment() -> Environment {
    Environment { mountmark: "0.1.0".into(), kernel: "6.12.57".into(), ..Environment::default() }
}

/// A complete run: each figure identifies its task and its configuration.
pub(crate) fn run(names: &[&str], repeats: u32) -> RunRecord {
    let plan = plan(names, repeats);
    let cells = plan
        .cells
        .iter()
        .map(|cell| {
            let mut record = CellRecord::new(cell, &environment());
            (record.started, record.ended) = (STARTED, Timestamp(STARTED.0 + 1000));
            let position = (cell.index as usize % names.len()) as f64;
            for (task, base) in [("mkfs", 0.5), ("mount", 0.01), ("001", 10.0), ("002", 200.0), ("umount", 0.02)] {
                let value = base * (1.0 + position) * (1.0 + f64::from(cell.repeat) / 100.0);
                record.samples.push(sample(task, "elapsed", value));
                record.outcomes.push(TaskOutcome { task: task.into(), outcome: Outcome::Ok });
            }
            record.samples.push(sample("001", "written_bytes", 3.0 * 1048576.0));
            record.samples.push(sample("capacity", "capacity", 90.0 + position));
            record.corpus = Some(Arc::new(RealisedCorpus {
                name: "small".into(),
                files: 1200,
                directories: 1,
                bytes: 3 << 20,
                size_max: 70000,
                size_median: 900,
                size_mean: 2621,
                max_depth: 4,
                seed: Some(7),
                ..RealisedCorpus::default()
            }));
            record
        })
        .collect();
    RunRecord {
        id: RunId::new("20261121-0345-a1b2"),
        started: STARTED,
        ended: Some(Timestamp(STARTED.0 + 60_000)),
        status: RunStatus::Done,
        program: "0.1.0".into(),
        command_line: "mountmark run".into(),
        plan,
        environment: environment(),
        cells,
        side: None,
    }
}

pub(crate) fn sample(task: &str, metric: &str, value: f64) -> Sample {
    Sample { task: task.into(), iteration: 0, metric: metric.into(), value }
}

pub(crate) fn failed(reason: &str) -> Outcome {
    Outcome::Failed { reason: reason.into(), detail: "detail".into() }
}

/// Many configurations, some with long names.
const MANY: [&str; 18] = [
    "ext2",
    "ext3",
    "ext3:data=journal",
    "ext3:data=writeback",
    "ext4",
    "ext4:noatime,nobarrier,commit=60",
    "jfs",
    "xfs",
    "reiserfs",
    "btrfs",
    "f2fs",
    "nilfs2",
    "bcachefs",
    "ntfs3",
    "gfs2",
    "ocfs2",
    "minix",
    "exfat",
];

#[test]
fn a_table_is_exactly_this() {
    let mut run = run(&["ext4", "xfs", "jfs"], 2);
    // jfs fails one task once, xfs always skips one, and a cell of ext4 was never run.
    run.cells[2].outcomes[3].outcome = failed("cp ended with 1: No space left on device");
    for index in [1, 4] {
        run.cells[index].outcomes[2].outcome = Outcome::Skipped { reason: "needs links".into() };
        run.cells[index].samples.retain(|sample| sample.task != "001");
    }
    run.cells.remove(3);
    let text = table(&run, &Options { width: 80, ..Options::default() });
    println!("{text}");
    assert_eq!(text, include_str!("tests/table.txt"));
    let text = written(&of(&run, None), "markdown", 100);
    println!("{text}");
    assert_eq!(text, include_str!("tests/table.md"));
}

#[test]
fn seven_file_systems_stand_beside_each_other_in_100_columns() {
    let names = ["ext2", "ext3", "ext4", "jfs", "reiserfs", "xfs", "btrfs"];
    let text = table(&run(&names, 3), &Options::default());
    println!("{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("mkfs")).count(), 1);
}

#[test]
fn lines_fit_however_many_file_systems_there_are() {
    for names in [&MANY[..1], &MANY[..7], &MANY[..]] {
        for repeats in [1, 3] {
            for width in [60, 100, 200] {
                for terminal in [true, false] {
                    let text = table(&run(names, repeats), &Options { width, terminal, ..Options::default() });
                    for line in text.lines() {
                        assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
                    }
                    // Each configuration has exactly one column, and every table has all rows.
                    let tables = text.lines().filter(|line| line.starts_with("mkfs")).count();
                    assert_eq!(text.lines().filter(|line| line.starts_with("total of 2 tasks")).count(), tables);
                    let figures: usize = text
                        .lines()
                        .filter(|line| line.starts_with("mkfs"))
                        .map(|line| line.split_whitespace().count())
                        .sum();
                    let spreads = if repeats > 1 { 2 } else { 1 };
                    assert_eq!(figures, names.len() + tables * spreads, "{text}");
                }
            }
        }
    }
}

#[test]
fn the_best_of_a_row_is_the_best_of_all_parts_and_alone_nobody_is() {
    let text = table(&run(&MANY, 1), &Options { width: 60, ..Options::default() });
    let stars: Vec<&str> = text.lines().filter(|line| line.starts_with("mkfs") && line.contains('*')).collect();
    assert_eq!(stars.len(), 1, "{text}");
    assert!(!table(&run(&["ext4"], 1), &Options::default()).contains('*'));
}

#[test]
fn higher_is_better_where_it_is() {
    let text = by(&run(&["ext4", "xfs"], 1), &Metric::CAPACITY);
    assert!(
        text.lines().any(|line| line.starts_with("capacity") && line.contains(" 90.00") && line.contains("*91.00"))
    );
    assert!(!text.contains("001"), "{text}");
    assert!(text.contains("higher is better"));
}

#[test]
fn what_prints_as_the_best_figure_is_marked_too() {
    let mut run = run(&["ext4", "xfs", "jfs"], 1);
    for (cell, value) in run.cells.iter_mut().zip([1.2340, 1.2341, 1.3]) {
        *cell.samples.iter_mut().nth(2).unwrap().1 = value;
    }
    let text = table(&run, &Options::default());
    let line = text.lines().find(|line| line.starts_with("001")).unwrap();
    assert_eq!(line.split_whitespace().skip(4).collect::<Vec<_>>(), ["*1.23", "*1.23", "1.30"]);
}

#[test]
fn colours_surround_the_marked_figures_and_move_nothing() {
    let run = run(&["ext4", "xfs"], 1);
    let plain = table(&run, &Options::default());
    let colored = table(&run, &Options { color: true, ..Options::default() });
    assert!(colored.contains("\x1b[1;32m*0.500\x1b[0m"), "{colored}");
    assert_eq!(colored.replace("\x1b[1;32m", "").replace("\x1b[0m", ""), plain);
    let mut run = run;
    run.cells[0].samples.push(sample("002", "written_bytes", 2.0 * 1048576.0));
    run.cells[1].samples.push(sample("002", "written_bytes", 4.0 * 1048576.0));
    let options = Options { color: true, ..Options::default() };
    let table = Format::find::<Run>(None).unwrap();
    let bytes = table.write(&of(&run, Some(&Metric::WRITTEN_BYTES)), &options).unwrap();
    assert!(bytes.contains("\x1b[1;32m*2.00 MiB\x1b[0m"), "{bytes}");
}

#[test]
fn a_cell_that_was_run_again_does_not_make_its_repeat_count_twice() {
    let mut record = run(&["ext4"], 3);
    for cell in &mut record.cells {
        let value = if cell.repeat == 2 { 2.0 } else { 1.0 };
        cell.samples.iter_mut().filter(|(sample, _)| sample.metric == "elapsed").for_each(|(_, one)| *one = value);
    }
    let mut again = record.cells[2].clone();
    again.index = 3;
    again.samples.iter_mut().for_each(|(_, value)| *value = 1.0);
    record.cells.push(again);
    let text = table(&record, &Options::default());
    let row = text.lines().find(|line| line.contains("mkfs")).unwrap();
    // The third repeat counts with its median, 1.5; all four cells would give a spread of 40 %, not 25.
    assert!(row.contains("1.00") && row.contains("24.74"), "{row}");
}

#[test]
fn sequences_that_a_terminal_obeys_do_not_reach_it() {
    let mut run = run(&["ext4", "xfs"], 1);
    run.cells[0].outcomes[2].outcome = failed("dmesg: \x1b[2J\u{e000}oops\nnext");
    run.plan.suite_about = "\x1b]0;title\x07".into();
    for text in ["table", "markdown"].map(|format| written(&of(&run, None), format, 100)) {
        assert!(!text.contains(['\x1b', '\x07', '\u{e000}']), "{text}");
    }
}

#[test]
fn names_that_nothing_has_are_answered_with_near_ones() {
    assert_eq!(find_metric("elapsed").unwrap(), &Metric::ELAPSED);
    let error = find_metric("elapsd").unwrap_err();
    assert_eq!(error.near.first(), Some(&"elapsed"));
    assert!(error.to_string().starts_with("there is no metric \"elapsd\": did you mean elapsed"), "{error}");
    assert!(error.to_string().contains("write_amplification"));
    assert_eq!(
        Format::find::<Run>(Some("jsn")).err().unwrap().to_string(),
        "there is no format \"jsn\": did you mean json?; there are: table, markdown, csv, json, html, bencher, github-action-benchmark"
    );
}

#[test]
fn a_format_is_refused_by_a_subject_that_lacks_what_it_needs() {
    let error = Format::find::<Device>(Some("csv")).err().unwrap().to_string();
    assert_eq!(error, "the use of the device cannot be written as csv; there are: table, markdown, json, html");
    for subject in SUBJECTS {
        let formats: Vec<&str> = subject.formats().map(Format::name).collect();
        assert_eq!(formats[0], "table", "{}: what is printed is a table unless told otherwise", subject.command);
        assert!(formats.contains(&"html"), "{}: all that has a table has a page", subject.command);
    }
}
