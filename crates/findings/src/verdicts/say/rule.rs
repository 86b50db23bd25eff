//! When differences count.

use mountmark_document::number::percent;

use crate::claims::find::{LEVEL, SMALLEST};

/// For claims, in a run of so many repeats.
pub(crate) fn of_claims(repeats: u32) -> String {
    let smallest = percent(SMALLEST);
    if repeats == 1 {
        format!(
            "One repeat: figures are compared directly, and a difference counts from {smallest} on. Only more repeats can \
             show what other seeds give."
        )
    } else {
        format!(
            "{repeats} repeats: a difference counts if it is at least {smallest} and is shown at {}, corrected for all \
             comparisons of all claims together.",
            percent(1.0 - LEVEL)
        )
    }
}
