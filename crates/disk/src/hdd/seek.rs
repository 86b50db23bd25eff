//! The seek curve: the time of a seek by its distance in cylinders.
//!
//! Ruemmler and Wilkes (1994): short seeks accelerate and brake, a + b * sqrt(d); long ones coast, c + e * d. A data
//! sheet gives three of the five unknowns (the fifth is the distance where the pieces meet): single, average and full
//! stroke. The other two follow from physics: neither the arm's time nor its speed jumps between the pieces.

use crate::BadParameter;

/// Fractional bits of the slopes below.
const FRACTION: u32 = 32;

/// A fitted curve. Integers only, so that a seek takes the same time on every machine.
#[derive(Clone, Debug)]
pub(super) struct Seek {
    /// Cylinders of a full stroke.
    stroke: u64,
    single: u64,
    full: u64,
    /// The first distance on the straight piece, in cylinders.
    crossover: u64,
    /// b, ns * 2^32.
    root_slope: u64,
    /// e, ns * 2^32.
    line_slope: u64,
}

impl Seek {
    /// The curve through `single` at distance 1 and `full` at distance `stroke`, whose mean over all pairs of cylinders
    /// is `average`; all in ns.
    pub(super) fn fit(stroke: u64, single: u64, average: u64, full: u64) -> Result<Seek, BadParameter> {
        let (n, t1, tf) = (stroke as f64, single as f64, full as f64);
        let (least, most) = (mean(n, t1, tf, 1.0), mean(n, t1, tf, n));
        if full == single {
            return Ok(Seek { stroke, single, full, crossover: stroke, root_slope: 0, line_slope: 0 });
        }
        let wanted = average as f64;
        if wanted < least || wanted > most {
            return Err(BadParameter(format!(
                "seek_average_ns = {average} does not fit single and full stroke: no curve that starts as a square \
                 root and goes on straight has a mean outside {} to {}",
                least.ceil(),
                most.floor()
            )));
        }
        // The mean grows with the crossover, from the straight line's to the square root's. The bisection uses + - * /
        // and sqrt, which IEEE 754 rounds alike everywhere.
        let (mut low, mut high) = (1.0, n);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if mean(n, t1, tf, middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let scale = (1u64 << FRACTION) as f64;
        let b = root_slope(n, t1, tf, low);
        Ok(Seek {
            stroke,
            single,
            full,
            crossover: (low as u64).max(2),
            root_slope: (b * scale) as u64,
            line_slope: (b / (2.0 * low.sqrt()) * scale) as u64,
        })
    }

    /// Seek time over `distance` cylinders, in ns.
    pub(super) fn time(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        // Each piece starts at the end that the data sheet states, so that both ends are exact to the nanosecond.
        if distance < self.crossover {
            let root = (distance << 32).isqrt() - (1 << 16);
            self.single + (((self.root_slope >> 16) * root) >> FRACTION)
        } else {
            let short_of_full = self.stroke.saturating_sub(distance);
            self.full - ((self.line_slope * short_of_full) >> FRACTION)
        }
    }
}

/// b of the curve whose pieces meet at distance `d` with equal slope.
fn root_slope(n: f64, t1: f64, tf: f64, d: f64) -> f64 {
    let s = d.sqrt();
    (tf - t1) / (s - 1.0 + (n - d) / (2.0 * s))
}

/// That curve's mean over all pairs of cylinders: distance x has weight 2 (n - x) / n^2. Drive makers publish this mean
/// (for example: Hitachi Travelstar 5K160 specification, 4.4.1.1 "weighted average").
fn mean(n: f64, t1: f64, tf: f64, d: f64) -> f64 {
    let b = root_slope(n, t1, tf, d);
    let a = t1 - b;
    let s = d.sqrt();
    let m = n - d;
    let root_piece = a * (n * d - d * d / 2.0) + b * s * (n * d * 2.0 / 3.0 - d * d * 2.0 / 5.0);
    let line_piece = (a + b * s) * m * m / 2.0 + b / (2.0 * s) * m * m * m / 6.0;
    2.0 / (n * n) * (root_piece + line_piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn caviar() -> Seek {
        Seek::fit(40_000, 2_000_000, 8_900_000, 21_000_000).unwrap()
    }

    #[test]
    fn the_data_sheet_comes_back() {
        let seek = caviar();
        assert_eq!(seek.time(0), 0);
        assert_eq!(seek.time(1), 2_000_000);
        assert_eq!(seek.time(40_000), 21_000_000);
        // The sum over every distance, not the formula used for fitting.
        let n = 40_000u64;
        let total: u128 = (1..=n).map(|d| u128::from(2 * (n + 1 - d)) * u128::from(seek.time(d))).sum();
        let mean = (total / u128::from(n * (n + 1))) as f64;
        assert!((mean / 8_900_000.0 - 1.0).abs() < 0.002, "{mean}");
    }

    #[test]
    fn an_average_that_no_curve_has_is_refused() {
        let error = Seek::fit(40_000, 1_000_000, 5_000_000, 21_000_000).unwrap_err();
        assert!(error.to_string().contains("seek_average_ns"), "{error}");
        assert!(Seek::fit(40_000, 1_000_000, 15_000_000, 21_000_000).is_err());
    }

    proptest! {
        #[test]
        fn it_rises_without_jumps(stroke in 200u64..300_000, single in 300_000u64..2_500_000, share in 340u64..530, rest in 5_000_000u64..25_000_000) {
            let seek = Seek::fit(stroke, single, single + rest * share / 1000, single + rest);
            let Ok(seek) = seek else { return Ok(()) };
            prop_assert_eq!(seek.time(1), single);
            prop_assert_eq!(seek.time(stroke), single + rest);
            let around = seek.crossover.saturating_sub(3).max(2)..(seek.crossover + 4).min(stroke);
            for d in (2..stroke).step_by(97).chain(around) {
                let (before, here) = (seek.time(d - 1), seek.time(d));
                // Near the crossover the curve is flat compared with a step of a cylinder, so rounding may show.
                prop_assert!(here + 100 >= before, "{} then {} at {}", before, here, d);
                let steepest = (seek.root_slope >> FRACTION) / 2 + 200;
                prop_assert!(here <= before + steepest, "{} then {} at {}", before, here, d);
            }
        }
    }
}
