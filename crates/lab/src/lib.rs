//! Provides the disks of a cell: in an emulated guest, in a guest under KVM, or on this machine.
//!
//! A lab decides where a cell runs, on which disk and under which clock. The agent (`mountmark-run`), the same code in
//! every lab, works with the disks; this crate does not measure or store anything.

pub mod cache;
pub mod child;
mod devices;
pub mod emulator;
mod event_receiver;
pub mod guest;
pub mod host;
pub mod image;
mod job;
pub mod kernel_log;
pub mod kernel_options;
mod lab;
pub mod leftovers;
mod line_auth;
mod loops;
pub mod mark;
pub mod memory;
pub mod options;
#[doc(hidden)]
pub mod parsers;
pub mod plain;
pub mod profile;
mod question;
mod sitting;
mod this;
mod trace;

use mountmark_model::Lab;

pub use devices::{CorpusData, Device, Devices, Hold, Places, Power};
pub use host::mountinfo;
pub use host::tools::PATH;
pub use job::{CrashRegions, Job, Region};
pub use lab::{Ended, LabKind, OpenLab, Options, Place, SILENCE_LIMIT};
pub use line_auth::Token;
pub use mountmark_trace::Times;
pub use sitting::sitting;
pub use trace::{DeviceTrace, Unseen};

/// How a lab is opened.
pub fn kind(lab: Lab) -> &'static dyn LabKind {
    match lab {
        Lab::Virtual => &emulator::Guests(Lab::Virtual),
        Lab::Kvm => &emulator::Guests(Lab::Kvm),
        Lab::Host => &host::ThisMachine,
    }
}
