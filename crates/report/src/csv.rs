//! One line a sample, for spreadsheets and statistics programs.
//!
//! Quoting is RFC 4180's. Lines end with a line feed alone: with the RFC's CR before it, line tools take the CR
//! for a part of the last field, and every reader of CSV takes both.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Result;
use mountmark_model::Metric;
use mountmark_record::RunRecord;

use crate::format::{Format, Options};

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

/// The shortest decimal that is read back as the same number; with an exponent only where it would be long.
fn number(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-7..1e17).contains(&value.abs()) || !value.is_finite();
    if is_plain { format!("{value}") } else { format!("{value:e}") }
}

fn quote(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
