//! Seeing the requests at the disk under test, whichever way a lab has.

use mountmark_model::DeviceRecord;
use mountmark_trace::Times;

/// What sees each request at a device.
pub trait DeviceTrace {
    /// Forgets what was seen, and sees what arrives from the moment `at` on, in nanoseconds of CLOCK_MONOTONIC.
    fn begin(&self, at: u64);

    /// Sees nothing more, and answers what was seen since the beginning; a sentence why nothing was where the device
    /// does not show its requests.
    fn end(&self, times: Times) -> Result<DeviceRecord, String>;

    /// The process that watches, whose processor time is not the machine's work.
    fn watcher(&self) -> Option<u32> {
        None
    }
}

/// A device whose requests are not seen, and why.
pub struct Unseen(pub String);

impl DeviceTrace for Unseen {
    fn begin(&self, _at: u64) {}

    fn end(&self, _times: Times) -> Result<DeviceRecord, String> {
        Err(self.0.clone())
    }
}
