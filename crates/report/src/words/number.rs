//! Numbers and lists of names as sentences have them.

use mountmark_analyse::Interval;
use mountmark_model::{Metric, Unit};

/// A value with its unit: `3.21 s`.
pub(crate) fn figure(metric: &Metric, value: f64) -> String {
    let text = metric.format(value);
    match metric.unit {
        Unit::Seconds => format!("{text} s"),
        Unit::Percent => format!("{text} %"),
        Unit::KibPerSecond => format!("{text} KiB/s"),
        Unit::PerSecond => format!("{text} operations/s"),
        Unit::Bytes | Unit::Count | Unit::Ratio | Unit::Throughput => text,
    }
}

/// A factor with three digits, and one more near 1, where it takes that to differ from it.
pub(crate) fn factor(value: f64) -> String {
    let distance = (value - 1.0).abs();
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else if !(0.0005..0.02).contains(&distance) {
        if value >= 0.1 || value == 0.0 { format!("{value:.2}") } else { format!("{value:.2e}") }
    } else {
        format!("{value:.3}")
    }
}

/// `5 %`, `0.4 %`: a relative difference with two digits.
pub(crate) fn percent(value: f64) -> String {
    let value = value * 100.0;
    if value == 0.0 || !value.is_finite() {
        return format!("{value} %");
    }
    let decimals = (1.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// `95 %: 1.15 to 1.21`.
pub(crate) fn interval(interval: &Interval, level: f64) -> String {
    format!("{}: {} to {}", percent(level), factor(interval.low), factor(interval.high))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn and(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    let Some(last) = items.pop() else { return String::new() };
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// With a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
