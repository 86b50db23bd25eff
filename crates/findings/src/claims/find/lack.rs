//! Why a claim cannot be judged.

use mountmark_model::{Bytes, Over, Scale};

use crate::claims::find::Subject;

/// What a run lacks for a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum MissingReason {
    FileSystems(Vec<String>),
    Metric(String),
    Unavailable {
        filesystem: String,
        /// From the catalogue, or as the run found.
        reason: String,
    },
    /// A file system has no figure of a metric at some tasks.
    Tasks {
        filesystem: String,
        metric: String,
        /// How several tasks are combined.
        over: Over,
        tasks: Vec<Subject>,
    },
    TooFew,
    /// No run was given.
    NoRun,
    /// File systems that need a kernel from the user.
    OwnKernel(Vec<String>),
    Misfit(Box<Misfit>),
    /// The run does not vary the parameter: this would, as `--vary` takes it.
    Points(String),
    /// No run was given that stands for this one of the study.
    StudyRun {
        run: String,
        /// Whether an earlier run can stand for it.
        can_be_given: bool,
    },
    /// Power cuts, which no run has.
    PowerCuts,
    /// Configurations whose power was not cut.
    NotCut(Vec<String>),
    /// There is no such suite.
    NoSuite(String),
}

/// How a run differs from what a claim is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The run.
    pub run: String,
    pub suite: Option<OtherSuite>,
    pub machine: Option<OtherMachine>,
    pub scale: Option<TooSmall<Scale>>,
    pub disk_size: Option<TooSmall<Bytes>>,
}

/// A run has less of something than a claim needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooSmall<T> {
    pub of_run: T,
    pub needed: T,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSuite {
    pub of_run: String,
    /// `None` if no suite repeats the study.
    pub of_claim: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMachine {
    /// `None` is this computer.
    pub of_run: Option<String>,
    pub of_claim: String,
}
