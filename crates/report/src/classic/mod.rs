//! Formats a run like Bonnie++, IOzone and sysbench, for people and scripts that know these.
//!
//! All values come from samples, measured by the program itself or by Mountmark's engine. Missing values are blank, as
//! the program leaves tests blank that were not requested. This folder does not know how a figure was measured.

mod bonnie;
mod iozone;
mod points;
mod sysbench;

use mountmark_model::{Metric, Outcome, heading};
use mountmark_record::{CellRecord, RunRecord};
use thiserror::Error;

/// An output style of another program.
struct Style {
    name: &'static str,
    about: &'static str,
    render: fn(&RunRecord) -> Option<String>,
    /// Whether a program reads it line by line: nothing may stand between the lines.
    lines: bool,
}

/// All styles, in the order of help texts.
const ALL: [Style; 5] = [
    Style { name: "bonnie", about: "the text report of Bonnie++ 1.03", render: bonnie::report, lines: false },
    Style { name: "bonnie-csv", about: "the CSV lines of Bonnie++ 1.03, 27 fields", render: bonnie::csv, lines: true },
    Style {
        name: "bonnie-2-csv",
        about: "the CSV lines of Bonnie++ 2.00, 50 fields, for bon_csv2html",
        render: bonnie::csv_2,
        lines: true,
    },
    Style {
        name: "iozone",
        about: "IOzone's table, and six lines a test of its throughput mode",
        render: iozone::report,
        lines: false,
    },
    Style {
        name: "sysbench",
        about: "the summary of sysbench's fileio, one a test",
        render: sysbench::report,
        lines: false,
    },
];

/// Why a run cannot be formatted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClassicError {
    #[error("there is no style {name:?}; there are: {}", ALL.iter().map(|style| format!("{} ({})", style.name, style.about)).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// As requested.
        name: String,
    },
    /// The run has no figures for this style.
    #[error("the suite {suite} has no figures of {style}; suites that have: {suites}")]
    Nothing { suite: String, style: &'static str, suites: &'static str },
}

/// Formats the run like the program `name`: a report for each recorded cell, and for each point of a varied run.
///
/// # Errors
/// An unknown name, or a run without figures of that program.
pub fn classic(run: &RunRecord, name: &str) -> Result<String, ClassicError> {
    let style = ALL.iter().find(|style| style.name == name);
    let style = style.ok_or_else(|| ClassicError::Unknown { name: name.to_owned() })?;
    let text = match &run.plan.vary {
        Some(vary) => points::each(run, vary, style),
        None => (style.render)(run),
    };
    text.ok_or_else(|| ClassicError::Nothing {
        suite: run.plan.suite.clone(),
        style: style.name,
        suites: match style.name {
            "iozone" => "iozone, iozone-real, iozone-matrix, fsbench-2004",
            "sysbench" => "sysbench-fileio, sysbench-real, wiki-2007, wiki-2007-real",
            _ => "bonnie, bonnie-real, fsbench-2004, wiki-2007, wiki-2007-loop",
        },
    })
}

/// The mean of a task's samples in a cell.
fn mean(cell: &CellRecord, task: &str, metric: &Metric) -> Option<f64> {
    let samples = cell.samples.iter().filter(|sample| sample.task == task && sample.metric == metric.id);
    let (sum, count) = samples.fold((0.0, 0), |(sum, count), sample| (sum + sample.value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Why a task has no figure, if the record says so.
fn skipped<'a>(cell: &'a CellRecord, task: &str) -> Option<&'a str> {
    let ended = cell.outcomes.iter().find(|ended| ended.task == task)?;
    match &ended.outcome {
        Outcome::Skipped { reason } => Some(reason),
        _ => None,
    }
}

/// `ext4` in a run of one repeat, `ext4#2` in one of several.
fn label(run: &RunRecord, cell: &CellRecord) -> String {
    let name = heading(&cell.configuration);
    match run.plan.repeats {
        1 => name.into_owned(),
        _ => format!("{name}#{}", cell.repeat + 1),
    }
}

fn parameter(run: &RunRecord, name: &str) -> Option<u64> {
    run.plan.cells.first()?.parameters.get(name).copied()
}

/// Size of one file of a task's workload, if it has one.
fn file_bytes(run: &RunRecord, task: &str) -> Option<u64> {
    let cell = run.plan.cells.first()?;
    let workload = cell.tasks.iter().find(|known| known.id == task)?.workload.as_ref()?;
    workload.files.size.value(&cell.parameters).ok()
}

#[cfg(test)]
mod tests;
