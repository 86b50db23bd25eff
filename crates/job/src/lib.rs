//! What a lab hands to the agent: the job, its disks, and how the agent's lines are authenticated. The host's side and the
//! guest's program have this in common.
//!
//! This crate starts and measures nothing.

mod devices;
mod file_id;
mod in_guest;
mod job;
pub mod kernel_log;
pub mod kernel_options;
pub mod line_auth;
pub mod loops;
pub mod machine;
pub mod mark;
pub mod mountinfo;
pub mod plain;
pub mod question;
mod trace;

use anyhow::Result;
use mountmark_model::{Cell, Event};

pub use devices::{CorpusData, Device, Devices, Hold, Member, Places, Power, below};
pub use file_id::FileId;
pub use in_guest::{LOOP, MODULES_FILE, SOURCE_FOLDER, TEST_FOLDER, carrier_room, places};
pub use job::{CrashRegions, Job, MEDIA_START, Region, Share};
pub use line_auth::Token;
pub use mountmark_trace::Times;
pub use trace::{DeviceTrace, Unseen};

/// The search path of programs: the same in every lab, so that the user's own programs do not interfere.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a cell on its disks and reports events as they happen.
pub type Agent = fn(&Cell, &Devices, &mut dyn FnMut(Event)) -> Result<()>;
