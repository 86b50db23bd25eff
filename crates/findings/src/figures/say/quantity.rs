//! Figures with their units, and configurations by their headings.

use mountmark_model::{Metric, Unit, heading};

/// A figure with its unit: `3.21 s`, `1,001 ops/s`.
pub(crate) fn quantity(metric: &Metric, value: f64) -> String {
    let text = metric.format(value);
    match metric.unit {
        Unit::Seconds => format!("{text} s"),
        Unit::Percent => format!("{text} %"),
        Unit::KibPerSecond => format!("{text} KiB/s"),
        Unit::PerSecond => format!("{text} ops/s"),
        Unit::Bytes | Unit::Count | Unit::Ratio | Unit::Number | Unit::Throughput => text,
    }
}

/// Configurations by their headings.
pub(crate) fn headings<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| heading(name.as_ref()).into_owned()).collect::<Vec<_>>().join(", ")
}

/// The end of a scale with the unit of `metric`, without superfluous digits.
pub(crate) fn end(metric: &Metric, max: f64) -> String {
    let unit = match metric.unit {
        Unit::Seconds => "s",
        Unit::Percent => "%",
        _ => return quantity(metric, max),
    };
    let digits = format!("{max:.9}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}
