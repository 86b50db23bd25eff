//! Records the requests at the disk under test, in whatever way a lab supports.

use mountmark_model::DeviceRecord;
use mountmark_trace::Times;

pub trait DeviceTrace {
    /// Clears the record, and records requests that arrive from `at` on, in nanoseconds of CLOCK_MONOTONIC.
    fn begin(&self, at: u64);

    /// Stops recording and returns the record; a sentence with the reason if the device's requests are not visible.
    fn end(&self, times: Times) -> Result<DeviceRecord, String>;

    /// The recording process, whose processor time does not count as the machine's work.
    fn watcher(&self) -> Option<u32> {
        None
    }
}

/// A device whose requests are not visible, and why.
pub struct Unseen(pub String);

impl DeviceTrace for Unseen {
    fn begin(&self, _at: u64) {}

    fn end(&self, _times: Times) -> Result<DeviceRecord, String> {
        Err(self.0.clone())
    }
}
