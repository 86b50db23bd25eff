//! One line a sample, for spreadsheets and statistics programs; and one line a mean in the columns of published studies.
//!
//! Quoting is RFC 4180's. Lines end with a line feed alone: with the RFC's CR before it, line tools take the CR
//! for a part of the last field, and every reader of CSV takes both.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Result;
use mountmark_analyse::Summary;
use mountmark_model::{Metric, Qualifier};
use mountmark_record::RunRecord;

use crate::document::{Document, Report};
use crate::format::{Format, Options};
use crate::html::view::{View, judged};

pub(crate) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "every sample of every metric, one a line"
    }

    fn render(&self, run: &RunRecord, _: &Options) -> Result<String> {
        Ok(csv(run))
    }
}

const HEAD: &str =
    "run,suite,scale,lab,machine,disk,cell,configuration,repeat,seed,task,iteration,outcome,metric,unit,value\n";

/// Every sample of a run. `outcome` is that of the task in this cell: figures of failed tasks are there, and told
/// apart. Values are written with as many digits as it takes to read the same number back.
pub fn csv(run: &RunRecord) -> String {
    let plan = &run.plan;
    let mut out = String::from(HEAD);
    let head = format!(
        "{},{},{},{},{}",
        quote(run.id.as_str()),
        quote(&plan.suite),
        plan.scale,
        plan.lab.name(),
        quote(&plan.machine.name)
    );
    for cell in &run.cells {
        let outcomes: HashMap<&str, &str> =
            cell.outcomes.iter().map(|ended| (ended.task.as_str(), ended.outcome.word())).collect();
        let start = format!(
            "{head},{},{},{},{},{}",
            quote(&cell.disk),
            cell.index,
            quote(&cell.configuration),
            cell.repeat,
            cell.seed
        );
        for sample in &cell.samples {
            out += &format!(
                "{start},{},{},{},{},{},{}\n",
                quote(&sample.task),
                sample.iteration,
                outcomes.get(sample.task.as_str()).unwrap_or(&""),
                quote(&sample.metric),
                Metric::find(&sample.metric).map_or("", Metric::unit_text),
                number(sample.value)
            );
        }
    }
    out
}

pub(crate) struct StudyCsv;

impl Document for StudyCsv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "means in the columns of published studies; `mountmark show --format csv` has the samples"
    }

    fn render(&self, reports: &[Report]) -> Result<String> {
        Ok(study_csv(reports))
    }

    fn is_ours(&self, start: &str) -> bool {
        start.starts_with(STUDY_HEAD)
    }
}

const STUDY_HEAD: &str = "study,run,fs,task,metric,unit,value,qualifier,note\n";

/// Means in the columns in which published figures are kept, so that old and new can stand in one sheet. The study is the
/// suite; the task is its id. A figure that is missing for a reason has no value and the reason as its note.
pub fn study_csv(reports: &[Report]) -> String {
    let mut out = String::from(STUDY_HEAD);
    for report in reports {
        let view = View::new(report, 0, 1);
        let run = format!("{},{}", quote(&report.run.plan.suite), quote(report.run.id.as_str()));
        let all = report.findings.tasks.iter().flat_map(|task| task.metrics.iter().map(move |found| (task, found)));
        for (task, found) in all {
            let is_judged = judged(task).is_some_and(|judged| judged.metric.id == found.metric.id);
            for (configuration, estimate) in found.estimates.iter().enumerate() {
                let (value, qualifier, note) = match estimate.as_ref().map(|estimate| &estimate.summary) {
                    Some(summary) => (number(summary.mean), qualifier(summary), note(summary)),
                    // Once a task, not once a metric.
                    None if is_judged => match view.absent(configuration, &task.id) {
                        "–" => continue,
                        word => (String::new(), Qualifier::NotRun, word.to_owned()),
                    },
                    None => continue,
                };
                out += &format!(
                    "{run},{},{},{},{},{value},{},{}\n",
                    quote(view.name(configuration)),
                    quote(&task.id),
                    found.metric.id,
                    found.metric.unit_text(),
                    qualifier.word(),
                    quote(&note)
                );
            }
        }
    }
    out
}

/// How a mean is printed, in the words of published figures.
fn qualifier(summary: &Summary) -> Qualifier {
    match summary.n {
        1 => Qualifier::SingleRun,
        3 => Qualifier::MeanOf3,
        _ => Qualifier::Exact,
    }
}

/// What a mean alone does not tell; nothing of a single figure.
fn note(summary: &Summary) -> String {
    if summary.n == 1 {
        return String::new();
    }
    let [median, min, max] = [summary.median, summary.min, summary.max].map(number);
    format!("mean of {}; median {median}; {min} to {max}", summary.n)
}

/// The shortest decimal that is read back as the same number; with an exponent only where it would be long.
pub(crate) fn number(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-7..1e17).contains(&value.abs()) || !value.is_finite();
    if is_plain { format!("{value}") } else { format!("{value:e}") }
}

pub(crate) fn quote(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
