//! Sentences about doubtful samples.

use mountmark_model::Metric;

use crate::doubts::find::Doubt;
use crate::figures::say::quantity::quantity;

pub(crate) const HEADING: &str = "Doubtful samples";

/// A value of the doubtful metric, with its unit.
pub(crate) fn value(doubt: &Doubt, value: f64) -> String {
    Metric::find(&doubt.metric).map_or(format!("{value}"), |metric| quantity(metric, value))
}
