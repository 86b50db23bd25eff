//! Judges the claims of the old studies by a run.
//!
//! A claim has clauses, a clause has comparisons; each level reports how much of it holds. The same judge reads the
//! studies' own figures, which shows claims that the article's own table does not support. This folder does not know
//! where claims are read or how verdicts are shown and worded; fields that JSON has in words are not serialised here.

mod across;
mod clause;
mod column;
mod decide;
mod fit;
mod judge;
mod lack;
mod missing;
mod reach;
mod several;
mod within;

use std::collections::BTreeMap;

use mountmark_model::{Clause, FileOutcome, Limits};
use serde::Serialize;

pub use clause::SMALLEST;
pub use decide::LEVEL;
pub use fit::Judges;
pub use judge::{judge_claims, own_figures};
pub use lack::{Misfit, MissingReason, OtherMachine, OtherSuite, TooSmall};
pub use reach::Reach;
pub use several::by_several;

/// A claim and its verdict by a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// The study's name.
    pub study: String,
    /// The claim's id in its study.
    pub id: String,
    /// The run that was asked.
    pub run: String,
    /// The claim in words.
    pub text: String,
    /// How its words were interpreted, and contradictions in the article.
    pub note: Option<String>,
    /// The verdict.
    pub outcome: ClaimOutcome,
    /// Whether everything that the claim names was measured; `true` if figures cannot decide it.
    pub complete: bool,
    /// Why no figures can decide it.
    #[serde(skip)]
    pub undecidable: Option<String>,
    /// What decides it without a measurement.
    #[serde(skip)]
    pub answered: Option<String>,
    #[serde(skip)]
    pub clauses: Vec<JudgedClause>,
    #[serde(skip)]
    pub missing: Vec<MissingReason>,
    /// Commands that would measure the missing figures.
    pub commands: Vec<String>,
    /// The verdict by the study's own figures; `None` if it prints none that decide.
    pub own_figures: Option<ClaimOutcome>,
    /// Whether the study prints all figures that the claim names.
    pub own_complete: bool,
    /// How the run that judged it differs from what it is about.
    #[serde(skip)]
    pub stretched: Option<Misfit>,
    /// What power cuts showed of it, if it is about them.
    #[serde(skip)]
    pub cuts: Option<CutsSeen>,
}

/// What campaigns of power cuts showed of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CutsSeen {
    /// Of each configuration that was tried: whether it holds there.
    pub holds: Vec<(String, bool)>,
    /// Images by what became of the file.
    pub images: Vec<(String, BTreeMap<FileOutcome, usize>)>,
    /// Configurations that were not tried.
    pub missing: Vec<String>,
    /// Configurations whose time ended before all their images were made.
    pub hurried: Vec<String>,
}

/// Verdict on a claim or a part of it, in the order of summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// Every part of it is so.
    Holds,
    /// It is so by more than the claimed factor.
    Exceeded,
    /// Some parts hold and others do not.
    Partly,
    /// No difference was shown where one is claimed, or none large enough to matter.
    NoDifference,
    /// The figure called better is worse.
    Reversed,
    /// Figures called equal differ, or a limit is passed.
    Fails,
    /// The run is of another suite or machine than the claim.
    NotJudged,
    /// The run has no figures for it.
    NotMeasured,
    /// It is about power cuts, which campaigns show and no run.
    NeedsCrashLab,
    /// No figures of one run can decide it.
    Undecidable,
}

impl JudgedClaim {
    /// Judged by what power cuts showed; as it was if no configuration was tried.
    pub fn by_power_cuts(&mut self, seen: CutsSeen) {
        if self.outcome != ClaimOutcome::NeedsCrashLab || seen.holds.is_empty() {
            return;
        }
        let held = seen.holds.iter().filter(|(_, holds)| *holds).count();
        self.outcome = match held {
            0 => ClaimOutcome::Fails,
            all if all == seen.holds.len() => ClaimOutcome::Holds,
            _ => ClaimOutcome::Partly,
        };
        self.missing.clear();
        if !seen.missing.is_empty() {
            self.missing.push(MissingReason::NotCut(seen.missing.clone()));
        }
        self.complete = self.missing.is_empty();
        self.cuts = Some(seen);
    }

    /// Whether the run has evidence for or against it.
    pub fn is_measured(&self) -> bool {
        self.outcome.is_decided()
    }

    /// Whether figures of its run are that evidence.
    pub fn is_by_figures(&self) -> bool {
        self.is_measured() && self.cuts.is_none() && self.answered.is_none()
    }

    /// Whether it is judged without some of the file systems that it names.
    pub fn is_partial(&self) -> bool {
        self.is_measured() && !self.complete
    }
}

impl ClaimOutcome {
    /// Whether there is evidence for or against.
    pub fn is_decided(self) -> bool {
        use ClaimOutcome::{Exceeded, Fails, Holds, NoDifference, Partly, Reversed};
        matches!(self, Holds | Exceeded | Partly | NoDifference | Reversed | Fails)
    }

    /// How many claims have each outcome; outcomes of none are omitted.
    pub fn counts(claims: &[JudgedClaim]) -> BTreeMap<ClaimOutcome, usize> {
        let mut counts = BTreeMap::new();
        claims.iter().for_each(|claim| *counts.entry(claim.outcome).or_default() += 1);
        counts
    }
}

/// A part of a claim and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClause {
    #[serde(skip)]
    pub clause: Clause,
    /// The verdict.
    pub outcome: ClaimOutcome,
    /// Number of comparisons by outcome.
    pub counts: Counts,
    /// The means of all names involved, by subject.
    #[serde(skip)]
    pub figures: Vec<(Subject, Vec<(String, f64)>)>,
    /// The comparisons, without unmeasured ones.
    #[serde(skip)]
    pub comparisons: Vec<JudgedComparison>,
}

/// Number of a clause's comparisons by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// It is as claimed.
    pub holds: usize,
    /// A claimed factor is passed in its own direction.
    pub exceeded: usize,
    /// The reverse holds, or a limit is passed.
    pub against: usize,
    /// No difference was shown.
    pub undecided: usize,
    /// A figure is missing.
    pub unmeasured: usize,
}

/// What figures refer to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A task, or the file system within which tasks or metrics are compared.
    One(String),
    /// One file system at a task or several, where runs are compared.
    On { filesystem: String, of: Box<Subject> },
    /// Several tasks combined, as the clause says.
    Together(Vec<String>),
}

impl Subject {
    /// The tasks without what stands behind their names.
    fn without(self, ending: &str) -> Subject {
        let plain = |name: String| name.strip_suffix(ending).map_or(name.clone(), str::to_owned);
        match self {
            Subject::One(one) => Subject::One(plain(one)),
            Subject::On { filesystem, of } => Subject::On { filesystem, of: Box::new(of.without(ending)) },
            Subject::Together(tasks) => Subject::Together(tasks.into_iter().map(plain).collect()),
        }
    }
}

/// What a figure is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Against {
    /// The figure of this name.
    Name(String),
    Limits(Limits),
}

impl Against {
    /// Empty for limits.
    fn name(&self) -> &str {
        if let Against::Name(name) = self { name } else { "" }
    }
}

/// Two figures, or a figure and its limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedComparison {
    #[serde(skip)]
    pub subject: Subject,
    /// The name claimed to be better, or the only name.
    pub left: String,
    #[serde(skip)]
    pub right: Against,
    /// The figure of `left`.
    pub left_value: f64,
    /// The figure or the limit that it is compared with.
    pub right_value: f64,
    /// Left over right, if it has an interval or is itself tested.
    pub ratio: Option<f64>,
    /// 95 % interval of `ratio` with several repeats.
    pub interval: Option<mountmark_stats::interval::Interval>,
    /// The verdict.
    pub outcome: ClaimOutcome,
}
