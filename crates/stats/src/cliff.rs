//! Cliffs of a curve: steps far above its trend.
//!
//! A step is the difference of logarithms from one point to the next. It is a cliff if it differs from the median of the
//! other steps, the trend, by at least [`LEAST`], by [`TIMES`] as much as these do as a rule, and by more than noise;
//! and if the figure changes [`STEEPER`] as fast as the parameter, so that no law in which they are in proportion has
//! one. Neighbouring cliffs in one direction are one. `tests/curves.rs` counts how often smooth curves have one.

use crate::summary::median;

/// The smallest cliff beyond the trend: a quarter.
const LEAST: f64 = 0.223;

/// How many times a cliff is above the usual distance of other steps from the trend.
const TIMES: f64 = 5.0;

/// A median absolute deviation of normal values times this is their standard deviation.
const NORMAL: f64 = 1.482_602_218_505_602;

/// How many times as fast as the parameter a figure changes at a cliff, both in logarithms.
const STEEPER: f64 = 1.5;

/// A curve needs a step beside the one that is judged.
pub const FEWEST: usize = 3;

/// Cliffs as first and last point of each. `points` are pairs of the logarithm of the parameter (`None` at 0) and that
/// of the figure; `noise` is the difference that chance gives two neighbours.
pub fn cliffs(points: &[(Option<f64>, f64)], noise: f64) -> Vec<(usize, usize)> {
    if points.len() < FEWEST {
        return Vec::new();
    }
    let steps: Vec<f64> = points.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for at in (0..steps.len()).filter(|at| is_cliff(&steps, *at, points, noise)) {
        match out.last_mut() {
            Some((_, end)) if *end == at && steps[at] * steps[at - 1] > 0.0 => *end = at + 1,
            _ => out.push((at, at + 1)),
        }
    }
    out
}

fn is_cliff(steps: &[f64], at: usize, points: &[(Option<f64>, f64)], noise: f64) -> bool {
    let others: Vec<f64> = steps.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, step)| *step).collect();
    let trend = median(&others).unwrap_or_default();
    let usual =
        NORMAL * median(&others.iter().map(|step| (step - trend).abs()).collect::<Vec<_>>()).unwrap_or_default();
    let beyond = (steps[at] - trend).abs();
    let across = points[at].0.zip(points[at + 1].0).map_or(0.0, |(from, to)| to - from);
    beyond >= LEAST.max(TIMES * usual) && beyond > noise && steps[at].abs() > trend.abs().max(STEEPER * across)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], noise: f64) -> Vec<(usize, usize)> {
        let points: Vec<_> =
            values.iter().enumerate().map(|(at, value)| (Some(at as f64 * 0.2), libm::log(*value))).collect();
        cliffs(&points, noise)
    }

    #[test]
    fn a_step_far_above_the_trend_is_a_cliff_and_two_in_a_row_are_one() {
        assert_eq!(of(&[10.0, 10.1, 10.0, 2.0, 2.0, 2.1], 0.0), [(2, 3)]);
        assert_eq!(of(&[10.0, 10.1, 10.0, 5.0, 2.0, 2.0, 2.1, 2.1], 0.0), [(2, 4)]);
        assert_eq!(of(&[2.0, 2.0, 20.0, 20.0, 20.0, 2.0, 2.0], 0.0), [(1, 2), (4, 5)]);
        assert_eq!(of(&[10.0, 10.0, 2.0], 0.0), [(1, 2)]);
    }

    #[test]
    fn smooth_growth_noise_and_two_points_are_none() {
        let across = |exponent: f64| (0..8).map(|at| (at as f64 * 0.7 * exponent).exp()).collect::<Vec<_>>();
        assert_eq!(of(&across(1.0), 0.0), []);
        assert_eq!(of(&across(-2.0), 0.0), []);
        assert_eq!(of(&[10.0, 10.0, 10.1, 7.0, 7.1, 7.0], 0.5), []);
        assert_eq!(of(&[10.0, 1.0], 0.0), []);
        assert_eq!(of(&[], 0.0), []);
    }
}
