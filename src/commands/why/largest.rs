//! Explains the largest differences of a run, between the best and the worst configuration of a task.

use std::collections::BTreeMap;

use anyhow::Result;
use mountmark_findings::Findings;
use mountmark_findings::why::{Gap, Ledger, largest};
use mountmark_model::{Metric, protocol_task};
use mountmark_record::{RunRecord, Store};

use super::cells::{Measured, ProfileOptions, Wanted, measure};
use super::choose::{Chosen, check_run, one};

/// A task's ledgers on its best and its worst configuration.
pub struct Explained {
    pub task: String,
    pub ledgers: Vec<Ledger>,
    /// As [`Measured::figures`], of both.
    pub figures: usize,
    pub is_kept: bool,
    pub differs: Option<String>,
}

/// What became of a wish.
pub enum Outcome {
    Explained(Vec<Explained>),
    /// A cell with the profiler was not as the run has it: a sentence.
    Fault(String),
    /// The user stopped it.
    Stopped,
}

/// The `count` largest differences of a run.
pub fn explain(
    run: &RunRecord,
    findings: &Findings,
    count: usize,
    store: &Store,
    guests: ProfileOptions,
) -> Result<Outcome> {
    check_run(run)?;
    let is_whole = |task: &str| {
        let mut tasks = run.plan.cells.iter().flat_map(|cell| &cell.tasks);
        task != protocol_task::CAPACITY && tasks.all(|planned| planned.id != task || planned.part_of.is_none())
    };
    let has_time = |task: &str| {
        let mut figures = run.cells.iter().map(|record| record.figure(task, &Metric::ELAPSED));
        is_whole(task) && figures.any(|elapsed| elapsed.is_some())
    };
    let gaps = largest(findings, count, &has_time);
    let pairs: Vec<(&Gap, [Chosen; 2])> =
        gaps.iter().filter_map(|gap| Some((gap, cells(run, findings, gap)?))).collect();
    let mut wanted: BTreeMap<u32, (Chosen, Vec<&str>)> = BTreeMap::new();
    for (gap, pair) in &pairs {
        for chosen in pair {
            wanted.entry(chosen.record.index).or_insert((*chosen, Vec::new())).1.push(&gap.task);
        }
    }
    let wanted = wanted.into_values().map(|(chosen, tasks)| Wanted::of(store, chosen, tasks));
    let wanted: Vec<Wanted> = wanted.collect::<Result<_>>()?;
    let Some(measured) = measure(&wanted, guests)? else { return Ok(Outcome::Stopped) };
    if let Some(fault) = measured.iter().find_map(|measured| measured.fault.clone()) {
        return Ok(Outcome::Fault(fault));
    }
    let of = |chosen: &Chosen| {
        wanted.iter().zip(&measured).find(|(wanted, _)| wanted.chosen.record.index == chosen.record.index)
    };
    let explained = pairs.iter().map(|(gap, pair)| {
        let cells: Vec<(&Wanted, &Measured)> = pair.iter().filter_map(of).collect();
        let ledger = |(wanted, measured): &(&Wanted, &Measured)| {
            let at = wanted.tasks.iter().position(|task| *task == gap.task)?;
            measured.ledgers.get(at).cloned()
        };
        Explained {
            task: gap.task.clone(),
            ledgers: cells.iter().filter_map(ledger).collect(),
            figures: cells.iter().filter_map(|(_, measured)| measured.figures).sum(),
            is_kept: cells.iter().any(|(_, measured)| measured.figures.is_none()),
            differs: cells.iter().find_map(|(_, measured)| measured.differs.clone()),
        }
    });
    Ok(Outcome::Explained(explained.collect()))
}

/// The cells of the repeat in which the two are apart as their medians are.
fn cells<'a>(run: &'a RunRecord, findings: &Findings, gap: &Gap) -> Option<[Chosen<'a>; 2]> {
    let metric = Metric::find(gap.metric)?;
    let names = [gap.best, gap.worst].map(|at| findings.configurations[at].as_str());
    let apart = |repeat: u32| -> Option<(f64, [Chosen<'a>; 2])> {
        let of = |name: &str| one(run, &gap.task, name, repeat).ok();
        let [best, worst] = [of(names[0])?, of(names[1])?];
        let value = |chosen: &Chosen| chosen.record.figure(&gap.task, metric).filter(|value| *value > 0.0);
        let times = (value(&worst)? / value(&best)?).ln().abs();
        Some(((times - gap.times.ln()).abs(), [best, worst]))
    };
    let found = (0..run.plan.repeats).filter_map(apart);
    found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, cells)| cells)
}
