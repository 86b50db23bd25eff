//! Rate and latency over time, in a table of fixed length: when it is full, pairs of steps are joined and the step
//! length doubles.

use mountmark_model::workload::{Series, SeriesPoint};
use serde::{Deserialize, Serialize};

const LENGTH: usize = 256;
/// The first step's length, as a power of two of nanoseconds: about a millisecond.
const FIRST_SHIFT: u32 = 20;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Point {
    operations: u64,
    bytes: u64,
    sum: u64,
    max: u64,
}

impl Point {
    fn join(&mut self, other: &Point) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

/// Operations counted by the step in which they ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Timeline {
    shift: u32,
    points: Vec<Point>,
    /// The current step; it is added to its point when it is over.
    present: Point,
    /// The current step's index, and when it ends.
    index: usize,
    until: u64,
}

impl Timeline {
    pub(super) fn new() -> Timeline {
        let points = vec![Point::default(); LENGTH];
        Timeline { shift: FIRST_SHIFT, points, present: Point::default(), index: 0, until: 1 << FIRST_SHIFT }
    }

    pub(super) fn clear(&mut self) {
        self.shift = FIRST_SHIFT;
        self.points.fill(Point::default());
        (self.present, self.index, self.until) = (Point::default(), 0, 1 << FIRST_SHIFT);
    }

    /// Counts one operation that ended `at` nanoseconds after the start. `at` never falls from call to call.
    #[inline(always)]
    pub(super) fn record(&mut self, at: u64, latency: u64, bytes: u64) {
        if at >= self.until {
            self.turn(at);
        }
        let present = &mut self.present;
        present.operations += 1;
        present.bytes += bytes;
        present.sum += latency;
        if latency > present.max {
            present.max = latency;
        }
    }

    /// Ends the current step and begins the one that holds `at`.
    #[cold]
    fn turn(&mut self, at: u64) {
        self.keep();
        while (at >> self.shift) as usize >= self.points.len() {
            self.fold();
        }
        self.index = (at >> self.shift) as usize;
        self.until = ((self.index + 1) as u64) << self.shift;
    }

    /// Adds the current step to its point.
    fn keep(&mut self) {
        let present = std::mem::take(&mut self.present);
        self.points[self.index].join(&present);
    }

    /// Ends recording; returns the sums of operations, bytes and nanoseconds.
    pub(super) fn finish(&mut self) -> (u64, u64, u64) {
        self.keep();
        self.points.iter().fold((0, 0, 0), |(operations, bytes, sum), point| {
            (operations + point.operations, bytes + point.bytes, sum + point.sum)
        })
    }

    /// Joins pairs of points.
    fn fold(&mut self) {
        for index in 0..self.points.len() {
            let mut joined = Point::default();
            for old in self.points.iter().skip(2 * index).take(2) {
                joined.join(old);
            }
            self.points[index] = joined;
        }
        self.shift += 1;
    }

    /// Adds another thread's counts; both have finished. Threads start together, to within the time it takes to wake
    /// them.
    pub(super) fn add(&mut self, other: &Timeline) {
        let mut other = other.clone();
        while self.shift < other.shift {
            self.fold();
        }
        while other.shift < self.shift {
            other.fold();
        }
        self.points.iter_mut().zip(&other.points).for_each(|(own, other)| own.join(other));
    }

    /// The series of a finished recording, up to the last step with an operation.
    pub(super) fn summary(&self) -> Series {
        let used = self.points.iter().rposition(|point| point.operations > 0).map_or(0, |last| last + 1);
        let points = self.points[..used].iter().map(|point| SeriesPoint {
            operations: point.operations,
            bytes: point.bytes,
            mean: if point.operations > 0 { point.sum as f64 / point.operations as f64 } else { 0.0 },
            max: point.max,
        });
        Series { step: (1u64 << self.shift) as f64 / 1e9, points: points.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_time_goes_on() {
        let mut course = Timeline::new();
        for millisecond in 0..10_000u64 {
            course.record(millisecond * 1_000_000, millisecond, 2);
        }
        assert_eq!(course.finish(), (10_000, 20_000, (0..10_000).sum()));
        let series = course.summary();
        assert!(series.points.len() <= LENGTH);
        assert_eq!(series.points.iter().map(|point| point.operations).sum::<u64>(), 10_000);
        assert_eq!(series.points.iter().map(|point| point.bytes).sum::<u64>(), 20_000);
        assert!((series.points.len() as f64 * series.step - 10.0).abs() <= series.step);
        // Each step holds the operations that ended in it: latencies here grow with time.
        assert!(series.points.is_sorted_by(|a, b| a.max < b.max));
    }

    #[test]
    fn threads_of_different_lengths_add_up() {
        let (mut short, mut long) = (Timeline::new(), Timeline::new());
        (0..100).for_each(|at| short.record(at * 1_000_000, 5, 1));
        (0..100).for_each(|at| long.record(at * 50_000_000, 7, 1));
        let _ = [&mut short, &mut long].map(Timeline::finish);
        let mut sums = [short.clone(), long.clone()];
        sums[0].add(&long);
        sums[1].add(&short);
        assert_eq!(sums[0].summary(), sums[1].summary());
        assert_eq!(sums[0].summary().points.iter().map(|point| point.operations).sum::<u64>(), 200);
    }
}
