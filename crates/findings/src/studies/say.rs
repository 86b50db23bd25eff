//! Sentences about the comparison of a run with a published study.

use mountmark_document::number::ratio;
use mountmark_model::{Better, Metric, heading};
use mountmark_stats::interval::Interval;

use crate::figures::say::quantity::headings;
use crate::matrix;
use crate::matrix::say::better;
use crate::studies::find::{
    Agreement, Curves, Limit, NotMeasured, OverallComparison, RESAMPLES, Single, StudyComparison, Warning,
};

/// Reasons why the two cannot be compared in seconds.
pub(crate) fn warnings(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(warning).collect()
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::Unfinished { status, done, planned } => {
            format!("The run is {}: {done} of {planned} cells have ended.", status.word())
        }
        Warning::OtherSuite { of_run, of_study } => format!(
            "The run's suite is {of_run}; the study is repeated by {}. Only mkfs, mount, umount and capacity are the same \
             work in both.",
            of_study.as_deref().unwrap_or("no suite of this program")
        ),
        Warning::Scale(scale) => format!(
            "The run used {scale} of the study's counts and sizes. Ranks and ratios can be compared, with care, because small \
             work fits in memory; seconds cannot."
        ),
        Warning::OtherMachine { of_run, of_study } => format!(
            "The run's machine is {of_run}; the study's is modelled by {of_study}. Ranks and ratios can be compared, seconds \
             cannot."
        ),
        Warning::OwnMachine => {
            "The run was made on this computer. Ranks and ratios can be compared, seconds cannot.".into()
        }
        Warning::NoProfile { of_run } => format!(
            "No profile models the study's computer; the run's is {of_run}. Ranks and ratios can be compared, seconds cannot."
        ),
        Warning::VirtualSeconds => {
            "Measured seconds are virtual: they are those of a model of the machine and its disk.".into()
        }
        Warning::OneRepeat => "One repeat: a measured figure is one sample, not a mean.".into(),
    }
}

/// Tasks with a figure in the study and none in the run.
pub(crate) fn not_measured(study: &StudyComparison) -> Vec<String> {
    let text = |found: &NotMeasured| format!("{} ({}): {}", found.task, found.title, found.metrics.join(", "));
    study.not_measured.iter().map(text).collect()
}

/// Figures that only one file system has on both sides.
pub(crate) fn single(study: &StudyComparison) -> Vec<String> {
    let text = |found: &Single| {
        let metric = found.metric;
        let [published, measured] = [found.published, found.measured].map(|value| metric.format(value));
        let what = format!("{} on {}, {} ({})", found.task, found.fs, metric.title, metric.unit_text());
        format!("{what}: {published}, now {measured}")
    };
    study.single.iter().map(text).collect()
}

/// Why tau or its interval is missing.
pub(crate) fn limit(agreement: &Agreement) -> Option<String> {
    Some(match agreement.remark? {
        Limit::FewItems { items, fewest } => format!("too few file systems: {items}, and tau needs {fewest}"),
        Limit::AllEqual => "all figures of one side are equal".into(),
        Limit::FewForInterval { items, fewest } => format!("too few file systems for an interval: {items} of {fewest}"),
    })
}

/// What stands below the comparison, each under its heading.
pub(crate) fn notes(study: &StudyComparison) -> [(&'static str, Vec<String>); 5] {
    [
        ("The run has no figure of", not_measured(study)),
        ("Both have figures of only one file system, so nothing is ranked", single(study)),
        ("How the run's suite does the tests that changed most", study.decisions.clone()),
        ("Where the study contradicts itself", study.inconsistencies.clone()),
        ("How this was computed", remarks()),
    ]
}

/// How ranks, ratios and taus are computed, with sources.
pub(crate) fn remarks() -> Vec<String> {
    vec![
        "Ranks: 1 is the best; equal figures share the mean of their ranks. Only file systems with both figures are ranked.".into(),
        "Ratio to the group: a figure over the geometric mean of the ranked file systems.".into(),
        "tau: Kendall's tau-b (Biometrika 33, 1945) of the published and the measured figures: 1 the same order, 0 no \
         connection, -1 the reverse. p: the share of all orders whose tau is at least as far from 0, by counting them (up to 8 \
         file systems; the normal approximation beyond)."
            .into(),
        "Interval of a tau: 95 %, by inverting the exact distribution of reversed pairs under Mallows' model (Biometrika 44, \
         1957); ties count against both ends. With few file systems it is wide, because they say little."
            .into(),
        format!(
            "Interval of the mean tau: 95 %, percentile bootstrap over tests (Efron, Annals of Statistics 7, 1979), {RESAMPLES} \
             resamplings. It says what other tests of this kind might give, not other file systems."
        ),
    ]
}

/// A published or measured figure, without its unit.
pub(crate) fn value(metric: &str, value: f64) -> String {
    Metric::find(metric).map_or_else(|| format!("{value}"), |metric| metric.format(value))
}

/// `-0.20 to 0.87`: the interval of a tau.
pub(crate) fn tau_range(interval: Interval) -> String {
    format!("{:.2} to {:.2}", interval.low, interval.high)
}

/// In place of a tau.
pub(crate) fn no_tau(agreement: &Agreement) -> &'static str {
    match agreement.remark {
        Some(Limit::FewItems { .. }) => "too few",
        Some(Limit::AllEqual) => "all equal",
        Some(Limit::FewForInterval { .. }) | None => "",
    }
}

/// Why no test is ranked.
pub(crate) fn unranked(study: &StudyComparison) -> &'static str {
    match study.single.is_empty() {
        true => "There is no figure that both have.",
        false => "Only one file system has figures in both: nothing is ranked.",
    }
}

/// Above the tests of a metric; `name` includes its unit.
pub(crate) fn tests(name: &str, direction: Better) -> String {
    format!("{name}, {}: published above, measured below, each with its rank.", better(direction))
}

/// File systems that only one side has.
pub(crate) fn one_sided(study: &StudyComparison) -> Vec<String> {
    let sides = [("Only the study has", &study.only_published), ("Only the run has", &study.only_measured)];
    let sides = sides.into_iter().filter(|(_, names)| !names.is_empty());
    sides.map(|(only, names)| format!("{only}: {}", headings(names))).collect()
}

/// All tests of a metric together: the mean tau, and the orders by mean ratio.
pub(crate) fn together(study: &StudyComparison, all: &OverallComparison) -> Vec<String> {
    let mut out = Vec::new();
    let pairs = all.same + all.reversed + all.tied;
    // Tests of too few file systems, or with equal figures, have pairs and no tau.
    let compared = study.tests.iter().filter(|test| test.metric == all.metric).count();
    if let (Some(mean), true) = (all.mean_tau, all.tests > 1) {
        let interval = all.mean_tau_interval.map_or(String::new(), |found| format!(" (95 %: {})", tau_range(found)));
        let (tests, tau) = match compared > all.tests {
            true => {
                (format!("{} of {compared} tests have a", all.tests), format!("tau, in the mean {mean:.2}{interval}"))
            }
            false => (format!("All {compared} tests:"), format!("mean tau {mean:.2}{interval}")),
        };
        out.push(format!(
            "{tests} {tau}. Of {pairs} pairs of file systems {} are in the same order, {} in reverse order, {} equal on one \
             side.",
            all.same, all.reversed, all.tied
        ));
    }
    if all.tests > 1 && all.agreement.items > 1 {
        let agreement = match (all.agreement.tau, all.agreement.interval, all.agreement.p) {
            (Some(tau), Some(interval), Some(p)) => format!("; tau {tau:.2} ({}), p {p:.2}", tau_range(interval)),
            (Some(tau), None, _) => format!("; tau {tau:.2}"),
            _ => String::new(),
        };
        out.push(format!(
            "Mean ratio to the group, best first. Published: {}. Measured: {}{agreement}.{}",
            order(study, all, &all.published_score),
            order(study, all, &all.measured_score),
            without_score(study, all)
        ));
    }
    out
}

/// " Not among them, because figures are missing: jfs." Empty if all have both scores.
fn without_score(study: &StudyComparison, all: &OverallComparison) -> String {
    let scores = all.published_score.iter().zip(&all.measured_score);
    let lacking = study.common.iter().zip(scores).filter(|(_, (one, other))| one.is_none() || other.is_none());
    let lacking: Vec<String> = lacking.map(|(name, _)| name.clone()).collect();
    if lacking.is_empty() {
        return String::new();
    }
    format!(" Not among them, because figures are missing: {}.", headings(&lacking))
}

/// File systems with their scores, best first.
fn order(study: &StudyComparison, all: &OverallComparison, scores: &[Option<f64>]) -> String {
    let scored = study.common.iter().zip(scores);
    let mut scored: Vec<(&String, f64)> = scored.filter_map(|(fs, score)| Some((fs, (*score)?))).collect();
    let higher = Metric::find(&all.metric).is_some_and(|metric| metric.better == Better::Higher);
    scored.sort_by(|a, b| if higher { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
    scored.iter().map(|(fs, score)| format!("{} {score:.2}", heading(fs))).collect::<Vec<_>>().join(", ")
}

/// The metric in a sentence, unless it is the studies' own.
fn unless_elapsed(metric: &str) -> String {
    if metric == Metric::ELAPSED.id { String::new() } else { format!(" ({metric})") }
}

/// The largest changes of rank, largest first.
pub(crate) fn moves(study: &StudyComparison) -> Vec<String> {
    let moved = study.moves.iter().map(|found| {
        format!(
            "{} {}{}: {} from rank {} to {} of {} ({}, now {})",
            found.task,
            found.title,
            unless_elapsed(&found.metric),
            found.fs,
            found.from,
            found.to,
            found.of,
            value(&found.metric, found.published),
            value(&found.metric, found.measured),
        )
    });
    moved.collect()
}

/// The largest changes of the ratio to the group, largest first.
pub(crate) fn changes(study: &StudyComparison) -> Vec<String> {
    let changed = study.changes.iter().map(|found| {
        format!(
            "{} {}{}: {} from {} to {} of the group's mean ({} times as much)",
            found.task,
            found.title,
            unless_elapsed(&found.metric),
            found.fs,
            ratio(found.from),
            ratio(found.to),
            ratio(found.factor),
        )
    });
    changed.collect()
}

/// In place of the scores and taus, where there are none.
pub(crate) const NONE: &str = "No test has figures on both sides.";
/// Caption of the scores and taus of all metrics.
pub(crate) const OVERALL: &str = "All tests of a metric together. For each file system the geometric mean of its ratio to \
                                  the group, published → this run; 1 is the middle of the group. Tau is 1 for the same \
                                  order, 0 for none in common, −1 for the reverse; the mean is over tests, with its 95 % \
                                  interval";

/// What follows the metric in the caption of its tests.
pub(crate) const RANKED: &str = "published → this run, with the ranks below. Ranks and ratios can be compared; seconds only \
                                 where the machines are alike";

/// What a graph shows.
pub(crate) fn graph_title(curves: &Curves) -> String {
    format!("{}: all tests of the study, all file systems", matrix::say::head(curves.metric))
}

pub(crate) fn graph_caption(curves: &Curves, is_log: bool) -> String {
    let scale = if is_log { " Each line across is ten times the one below." } else { "" };
    format!("One line for each file system, on the same scale in both graphs; {}.{scale}", better(curves.metric.better))
}

/// Above the graph of a publication.
pub(crate) fn published(study: &StudyComparison) -> String {
    format!("{}, run {}, as published", study.study, study.study_run)
}

/// Above the graph of a run.
pub(crate) fn measured(study: &StudyComparison) -> String {
    format!("run {}, means over repeats", study.run)
}

pub(crate) const NOTHING_TO_DRAW: &str = "This run has no figures of these tests.";

pub(crate) fn graph_figures(curves: &Curves) -> String {
    format!("The figures of both graphs, {}", matrix::say::head(curves.metric))
}
