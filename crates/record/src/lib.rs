//! Stores runs in SQLite: plans, samples, and how each cell ended; and campaigns of power cuts in files beside it.
//!
//! A cell is stored atomically when it ends. This crate does not know how a cell is run, what its figures mean, how
//! they are shown, or where the store is: the caller names the file.
//!
//! # Durability
//!
//! The store is in WAL mode with `synchronous = FULL`: when [`Store::record_cell`] returns, the cell survives a power
//! failure. One fsync costs milliseconds and a cell costs seconds to hours, so `NORMAL`, which may lose the last cells
//! (though never half of one), would save nothing. Cells that cost nothing are stored many at once ([`Store::record_cells`]).

mod campaigns;
mod environment;
mod error;
mod locks;
mod names;
mod process;
mod profiles;
mod record;
mod samples;
mod store;
mod timestamp;
mod work;

/// Parsers of what a stranger's store may hold, for fuzz tests.
#[doc(hidden)]
pub mod parsers {
    /// All profiles of a cell, packed.
    pub fn profiles(packed: &[u8]) -> Result<Vec<mountmark_model::profile::TaskProfile>, serde_json::Error> {
        crate::profiles::unpack(packed, &|_| true)
    }
}

pub use campaigns::{Campaigns, Listed, Writing};
pub use environment::CellEnvironment;
pub use error::StoreError;
pub use mountmark_model::{DeviceUse, Output, OutputKind, Sample, TaskOutcome};
pub use profiles::Profiles;
pub use record::{CellRecord, DeviceUses, RunId, RunRecord, RunStatus, RunSummary};
pub use samples::{Reader as SampleReader, SampleRef, Samples};
pub use store::{CellToRecord, Store, new_id};
pub use timestamp::Timestamp;
pub use work::{CellWork, TaskWork};
