//! Subjects: data that can be written, one file each. A subject provides parts, rows, keys, a page or a picture; it
//! does not know the formats made from these.

mod accord;
mod bisect;
mod cases;
mod changes;
mod claims;
mod crash;
mod crash_list;
mod crash_state;
mod device;
mod outputs;
mod report;
mod run;
mod runs;
mod safety;
mod study;
mod verdicts;
mod why;

use mountmark_model::legend;
use mountmark_record::RunRecord;

use crate::words::header::{Fact, LABELS, header};
use crate::writers::csv::Rows;
use crate::writers::json::Object;
use crate::writers::{Part, Subject};
pub use accord::ModelBeside;
pub use bisect::Bisected;
pub use cases::Cases;
pub use changes::Changes;
pub use claims::{Claims, ClaimsHead};
pub use crash::Crash;
pub use crash_list::{CrashList, CrashListed};
pub use crash_state::CrashState;
pub use device::Device;
pub use outputs::Outputs;
pub use report::Reports;
pub use run::Run;
pub use runs::Runs;
pub use safety::Safety;
pub use study::StudyBeside;
pub use verdicts::Verdicts;
pub use why::Why;

/// The legend of the labels among these names of configurations, if any.
fn labels<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Part> {
    legend(names).map(|text| Part::Labelled(LABELS.into(), text))
}

/// The facts about a run that stand above what is shown of it.
fn about(run: &RunRecord) -> Vec<Part> {
    let mut before = None;
    let part = |(fact, text): (Fact, String)| match before.replace(fact) == Some(fact) {
        true => Part::Labelled(String::new(), text),
        false => Part::Labelled(fact.label().into(), text),
    };
    header(run).into_iter().map(part).collect()
}
