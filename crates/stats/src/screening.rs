//! Screening designs: which of many switches matter, in few trials.
//!
//! R. L. Plackett and J. P. Burman, "The design of optimum multifactorial experiments", Biometrika 33 (1946): with n trials, a
//! multiple of four, n - 1 switches are balanced against one another. A design is folded over: each trial is followed
//! by its opposite, so that no effect of a single switch is mixed with one of a pair (G. E. P. Box and K. B. Wilson, 1951).

/// The first rows of the designs, by trials before folding: `+` is on. From the paper's table; 4 and 8 are the regular ones.
const FIRST_ROWS: [&str; 6] =
    ["++-", "+++-+--", "++-+++---+-", "++++-+-++--+---", "++--++++-+-+----++-", "+++++-+-++--++--+-+----"];

/// Most switches that are screened: those of all trials but a few in every other one, so that 24 trials decide.
pub const MOST: usize = 23;

/// The trials for so many switches, each with what is on: all of a full design where that has no more trials, else a folded
/// screening design. The trial with all off is the first. `None` above [`MOST`].
pub fn trials(switches: usize) -> Option<Vec<Vec<bool>>> {
    let row = FIRST_ROWS.iter().find(|row| row.len() >= switches)?;
    if switches < usize::BITS as usize && 1_usize << switches <= 2 * (row.len() + 1) {
        return Some(full(switches));
    }
    let first: Vec<bool> = row.chars().map(|sign| sign == '+').collect();
    let turned = |by: usize| (0..switches).map(|at| first[(at + first.len() - by) % first.len()]).collect();
    let mut plain: Vec<Vec<bool>> = (0..first.len()).map(turned).collect();
    plain.push(vec![false; switches]);
    let opposite: Vec<Vec<bool>> = plain.iter().map(|trial| trial.iter().map(|on| !on).collect()).collect();
    let mut all: Vec<Vec<bool>> = Vec::new();
    for trial in plain.into_iter().rev().chain(opposite) {
        if !all.contains(&trial) {
            all.push(trial);
        }
    }
    Some(all)
}

/// All combinations of so many switches, the one with all off first.
pub fn full(switches: usize) -> Vec<Vec<bool>> {
    (0..1_usize << switches).map(|bits| (0..switches).map(|at| bits >> at & 1 == 1).collect()).collect()
}

/// The effect of each switch: the mean of the results with it on, less the mean with it off. Trials without a result are
/// left out; `None` where one side has none.
pub fn effects(trials: &[Vec<bool>], results: &[Option<f64>]) -> Vec<Option<f64>> {
    let switches = trials.first().map_or(0, Vec::len);
    let effect = |at: usize| {
        let side = |on: bool| {
            let of = trials.iter().zip(results).filter(move |(trial, _)| trial[at] == on);
            crate::summary::mean(&of.filter_map(|(_, result)| *result).collect::<Vec<_>>())
        };
        Some(side(true)? - side(false)?)
    };
    (0..switches).map(effect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_are_balanced_and_pairs_are_not_mixed_with_single_switches() {
        for switches in 1..=MOST {
            let all = trials(switches).unwrap();
            assert_eq!(all[0], vec![false; switches], "the defaults are tried first");
            assert!(all.len() <= (2 * (switches + 1)).next_multiple_of(8).max(4), "{switches}: {}", all.len());
            let sign = |on: bool| if on { 1 } else { -1 };
            for one in 0..switches {
                assert_eq!(all.iter().map(|trial| sign(trial[one])).sum::<i32>(), 0, "{switches}");
                for other in 0..one {
                    let product = |trial: &Vec<bool>| sign(trial[one]) * sign(trial[other]);
                    assert_eq!(all.iter().map(product).sum::<i32>(), 0, "{switches}: {one} and {other}");
                    for third in (0..switches).filter(|third| *third != one && *third != other) {
                        let sum: i32 = all.iter().map(|trial| product(trial) * sign(trial[third])).sum();
                        assert_eq!(sum, 0, "{switches}: {third} is mixed with {one} and {other}");
                    }
                }
            }
        }
        assert_eq!(trials(MOST + 1), None);
        assert_eq!(trials(0), Some(vec![Vec::new()]));
        assert_eq!([1, 2, 3, 4, 7, 8].map(|switches| trials(switches).unwrap().len()), [2, 4, 8, 16, 16, 24]);
    }

    #[test]
    fn effects_are_found_beside_a_pair_that_acts_together() {
        let all = trials(6).unwrap();
        let result = |trial: &Vec<bool>| {
            let on = |at: usize| f64::from(u8::from(trial[at]));
            3.0 * on(1) - 2.0 * on(4) + 5.0 * (on(0) - 0.5) * (on(2) - 0.5)
        };
        let mut results: Vec<Option<f64>> = all.iter().map(|trial| Some(result(trial))).collect();
        let found = effects(&all, &results);
        for (effect, wanted) in found.iter().zip([0.0, 3.0, 0.0, 0.0, -2.0, 0.0]) {
            assert!((effect.unwrap() - wanted).abs() < 1e-12, "{found:?}");
        }
        results.fill(None);
        assert_eq!(effects(&all, &results), vec![None; 6]);
    }
}
