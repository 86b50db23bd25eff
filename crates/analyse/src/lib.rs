//! Computes findings from records: estimates with intervals, verdicts, doubtful samples, changes between runs, and
//! which claims of the old studies still hold.
//!
//! Everything here is a pure function of records, options and a seed: the same run gives the same findings to the last
//! bit. This crate does not know where runs are stored, how findings are shown or worded, or how anything was measured.

mod accord;
mod analysis;
mod basis;
pub mod bisect;
mod change;
pub mod claim;
mod column;
mod conclude;
mod contrast;
mod curve;
mod cut;
mod dependence;
mod doubt;
mod drift;
mod estimate;
mod figures;
mod found;
mod iostat;
mod lead;
mod missing;
mod options;
mod rank;
mod ranking;
mod rate;
mod remarks;
mod safety;
pub mod sampling;
mod sharing;
pub mod study;
mod sums;
mod typed;
mod verdict;
pub mod why;

pub use accord::{Accordance, Accorded, Trust, Unfit, accordance};
pub use analysis::{configurations, findings};
pub use basis::{Basis, Category};
pub use change::{
    Change, ChangeOutcome, ChangeRemark, Changes, Difference, Incomparable, changes, differences, incomparable,
};
pub use conclude::Conclusion;
pub use curve::{Cliff, Curve, Curves, Unsearched, WhyUnsearched};
pub use cut::{Cut, cuts};
pub use dependence::{Dependence, Group};
pub use doubt::Doubt;
pub use doubt::{cells_in_doubt, doubts};
pub use drift::Drift;
pub use found::*;
pub use iostat::{Iostat, Stream};
pub use lead::{Lead, Level};
pub use missing::{Missing, Repeats, TaskName};
pub use options::Options;
pub use rank::*;
pub use rate::rate_of;
pub use remarks::Remark;
pub use safety::AfterCut;
pub use typed::*;
pub use verdict::{Gap, NotJudged, Verdict, VerdictOutcome};
