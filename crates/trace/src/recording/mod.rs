//! A recording of a disk: requests and replies in one global order, with marks of the workload between them.
//!
//! The words that who serves a recorded disk and who examines its recordings have in common: what the disk offers and
//! where it fails ([`Device`]), when it replies ([`Policy`]), and how its contents are changed ([`Extent`]).

mod device;
mod extent;
pub mod poison;
mod policy;

pub use device::{Device, Fault, Half, Unit, UnknownDevice};
pub use extent::{Contents, Extent};
pub use policy::Policy;

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The unit that a disk writes whole or not at all, in bytes.
pub const SECTOR: u64 = 512;

/// What happened at one disk, in the order in which its server saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Size of the disk in bytes; of several disks the sum.
    pub size: u64,
    /// How many disks of one size lie one behind the other in it; 0 is as 1.
    #[serde(default, skip_serializing_if = "is_one")]
    pub disks: u32,
    pub events: Vec<Event>,
    /// What was written, request behind request; [`Request::Write::data`] points into it.
    #[serde(skip)]
    pub data: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The server has read a request with all its data. Numbers count from 0, in the order of arrival.
    Sent {
        number: u32,
        request: Request,
    },
    /// The server is about to reply to this request; 0 or an errno.
    Done {
        number: u32,
        error: i32,
    },
    Mark(Mark),
}

/// A request that changes the disk or makes it durable. Reads are not recorded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    Write {
        /// Bytes from the start of the disk, a multiple of [`SECTOR`].
        offset: u64,
        /// In bytes, a multiple of [`SECTOR`].
        length: u64,
        /// Force unit access: the reply says that this data is on the medium.
        fua: bool,
        /// Where its contents begin in [`Trace::data`].
        data: u64,
    },
    /// Everything that was replied to before this request arrived is on the medium once it is replied to.
    Flush,
    /// The same of one of several disks, which is this range.
    FlushDisk { offset: u64, length: u64 },
    /// The contents of the range are not needed any more.
    Trim { offset: u64, length: u64 },
    /// The range reads as zeros afterwards.
    Zero { offset: u64, length: u64, fua: bool },
}

fn is_one(disks: &u32) -> bool {
    *disks <= 1
}

impl Request {
    /// Whether it makes what was written before durable.
    pub fn is_flush(&self) -> bool {
        matches!(self, Request::Flush | Request::FlushDisk { .. })
    }

    /// The part of the disk that it changes or makes durable: its offset and length in bytes.
    pub fn range(&self, size: u64) -> Range<u64> {
        match *self {
            Request::Flush => 0..size,
            Request::FlushDisk { offset, length }
            | Request::Write { offset, length, .. }
            | Request::Trim { offset, length }
            | Request::Zero { offset, length, .. } => offset..offset.saturating_add(length),
        }
    }
}

/// A moment of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// An operation is about to call the kernel. It is its number in the workload.
    Begin(u16),
    /// The operation has returned: 0 or an errno.
    End(u16, i32),
    /// An application has told its user that this much is done, such as its third commit.
    Acknowledged(u32),
}
