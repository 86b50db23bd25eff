//! Whether the first of a ranking leads it.

use crate::options::Options;
use crate::rankings::rank::Rank;

/// How the first places of a ranking relate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lead {
    /// All are closer than the smallest difference that matters.
    AllLevel,
    TwoLevel(Level),
    First {
        /// Whether it is the best in every test.
        everywhere: bool,
    },
}

/// Why two count as level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// The first place changes too often under resampling of repeats.
    Unsteady,
    /// They are closer than the smallest difference that matters.
    Close,
    /// Their intervals overlap: repeats that agree keep their order in every draw, and still show no difference.
    NotShown,
}

impl Lead {
    /// `None` if fewer than two are ranked.
    pub(crate) fn of(ranking: &[Rank], options: &Options) -> Option<Lead> {
        let [first, second, ..] = ranking else { return None };
        let is_close = |rank: &Rank| rank.score / first.score < 1.0 + options.matters;
        let overlaps = second.interval.as_ref().is_some_and(|found| found.low <= first.score);
        Some(match () {
            () if ranking.last().is_some_and(|last| ranking.len() > 2 && is_close(last)) => Lead::AllLevel,
            () if is_close(second) => Lead::TwoLevel(Level::Close),
            () if first.resampled.is_some_and(|share| share < options.level) => Lead::TwoLevel(Level::Unsteady),
            () if overlaps => Lead::TwoLevel(Level::NotShown),
            // Logarithms of equal figures cancel exactly, their sums only up to rounding.
            () => Lead::First { everywhere: first.score < 1.0 + 1e-9 },
        })
    }
}
