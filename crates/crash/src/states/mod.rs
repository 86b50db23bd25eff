//! All images that a disk with a volatile write cache may hold after a power cut, from a recording of its requests.
//!
//! A write whose reply was sent before a flush arrived is durable when that flush is replied to; a write with FUA is when
//! it is replied to itself. Every other write that has arrived is pending: the medium has it or not. Where writes follow
//! each other in time, the later one covers the earlier one; where they were under way at once, either may be on top.
//!
//! [`Device`] says what is written whole: requests, or sectors. If it is sectors, each may hold any version that is not
//! older than the durable one. Every image made here is one that a disk which keeps its promises may hold, as far as the
//! device has no planted [`Fault`].
//!
//! Nothing becomes durable within an [`Epoch`], so its end allows everything that its middle does. [`States::open`] sets
//! an epoch's end up, [`Pending::explore`] makes its states, and [`States::rebuild`] makes one of them again by its name.

mod bits;
mod count;
mod covering;
mod cursor;
mod epochs;
mod explore;
mod history;
mod id;
mod image;
mod pending;
mod state;
mod tiers;

#[cfg(test)]
pub(crate) mod tests;

use thiserror::Error;

pub use bits::Bits;
pub use count::Possible;
pub use epochs::Epoch;
pub use explore::{Budget, Explore, Tested};
pub use history::TraceError;
pub use id::{Choice, NoStateId, Part, StateId, Tier};
pub use image::ImageId;
pub use pending::Pending;
pub use state::{Base, State};

pub use crate::trace::{Contents, Device, Extent, Fault, Half, Unit, UnknownDevice};

use crate::trace::Trace;
use epochs::Marks;
use history::History;

/// What power cuts may leave of one recording on one device.
pub struct States {
    device: Device,
    history: History,
    /// For each change, the event from which it is durable.
    since: Vec<Option<usize>>,
    epochs: Vec<Epoch>,
    marks: Marks,
    /// The number of the first epoch that a power cut may end.
    first: usize,
}

/// A name of a state that this recording does not have on this device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoState {
    #[error("state {id} is in epoch {epoch}, and the recording has {count} epochs on the device `{device}`", epoch = id.epoch)]
    Epoch { id: StateId, count: usize, device: Device },
    #[error("state {id} does not exist: epoch {epoch} has {pending} pending requests on the device `{device}`", epoch = id.epoch)]
    Choice { id: StateId, pending: usize, device: Device },
}

impl States {
    /// Puts a recording in order. `recorded` is the first operation that a power cut may interrupt.
    pub fn new(
        trace: &Trace,
        base: &(impl Base + ?Sized),
        device: Device,
        recorded: u16,
    ) -> Result<States, TraceError> {
        let history = History::new(trace, base, &device)?;
        let since = epochs::durable(&history, &device, trace.size);
        let (epochs, marks) = epochs::epochs(trace, &history, &device, &since);
        let cut = epochs::first_cut(trace, recorded);
        let first = epochs.iter().position(|epoch| epoch.end >= cut).unwrap_or(epochs.len());
        Ok(States { device, history, since, epochs, marks, first })
    }

    pub fn device(&self) -> Device {
        self.device
    }

    /// The epochs that a power cut may end, in order.
    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs[self.first..]
    }

    /// The operations that had begun at the end of this epoch.
    pub fn begun(&self, epoch: &Epoch) -> &[u16] {
        &self.marks.begun[..epoch.begun]
    }

    /// The operations that had returned at the end of this epoch, with 0 or an errno.
    pub fn returned(&self, epoch: &Epoch) -> &[(u16, i32)] {
        &self.marks.returned[..epoch.returned]
    }

    /// The end of an epoch, by its number; those before the first that a power cut may end can be opened too.
    pub fn open(&self, number: u32) -> Option<Pending<'_>> {
        let epoch = self.epochs.get(number as usize)?;
        let end = (number, epoch.end, epoch.marks.as_slice());
        Some(Pending::new(&self.history, &self.since, end, self.device.unit == Unit::Sector))
    }

    /// Makes a state again by its name.
    pub fn rebuild(&self, id: &StateId) -> Result<State, NoState> {
        let (id, device) = (id.clone(), self.device);
        let Some(pending) = self.open(id.epoch) else {
            return Err(NoState::Epoch { id, count: self.epochs.len(), device });
        };
        let made = pending.state(id.tier, id.choice.clone());
        made.ok_or(NoState::Choice { id, pending: pending.requests().len(), device })
    }
}
