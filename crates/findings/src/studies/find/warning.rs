//! Reasons why a run and a study cannot be compared in seconds.

use mountmark_model::{Scale, Study};
use mountmark_record::{RunRecord, RunStatus};

#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Some cells of the run have not ended.
    Unfinished { status: RunStatus, done: usize, planned: usize },
    /// Only the protocol steps are the same work.
    OtherSuite {
        of_run: String,
        /// The suite that repeats the study; `None` if there is none.
        of_study: Option<String>,
    },
    /// The run does not use the study's counts and sizes.
    Scale(Scale),
    /// The run's machine does not model the study's.
    OtherMachine { of_run: String, of_study: String },
    /// The run measured this computer.
    OwnMachine,
    /// No profile models the study's machine.
    NoProfile { of_run: String },
    /// Seconds are computed by a model.
    VirtualSeconds,
    /// Figures are single samples.
    OneRepeat,
}

/// [`Warning::Unfinished`] if some cells of the run have not ended.
pub fn unfinished(run: &RunRecord) -> Option<Warning> {
    let (done, planned) = (run.cells.len(), run.plan.cells.len());
    (done < planned).then_some(Warning::Unfinished { status: run.status, done, planned })
}

pub(crate) fn warnings(run: &RunRecord, study: &Study, same_suite: bool) -> Vec<Warning> {
    let plan = &run.plan;
    let mut out: Vec<Warning> = unfinished(run).into_iter().collect();
    if !same_suite {
        out.push(Warning::OtherSuite { of_run: plan.suite.clone(), of_study: study.suite.clone() });
    }
    if plan.scale != Scale::ONE && same_suite {
        out.push(Warning::Scale(plan.scale));
    }
    let of_run = plan.machine.name.clone();
    match (&study.machine, plan.lab.capabilities().guest) {
        (_, false) => out.push(Warning::OwnMachine),
        (Some(machine), _) if *machine != of_run => {
            out.push(Warning::OtherMachine { of_run, of_study: machine.clone() });
        }
        (Some(_), _) => {}
        (None, _) => out.push(Warning::NoProfile { of_run }),
    }
    if plan.lab.capabilities().exact_clock {
        out.push(Warning::VirtualSeconds);
    }
    if plan.repeats == 1 {
        out.push(Warning::OneRepeat);
    }
    out
}
