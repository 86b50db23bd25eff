//! Sentences about doubtful samples.

use mountmark_model::Metric;

use crate::doubts::find::Doubt;
use crate::figures::say::quantity::quantity;
use crate::found::Findings;

pub(crate) const HEADING: &str = "Doubtful samples";

/// One sentence each.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    findings.doubts.iter().map(|doubt| sentence(findings, doubt)).collect()
}

fn sentence(findings: &Findings, doubt: &Doubt) -> String {
    let name = findings.headings.get(doubt.configuration).map_or("?", String::as_str);
    let again = if doubt.again { "; its cell was run again" } else { "" };
    format!(
        "{name}, {}, {}, repeat {}: {}, the others {}{again}.",
        doubt.task,
        doubt.metric,
        doubt.repeat + 1,
        value(doubt, doubt.value),
        value(doubt, doubt.others)
    )
}

/// A value of the doubtful metric, with its unit.
pub(crate) fn value(doubt: &Doubt, value: f64) -> String {
    Metric::find(&doubt.metric).map_or(format!("{value}"), |metric| quantity(metric, value))
}
