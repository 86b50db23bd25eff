//! What was found in runs, and how it is told: a folder for each question.
//!
//! In a folder `find` computes typed findings, `say` makes sentences of them, `show` makes parts of a document for all
//! formats, and `page` draws what a page has beyond that. `sections` has the order of a report, `registry` all that can
//! be written and in which formats.
//!
//! Everything here is a pure function of records, options and a seed: the same run gives the same findings to the last
//! bit. This crate does not know where runs are stored or how anything was measured; it starts nothing and writes
//! nothing.

pub mod advice;
pub mod agreement;
mod analysis;
pub mod baseline;
pub mod bisect;
mod cases;
pub mod changes;
pub mod claims;
mod crash;
mod curves;
mod dependence;
mod device;
mod doubts;
mod effects;
mod facts;
mod figures;
mod found;
mod group;
mod latency;
mod matrix;
mod method;
mod missing;
mod name;
mod options;
mod overview;
mod rankings;
mod registry;
mod remarks;
mod reports;
mod robustness;
mod run;
mod safety;
pub mod sampling;
mod sections;
pub mod studies;
mod tails;
#[cfg(test)]
mod tests;
mod verdicts;
mod view;
pub mod why;

pub use analysis::{configurations, findings};
pub use cases::show::Cases;
pub use crash::show::Crash;
pub use crash::show::list::{CrashList, CrashListed};
pub use crash::show::state::CrashState;
pub use curves::find::{Cliff, Curve, Curves, Unsearched, WhyUnsearched};
pub use dependence::find::{Dependence, Group};
pub use device::find::{Iostat, Stream};
pub use device::show::Device;
pub use doubts::find::{Doubt, cells_in_doubt, doubts};
pub use effects::find::Gain;
pub use figures::find::basis::{Basis, Category};
pub use figures::find::cut::{Cut, cuts};
pub use figures::find::roles::is_judged_by;
pub use figures::find::{Estimate, MetricFindings, Point, TaskFindings, Total};
pub use found::Findings;
pub use missing::find::{Missing, Repeats, TaskName};
pub use name::{UnknownName, find_metric};
pub use options::Options;
pub use overview::find::Conclusion;
pub use rankings::find::rank::{CategoryFindings, Lead, Level, Overall, Rank};
pub use registry::{Format, FormatError, SUBJECTS};
pub use remarks::find::Remark;
pub use remarks::find::drift::Drift;
pub use remarks::say::cramped;
pub use reports::show::{Reports, Verdicts};
pub use robustness::find::corner::{ClassCost, Survival};
pub use robustness::find::costs::{CostRange, CostsAsked};
pub use robustness::find::whole::over_all_tasks;
pub use robustness::find::{Known, OrderCounts, PairOrder, Robustness, TaskOrders};
pub use run::say::again::{again, shell_word};
pub use run::say::reduced;
pub use run::show::Run;
pub use run::show::list::Runs;
pub use run::show::outputs::Outputs;
pub use safety::find::AfterCut;
pub use safety::find::survive::Survive;
pub use safety::say::{after_cut, known_faults, obstacles, surviving};
pub use safety::show::Safety;
pub use verdicts::find::verdict::{Gap, NotJudged, Verdict, VerdictOutcome};
pub use view::Report;
