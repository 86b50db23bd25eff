//! Lookups in a run and its findings, shared by several forms of a report. This file computes nothing, and does not
//! know how anything is drawn.

use std::collections::HashMap;

use mountmark_document::text::titled;
use mountmark_model::counted;
use mountmark_model::facts::Facts;
use mountmark_record::{DeviceUse, Output, RunRecord};

use crate::claims::find::JudgedClaim;
use crate::figures::find::{MetricFindings, TaskFindings};
use crate::found::Findings;
use crate::group::each_once;
use crate::sampling::say::repeats;
use crate::studies::find::StudyComparison;
use crate::why::show::answer::Answer;
use crate::{figures, overview};

/// A run, its findings, and its comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
    /// Comparison with a published study, if requested.
    pub study: Option<&'a StudyComparison>,
    /// Verdicts on published claims, if requested.
    pub claims: Option<&'a [JudgedClaim]>,
    /// Facts of file systems, by their names in the catalogue.
    pub facts: &'a [(&'a str, &'a Facts)],
    /// Explanations of tasks, if requested.
    pub whys: &'a [Answer<'a>],
    /// Device records of the first repeat of `run`, as far as loaded.
    pub devices: &'a [DeviceUse],
    /// Engine results of the first repeat of `run`, as far as loaded.
    pub results: &'a [Output],
}

impl<'a> Report<'a> {
    /// Without comparisons.
    pub fn of(run: &'a RunRecord, findings: &'a Findings) -> Report<'a> {
        Report { run, findings, study: None, claims: None, facts: &[], whys: &[], devices: &[], results: &[] }
    }
}

/// Number of looks for categories; further ones repeat them.
pub(crate) const LOOKS: usize = 6;

/// One run of a page.
pub(crate) struct View<'a> {
    pub report: &'a Report<'a>,
    /// Prefix of every id, so that the ids of several runs differ.
    prefix: String,
    /// Level of the run's own heading.
    pub level: u8,
    /// Outcome in place of a figure, by configuration and task; the task is empty for the whole cell.
    trouble: HashMap<(&'a str, &'a str), &'static str>,
}

impl<'a> View<'a> {
    /// The run at `position` among `count`.
    pub(crate) fn new(report: &'a Report<'a>, position: usize, count: usize) -> View<'a> {
        let prefix = if count > 1 { format!("run-{}-", position + 1) } else { String::new() };
        let mut trouble = HashMap::new();
        for cell in &report.run.cells {
            let tasks = cell.outcomes.iter().map(|ended| (ended.task.as_str(), &ended.outcome));
            for (task, outcome) in tasks.chain([("", &cell.outcome)]).filter(|(_, outcome)| !outcome.is_ok()) {
                let word = trouble.entry((cell.configuration.as_str(), task)).or_insert(outcome.word());
                // A failure in one repeat outranks a skip in another.
                if outcome.is_failed() {
                    *word = outcome.word();
                }
            }
        }
        View { report, prefix, level: if count > 1 { 2 } else { 1 }, trouble }
    }

    pub(crate) fn run(&self) -> &'a RunRecord {
        self.report.run
    }

    pub(crate) fn findings(&self) -> &'a Findings {
        self.report.findings
    }

    /// How many repeats there are, if several.
    pub(crate) fn repeats(&self) -> Option<String> {
        let measured = self.findings().measured;
        let of_plan = || self.run().plan.sampling.is_some() || measured == self.run().plan.repeats as usize;
        (measured > 1).then(|| if of_plan() { repeats(self.run()) } else { counted(measured, "repeat") })
    }

    /// An id for the element `name`, unique among runs.
    pub(crate) fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// What people read of a configuration.
    pub(crate) fn name(&self, configuration: usize) -> &'a str {
        self.findings().headings.get(configuration).map_or("?", String::as_str)
    }

    /// Outcome in place of a figure: `failed`, `skipped`, or `None` if unknown.
    pub(crate) fn trouble(&self, configuration: usize, task: &str) -> Option<&'static str> {
        let name = self.findings().configurations.get(configuration)?.as_str();
        self.trouble.get(&(name, task)).or_else(|| self.trouble.get(&(name, ""))).copied()
    }

    /// Text in place of a missing figure: `failed`, `skipped` or a dash.
    pub(crate) fn absent(&self, configuration: usize, task: &str) -> &'static str {
        self.trouble(configuration, task).unwrap_or("-")
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = &'a TaskFindings> {
        self.findings().suite()
    }

    /// The names of the categories, in task order.
    pub(crate) fn categories(&self) -> Vec<&'a str> {
        each_once(self.tasks().map(category))
    }
}

pub(crate) fn label(task: &TaskFindings) -> String {
    titled(&task.id, &task.title)
}

pub(crate) fn category(task: &TaskFindings) -> &str {
    figures::say::category(&task.category)
}

/// How many times a figure is worse than the best, in distinguishable steps: 0 below one and a half times, 1 below
/// three, 2 below ten, 3 beyond.
pub(crate) fn heat(found: &MetricFindings, configuration: usize) -> usize {
    // No factor exists for a best figure of 0.
    found.times_best(configuration).map_or(0, |times| HEAT.iter().filter(|from| times >= **from).count())
}

/// Lower bounds of the steps 1 to 3 of [`heat`].
pub(crate) const HEAT: [f64; 3] = [1.5, 3.0, 10.0];

/// What was found, as a heading.
pub(crate) fn title(view: &View) -> String {
    overview::say::opening::title(view.findings())
}
