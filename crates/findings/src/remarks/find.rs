//! Limits of the findings of a run, and hints for reading them.

pub(crate) mod drift;

use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, Scale};
use mountmark_record::RunRecord;
use mountmark_stats::interval::FEWEST;

use crate::agreement::find::Trust;
use crate::figures::find::series::Figures;
use crate::options::Options;
use crate::remarks::find::drift::Drift;

#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// The run has no such configuration; ratios refer to the first one.
    UnknownBaseline(String),
    NoCell,
    OneRepeat {
        /// Whether its figures are exact for their seed.
        exact: bool,
        /// Number of repeats that were to be.
        planned: u32,
    },
    /// The lab's clock has no noise: repeats differ by what their seeds draw.
    SeedsAlone(Way),
    /// Medians have no interval.
    NoMedianIntervals {
        repeats: usize,
        /// Number of repeats that an interval needs.
        fewest: usize,
    },
    /// Figures changed with time; see [`Drift`].
    Drifts(Vec<Drift>),
    /// How differences are shown.
    HowShown,
    /// Processor time is judged too.
    ProcessorTime,
    /// How scores are computed.
    Scores,
    /// The run is not at the suite's own scale.
    Scale {
        /// Of the suite's counts and sizes.
        scale: Scale,
        /// Whether titles of tests state the scaled counts and sizes.
        in_titles: bool,
    },
    /// A configuration is slower for want of room alone.
    Cramped {
        configuration: String,
        /// Of its disk.
        size: Bytes,
        /// The size from which it is not.
        roomy: Bytes,
    },
    /// How far the lab's model can be trusted with this suite.
    Trust(Trust),
}

pub(crate) fn remarks(run: &RunRecord, figures: &Figures, options: &Options, baseline_unknown: bool) -> Vec<Remark> {
    let mut out = Vec::new();
    let repeats = figures.repeats();
    if baseline_unknown {
        out.push(Remark::UnknownBaseline(options.baseline.clone().unwrap_or_default()));
    }
    match (run.plan.lab.capabilities().exact_clock, repeats) {
        (_, 0) => out.push(Remark::NoCell),
        (exact, 1) => out.push(Remark::OneRepeat { exact, planned: run.plan.repeats }),
        (true, _) => out.push(Remark::SeedsAlone(run.plan.conditions())),
        (..) => {}
    }
    if (2..FEWEST).contains(&repeats) {
        out.push(Remark::NoMedianIntervals { repeats, fewest: FEWEST });
    }
    let drifts = drift::drifts(run, figures, options.matters);
    if !drifts.is_empty() {
        out.push(Remark::Drifts(drifts));
    }
    if repeats > 1 {
        out.push(Remark::HowShown);
    }
    let judges_too = figures.tasks.iter().any(|task| !figures.judged_too(task).is_empty());
    if repeats > 1 && figures.configurations.len() > 1 && judges_too {
        out.push(Remark::ProcessorTime);
    }
    if figures.configurations.len() > 1 && repeats > 0 {
        out.push(Remark::Scores);
    }
    if is_scaled(run) {
        out.push(Remark::Scale { scale: run.plan.scale, in_titles: run.plan.titles_are_scaled() });
    }
    out.extend(run.plan.cramped().into_iter().map(|(name, size, roomy)| Remark::Cramped {
        configuration: name.to_owned(),
        size,
        roomy,
    }));
    if let Some(accords) = options.accords.as_ref().filter(|_| run.plan.lab.capabilities().exact_clock) {
        out.push(Remark::Trust(Trust::of(run, accords)));
    }
    out
}

/// Whether the run has counts and sizes at a scale of their own; a command has none.
pub(crate) fn is_scaled(run: &RunRecord) -> bool {
    let has_own = run.plan.cells.iter().any(|cell| !cell.parameters.is_empty() || cell.second_disk.is_some())
        || run.cells.iter().any(|cell| cell.corpus.is_some());
    run.plan.scale != Scale::ONE && has_own
}
