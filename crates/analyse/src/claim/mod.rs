//! Claims of the old studies, judged by a run.
//!
//! A claim is made of clauses, a clause of comparisons; each level tells what of it holds. The same judge reads the
//! studies' own figures, so that a claim that its article's table does not carry is seen. This folder does not know
//! where claims are read or how verdicts are shown and worded; fields that JSON has in words are not serialised here.

mod clause;
mod column;
mod decide;
mod judge;
mod missing;

use mountmark_model::{Clause, Limits};
use serde::Serialize;

pub use judge::{Reach, judge_claims, own_figures};
pub use missing::Lack;

/// A claim and what a run says of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// Name of the study.
    pub study: String,
    /// Short name of the claim.
    pub id: String,
    /// What is claimed.
    pub text: String,
    /// How its words were read, and what of the article does not fit.
    pub note: Option<String>,
    /// The verdict.
    pub outcome: ClaimOutcome,
    /// Whether everything that the claim names was measured; `true` for what figures cannot decide.
    pub complete: bool,
    /// Why no figures can decide it, where none can.
    #[serde(skip)]
    pub undecidable: Option<String>,
    /// Its parts.
    #[serde(skip)]
    pub clauses: Vec<JudgedClause>,
    /// What the run lacks for it.
    #[serde(skip)]
    pub missing: Vec<Lack>,
    /// Commands that would measure what is missing.
    pub commands: Vec<String>,
    /// What the study's own figures say of it; `None` where it prints none that decide.
    pub own_figures: Option<ClaimOutcome>,
}

/// What is to be said of a claim or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// It is so.
    Holds,
    /// Some of its parts hold and others do not.
    Partly,
    /// No difference was shown where it says there is one, or none large enough to matter.
    NoDifference,
    /// What it calls better is worse.
    Reversed,
    /// It is not so: what it calls equal differs, or a limit is passed.
    Fails,
    /// The run has no figures for it.
    NotMeasured,
    /// No figures of one run can decide it.
    Undecidable,
}

impl JudgedClaim {
    /// Whether the run says something of it.
    pub fn is_measured(&self) -> bool {
        !matches!(self.outcome, ClaimOutcome::NotMeasured | ClaimOutcome::Undecidable)
    }

    /// Whether it is judged without some of the file systems that it speaks of.
    pub fn is_partial(&self) -> bool {
        self.is_measured() && !self.complete
    }
}

impl ClaimOutcome {
    /// All of them, in the order of summaries.
    pub const ALL: [ClaimOutcome; 7] = [
        ClaimOutcome::Holds,
        ClaimOutcome::Partly,
        ClaimOutcome::NoDifference,
        ClaimOutcome::Reversed,
        ClaimOutcome::Fails,
        ClaimOutcome::NotMeasured,
        ClaimOutcome::Undecidable,
    ];
}

/// One part of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClause {
    /// What is tested.
    #[serde(skip)]
    pub clause: Clause,
    /// The verdict.
    pub outcome: ClaimOutcome,
    /// Comparisons by outcome.
    pub counts: Counts,
    /// The means of all names concerned, by what they are of.
    #[serde(skip)]
    pub figures: Vec<(Subject, Vec<(String, f64)>)>,
    /// The comparisons, those not measured left out.
    #[serde(skip)]
    pub comparisons: Vec<JudgedComparison>,
}

/// How many comparisons of a clause ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// As claimed.
    pub holds: usize,
    /// The other way round, or beyond a limit.
    pub against: usize,
    /// No difference shown.
    pub undecided: usize,
    /// Without figures.
    pub unmeasured: usize,
}

/// What figures are of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A task, or the file system within which tasks or metrics are compared.
    One(String),
    /// Several tasks taken together, as the clause says.
    Together(Vec<String>),
}

/// What a figure is set against.
#[derive(Clone, Debug, PartialEq)]
pub enum Against {
    /// The figure of this name.
    Name(String),
    /// Limits.
    Limits(Limits),
}

impl Against {
    /// The name; empty for limits.
    fn name(&self) -> &str {
        if let Against::Name(name) = self { name } else { "" }
    }
}

/// Two figures, or a figure and its limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedComparison {
    /// What the figures are of.
    #[serde(skip)]
    pub subject: Subject,
    /// What should be the better one, or the only one.
    pub left: String,
    /// What it is set against.
    #[serde(skip)]
    pub right: Against,
    /// The left figure.
    pub left_value: f64,
    /// The right figure.
    pub right_value: f64,
    /// Left over right where it has an interval or is the thing tested.
    pub ratio: Option<f64>,
    /// 95 % interval of `ratio`, where there are several repeats.
    pub interval: Option<crate::Interval>,
    /// Whether it is as claimed.
    pub outcome: ClaimOutcome,
}
