//! How two runs are compared, and limits of the comparison.

use mountmark_model::conditions::Way;
use mountmark_record::RunRecord;

use crate::changes::find::{Change, ChangeOutcome, Comparison, matched};
use crate::figures::find::series::{Figures, Task};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeRemark {
    /// No configuration is in both runs.
    NothingInCommon,
    /// Only one run has these configurations.
    Only {
        /// Whether the later run has them, otherwise the earlier.
        later: bool,
        configurations: Vec<String>,
    },
    /// Only one run has these tasks.
    OnlyTasks {
        /// As in `Only`.
        later: bool,
        tasks: Vec<String>,
    },
    /// The later run skipped a configuration of the earlier one.
    Skipped {
        configuration: String,
        /// As in the plan.
        reason: String,
    },
    /// The later run failed in some repeats.
    FailedInSome(Vec<FailedInSome>),
    /// One repeat without noise, and one seed.
    Exact,
    /// No cell of a run has ended.
    NoCell {
        /// Whether it is the later run.
        later: bool,
    },
    /// One repeat shows no difference.
    OneRepeat {
        /// Whether both runs have one seed.
        paired: bool,
        /// Whether fixed conditions would make it exact.
        conditions: bool,
    },
    Repeats {
        /// Compared in pairs of one seed, otherwise as independent samples.
        paired: bool,
    },
    /// How differences are shown.
    HowShown,
    /// The lab's clock has no noise.
    SeedsAlone(Way),
}

/// A task that failed in some repeats of the later run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedInSome {
    /// As in [`Change`].
    pub configuration: String,
    pub task: String,
    /// Counted from 0, ascending.
    pub repeats: Vec<u32>,
}

/// Each task once, whatever the number of its figures.
fn failed_in_some(changes: &[Change]) -> Vec<FailedInSome> {
    let mut out: Vec<FailedInSome> = Vec::new();
    for change in changes.iter().filter(|change| change.outcome == ChangeOutcome::LostInSome) {
        let is_it = |one: &FailedInSome| (&one.configuration, &one.task) == (&change.configuration, &change.task);
        if !out.iter().any(is_it) {
            out.push(FailedInSome {
                configuration: change.configuration.clone(),
                task: change.task.clone(),
                repeats: change.failures.iter().map(|failure| failure.repeat).collect(),
            });
        }
    }
    out
}

pub(crate) fn remarks(
    after: &RunRecord,
    (old, new): (&Figures, &Figures),
    way: &Comparison,
    changes: &[Change],
) -> Vec<ChangeRemark> {
    let failed = failed_in_some(changes);
    let mut out: Vec<ChangeRemark> =
        (!failed.is_empty()).then_some(ChangeRemark::FailedInSome(failed)).into_iter().collect();
    let only = |these: &Figures, those: &Figures| {
        these.configurations.iter().filter(|name| !those.configurations.contains(name)).cloned().collect::<Vec<_>>()
    };
    let least = old.repeats().min(new.repeats());
    let matched = matched(old, new, after);
    if matched.is_empty() {
        out.push(ChangeRemark::NothingInCommon);
    }
    let is_other = |(_, one, other): &(String, usize, Option<usize>)| {
        other.is_some_and(|other| old.configurations[*one] != new.configurations[other])
    };
    for (later, configurations) in [(false, only(old, new)), (true, only(new, old))] {
        if !configurations.is_empty() && !matched.iter().any(is_other) {
            out.push(ChangeRemark::Only { later, configurations });
        }
    }
    for (later, these, those) in [(false, old, new), (true, new, old)] {
        // A step without any figure is missing, and is a figure that is lost or new.
        let is_only = |task: &&Task| !task.step && those.tasks.iter().all(|other| other.id != task.id);
        let tasks: Vec<String> = these.tasks.iter().filter(is_only).map(|task| task.id.clone()).collect();
        out.extend((!tasks.is_empty()).then_some(ChangeRemark::OnlyTasks { later, tasks }));
    }
    let lost = after.plan.skipped.iter().filter(|(name, _)| old.configurations.contains(name)).cloned();
    out.extend(lost.map(|(configuration, reason)| ChangeRemark::Skipped { configuration, reason }));
    let paired = way.paired;
    match least {
        _ if way.exact => out.push(ChangeRemark::Exact),
        0 => out.push(ChangeRemark::NoCell { later: !old.blocks.is_empty() }),
        1 => out.push(ChangeRemark::OneRepeat { paired, conditions: paired && way.noiseless }),
        _ => {
            out.extend([ChangeRemark::Repeats { paired }, ChangeRemark::HowShown]);
            if way.noiseless && paired {
                out.push(ChangeRemark::SeedsAlone(after.plan.conditions()));
            }
        }
    }
    out
}
