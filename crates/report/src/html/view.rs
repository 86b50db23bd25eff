//! What several sections of a page look up in findings. How anything is drawn is not known here.

use std::collections::HashMap;

use mountmark_analyse::{Findings, MetricFindings, TaskFindings, VerdictOutcome};
use mountmark_model::{Better, Metric, Unit};
use mountmark_record::RunRecord;

use crate::document::Report;
use crate::text::{three_digits, titled};

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

    /// What stands where a figure is missing: `failed`, `skipped` or a dash.
    pub(crate) fn absent(&self, configuration: usize, task: &str) -> &'static str {
        let name = self.name(configuration);
        self.trouble.get(&(name, task)).or_else(|| self.trouble.get(&(name, ""))).copied().unwrap_or("–")
    }

    /// The metric by which most tasks are judged; all of them, in most suites.
    pub(crate) fn main(&self) -> &'static Metric {
        main_metric(self.findings())
    }

    /// The suite's tasks.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &'a TaskFindings> {
        self.findings().tasks.iter().filter(|task| !task.step)
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

/// What a task is judged by: the rate that a program printed, otherwise the time until durable, otherwise the time until
/// the command returned. Steps are judged by the last.
pub(crate) fn judged(task: &TaskFindings) -> Option<&MetricFindings> {
    let metrics = [&Metric::RATE, &Metric::DURABLE, &Metric::ELAPSED];
    let metrics = if task.step { &metrics[2..] } else { &metrics[..] };
    metrics.iter().find_map(|metric| figures(task, metric))
}

/// What a row of a matrix shows of a task where `main` is the metric of most: one table should not mix what it need not.
pub(crate) fn shown<'t>(task: &'t TaskFindings, main: &Metric) -> Option<&'t MetricFindings> {
    if task.step { figures(task, main) } else { judged(task) }
}

/// The metric by which most tasks are judged.
pub(crate) fn main_metric(findings: &Findings) -> &'static Metric {
    let of = |step| findings.tasks.iter().filter(move |task| task.step == step).filter_map(judged);
    let by_rate = of(false).filter(|found| found.metric.id == Metric::RATE.id).count();
    if 2 * by_rate > of(false).count() {
        return &Metric::RATE;
    }
    let first = of(false).chain(of(true)).find(|found| found.metric.id != Metric::RATE.id);
    first.map_or(&Metric::DURABLE, |found| found.metric)
}

/// A task's id and title, as one text.
pub(crate) fn label(task: &TaskFindings) -> String {
    titled(&task.id, &task.title)
}

/// The kind of work; suites need not name it.
pub(crate) fn category(task: &TaskFindings) -> &str {
    if task.category.is_empty() { "all tasks" } else { &task.category }
}

/// A task's figures of one metric.
pub(crate) fn figures<'t>(task: &'t TaskFindings, metric: &Metric) -> Option<&'t MetricFindings> {
    task.metrics.iter().find(|found| found.metric.id == metric.id)
}

/// The median of one task by one metric on one configuration.
pub(crate) fn median(task: &TaskFindings, metric: &Metric, configuration: usize) -> Option<f64> {
    let estimate = figures(task, metric)?.estimates.get(configuration)?.as_ref()?;
    Some(estimate.summary.median).filter(|value| value.is_finite())
}

/// The mean of one task by one metric on one configuration: what composites are made of.
pub(crate) fn mean(task: &TaskFindings, metric: &Metric, configuration: usize) -> Option<f64> {
    let estimate = figures(task, metric)?.estimates.get(configuration)?.as_ref()?;
    Some(estimate.summary.mean).filter(|value| value.is_finite())
}

/// Configurations that are marked as the best of a row: by the verdict where there is one, otherwise those whose figure
/// prints as the best. None where all are equal, and none where no difference was shown.
pub(crate) fn best(found: &MetricFindings) -> Vec<usize> {
    match found.verdict.as_ref().map(|verdict| &verdict.outcome) {
        Some(VerdictOutcome::Winner { configuration }) => vec![*configuration],
        Some(VerdictOutcome::Tied { configurations }) => configurations.clone(),
        Some(VerdictOutcome::NoDifferenceShown { .. }) => Vec::new(),
        Some(VerdictOutcome::NotJudged { .. }) | None => best_by_figure(found),
    }
}

fn best_by_figure(found: &MetricFindings) -> Vec<usize> {
    let medians: Vec<(usize, f64)> = medians(found).collect();
    let Some(best) = best_value(found) else { return Vec::new() };
    let text = found.metric.format(best);
    let same: Vec<usize> =
        medians.iter().filter(|(_, value)| found.metric.format(*value) == text).map(|(index, _)| *index).collect();
    if same.len() == medians.len() { Vec::new() } else { same }
}

fn medians(found: &MetricFindings) -> impl Iterator<Item = (usize, f64)> + '_ {
    let medians = found.estimates.iter().map(|estimate| estimate.as_ref().map(|estimate| estimate.summary.median));
    medians.enumerate().filter_map(|(index, median)| Some((index, median?))).filter(|(_, median)| median.is_finite())
}

/// The best median of a row.
pub(crate) fn best_value(found: &MetricFindings) -> Option<f64> {
    let medians = medians(found).map(|(_, median)| median);
    medians.reduce(|one, other| match found.metric.better {
        Better::Lower => one.min(other),
        Better::Higher => one.max(other),
    })
}

/// How many times as bad as the best a figure is, in steps that a reader can tell apart: 0 below one and a half times,
/// 1 below three, 2 below ten, 3 beyond.
pub(crate) fn heat(found: &MetricFindings, value: f64) -> usize {
    let Some(best) = best_value(found) else { return 0 };
    let times = match found.metric.better {
        Better::Lower => value / best,
        Better::Higher => best / value,
    };
    // Beside a best figure of nothing no factor means anything.
    if !times.is_finite() { 0 } else { HEAT.iter().filter(|from| times >= **from).count() }
}

/// Where the steps of [`heat`] begin.
pub(crate) const HEAT: [f64; 3] = [1.5, 3.0, 10.0];

/// A figure with its unit.
pub(crate) fn quantity(metric: &Metric, value: f64) -> String {
    let text = metric.format(value);
    match metric.unit {
        Unit::Seconds => format!("{text} s"),
        Unit::Percent => format!("{text} %"),
        Unit::KibPerSecond => format!("{text} KiB/s"),
        Unit::PerSecond => format!("{text}/s"),
        Unit::Bytes | Unit::Count | Unit::Ratio | Unit::Throughput => text,
    }
}

/// A ratio with as many digits as help: `1.02`, `12.3`, `345`.
pub(crate) fn ratio_text(ratio: f64) -> String {
    if ratio.is_finite() { three_digits(ratio) } else { "-".into() }
}

/// `1 repeat`, `3 repeats`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
