//! Sentences about claims and their parts.

mod lacks;

use std::collections::BTreeSet;

use mountmark_document::number::{capital, counted, range, ratio};
use mountmark_model::{Among, Better, Clause, Limits, Metric, Over, Test, Unit, heading};
use mountmark_record::RunRecord;

use crate::cases;
use crate::claims::find::{Against, ClaimOutcome, JudgedClaim, JudgedClause, Subject};
use crate::figures::say::quantity::headings;
use crate::group::{by_key, each_once};
pub(crate) use lacks::{lacks, stretched};

/// Maximum number of tasks with figures in a sentence.
const TASKS: usize = 4;

/// Maximum number of figures per task.
const FIGURES: usize = 8;

/// The words in tables.
pub(crate) fn outcome(outcome: ClaimOutcome) -> &'static str {
    match outcome {
        ClaimOutcome::Holds => "holds",
        ClaimOutcome::Exceeded => "more than claimed",
        ClaimOutcome::Partly => "holds in part",
        ClaimOutcome::NoDifference => "no difference shown",
        ClaimOutcome::Reversed => "reversed",
        ClaimOutcome::Fails => "does not hold",
        ClaimOutcome::NotJudged => "not judged",
        ClaimOutcome::NotMeasured => "not measured",
        ClaimOutcome::NeedsCrashLab => "judged by power cuts",
        ClaimOutcome::Undecidable => "cannot be measured",
    }
}

/// The verdict by the study's own figures, if it prints some.
pub(crate) fn own(claim: &JudgedClaim) -> Option<String> {
    let far = if claim.own_complete { "" } else { ", as far as printed" };
    claim.own_figures.map(|own| format!("{}{far}", outcome(own)))
}

/// What a run that judges claims is of: `suite piszcz-2006 at scale 1, machine p3-2006`.
pub(crate) fn judge(run: &RunRecord) -> String {
    let plan = &run.plan;
    let machine = if plan.lab.capabilities().guest { &plan.machine.name } else { "this computer" };
    format!("suite {} at scale {}, machine {machine}", plan.suite, plan.scale)
}

/// The heading of claims that several runs judge.
pub(crate) const HEADING: &str = "What studies claimed, and what is found here";

/// Above claims that several runs judge.
pub(crate) const SEVERAL: &str = "Each claim is judged by the run whose figures decide it, those about power cuts by the newest campaigns of power cuts in the store.";

/// Above claims that are judged without a run.
pub(crate) const CUTS_ALONE: &str =
    "Claims about power cuts are judged by the newest campaigns of the store; for the others it has no run.";

/// A run and what it is of.
pub(crate) fn named(run: &RunRecord) -> String {
    format!("run {}: {}", run.id, judge(run))
}

/// The one of several runs whose figures decide a claim.
pub(crate) fn by(claim: &JudgedClaim, runs: &[&RunRecord]) -> Option<String> {
    let run = runs.iter().find(|run| run.id.as_str() == claim.run)?;
    (runs.len() > 1 && claim.is_by_figures()).then(|| format!("run {}, {}", run.id, run.plan.suite))
}

/// Reasons for a verdict: one for each clause with figures, each figure only once.
pub(crate) fn sentence(claim: &JudgedClaim) -> String {
    if let Some(reason) = claim.undecidable.as_ref().or(claim.answered.as_ref()) {
        return reason.clone();
    }
    if let Some(cuts) = &claim.cuts {
        return cases::say::seen(cuts);
    }
    let measured = || claim.clauses.iter().filter(|clause| clause.outcome.is_decided());
    let count = measured().count();
    if count == 0 {
        return lacks(claim).join(" ");
    }
    let mut given: Vec<String> = Vec::new();
    let reason = |clause: &JudgedClause| {
        let mut parts = Vec::new();
        if count > 1 {
            parts.push(format!("{}: {}.", capital(outcome(clause.outcome)), test(&clause.clause)));
        }
        parts.push(self::clause(clause));
        let figures = figures(clause);
        if !given.contains(&figures) {
            parts.push(figures.clone());
            given.push(figures);
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    };
    measured().map(reason).collect::<Vec<_>>().join(" ")
}

/// How many claims have each outcome: `25 claims: holds 9, not measured 16`.
pub(crate) fn counts(claims: &[JudgedClaim]) -> String {
    let counts: Vec<String> =
        ClaimOutcome::counts(claims).into_iter().map(|(found, count)| format!("{} {count}", outcome(found))).collect();
    // Several runs may disagree about one.
    let all: BTreeSet<_> = claims.iter().map(|claim| (&claim.study, &claim.id)).collect();
    format!("{}: {}", counted(all.len(), "claim", "claims"), counts.join(", "))
}

/// What claims are called that several runs judge: their study, if it is one, and how many have each outcome.
pub(crate) fn title(claims: &[JudgedClaim]) -> String {
    let counts = counts(claims);
    match claims {
        [first, rest @ ..] if rest.iter().all(|claim| claim.study == first.study) => {
            format!("{}, {counts}", first.study)
        }
        _ => counts,
    }
}

/// Claims without figures that share their reason.
pub(crate) struct Open<'a> {
    pub reason: String,
    pub claims: Vec<&'a JudgedClaim>,
    /// What would measure them, each command once.
    pub commands: Vec<&'a str>,
}

/// The claims that figures decide, and the others by their reasons, in the order of each one's first claim.
pub(crate) fn by_reason<'a>(
    claims: impl IntoIterator<Item = &'a JudgedClaim>,
) -> (Vec<&'a JudgedClaim>, Vec<Open<'a>>) {
    let (decided, rest): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| claim.is_measured());
    let open = by_key(rest.into_iter().map(|claim| (sentence(claim), claim))).into_iter().map(|(reason, claims)| {
        let commands = each_once(claims.iter().flat_map(|claim| &claim.commands).map(String::as_str));
        Open { reason, claims, commands }
    });
    (decided, open.collect())
}

/// The test of a clause: `002 (elapsed): {ext2,ext3} > others`.
pub(crate) fn test(clause: &Clause) -> String {
    let over = match clause.over {
        Over::Each => "",
        Over::Most => ", in most tests",
        Over::NearlyAll => ", in nine tests of ten",
        Over::Several => ", in three tests at least",
        Over::Some => ", in one test at least",
        Over::Total => ", their total",
        Over::Mean => ", their mean",
        Over::Quotient => ", the first over the second",
        Over::Spread => ", largest over least",
        Over::Score => ", mean ratio to the best",
    };
    let tasks = if clause.tasks == ["all"] { "all tests".to_owned() } else { clause.tasks.join(", ") };
    let on = |names: &[String]| if names.is_empty() { "every file system".to_owned() } else { headings(names) };
    let what = match &clause.test {
        Test::FileSystems { order, .. } => order.to_string(),
        Test::Tasks { order, on: names, .. } => {
            return format!("{} on {}: {order}", clause.metric, on(names));
        }
        Test::Metrics { order, on: names, .. } => format!("{order} on {}", on(names)),
        Test::Points { order, on: names, vary, .. } => {
            let parameter = vary.split('=').next().unwrap_or_default();
            format!("with {parameter} {order} on {}", on(names))
        }
        Test::StudyRuns { order, on: names, .. } => format!("the study's runs {order} on {}", on(names)),
        Test::First { places: 1, on: names } => format!("{} first", on(names)),
        Test::First { places, on: names } => format!("{} among the first {places}", on(names)),
        Test::Last { is: true, on: names } => format!("{} last", on(names)),
        Test::Last { is: false, on: names } => format!("{} not last", on(names)),
        Test::Value { on: names, limits: found } => format!("{} on {}", limits(found), on(names)),
        Test::Difference { order, limits: found } => {
            format!("{} by {}", order.to_string().replace(" > ", " above mean of "), limits(found))
        }
        Test::Ratio { order, limits: found } => {
            let over = if order.groups()[1].any { " over " } else { " over mean of " };
            format!("{} times {}", order.to_string().replace(" > ", over), limits(found))
        }
        Test::Spread { on: names, limits: found, among } => {
            let most = if *among == Among::Most { "most of " } else { "" };
            format!("largest over least of {most}{} {}", on(names), limits(found))
        }
    };
    let run = clause.run.as_ref().map_or(String::new(), |run| format!(", the study's run {run}"));
    format!("{tasks} ({}{over}{run}): {what}", clause.metric)
}

/// Reasons for the verdict on a clause, in counts and ratios; empty if the figures suffice.
pub(crate) fn clause(judged: &JudgedClause) -> String {
    let (clause, counts) = (&judged.clause, &judged.counts);
    if !judged.outcome.is_decided() {
        return String::new();
    }
    let mut parts = Vec::new();
    let all = counts.holds + counts.exceeded + counts.against + counts.undecided;
    let is_share = clause.over.is_by_task() && clause.over != Over::Each;
    if all > 1 && (is_share || judged.outcome != ClaimOutcome::Holds) {
        let undecided =
            if counts.undecided > 0 { format!(", {} without a difference", counts.undecided) } else { String::new() };
        let exceeded = if counts.exceeded > 0 { format!(", {} by more", counts.exceeded) } else { String::new() };
        parts.push(format!(
            "{} of {all} comparisons as claimed{exceeded}, {} against{undecided}.",
            counts.holds, counts.against
        ));
    }
    if let Test::Ratio { limits, .. } | Test::Spread { limits, .. } = &clause.test {
        parts.push(ratios(judged, limits));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn ratios(judged: &JudgedClause, claimed: &Limits) -> String {
    let several = judged.clause.tasks.len() > 1;
    let shown = judged.comparisons.iter().take(FIGURES).filter_map(|found| {
        let ratio = ratio(found.ratio?);
        let range = found.interval.map_or(String::new(), |found| format!(" ({})", range(found)));
        let task = if several { format!(" at {}", subject(&found.subject, judged.clause.over)) } else { String::new() };
        Some(format!("{} / {} {ratio}{range}{task}", heading(&found.left), heading(&against(&found.right))))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        return String::new();
    }
    let more = match judged.comparisons.len() {
        count if count > FIGURES => format!(" and {} more", count - FIGURES),
        _ => String::new(),
    };
    format!("{}{more}; claimed: {}.", shown.join(", "), limits(claimed))
}

/// The figures of a clause, best first; for many tasks those that contradict the claim.
pub(crate) fn figures(judged: &JudgedClause) -> String {
    let clause = &judged.clause;
    if !judged.outcome.is_decided() {
        return String::new();
    }
    let is_against = |of: &Subject| {
        judged.comparisons.iter().any(|found| found.subject == *of && found.outcome != ClaimOutcome::Holds)
    };
    let mut rows: Vec<&(Subject, Vec<(String, f64)>)> =
        judged.figures.iter().filter(|(_, row)| !row.is_empty()).collect();
    let all = rows.len();
    // Single tests are no argument about a share of all tests.
    if all == 0 || all > TASKS && matches!(clause.over, Over::Most | Over::NearlyAll) {
        return String::new();
    }
    if all > TASKS {
        rows.sort_by_key(|(of, _)| !is_against(of));
        rows.truncate(TASKS);
    }
    let by_task: Vec<String> = rows
        .iter()
        .map(|(of, row)| {
            let mut row: Vec<&(String, f64)> = row.iter().collect();
            row.sort_by(|a, b| match clause.better {
                Better::Higher if !matches!(clause.over, Over::Score | Over::Spread) => b.1.total_cmp(&a.1),
                _ => a.1.total_cmp(&b.1),
            });
            let values: Vec<String> = row
                .iter()
                .take(FIGURES)
                .map(|(fs, value)| format!("{} {}", heading(fs), format_value(clause, *value)))
                .collect();
            format!("{}: {}", subject(of, clause.over), values.join(", "))
        })
        .collect();
    let more = match all - rows.len() {
        0 => String::new(),
        1 => "; and 1 more test".to_owned(),
        more => format!("; and {more} more tests"),
    };
    let unit = match Metric::find(&clause.metric) {
        _ if clause.over == Over::Score => "times the best",
        _ if clause.over.is_ratio() => "ratio",
        Some(metric) if metric.unit == Unit::Seconds => "s",
        Some(metric) if metric.unit == Unit::Percent => "%",
        _ => "",
    };
    let of = if clause.metric == Metric::ELAPSED.id { "" } else { &clause.metric };
    let unit = [of, unit].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let unit = if unit.is_empty() { unit } else { format!(" ({unit})") };
    format!("{}{more}{unit}.", by_task.join("; "))
}

fn format_value(clause: &Clause, value: f64) -> String {
    match Metric::find(&clause.metric) {
        Some(metric) if !clause.over.is_ratio() => metric.format(value),
        _ => format!("{value:.3}"),
    }
}

pub(crate) fn subject(subject: &Subject, over: Over) -> String {
    let word = match over {
        Over::Total => "total",
        Over::Mean => "mean",
        Over::Quotient => "quotient",
        Over::Spread => "spread",
        _ => "score",
    };
    match subject {
        Subject::One(one) => one.clone(),
        Subject::On { filesystem, of } => format!("{filesystem}, {}", self::subject(of, over)),
        Subject::Together(tasks) if tasks.len() <= 4 => format!("{word} of {}", tasks.join(", ")),
        Subject::Together(tasks) => format!("{word} of {} tests", tasks.len()),
    }
}

pub(crate) fn against(against: &Against) -> String {
    match against {
        Against::Name(name) => name.clone(),
        Against::Limits(found) => limits(found),
    }
}

fn limits(limits: &Limits) -> String {
    match (limits.at_least, limits.at_most) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => String::new(),
    }
}
