//! What keeps a run and a study from being compared in seconds.

use mountmark_model::{Scale, Study};
use mountmark_record::{RunRecord, RunStatus};

/// One reason.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The run has not done all of its cells.
    Unfinished {
        /// How it stands.
        status: RunStatus,
        /// Cells that have ended.
        done: usize,
        /// Cells of its plan.
        planned: usize,
    },
    /// Only the steps of the protocol are the same work.
    OtherSuite {
        /// The run's.
        of_run: String,
        /// The one that repeats the study; `None` where there is none.
        of_study: Option<String>,
    },
    /// The run is not at the study's counts and sizes.
    Scale(Scale),
    /// The run's machine does not model the study's.
    OtherMachine {
        /// The run's.
        of_run: String,
        /// The one that models the study's.
        of_study: String,
    },
    /// The run was made on this computer.
    OwnMachine,
    /// No profile models the study's machine.
    NoProfile {
        /// The run's machine.
        of_run: String,
    },
    /// Seconds are those of a model.
    VirtualSeconds,
    /// Figures are single samples.
    OneRepeat,
}

/// Whether a run has not done all of its cells.
pub fn unfinished(run: &RunRecord) -> Option<Warning> {
    let (done, planned) = (run.cells.len(), run.plan.cells.len());
    (done < planned).then_some(Warning::Unfinished { status: run.status, done, planned })
}

pub(super) fn warnings(run: &RunRecord, study: &Study, same_suite: bool) -> Vec<Warning> {
    let plan = &run.plan;
    let mut out: Vec<Warning> = unfinished(run).into_iter().collect();
    if !same_suite {
        out.push(Warning::OtherSuite { of_run: plan.suite.clone(), of_study: study.suite.clone() });
    }
    if plan.scale != Scale::ONE && same_suite {
        out.push(Warning::Scale(plan.scale));
    }
    let of_run = plan.machine.name.clone();
    match (&study.machine, plan.lab.nature().guest) {
        (_, false) => out.push(Warning::OwnMachine),
        (Some(machine), _) if *machine != of_run => {
            out.push(Warning::OtherMachine { of_run, of_study: machine.clone() });
        }
        (Some(_), _) => {}
        (None, _) => out.push(Warning::NoProfile { of_run }),
    }
    if plan.lab.nature().exact_clock {
        out.push(Warning::VirtualSeconds);
    }
    if plan.repeats == 1 {
        out.push(Warning::OneRepeat);
    }
    out
}
