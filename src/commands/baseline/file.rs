//! The file of a baseline: what was measured, by which words, with what, and where the time went.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_cells::{Plan, PlannedCell};
use mountmark_findings::is_judged_by;
use mountmark_findings::why::Ledger;
use mountmark_model::{Bytes, Environment, Outcome, RealisedCorpus, Sample, TaskOutcome, is_hidden};
use mountmark_record::{CellRecord, RunId, RunRecord, RunStatus, SampleRef};
use serde::{Deserialize, Serialize};

use super::ledger::{self, Line};
use crate::commands::resume::difference;
use crate::common::WrongUse;
use crate::written;

/// Of this file. Another number is another program's.
const FORMAT: u32 = 1;
/// Most bytes of a file.
const MOST: u64 = 16 << 20;
/// What stands above all.
const HEAD: &str = "# Exact figures, written by `mountmark baseline save`. `mountmark baseline check` measures the same again and compares.\n";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    format: u32,
    /// Where the command was given, from the file's folder.
    pub folder: String,
    /// The words after `mountmark run`.
    pub words: Vec<String>,
    /// A hash of the plan, without what a user brings.
    plan: String,
    /// By configuration.
    made_with: BTreeMap<String, Environment>,
    cell: Vec<Measured>,
    /// Where the time went in the first repeat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    time: Vec<Spent>,
}

/// A cell's figures by which anything is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    configuration: String,
    repeat: u32,
    /// By task, then by metric: one of each time that the task ran.
    figures: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

/// Where the time of one task went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spent {
    configuration: String,
    task: String,
    /// The largest parts.
    parts: Vec<Line>,
}

impl Baseline {
    /// Of a run; `ledgers` have its tasks' times in the first repeat, each with its task.
    pub fn of(run: &RunRecord, folder: String, words: Vec<String>, ledgers: &[(String, Ledger)]) -> Result<Baseline> {
        let mut made_with = BTreeMap::new();
        for cell in &run.cells {
            made_with.entry(cell.configuration.clone()).or_insert_with(|| plain(&cell.environment.whole()));
        }
        let spent = |(task, ledger): &(String, Ledger)| Spent {
            configuration: ledger.configuration.clone(),
            task: task.clone(),
            parts: ledger::lines(ledger),
        };
        Ok(Baseline {
            format: FORMAT,
            folder,
            words,
            plan: fingerprint(&run.plan)?,
            made_with,
            cell: run.cells.iter().map(measured).collect(),
            time: ledgers.iter().map(spent).collect(),
        })
    }

    /// Whether it tells where time went.
    pub fn has_ledgers(&self) -> bool {
        !self.time.is_empty()
    }

    /// Refuses a file in whose place no baseline can be put, before anything is measured.
    pub fn check(path: &Path) -> Result<()> {
        written::check("baseline save", path, "baseline", &|start| start.starts_with(HEAD))
    }

    pub fn read(path: &Path) -> Result<Baseline> {
        let at = path.display();
        if !path.exists() {
            bail!(WrongUse(format!(
                "there is no baseline {at}; make one: mountmark baseline save {at} --fs ext4 -- COMMAND"
            )));
        }
        let wrong = |reason: &dyn std::fmt::Display| WrongUse(format!("{at} is no baseline: {reason}"));
        let text = mountmark_input::text(path, MOST).map_err(|error| wrong(&error))?;
        if let Some(hidden) = text.chars().find(|c| is_hidden(*c) && !matches!(c, '\t' | '\n')) {
            bail!(wrong(&format!("it holds U+{:04X}, which does not show", u32::from(hidden))));
        }
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let Format { format } = toml::from_str(&text).map_err(|error| wrong(&error.message()))?;
        if format != FORMAT {
            bail!(WrongUse(format!(
                "{at} has format {format}, and this mountmark reads {FORMAT}: save it anew with this one, or take the other"
            )));
        }
        Ok(toml::from_str(&text).map_err(|error| wrong(&error.message()))?)
    }

    pub fn text(&self) -> Result<String> {
        Ok(HEAD.to_owned() + &toml::to_string(self).context("a baseline cannot be written")?)
    }

    /// Why figures of `now`, the same words' run, cannot be compared with these: a sentence's part; `None` if they can.
    pub fn differs(&self, now: &RunRecord) -> Result<Option<String>> {
        for (name, then) in &self.made_with {
            let cell = now.cells.iter().find(|cell| cell.configuration == *name);
            let Some(cell) = cell else { return Ok(Some(format!("{name} was measured, and is not now"))) };
            if let Some(reason) = difference(name, then, &cell.environment) {
                return Ok(Some(reason));
            }
        }
        let other = "its suite, machine, disks or what is skipped are other than then, by your files or by another version of \
                     mountmark";
        Ok((self.plan != fingerprint(&now.plan)?).then(|| other.to_owned()))
    }

    /// The run that it was, as far as it was kept; the rest is that of `now`.
    pub fn run(&self, now: &RunRecord) -> RunRecord {
        let of_cell = |cell: &CellRecord| {
            let is_it = |own: &&Measured| own.configuration == cell.configuration && own.repeat == cell.repeat;
            let own = self.cell.iter().find(is_it).filter(|_| now.plan.is_planned(cell.index))?;
            let outcome = |task: &String| TaskOutcome { task: task.clone(), outcome: Outcome::Ok };
            Some(CellRecord {
                samples: samples(own).into(),
                outcomes: own.figures.keys().map(outcome).collect(),
                environment: Environment {
                    host_kernel: cell.environment.host_kernel.clone(),
                    host_cpu: cell.environment.host_cpu.clone(),
                    ..self.made_with.get(&cell.configuration).cloned().unwrap_or_default()
                }
                .into(),
                ..cell.clone()
            })
        };
        RunRecord {
            id: RunId::new("the baseline"),
            status: RunStatus::Done,
            cells: now.cells.iter().filter_map(of_cell).collect(),
            ..now.clone()
        }
    }

    /// Where the time of a task went; `None` if that is not kept.
    pub fn ledger(&self, configuration: &str, task: &str) -> Option<Ledger> {
        let spent = self.time.iter().find(|spent| spent.configuration == configuration && spent.task == task)?;
        Some(ledger::ledger(configuration, &spent.parts))
    }
}

fn measured(cell: &CellRecord) -> Measured {
    let mut figures: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for SampleRef { task, metric, value, .. } in cell.samples.iter().filter(|sample| is_judged_by(sample.metric)) {
        figures.entry(task.to_owned()).or_default().entry(metric.to_owned()).or_default().push(value);
    }
    Measured { configuration: cell.configuration.clone(), repeat: cell.repeat, figures }
}

fn samples(own: &Measured) -> Vec<Sample> {
    let mut out = Vec::new();
    for (task, metrics) in &own.figures {
        for (metric, values) in metrics {
            let sample = |(value, iteration): (&f64, u32)| Sample {
                task: task.clone(),
                iteration,
                metric: metric.clone(),
                value: *value,
            };
            out.extend(values.iter().zip(0..).map(sample));
        }
    }
    out
}

/// Without what differs between two machines that give the same figures.
fn plain(environment: &Environment) -> Environment {
    Environment {
        host_kernel: String::new(),
        host_cpu: String::new(),
        build: String::new(),
        key: String::new(),
        taken: None,
        sitting: None,
        preconditioned: None,
        health: None,
        ..environment.clone()
    }
}

/// A hash of what is measured how, without what a user brings: that may differ.
fn fingerprint(plan: &Plan) -> Result<String> {
    let cell = |cell: &PlannedCell| {
        let mut cell = cell.whole();
        if let Some(age) = &mut cell.age {
            age.path.clear();
        }
        if let Some(root) = &mut cell.root {
            root.environment.clear();
        }
        if let Some(medium) = &mut cell.second_disk {
            medium.tar.clear();
            if cell.root.is_some() {
                (medium.corpus, medium.size) = (RealisedCorpus::default(), Bytes(0));
            }
        }
        cell
    };
    let whole = mountmark_model::Plan { cells: plan.cells.iter().map(cell).collect(), ..(**plan).clone() };
    Ok(mountmark_lab::cache::sha256(&serde_json::to_vec(&whole)?)[..16].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::resume::tests::plan;

    #[test]
    fn variables_of_an_image_may_differ() {
        let of = |variable: &str, folder: &str| {
            let mut plan = plan();
            let mut cell = plan.cells[0].whole();
            let root = serde_json::json!({"over": false, "folder": folder, "environment": {"APP_VERSION": variable}});
            cell.root = Some(serde_json::from_value(root).unwrap());
            plan.cells = vec![cell.into()];
            fingerprint(&plan).unwrap()
        };
        assert_eq!(of("1.2.3", "/work"), of("1.2.4", "/work"));
        assert_ne!(of("1.2.3", "/work"), of("1.2.3", "/data"));
    }
}
