//! What is known of the files of a file system in use: how old, how large and how deep they are.

use serde::{Deserialize, Serialize};

/// One file of `catalog/ageing/`: a profile for `--age geriatrix:NAME`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgeingProfile {
    /// The name in `--age`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Sources of the numbers.
    pub sources: Vec<String>,
    /// Classes of age, the youngest first: the greatest age, in any unit, as only its share of the last one counts; and the
    /// class' weight.
    pub ages: Vec<(f64, u64)>,
    /// Classes of size, the smallest first: the size of each of its files in bytes, and the class' weight.
    pub sizes: Vec<(u64, u64)>,
    /// Classes of depth: below how many folders a file lies, the class' weight, and how many folders share its files at the
    /// last level; none is as one.
    pub depths: Vec<(u32, u64, u32)>,
}

impl AgeingProfile {
    /// More make paths too long.
    const DEEPEST: u32 = 100;
    /// Most classes of a kind.
    const MOST: usize = 1000;

    /// What makes the file unusable, as sentences.
    pub fn faults(&self) -> Vec<String> {
        let mut out = Vec::new();
        let weights = [
            ("ages", self.ages.iter().map(|class| class.1).collect::<Vec<u64>>()),
            ("sizes", self.sizes.iter().map(|class| class.1).collect()),
            ("depths", self.depths.iter().map(|class| class.1).collect()),
        ];
        for (name, weights) in weights {
            if weights.len() > AgeingProfile::MOST {
                out.push(format!("{name}: {} classes; give at most {}", weights.len(), AgeingProfile::MOST));
            }
            if weights.iter().try_fold(0_u64, |sum, weight| sum.checked_add(*weight)).is_none_or(|sum| sum == 0) {
                out.push(format!("{name}: the weights add up to nothing, or to too much"));
            }
        }
        let ages = std::iter::once(0.0).chain(self.ages.iter().map(|class| class.0)).collect::<Vec<f64>>();
        if !ages.is_sorted_by(|younger, older| younger < older && older.is_finite()) {
            out.push("ages: give positive numbers, each greater than the one before".into());
        }
        if !self.sizes.is_sorted_by(|smaller, larger| smaller.0 < larger.0) {
            out.push("sizes: give each greater than the one before".into());
        }
        if !self.depths.iter().all(|class| class.0 <= AgeingProfile::DEEPEST) {
            out.push(format!("depths: give at most {}", AgeingProfile::DEEPEST));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_that_say_nothing_are_refused() {
        let good = AgeingProfile {
            ages: vec![(1.0, 1), (2.5, 3)],
            sizes: vec![(0, 0), (8, 1)],
            depths: vec![(0, 1, 0)],
            ..AgeingProfile::default()
        };
        assert!(good.faults().is_empty());
        assert_eq!(AgeingProfile::default().faults().len(), 3);
        let bad = |change: fn(&mut AgeingProfile), said: &str| {
            let mut profile = good.clone();
            change(&mut profile);
            let faults = profile.faults();
            assert!(faults.len() == 1 && faults[0].starts_with(said), "{said}: {faults:?}");
        };
        bad(|profile| profile.ages[0].0 = 0.0, "ages: give positive");
        bad(|profile| profile.ages[1].0 = f64::NAN, "ages: give positive");
        bad(|profile| profile.ages[1].0 = f64::INFINITY, "ages: give positive");
        bad(|profile| profile.ages[1].1 = u64::MAX, "ages: the weights");
        bad(|profile| profile.sizes[1].0 = 0, "sizes: give each");
        bad(|profile| profile.sizes[1].1 = 0, "sizes: the weights");
        bad(|profile| profile.depths[0].0 = 101, "depths: give at most");
        bad(|profile| profile.depths = vec![(0, 1, 0); 1001], "depths: 1001 classes");
    }
}
