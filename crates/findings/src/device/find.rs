//! iostat's columns for a span of time, from the requests that completed in it.
//!
//! Names and formulas are those of `iostat -x` of sysstat 12 (its manual page, "Device Utilization Report"), except the
//! queue, which is integrated over the requests' true times where these were recorded.

use mountmark_model::device::{DeviceOperation, Slice};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stream {
    /// Requests per second: `r/s`.
    pub rate: f64,
    /// iostat prints `rMB/s`.
    pub bytes_per_second: f64,
    /// Mean size in bytes; iostat prints `rareq-sz` in KiB. `None` without requests.
    pub size: Option<f64>,
    /// Mean time from arrival to completion in seconds; iostat prints `r_await` in ms. `None` without requests.
    pub wait: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Iostat {
    /// `r/s`, `rMB/s`, `rareq-sz`, `r_await`.
    pub read: Stream,
    /// `w/s`, `wMB/s`, `wareq-sz`, `w_await`.
    pub write: Stream,
    /// `d/s`, `dMB/s`, `dareq-sz`, `d_await`.
    pub discard: Stream,
    /// `f/s`, `f_await`; a flush has no size.
    pub flush: Stream,
    /// `aqu-sz`: mean number of requests at the device.
    pub queue: f64,
    /// `%util`: the share of time with a request at the device, in percent.
    pub utilisation: f64,
}

impl Iostat {
    /// The columns for a slice of `seconds`; all zero if `seconds` is 0.
    pub fn of(slice: &Slice, seconds: f64) -> Iostat {
        if seconds <= 0.0 {
            return Iostat::default();
        }
        let stream = |operation: DeviceOperation| {
            let (count, bytes) = (slice.count(operation) as f64, slice.bytes(operation) as f64);
            let mean = |sum: f64| (count > 0.0).then(|| sum / count);
            Stream {
                rate: count / seconds,
                bytes_per_second: bytes / seconds,
                size: mean(bytes).filter(|_| operation != DeviceOperation::Flush),
                wait: mean(slice.wait(operation) as f64 / 1e9),
            }
        };
        Iostat {
            read: stream(DeviceOperation::Read),
            write: stream(DeviceOperation::Write),
            discard: stream(DeviceOperation::Discard),
            flush: stream(DeviceOperation::Flush),
            queue: slice.queued as f64 / 1e9 / seconds,
            utilisation: 100.0 * slice.busy as f64 / 1e9 / seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_iostat() {
        // 200 reads of 4 KiB and 50 writes of 64 KiB in two seconds, with the device busy for one and a half.
        let slice = Slice {
            count: [200, 50, 0, 5],
            bytes: [200 << 12, 50 << 16, 0, 0],
            wait: [1_000_000_000, 500_000_000, 0, 100_000_000],
            queued: 1_600_000_000,
            busy: 1_500_000_000,
        };
        let found = Iostat::of(&slice, 2.0);
        assert_eq!((found.read.rate, found.read.size, found.read.wait), (100.0, Some(4096.0), Some(0.005)));
        assert_eq!((found.write.bytes_per_second, found.write.wait), (f64::from(25 << 16), Some(0.01)));
        assert_eq!((found.flush.rate, found.flush.size, found.flush.wait), (2.5, None, Some(0.02)));
        assert_eq!((found.discard.rate, found.discard.size, found.discard.wait), (0.0, None, None));
        assert_eq!((found.queue, found.utilisation), (0.8, 75.0));
        assert_eq!(Iostat::of(&slice, 0.0), Iostat::default());
    }
}
