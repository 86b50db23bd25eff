//! Clauses and their figures in words.

use mountmark_model::{Better, Clause, Metric, Over, Test};

use super::clause::Prepared;
use super::judge::limits;
use super::{ClaimOutcome, Counts, JudgedComparison};

/// Tasks whose figures are written out.
const TOLD: usize = 4;

/// Figures of a task that are written out.
const FIGURES: usize = 8;

/// What a clause tests: `002 (elapsed): {ext2,ext3} > others`.
pub(super) fn test(clause: &Clause) -> String {
    let over = match clause.over {
        Over::Each => "",
        Over::Most => ", in most tests",
        Over::NearlyAll => ", in nine tests of ten",
        Over::Some => ", in one test at least",
        Over::Total => ", their total",
        Over::Mean => ", their mean",
        Over::Score => ", mean ratio to the best",
    };
    let tasks = if clause.tasks == ["all"] { "all tests".to_owned() } else { clause.tasks.join(", ") };
    let on = |names: &[String]| if names.is_empty() { "every file system".to_owned() } else { names.join(", ") };
    let limits = limits(&clause.test).unwrap_or_default();
    let what = match &clause.test {
        Test::FileSystems { order, .. } => order.to_string(),
        Test::Tasks { order, on: names, .. } => {
            return format!("{} on {}: {order}", clause.metric, on(names));
        }
        Test::Metrics { order, on: names, .. } => format!("{order} on {}", on(names)),
        Test::First { places: 1, on: names } => format!("{} first", on(names)),
        Test::First { places, on: names } => format!("{} among the first {places}", on(names)),
        Test::Last { is: true, on: names } => format!("{} last", on(names)),
        Test::Last { is: false, on: names } => format!("{} not last", on(names)),
        Test::Value { on: names, .. } => format!("{limits} on {}", on(names)),
        Test::Ratio { order, .. } => format!("{} times {limits}", order.to_string().replace(" > ", " over mean of ")),
        Test::Spread { on: names, .. } => format!("largest over least of {} {limits}", on(names)),
    };
    format!("{tasks} ({}{over}): {what}", clause.metric)
}

/// Why a clause is judged as it is.
pub(super) fn clause_sentence(
    clause: &Clause,
    ready: Option<&Prepared>,
    outcome: ClaimOutcome,
    counts: &Counts,
    comparisons: &[JudgedComparison],
) -> String {
    if ready.is_none() || outcome == ClaimOutcome::NotMeasured {
        return String::new();
    }
    let mut parts = Vec::new();
    let all = counts.holds + counts.against + counts.undecided;
    let is_share = !matches!(clause.over, Over::Each | Over::Total | Over::Mean | Over::Score);
    if all > 1 && (is_share || !matches!(outcome, ClaimOutcome::Holds)) {
        let undecided =
            if counts.undecided > 0 { format!(", {} without a difference", counts.undecided) } else { String::new() };
        parts.push(format!("{} of {all} comparisons as claimed, {} against{undecided}.", counts.holds, counts.against));
    }
    if matches!(clause.test, Test::Ratio { .. } | Test::Spread { .. }) {
        parts.push(ratios(clause, comparisons));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn ratios(clause: &Clause, comparisons: &[JudgedComparison]) -> String {
    let said: Vec<String> = comparisons
        .iter()
        .take(FIGURES)
        .filter_map(|found| {
            let ratio = found.ratio?;
            let range =
                found.interval.map_or(String::new(), |range| format!(" ({:.2} to {:.2})", range.low, range.high));
            let task = if clause.tasks.len() > 1 { format!(" at {}", found.task) } else { String::new() };
            Some(format!("{} / {} {ratio:.2}{range}{task}", found.left, found.right))
        })
        .collect();
    if said.is_empty() {
        return String::new();
    }
    let more =
        if comparisons.len() > FIGURES { format!(" and {} more", comparisons.len() - FIGURES) } else { String::new() };
    format!("{}{more}; claimed: {}.", said.join(", "), limits(&clause.test).unwrap_or_default())
}

/// The figures, best first; of many tasks those that speak against the claim.
pub(super) fn figures(
    clause: &Clause,
    ready: Option<&Prepared>,
    outcome: ClaimOutcome,
    comparisons: &[JudgedComparison],
) -> String {
    let Some(ready) = ready.filter(|_| outcome != ClaimOutcome::NotMeasured) else { return String::new() };
    let is_against =
        |task: &str| comparisons.iter().any(|found| found.task == task && found.outcome != ClaimOutcome::Holds);
    let mut rows: Vec<&(String, Vec<(String, f64)>)> =
        ready.figures.iter().filter(|(_, row)| !row.is_empty()).collect();
    let all = rows.len();
    // A share of all tests is not argued by single ones.
    if all > TOLD && matches!(clause.over, Over::Most | Over::NearlyAll) {
        return String::new();
    }
    if all > TOLD {
        rows.sort_by_key(|(task, _)| !is_against(task));
        rows.truncate(TOLD);
    }
    let by_task: Vec<String> = rows
        .iter()
        .map(|(task, row)| {
            let mut row: Vec<&(String, f64)> = row.iter().collect();
            row.sort_by(|a, b| match clause.better {
                Better::Higher if clause.over != Over::Score => b.1.total_cmp(&a.1),
                _ => a.1.total_cmp(&b.1),
            });
            let values: Vec<String> =
                row.iter().take(FIGURES).map(|(fs, value)| format!("{fs} {}", format_value(clause, *value))).collect();
            format!("{task}: {}", values.join(", "))
        })
        .collect();
    let more = match all.saturating_sub(rows.len()) {
        0 => String::new(),
        1 => "; and 1 more test".to_owned(),
        more => format!("; and {more} more tests"),
    };
    let unit = match Metric::find(&clause.metric) {
        _ if clause.over == Over::Score => " times the best",
        Some(metric) if metric.unit == mountmark_model::Unit::Seconds => " s",
        Some(metric) if metric.unit == mountmark_model::Unit::Percent => " %",
        _ => "",
    };
    if by_task.is_empty() {
        return String::new();
    }
    let of = if clause.metric == Metric::ELAPSED.id { "" } else { &clause.metric };
    let unit = format!("{of}{}{unit}", if of.is_empty() || unit.is_empty() { "" } else { "," });
    let unit = unit.trim();
    format!("{}{more}{}.", by_task.join("; "), if unit.is_empty() { String::new() } else { format!(" ({unit})") })
}

fn format_value(clause: &Clause, value: f64) -> String {
    match Metric::find(&clause.metric) {
        Some(metric) if clause.over != Over::Score => metric.format(value),
        _ => format!("{value:.3}"),
    }
}
