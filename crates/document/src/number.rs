//! Formats numbers and lists of names for sentences, tables and pages: one rule for each.

use mountmark_model::format_count;
use mountmark_stats::interval::Interval;

/// A ratio with three digits: `345`, `12.3`, `1.02`; one more to differ from 1: `1.004`; two if small: `0.012`.
pub fn ratio(value: f64) -> String {
    // Uses the rounded value: 9.996 is 10.0, and not 10.00.
    let decimals = match value.abs() {
        size if !size.is_finite() => return "-".into(),
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ if (0.0005..0.0195).contains(&(value - 1.0).abs()) => 3,
        size if size >= 0.0995 || size == 0.0 => 2,
        size if size >= 0.000_1 => (1.0 - size.log10().floor()) as usize,
        _ => return format!("{value:.1e}"),
    };
    format!("{value:.decimals$}")
}

/// `1.15 to 1.21`.
pub fn range(interval: Interval) -> String {
    format!("{} to {}", ratio(interval.low), ratio(interval.high))
}

/// `95 %: 1.15 to 1.21`.
pub fn interval(interval: Interval, level: f64) -> String {
    format!("{}: {}", percent(level), range(interval))
}

/// `5 %`, `0.4 %`: a relative difference with two digits.
pub fn percent(value: f64) -> String {
    let value = value * 100.0;
    if value == 0.0 || !value.is_finite() {
        return format!("{value} %");
    }
    let decimals = (1.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// `99 %`: a share in whole percent, rounded down, so that 100 % means all.
pub fn share(share: f64) -> String {
    // 100 * 0.29 is a little less than 29.
    format!("{:.0} %", (100.0 * share + 1e-9).floor())
}

/// `1 directory`, `12,345 directories`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", format_count(count as f64), if count == 1 { one } else { many })
}

/// Names that a sentence lists at most, and how many it shows of more.
const LISTED: (usize, usize) = (24, 12);

/// `a`, `a and b`, `a, b and c`; of very many the first ones and the number of the others.
pub fn and<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<T> = items.into_iter().collect();
    let names: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    let (most, shown) = LISTED;
    match &names[..] {
        many if many.len() > most => format!("{} and {} more", many[..shown].join(", "), many.len() - shown),
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        names => names.concat(),
    }
}

/// `a, b and c` of the first `count` names, and of more than `most` the first ones and how many more: `a, b and 3 more`.
pub fn and_more(names: impl Iterator<Item = String>, count: usize, most: usize) -> String {
    let named = if count > most { most - 1 } else { count };
    let more = (count > named).then(|| format!("{} more", count - named));
    and(names.take(named).chain(more))
}

/// With a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_as_many_digits_as_help() {
        for (value, text) in [
            (6789.0, "6789"),
            (99.96, "100"),
            (12.34, "12.3"),
            (9.996, "10.0"),
            (1.02, "1.02"),
            (1.004, "1.004"),
            (0.9985, "0.999"),
            (1.0004, "1.00"),
            (0.5, "0.50"),
            (0.0996, "0.10"),
            (0.0123, "0.012"),
            (0.003, "0.0030"),
            (0.000_01, "1.0e-5"),
            (0.0, "0.00"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(ratio(value), text, "{value}");
        }
    }

    #[test]
    fn names_are_listed_and_shares_are_rounded_down() {
        assert_eq!(
            ["a", "b", "c"].map(String::from).map(|last| and(["x".into(), last])).join("; "),
            "x and a; x and b; x and c"
        );
        assert_eq!(
            (and(["a", "b", "c"]), and(["a"]), and::<&str>([])),
            ("a, b and c".into(), "a".into(), String::new())
        );
        assert_eq!(
            (share(0.999), share(1.0), share(0.29), percent(0.05), percent(0.0123)),
            ("99 %".into(), "100 %".into(), "29 %".into(), "5 %".into(), "1.2 %".into())
        );
        assert_eq!(capital("mkfs"), "Mkfs");
        assert!(and(["x"; 24]).ends_with(", x and x"));
        assert_eq!(and(["x"; 200]), format!("{}x and 188 more", "x, ".repeat(11)));
    }
}
