//! Synthetic runs for tests of the use of results: a real plan with generated figures.

use std::path::PathBuf;

use mountmark_cells::Plan;
use mountmark_model::conditions::Way;
use mountmark_model::{Environment, Lab as LabName, Metric, Outcome, RealisedCorpus, protocol_task};
use mountmark_plan::{Catalogue, Options};
use mountmark_record::{CellRecord, CellToRecord, RunId, RunStatus, Sample, Store, TaskOutcome};

use crate::lab::Lab;

/// The plan of a suite of the catalogue, as `mountmark run` would make it.
pub fn plan(suite: &str, fs: &[&str], repeats: u32, seed: u64, scale: &str) -> Plan {
    let catalogue = Catalogue::load(None).expect("the built-in catalogue");
    let options = Options {
        fs: fs.iter().map(|name| (*name).to_owned()).collect(),
        suite: suite.into(),
        lab: LabName::Virtual,
        own: None,
        machine: "p3-2006".into(),
        disk: None,
        disk_size: None,
        kernel: "6.12".into(),
        scale: scale.parse().expect("a scale"),
        repeats,
        seed,
        conditions: Way::Fixed,
        corpus: None,
        fill: None,
        age: None,
    };
    let corpus = RealisedCorpus {
        name: "made-up".into(),
        files: 370,
        directories: 23,
        others: 0,
        bytes: 4_078_960,
        tar_bytes: 4_300_000,
        size_min: 76,
        size_median: 4557,
        size_mean: 11_059,
        size_max: 201_728,
        max_depth: 4,
        sha256: "00".repeat(32),
        seed: Some(seed),
    };
    mountmark_plan::plan(&catalogue, &options, &mut |_| Ok((PathBuf::from("/corpus.tar"), corpus.clone())))
        .expect("a plan")
}

/// Stores a run of `plan` in the store of `lab`, with `figure(configuration, task, repeat)` seconds as returned and
/// durable time of each task, and `more` metrics.
pub fn record(
    lab: &Lab,
    plan: &Plan,
    more: &[Metric],
    mut figure: impl FnMut(&str, &str, u32) -> Option<f64>,
) -> RunId {
    let store = Store::open(lab.out().join("results.sqlite")).expect("a store");
    let environment = Environment { mountmark: "0.1.0".into(), kernel: "6.12.57".into(), ..Environment::default() };
    let run = store.begin_run(plan, &environment, "mountmark run --suite made-up").expect("a run");
    for cell in &plan.cells {
        let mut record = CellRecord::new(cell, &environment);
        let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT];
        for task in steps.into_iter().chain(plan.tasks.iter().map(|(id, _)| id.as_str())) {
            let Some(value) = figure(&cell.configuration.name, task, cell.repeat) else {
                let outcome = Outcome::Failed { reason: "it was made to fail".into(), detail: String::new() };
                record.outcomes.push(TaskOutcome { task: task.into(), outcome });
                continue;
            };
            for metric in [Metric::ELAPSED, Metric::DURABLE].iter().chain(more) {
                let sample = Sample { task: task.into(), iteration: 0, metric: metric.id.into(), value };
                record.samples.push(sample);
            }
            record.outcomes.push(TaskOutcome { task: task.into(), outcome: Outcome::Ok });
        }
        store
            .record_cells(&run, &[CellToRecord { cell: &record, outputs: &[], devices: &[], profiles: None }])
            .expect("a cell");
    }
    store.end_run(&run, RunStatus::Done).expect("the end");
    run
}

/// Deterministic noise within 1 % of 1.
pub fn noise(configuration: &str, task: &str, repeat: u32, seed: u64) -> f64 {
    let text = format!("{configuration} {task} {repeat} {seed}");
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    // The last letters of a text have changed only the low bits.
    let hash = (hash ^ (hash >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d);
    0.99 + 0.02 * (hash >> 11) as f64 / (1_u64 << 53) as f64
}
