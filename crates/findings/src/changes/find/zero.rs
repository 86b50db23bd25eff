//! Changes from 0 and to 0, which have no ratio.

use mountmark_model::Better;

/// Which side is 0 in all repeats, where the other is in none.
#[derive(Clone, Copy)]
pub(super) enum Zero {
    Before,
    After,
}

impl Zero {
    pub fn of(earlier: &[f64], then: &[f64]) -> Option<Zero> {
        let is_zero = |values: &[f64]| !values.is_empty() && values.iter().all(|value| *value == 0.0);
        let is_more = |values: &[f64]| !values.is_empty() && values.iter().all(|value| *value > 0.0);
        match () {
            () if is_zero(earlier) && is_more(then) => Some(Zero::Before),
            () if is_more(earlier) && is_zero(then) => Some(Zero::After),
            () => None,
        }
    }

    /// How much worse that is, as of [`super::Change::worse`].
    pub fn worse(self, better: Better) -> f64 {
        match (self, better) {
            (Zero::Before, Better::Lower) => f64::INFINITY,
            (Zero::Before, Better::Higher) => f64::NEG_INFINITY,
            (Zero::After, Better::Lower) => -1.0,
            (Zero::After, Better::Higher) => 1.0,
        }
    }
}
