//! The layout of bytes on the disk, and when they pass under the head.
//!
//! The whole layout is one function: `start(x)`, the time at which a head that reads continuously from byte 0 reaches
//! byte x. Every track is skewed by exactly the time of the switch before it, so the angle of byte x is `start(x)`
//! modulo a revolution, a transfer takes the difference of two values however many tracks it crosses, and a stream's
//! place at any time is the inverse. No step depends on the number of sectors or tracks.

use super::Hdd;
use crate::units::{SECOND, SECTOR};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cylinder: u64,
    pub(super) head: u64,
}

#[derive(Clone, Debug)]
struct Zone {
    first_byte: u64,
    first_cylinder: u64,
    /// `start(first_byte)`.
    first_time: u64,
    /// Bytes of a track.
    track: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Geometry {
    capacity: u64,
    cylinders: u64,
    heads: u64,
    revolution: u64,
    /// Time of a track and the switch to the next head, ns.
    track_time: u64,
    /// Time of a cylinder and the switch to the next, ns.
    cylinder_time: u64,
    /// From the outermost inwards.
    zones: Vec<Zone>,
}

impl Geometry {
    /// Lays out `hdd`, whose parameters have passed the check.
    pub(super) fn new(hdd: &Hdd) -> Geometry {
        let revolution = hdd.revolution_ns();
        let track_time = revolution + hdd.head_switch_ns;
        let cylinder_time = hdd.heads * track_time - hdd.head_switch_ns + hdd.cylinder_switch();
        let steps = (hdd.zones - 1).max(1);
        let tracks: Vec<u64> = (0..hdd.zones)
            .map(|zone| {
                let rate = hdd.outer_rate - (hdd.outer_rate - hdd.inner_rate) * zone / steps;
                // A cylinder's bytes pass in a cylinder's time at the stated rate: switches lose time, so a track is
                // larger than rate times revolution.
                let bytes = u128::from(rate) * u128::from(cylinder_time) / u128::from(SECOND * hdd.heads);
                ((bytes as u64 + SECTOR / 2) / SECTOR * SECTOR).max(SECTOR)
            })
            .collect();
        let one_of_each: u64 = tracks.iter().map(|track| track * hdd.heads).sum();
        let cylinders = hdd.capacity.div_ceil(one_of_each);
        let mut zones = Vec::new();
        let (mut first_byte, mut first_cylinder, mut first_time) = (0, 0, 0);
        for track in tracks {
            if first_byte >= hdd.capacity {
                break;
            }
            zones.push(Zone { first_byte, first_cylinder, first_time, track });
            first_byte += cylinders * hdd.heads * track;
            first_cylinder += cylinders;
            first_time += cylinders * cylinder_time;
        }
        let mut geometry = Geometry {
            capacity: hdd.capacity,
            cylinders: 0,
            heads: hdd.heads,
            revolution,
            track_time,
            cylinder_time,
            zones,
        };
        geometry.cylinders = geometry.place(hdd.capacity - 1).cylinder + 1;
        geometry
    }

    pub(super) fn cylinders(&self) -> u64 {
        self.cylinders
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    fn zone(&self, byte: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|zone| zone.first_byte <= byte) - 1]
    }

    /// The track of `byte`.
    pub(super) fn place(&self, byte: u64) -> Place {
        self.locate(byte).0
    }

    /// The track of `byte`, and `start(byte)`.
    pub(super) fn locate(&self, byte: u64) -> (Place, u64) {
        let zone = self.zone(byte);
        let (track, rest) = divide(byte - zone.first_byte, zone.track);
        let (cylinder, head) = divide(track, self.heads);
        let time = zone.first_time
            + cylinder * self.cylinder_time
            + head * self.track_time
            + rest * self.revolution / zone.track;
        (Place { cylinder: zone.first_cylinder + cylinder, head }, time)
    }

    /// When a head that reads continuously from byte 0 reaches `byte`, ns.
    pub(super) fn start(&self, byte: u64) -> u64 {
        self.locate(byte).1
    }

    /// The track of the last byte before `byte`, and when that byte has passed: `start(byte)`, but before the switch if
    /// a track ends there.
    pub(super) fn locate_end(&self, byte: u64) -> (Place, u64) {
        let zone = self.zone(byte - 1);
        let (track, rest) = divide(byte - 1 - zone.first_byte, zone.track);
        let (cylinder, head) = divide(track, self.heads);
        let time = zone.first_time
            + cylinder * self.cylinder_time
            + head * self.track_time
            + (rest + 1) * self.revolution / zone.track;
        (Place { cylinder: zone.first_cylinder + cylinder, head }, time)
    }

    /// The time of [`locate_end`](Self::locate_end), ns.
    pub(super) fn end(&self, byte: u64) -> u64 {
        self.locate_end(byte).1
    }

    /// The end of the last whole sector that has passed by `time`: the inverse of `end`.
    pub(super) fn reached(&self, time: u64) -> u64 {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first_time <= time) - 1];
        let (cylinder, rest) = divide(time - zone.first_time, self.cylinder_time);
        let head = (rest / self.track_time).min(self.heads - 1);
        let in_track = rest - head * self.track_time;
        // During the switch after it, the track is complete.
        let bytes = (in_track.min(self.revolution) * zone.track / self.revolution) / SECTOR * SECTOR;
        let byte = zone.first_byte + (cylinder * self.heads + head) * zone.track + bytes;
        byte.min(self.capacity)
    }

    /// The first byte after the track of `byte`.
    pub(super) fn track_end(&self, byte: u64) -> u64 {
        let zone = self.zone(byte);
        zone.first_byte + ((byte - zone.first_byte) / zone.track + 1) * zone.track
    }
}

fn divide(number: u64, by: u64) -> (u64, u64) {
    (number / by, number % by)
}

#[cfg(test)]
mod tests {
    use super::super::tests::drive;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_track_ends_one_switch_before_the_next_starts() {
        let hdd = drive();
        let geometry = Geometry::new(&hdd);
        let track = geometry.zones[0].track;
        assert_eq!(geometry.end(track), hdd.revolution_ns());
        assert_eq!(geometry.start(track), hdd.revolution_ns() + hdd.head_switch_ns);
        let cylinder = track * hdd.heads;
        assert_eq!(geometry.start(cylinder) - geometry.end(cylinder), hdd.cylinder_switch());
        assert_eq!(geometry.track_end(track - 1), track);
        assert_eq!(geometry.track_end(track), 2 * track);
        assert_eq!(geometry.place(cylinder), Place { cylinder: 1, head: 0 });
    }

    #[test]
    fn the_last_byte_is_on_the_last_cylinder() {
        let hdd = drive();
        let geometry = Geometry::new(&hdd);
        assert_eq!(geometry.place(hdd.capacity - 1).cylinder, geometry.cylinders() - 1);
        assert_eq!(geometry.zones.len() as u64, hdd.zones);
    }

    proptest! {
        #[test]
        fn time_rises_with_the_byte_and_back(sector in 0..drive().capacity / SECTOR) {
            let geometry = Geometry::new(&drive());
            let byte = sector * SECTOR;
            let (start, end) = (geometry.start(byte), geometry.end(byte + SECTOR));
            prop_assert!(start < end);
            prop_assert!(byte == 0 || geometry.end(byte) <= start);
            // Rounding to whole nanoseconds may cost at most the sector that ends at that moment.
            let reached = geometry.reached(end);
            prop_assert!(reached == byte + SECTOR || reached == byte, "{} {}", reached, byte);
            prop_assert_eq!(geometry.reached(end + 1), byte + SECTOR);
        }
    }
}
