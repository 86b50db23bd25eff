//! Sentences about changes between two runs, and how they were compared.

use mountmark_document::number::{and, and_more, interval, percent};
use mountmark_model::conditions::Way;
use mountmark_model::{counted, heading};
use mountmark_stats::summary::Summary;

use crate::changes::find::differences::Incomparable;
use crate::changes::find::remarks::{ChangeRemark, FailedInSome};
use crate::changes::find::{Change, ChangeOutcome, Changes as TwoRuns};
use crate::dependence::say::depends;
use crate::figures::say::quantity::quantity;
use crate::figures::say::subject;
use crate::missing::say::{given, in_repeats, named};

/// Tasks that a remark names.
const NAMED: usize = 6;

/// A change with its numbers. `changes` contains it.
pub fn sentence(changes: &TwoRuns, change: &Change) -> String {
    let metric = change.metric;
    let value = |summary: &Option<Summary>| summary.map(|s| quantity(metric, s.median)).unwrap_or("no figure".into());
    let (before, after) = (value(&change.before), value(&change.after));
    let what = format!("{}, {}", heading(&change.configuration), named(&change.task, &change.title));
    let start = format!("{what}, {}: {before} before, {after} after", subject(metric));
    let certain = match &change.interval {
        Some(found) => format!(" (ratio, {})", interval(*found, changes.level)),
        None if changes.exact => " (one repeat, exact for its seed)".into(),
        None => String::new(),
    };
    let said = match change.outcome {
        ChangeOutcome::Lost | ChangeOutcome::New => format!("{start}."),
        ChangeOutcome::LostInSome => {
            let reason = change.failures.first().map_or("", |failure| failure.reason.as_str());
            format!("{start}, but no figure {} of the later run: {}", in_repeats(&failed(change)), given(reason))
        }
        ChangeOutcome::Regression => format!("{start}: {}, which is worse{certain}.", more_or_less(change)),
        ChangeOutcome::Improvement => format!("{start}: {}, which is better{certain}.", more_or_less(change)),
        ChangeOutcome::NoDifferenceShown => format!("{start}: no difference that matters is shown{certain}."),
        ChangeOutcome::NotJudged => format!("{start}: not judged."),
    };
    said + &dependent(change)
}

/// The repeats in which it failed.
pub(crate) fn failed(change: &Change) -> Vec<u32> {
    change.failures.iter().map(|failure| failure.repeat).collect()
}

/// Which of the two figures depends on conditions, as further sentences: one ratio is not all then.
fn dependent(change: &Change) -> String {
    let sides = ["before", "after"].into_iter().zip(&change.dependences);
    let sides = sides.filter_map(|(when, found)| Some((when, found.as_ref()?)));
    sides.map(|(when, found)| format!(" The figure {when} {}.", depends(change.metric, found))).collect()
}

/// `9 % more`, `12 % less`: the change of the figure, whichever direction is better; in words where it is or was 0.
pub(crate) fn more_or_less(change: &Change) -> String {
    let was_zero = change.before.is_some_and(|before| before.median == 0.0);
    let Some(ratio) = change.ratio else { return if was_zero { "more than none" } else { "none any more" }.into() };
    format!("{} {}", percent((ratio - 1.0).abs()), if ratio < 1.0 { "less" } else { "more" })
}

/// How many figures came out in which way.
pub(crate) fn counts(changes: &[Change]) -> String {
    let count = |outcome: ChangeOutcome| changes.iter().filter(|change| change.outcome == outcome).count();
    let in_some = match count(ChangeOutcome::LostInSome) {
        0 => String::new(),
        some => format!(" {some} lost in some repeats,"),
    };
    format!(
        "Of {} figures, {} worse, {} better, {} without a difference that matters, {} lost,{in_some} {} new, {} not judged.",
        changes.len(),
        count(ChangeOutcome::Regression),
        count(ChangeOutcome::Improvement),
        count(ChangeOutcome::NoDifferenceShown),
        count(ChangeOutcome::Lost),
        count(ChangeOutcome::New),
        count(ChangeOutcome::NotJudged),
    )
}

/// How the runs are compared, and limits of the comparison.
pub(crate) fn remarks(changes: &TwoRuns) -> Vec<String> {
    changes.remarks.iter().map(|remark| self::remark(changes, remark)).collect()
}

/// What only one of the runs has: no gate looks at it.
pub(crate) fn of_one_run(changes: &TwoRuns) -> Vec<String> {
    let is_it = |remark: &&ChangeRemark| matches!(remark, ChangeRemark::Only { .. } | ChangeRemark::OnlyTasks { .. });
    changes.remarks.iter().filter(is_it).map(|remark| self::remark(changes, remark)).collect()
}

fn remark(changes: &TwoRuns, remark: &ChangeRemark) -> String {
    let whose = |later: &bool| if *later { "later" } else { "earlier" };
    match remark {
        ChangeRemark::NothingInCommon => "The runs have no configuration in common: there is nothing to compare.".into(),
        ChangeRemark::Only { later, configurations } => {
            format!("Only the {} run has {}.", whose(later), and(configurations.iter().cloned()))
        }
        ChangeRemark::OnlyTasks { later, tasks } => {
            let all = and_more(tasks.iter().cloned(), tasks.len(), NAMED);
            format!("Only the {} run has {}, of which nothing is compared: {all}.", whose(later), counted(tasks.len(), "task"))
        }
        ChangeRemark::Skipped { configuration, reason } => format!("The later run skipped {}: {reason}", heading(configuration)),
        ChangeRemark::FailedInSome(failed) => {
            let one = |one: &FailedInSome| {
                format!("{} of {} {}", one.task, heading(&one.configuration), in_repeats(&one.repeats))
            };
            let all = and_more(failed.iter().map(one), failed.len(), NAMED);
            format!(
                "The later run failed in repeats in which the earlier one did not, or in more of them, and no change of these figures is \
                 judged: {all}."
            )
        }
        ChangeRemark::Exact => {
            "One repeat in the virtual lab with the same seed and fixed conditions: figures are exact for that seed, and all changes come from \
             what differs between the runs. Other seeds may change otherwise: repeat both (--repeat 5) before you rely on it."
                .into()
        }
        ChangeRemark::NoCell { later } => format!("No cell of the {} run has ended: there is nothing to compare.", whose(later)),
        ChangeRemark::OneRepeat { paired: _, conditions: true } => {
            "One repeat under varied conditions shows no change: repeat both runs (--repeat 5), or compare them exactly \
             (--conditions fixed)."
                .into()
        }
        ChangeRemark::OneRepeat { paired, conditions: false } => {
            let of = if *paired { "measured in wall time" } else { "with different seeds" };
            format!("One repeat {of} shows no change: repeat both runs (--repeat 5).")
        }
        ChangeRemark::Repeats { paired: true } => {
            "Repeats of one seed are compared in pairs: both runs had the same workloads.".into()
        }
        ChangeRemark::Repeats { paired: false } => {
            "The runs have different seeds: repeats are compared as independent samples.".into()
        }
        ChangeRemark::HowShown => format!(
            "A change counts if it is at least {} and is shown at {}, over all comparisons together.",
            percent(changes.matters),
            percent(changes.level)
        ),
        ChangeRemark::SeedsAlone(Way::Varied) => {
            "The virtual lab has no noise: intervals show how much a change depends on the workload and on conditions.".into()
        }
        ChangeRemark::SeedsAlone(Way::Fixed) => {
            "The virtual lab has no noise, and conditions are fixed: intervals show how much a change depends on the workload."
                .into()
        }
    }
}

/// Why two runs are not of the same work; part of a sentence.
pub fn incomparable(reason: &Incomparable) -> String {
    match reason {
        Incomparable::Suites(one, other) => format!("the suites differ: {one} and {other}"),
        Incomparable::Scales(one, other) => format!("the scales differ: {one} and {other}"),
        Incomparable::Works(tasks) => {
            format!("they do other work under one name: {}", and_more(tasks.iter().cloned(), tasks.len(), NAMED))
        }
        Incomparable::Corpora(one, other) => format!("the corpora differ: {one} and {other}"),
        Incomparable::Contents { corpus, seed } => {
            format!("the corpora differ in their contents, though both are called {corpus} and have seed {seed}")
        }
    }
}
