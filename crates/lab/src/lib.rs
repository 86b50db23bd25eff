//! Provides the disks of a cell: in an emulated guest, in a guest under KVM, or on this machine.
//!
//! A lab decides where a cell runs, on which disk and under which clock. The agent (`mountmark-run`), the same code in
//! every lab, works with the disks; this crate does not measure or store anything.

pub mod cache;
mod cell_key;
pub mod child;
pub mod emulator;
mod event_receiver;
pub mod host;
pub mod image;
mod lab;
pub mod leftovers;
pub mod options;
#[doc(hidden)]
pub mod parsers;
pub mod profile;
mod several;
mod sitting;
mod this;

use mountmark_model::Lab;

pub use cell_key::CellKey;
pub use lab::{Ended, LabKind, OpenLab, Options, Place, SILENCE_LIMIT};
pub use several::Several;
pub use sitting::sitting;

/// How a lab is opened.
pub fn kind(lab: Lab) -> &'static dyn LabKind {
    match lab {
        Lab::Virtual => &emulator::Guests(Lab::Virtual),
        Lab::Kvm => &emulator::Guests(Lab::Kvm),
        Lab::Host => &host::ThisMachine,
    }
}
