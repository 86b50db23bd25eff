//! Changes, and how they were found, in words.

use mountmark_record::RunRecord;

use super::{Change, ChangeOutcome, Way, matched};
use crate::figures::Figures;
use crate::words::{figure, interval, percent};
use crate::{Options, Summary};

/// A change with the numbers that carry it.
pub(super) fn sentence(change: &Change, way: &Way, options: &Options) -> String {
    let metric = change.metric;
    let value = |summary: &Option<Summary>| summary.map(|s| figure(metric, s.median)).unwrap_or("no figure".into());
    let (before, after) = (value(&change.before), value(&change.after));
    let what =
        if change.title == change.task { change.task.clone() } else { format!("{} ({})", change.task, change.title) };
    let is_step = crate::study::is_step(&change.task);
    let start = format!(
        "{}, {what}, {}: {before} before, {after} after",
        change.configuration,
        crate::words::subject(metric, is_step)
    );
    let certain = match &change.interval {
        Some(found) => format!(" (ratio at {})", interval(found, options.level)),
        None if way.exact => " (one repeat, exact for its seed)".into(),
        None => String::new(),
    };
    match change.outcome {
        ChangeOutcome::Lost | ChangeOutcome::New => format!("{start}."),
        ChangeOutcome::Regression => format!("{start}: {}, which is worse{certain}.", change.more_or_less()),
        ChangeOutcome::Improvement => format!("{start}: {}, which is better{certain}.", change.more_or_less()),
        ChangeOutcome::NoDifferenceShown => format!("{start}: no difference that matters is shown{certain}."),
        ChangeOutcome::NotJudged => format!("{start}: not judged."),
    }
}

impl Change {
    /// `9 % more`, `12 % less`: what became of the figure, whichever way is better; empty without a ratio.
    pub fn more_or_less(&self) -> String {
        let Some(ratio) = self.ratio else { return String::new() };
        format!("{} {}", percent((ratio - 1.0).abs()), if ratio < 1.0 { "less" } else { "more" })
    }
}

/// How the runs are compared, and what limits that.
pub(super) fn remarks(
    (before, after): (&RunRecord, &RunRecord),
    (old, new): (&Figures, &Figures),
    way: &Way,
    options: &Options,
) -> Vec<String> {
    let mut out = Vec::new();
    let only = |these: &Figures, those: &Figures| {
        these.configurations.iter().filter(|name| !those.configurations.contains(name)).cloned().collect::<Vec<_>>()
    };
    let least = old.repeats.len().min(new.repeats.len());
    let matched = matched(old, new, after);
    if matched.is_empty() {
        out.push("The runs have no configuration in common: nothing is compared.".into());
    }
    for (whose, names) in [("earlier", only(old, new)), ("later", only(new, old))] {
        if !names.is_empty() && !matched.iter().any(|(name, ..)| name.contains(" -> ")) {
            out.push(format!("Only the {whose} run has {}.", crate::words::and(names.into_iter())));
        }
    }
    let lost = after.plan.skipped.iter().filter(|(name, _)| old.configurations.contains(name));
    out.extend(lost.map(|(name, reason)| format!("The later run skipped {name}: {reason}")));
    if way.exact {
        out.push(
            "One repeat in the virtual lab with one seed: figures are exact for that seed, and differences come from what \
             differs between the runs. Other seeds may show others: repeat both (--repeat 5) before much depends on it."
                .into(),
        );
    } else if least == 0 {
        let whose = if old.repeats.is_empty() { "earlier" } else { "later" };
        out.push(format!("No cell of the {whose} run has ended: nothing is shown by it."));
    } else if least == 1 {
        let why = if way.paired { "under wall time" } else { "of different seeds" };
        out.push(format!("One repeat {why}: nothing is shown by it. Repeat both runs (--repeat 5)."));
    } else {
        out.push(match way.paired {
            true => "Repeats of one seed are compared in pairs: both runs had the same workloads.".into(),
            false => "The runs have different seeds: repeats are compared as independent samples.".into(),
        });
        out.push(format!(
            "Differences are shown at {} for all comparisons together, and count from {} on.",
            percent(options.level),
            percent(options.matters)
        ));
        if before.plan.lab.nature().exact_clock && way.paired {
            out.push("The virtual lab has no noise: intervals say how much the change depends on the workload.".into());
        }
    }
    out
}
