//! How a flash disk is brought into steady state before it is measured, after SNIA's Solid State Storage Performance Test
//! Specification 2.0.1, and what came of it.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// What a run does to its disks before the first cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precondition {
    /// How long a round of random writes takes.
    pub round_seconds: u32,
}

impl Precondition {
    /// How often the disk is written from end to end.
    pub const PASSES: u64 = 2;
    /// Length in bytes of one of those writes.
    pub const SEQUENTIAL: u64 = 128 << 10;
    /// Length in bytes of a random write.
    pub const RANDOM: u64 = 4 << 10;
    /// Number of rounds after which a disk counts as not steady.
    pub const MOST_ROUNDS: usize = 25;
}

/// What preconditioning a disk has done, and how steady the disk was at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preconditioned {
    /// The disk, as the user named it.
    pub disk: String,
    /// Whether it was discarded at first.
    pub purged: bool,
    /// The part of it that is written in order, [`Precondition::PASSES`] times: all, but for a rest smaller than a block.
    pub size: Bytes,
    /// How long a round of random writes took.
    pub round_seconds: u32,
    /// Random writes a second, of each round.
    pub rounds: Vec<f64>,
    /// Of the last rounds; `None` if nothing was written in them.
    pub window: Option<Window>,
}

impl Preconditioned {
    pub fn is_steady(&self) -> bool {
        self.window.is_some_and(|window| window.is_steady())
    }
}

/// The last rounds of a disk. Shares are parts of the average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Writes a second.
    pub average: f64,
    /// From the slowest round to the fastest one.
    pub range: f64,
    /// From one end of the line of best fit to the other.
    pub slope: f64,
}

impl Window {
    /// Number of its rounds.
    pub const ROUNDS: usize = 5;
    pub const MOST_RANGE: f64 = 0.2;
    pub const MOST_SLOPE: f64 = 0.1;

    /// The window at the end of these rounds; `None` if there are too few of them, or nothing was written in it.
    pub fn last(rounds: &[f64]) -> Option<Window> {
        let window = &rounds[rounds.len().checked_sub(Window::ROUNDS)?..];
        let average = window.iter().sum::<f64>() / window.len() as f64;
        if !average.is_finite() || average <= 0.0 {
            return None;
        }
        let most = window.iter().copied().fold(f64::MIN, f64::max);
        let least = window.iter().copied().fold(f64::MAX, f64::min);
        let middle = (window.len() - 1) as f64 / 2.0;
        let places = || (0..window.len()).map(|at| at as f64 - middle);
        let together: f64 = places().zip(window).map(|(place, rate)| place * (rate - average)).sum();
        let a_round = together / places().map(|place| place * place).sum::<f64>();
        Some(Window { average, range: (most - least) / average, slope: (a_round * 2.0 * middle).abs() / average })
    }

    pub fn is_steady(&self) -> bool {
        self.range <= Window::MOST_RANGE && self.slope <= Window::MOST_SLOPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_steady(rounds: &[f64]) -> bool {
        Window::last(rounds).is_some_and(|window| window.is_steady())
    }

    #[test]
    fn a_disk_is_steady_if_its_last_rounds_are_alike() {
        let window = Window::last(&[90_000.0, 100.0, 105.0, 95.0, 105.0, 95.0]).unwrap();
        assert!((window.average - 100.0).abs() < 1e-9 && (window.range - 0.1).abs() < 1e-9, "{window:?}");
        // Least squares over -2..2: (-200 - 105 + 105 + 190) / 10 = -1 a round, so -4 from the first to the last.
        assert!((window.slope - 0.04).abs() < 1e-9 && window.is_steady(), "{window:?}");
        assert!(is_steady(&[7.0; 5]) && Window::last(&[7.0; 5]).unwrap().slope == 0.0);
    }

    #[test]
    fn one_that_drifts_is_not_steady_even_in_a_narrow_range() {
        let down = [108.0, 104.0, 100.0, 96.0, 92.0];
        let window = Window::last(&down).unwrap();
        assert!(window.range <= Window::MOST_RANGE && window.slope > Window::MOST_SLOPE && !window.is_steady());
        let up: Vec<f64> = down.into_iter().rev().collect();
        assert_eq!(Window::last(&up).unwrap().slope, window.slope, "either way");
    }

    #[test]
    fn one_that_is_too_noisy_is_not_steady_even_without_a_slope() {
        let window = Window::last(&[85.0, 115.0, 100.0, 115.0, 85.0]).unwrap();
        assert!(window.slope < 1e-9 && window.range > Window::MOST_RANGE && !window.is_steady());
    }

    #[test]
    fn at_the_limits_it_is_steady() {
        let window = Window { average: 16.0, range: Window::MOST_RANGE, slope: Window::MOST_SLOPE };
        assert!(window.is_steady());
        assert!(!Window { range: 0.2001, ..window }.is_steady() && !Window { slope: 0.1001, ..window }.is_steady());
    }

    #[test]
    fn too_few_rounds_and_a_disk_that_writes_nothing_tell_nothing() {
        assert_eq!((Window::last(&[]), Window::last(&[5.0; 4])), (None, None));
        assert_eq!(Window::last(&[0.0; 5]), None);
        assert_eq!(Window::last(&[f64::NAN; 5]), None);
        assert!(!is_steady(&[0.0, 0.0, 0.0, 0.0, 9.0]), "it went at last");
    }
}
