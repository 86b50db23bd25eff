//! iostat's columns for a span of time, from the requests that completed in it.
//!
//! Names and formulas are those of `iostat -x` of sysstat 12 (its manual page, "Device Utilization Report"), except the
//! queue, which is integrated over the requests' true times where these were recorded.

use mountmark_model::device::{DeviceOperation, Slice};
use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stream {
    pub requests: u64,
    pub bytes: u64,
    /// Requests per second: `r/s`.
    #[serde(rename = "requests_per_second")]
    pub rate: f64,
    /// iostat prints `rMB/s`.
    pub bytes_per_second: f64,
    /// Mean size in bytes; iostat prints `rareq-sz` in KiB. `None` without requests.
    #[serde(rename = "mean_bytes", skip_serializing_if = "Option::is_none")]
    pub size: Option<f64>,
    /// Mean time from arrival to completion in seconds; iostat prints `r_await` in ms. `None` without requests.
    #[serde(rename = "mean_wait_seconds", skip_serializing_if = "Option::is_none")]
    pub wait: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
    #[serde(rename = "utilisation_percent")]
    pub utilisation: f64,
}

impl Iostat {
    /// The columns for a slice of `seconds`; rates are 0 and means missing if `seconds` is 0.
    pub fn of(slice: &Slice, seconds: f64) -> Iostat {
        let per_second = |sum: f64| if seconds > 0.0 { sum / seconds } else { 0.0 };
        let stream = |operation: DeviceOperation| {
            let (requests, bytes) = (slice.count(operation), slice.bytes(operation));
            let mean = |sum: f64| (seconds > 0.0 && requests > 0).then(|| sum / requests as f64);
            Stream {
                requests,
                bytes,
                rate: per_second(requests as f64),
                bytes_per_second: per_second(bytes as f64),
                size: mean(bytes as f64).filter(|_| operation != DeviceOperation::Flush),
                wait: mean(slice.wait(operation) as f64 / 1e9),
            }
        };
        Iostat {
            read: stream(DeviceOperation::Read),
            write: stream(DeviceOperation::Write),
            discard: stream(DeviceOperation::Discard),
            flush: stream(DeviceOperation::Flush),
            queue: per_second(slice.queued as f64 / 1e9),
            utilisation: per_second(100.0 * slice.busy as f64 / 1e9),
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
        let found = Iostat::of(&slice, 0.0);
        assert_eq!((found.read.requests, found.read.rate, found.read.wait, found.queue), (200, 0.0, None, 0.0));
    }
}
