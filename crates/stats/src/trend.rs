//! Whether values rise or fall with time, by ranks: Kendall, "A new measure of rank correlation", Biometrika 30 (1938);
//! Mann, "Nonparametric tests against trend", Econometrica 13 (1945).
//!
//! Values come in blocks that share what no trend explains (one workload, one hour), so neighbours are alike, and the
//! usual distribution of Kendall's S, for independent values, finds trends where there are none. Here chance is what
//! other orders of the same blocks give, each with its values in another order: S of the values in that order, many times.
//! The change is the slope of Theil and Sen: the median of the slopes between all pairs.

use crate::random::Random;
use crate::summary::median_of;

/// Fewest values for a trend.
pub const FEWEST: usize = 8;

/// Number of other orders for a trend that might be one: the least p-value is 1 over this and one more.
const ORDERS: u32 = 4999;

/// Number of other orders after which a trend that is clearly none is given up.
const FEW_ORDERS: u32 = 99;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The share of other orders with a trend as strong, in either direction.
    pub p: f64,
    /// Change from the first value to the last, along the slope.
    pub change: f64,
}

/// The trend of values in the order of time, block after block; `None` for fewer than two blocks or [`FEWEST`] values.
pub fn trend(blocks: &[Vec<f64>], random: &mut Random) -> Option<Trend> {
    let values: Vec<f64> = blocks.concat();
    if blocks.len() < 2 || values.len() < FEWEST {
        return None;
    }
    let own = score(&values).abs();
    let (mut drawn, mut as_strong) = (0, 0);
    let mut order = blocks.to_vec();
    let mut other = Vec::with_capacity(values.len());
    while drawn < ORDERS && (drawn < FEW_ORDERS || as_strong * 5 < drawn) {
        shuffle(&mut order, random);
        order.iter_mut().for_each(|block| shuffle(block, random));
        other.clear();
        order.iter().for_each(|block| other.extend_from_slice(block));
        as_strong += u32::from(score(&other).abs() >= own);
        drawn += 1;
    }
    Some(Trend {
        p: f64::from(as_strong + 1) / f64::from(drawn + 1),
        change: slope(&values)? * (values.len() - 1) as f64,
    })
}

/// Kendall's S: pairs that rise less pairs that fall.
fn score(values: &[f64]) -> i64 {
    let later = |at: usize| values[at + 1..].iter().map(move |later| (*later, values[at]));
    let pairs = (0..values.len()).flat_map(later);
    pairs.map(|(later, earlier)| i64::from(later > earlier) - i64::from(later < earlier)).sum()
}

/// The median of the slopes between all pairs, per place.
fn slope(values: &[f64]) -> Option<f64> {
    let from = |at: usize| (at + 1..values.len()).map(move |later| (values[later] - values[at]) / (later - at) as f64);
    median_of(&mut (0..values.len()).flat_map(from).collect::<Vec<f64>>())
}

fn shuffle<T>(values: &mut [T], random: &mut Random) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random() -> Random {
        Random::new(1)
    }

    #[test]
    fn a_line_is_a_trend_and_its_change_is_known() {
        let line: Vec<Vec<f64>> =
            (0..5).map(|block| (0..4).map(|at| f64::from(block * 4 + at) * 0.5).collect()).collect();
        let found = trend(&line, &mut random()).unwrap();
        assert!(found.p <= 0.001 && (found.change - 9.5).abs() < 1e-9, "{found:?}");
        let falling: Vec<Vec<f64>> = line.iter().map(|block| block.iter().map(|value| -value).collect()).collect();
        assert!((trend(&falling, &mut random()).unwrap().change + 9.5).abs() < 1e-9);
        // One value that lies far away changes nothing.
        let mut with_outlier = line;
        with_outlier[2][1] = 1e6;
        let found = trend(&with_outlier, &mut random()).unwrap();
        assert!(found.p <= 0.001 && (found.change - 9.5).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn too_few_values_and_equal_ones_have_none() {
        assert_eq!(trend(&[vec![1.0; 20]], &mut random()), None, "one block has no other order");
        assert_eq!(trend(&[vec![1.0, 2.0], vec![3.0, 4.0]], &mut random()), None);
        let equal = trend(&[vec![1.0; 5], vec![1.0; 5]], &mut random()).unwrap();
        assert_eq!((equal.p, equal.change), (1.0, 0.0));
    }

    /// Blocks that differ as a whole are no trend, as often as they should be none.
    #[test]
    fn blocks_that_differ_are_not_taken_for_a_trend() {
        let mut random = random();
        let mut found = |blocks: usize| {
            let is_found = |_: &u32| {
                let block = |_| {
                    let shared = 3.0 * random.normal();
                    (0..4).map(|_| shared + random.normal()).collect()
                };
                let blocks: Vec<Vec<f64>> = (0..blocks).map(block).collect();
                trend(&blocks, &mut random).unwrap().p <= 0.05
            };
            (0..400).filter(is_found).count() as f64 / 400.0
        };
        for blocks in [3, 5, 10] {
            let share = found(blocks);
            assert!(share <= 0.075, "{blocks} blocks: {share}");
        }
    }
}
