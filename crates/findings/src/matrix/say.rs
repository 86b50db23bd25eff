//! Words around tables of tests and file systems.

use mountmark_document::number::and;
use mountmark_model::{Better, Metric, Unit};

use crate::found::Findings;

/// Head of the first column if rows have different metrics.
pub(crate) const JUDGED: &str = "by what it is judged";

/// A metric and its unit.
pub(crate) fn head(metric: &Metric) -> String {
    format!("{} ({})", metric.title, metric.unit_text())
}

/// The direction of a metric: "lower is better".
pub(crate) fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}

/// The metric, its direction, and the statistic over `repeats`, if there are several. `None`: the metrics by which tests are judged.
pub(crate) fn caption(metric: Option<&Metric>, repeats: Option<&str>) -> String {
    let statistic = repeats.map_or_else(String::new, |repeats| format!(" Medians over {repeats}."));
    let Some(metric) = metric else {
        return format!(
            "What each test is judged by: rates, of which more is better, and times in seconds, of which less is \
             better; before it, where a test syncs, the mean time of a sync.{statistic}"
        );
    };
    let unit = match metric.unit {
        Unit::Seconds => " in seconds",
        Unit::Percent => " in per cent",
        Unit::KibPerSecond => " in KiB a second",
        Unit::PerSecond => " in operations a second",
        Unit::Throughput => " in KiB or operations a second",
        Unit::Bytes | Unit::Count | Unit::Ratio | Unit::Number => "",
    };
    let better = match metric.better {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
    };
    format!("{}{unit}; {better}. {}{statistic}", metric.title, metric.about)
}

/// The metric below a table in a text; `None` as for [`caption`].
pub(crate) fn legend(metric: Option<&Metric>) -> String {
    metric.map_or_else(
        || caption(None, None),
        |metric| format!("{}, {}: {}", head(metric), better(metric.better), metric.about),
    )
}

/// Stands for neighbouring tasks that are alike: "seeks_1g to ran_del_1g, 7 tasks".
pub(crate) fn alike(first: &str, last: &str, tasks: usize) -> String {
    format!("{first} to {last}, {tasks} tasks")
}

/// Which rows of a table are judged, but not by what it shows of them; they are judged by one metric.
pub(crate) fn judged_otherwise(rows: &[&str], by: &Metric) -> String {
    let (are, them, have) = if rows.len() == 1 { ("is", "it", "has") } else { ("are", "them", "have") };
    let names = and(rows.iter().copied());
    format!(
        "{names} {are} judged by another figure than this table has of {them}, and {have} no best here: {}.",
        head(by)
    )
}

/// In place of a table without figures; `head` is that of its first column.
pub(crate) fn no_figure(head: &str) -> String {
    format!("There is no figure of {head} in this run.")
}

/// Meaning of the mark for the best figure: without repeats nothing is judged.
pub(crate) fn best_means(findings: &Findings) -> &'static str {
    if findings.measured > 1 {
        "the best of its row, and what cannot be told from it; of figures that are not judged, what prints as the best."
    } else {
        "the best of its row as printed: one repeat shows no difference."
    }
}

pub(crate) const SPREAD: &str = "Figures are medians over repeats. spread %: the largest standard deviation over repeats \
                                 among the row's figures, in per cent of their mean.";
