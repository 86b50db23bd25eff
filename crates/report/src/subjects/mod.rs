//! Subjects: data that can be written, one file each. A subject provides parts, rows, keys, a page or a picture; it
//! does not know the formats made from these.

mod changes;
mod claims;
mod device;
mod report;
mod run;
mod runs;
mod study;
mod verdicts;

use crate::writers::Subject;
use crate::writers::csv::Rows;
use crate::writers::json::Object;
pub use changes::Changes;
pub use claims::{Claims, ClaimsHead};
pub use device::Device;
pub use report::Reports;
pub use run::Run;
pub use runs::Runs;
pub use study::StudyBeside;
pub use verdicts::Verdicts;
