//! What several forms of a report look up in a run and its findings. Nothing is computed here, and how anything is drawn
//! is not known.

use std::collections::HashMap;

use mountmark_analyse::claim::JudgedClaim;
use mountmark_analyse::study::StudyComparison;
use mountmark_analyse::{Findings, MetricFindings, TaskFindings};
use mountmark_record::{DeviceUse, Output, RunRecord};

use crate::text::titled;
use crate::words::number::and;

/// A run, what was found in it, and what it was set beside.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// As it was recorded.
    pub run: &'a RunRecord,
    /// What was found in `run`.
    pub findings: &'a Findings,
    /// `run` beside a published study, where that was asked for.
    pub study: Option<&'a StudyComparison>,
    /// What `run` says of published claims, where that was asked for.
    pub claims: Option<&'a [JudgedClaim]>,
    /// What tasks asked of the device in the first repeat of `run`, as far as that was loaded.
    pub devices: &'a [DeviceUse],
    /// What the engine found in the first repeat of `run`, as far as that was loaded.
    pub results: &'a [Output],
}

impl<'a> Report<'a> {
    /// A run and its findings, set beside nothing.
    pub fn of(run: &'a RunRecord, findings: &'a Findings) -> Report<'a> {
        Report { run, findings, study: None, claims: None, devices: &[], results: &[] }
    }
}

/// Kinds of work have this many looks, and then begin again.
pub(crate) const LOOKS: usize = 6;

/// One run of a page.
pub(crate) struct View<'a> {
    pub report: &'a Report<'a>,
    /// Before every id, so that the ids of several runs differ.
    prefix: String,
    /// The level of the run's own heading.
    pub level: u8,
    /// What happened instead of a figure, by configuration and task; the task is empty where the whole cell ended so.
    trouble: HashMap<(&'a str, &'a str), &'static str>,
}

impl<'a> View<'a> {
    /// The run at `position`, of `count`.
    pub(crate) fn new(report: &'a Report<'a>, position: usize, count: usize) -> View<'a> {
        let prefix = if count > 1 { format!("run-{}-", position + 1) } else { String::new() };
        let mut trouble = HashMap::new();
        for cell in &report.run.cells {
            let tasks = cell.outcomes.iter().map(|ended| (ended.task.as_str(), &ended.outcome));
            for (task, outcome) in tasks.chain([("", &cell.outcome)]).filter(|(_, outcome)| !outcome.is_ok()) {
                let word = trouble.entry((cell.configuration.as_str(), task)).or_insert(outcome.word());
                // A failure tells more than that another repeat was skipped.
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

    /// An id for the element that is called `name` in every run.
    pub(crate) fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(crate) fn name(&self, configuration: usize) -> &'a str {
        self.findings().configurations.get(configuration).map_or("?", String::as_str)
    }

    /// What happened instead of a figure, where something is known: `failed` or `skipped`.
    pub(crate) fn trouble(&self, configuration: usize, task: &str) -> Option<&'static str> {
        let name = self.name(configuration);
        self.trouble.get(&(name, task)).or_else(|| self.trouble.get(&(name, ""))).copied()
    }

    /// What stands where a figure is missing: `failed`, `skipped` or a dash.
    pub(crate) fn absent(&self, configuration: usize, task: &str) -> &'static str {
        self.trouble(configuration, task).unwrap_or("–")
    }

    /// The suite's tasks.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &'a TaskFindings> {
        self.findings().suite()
    }

    /// The names of the kinds of work, in the order of the tasks.
    pub(crate) fn categories(&self) -> Vec<&'a str> {
        let mut out = Vec::new();
        for task in self.tasks() {
            if !out.contains(&category(task)) {
                out.push(category(task));
            }
        }
        out
    }
}

/// A task's id and title, as one text.
pub(crate) fn label(task: &TaskFindings) -> String {
    titled(&task.id, &task.title)
}

/// The kind of work.
pub(crate) fn category(task: &TaskFindings) -> &str {
    crate::words::metric::category(&task.category)
}

/// How many times as bad as the best a figure is, in steps that a reader can tell apart: 0 below one and a half times,
/// 1 below three, 2 below ten, 3 beyond.
pub(crate) fn heat(found: &MetricFindings, configuration: usize) -> usize {
    // Beside a best figure of nothing no factor means anything.
    found.times_best(configuration).map_or(0, |times| HEAT.iter().filter(|from| times >= **from).count())
}

/// Where the steps of [`heat`] begin.
pub(crate) const HEAT: [f64; 3] = [1.5, 3.0, 10.0];

/// What is compared, as a heading.
pub(crate) fn title(view: &View) -> String {
    let findings = view.findings();
    let names: Vec<&str> = findings.configurations.iter().map(String::as_str).collect();
    match names.len() {
        0 => "No file system was measured".into(),
        1 => format!("{} measured", names[0]),
        2..=4 if names.iter().all(|name| name.chars().count() <= 24) => format!("{} compared", and(names)),
        count => format!("{count} file systems compared"),
    }
}
