//! Fills placeholders in titles with the counts and sizes of a scale.
//!
//! `{FILES}` is a parameter's value, and `{BIG_MIB * 1 MiB}` a quantity in the syntax of workloads (its first `$` may
//! be omitted). With a unit it is shown as a size, otherwise as a count: `touch 10,000 files`, `copy a 10 MiB file`.
//! `{BIG_MIB * 1 MiB = 1 GB}` is shown as `1 GB` if the value is the suite's own: the wording of the suite's source.
//! Other braces are text.

use std::collections::BTreeMap;

use mountmark_model::{Quantity, QuantityError, format_count};

/// Values of parameters by name.
type Values = BTreeMap<String, u64>;

/// Checks a title's placeholders.
///
/// # Errors
/// The first quantity that is invalid or has no value.
pub(crate) fn check(title: &str, own: &Values) -> Result<(), QuantityError> {
    replaced(title, own, own).map(drop)
}

/// The title with its counts and sizes; `own` are the parameters at scale 1. A quantity without a value is left as
/// written.
pub(crate) fn filled(title: &str, own: &Values, values: &Values) -> String {
    replaced(title, own, values).unwrap_or_else(|_| title.to_owned())
}

fn replaced(title: &str, own: &Values, values: &Values) -> Result<String, QuantityError> {
    let mut out = String::new();
    let mut rest = title;
    while let Some(begin) = rest.find('{') {
        let (text, from) = rest.split_at(begin);
        out += text;
        match from.find('}').filter(|end| is_placeholder(&from[1..*end])) {
            Some(end) => {
                out += &shown(&from[1..end], own, values)?;
                rest = &from[end + 1..];
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    Ok(out + rest)
}

/// Whether it begins with a parameter: a word of capitals, or any word after a `$`.
fn is_placeholder(inside: &str) -> bool {
    let after = inside.trim_start_matches(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let is_word = inside.starts_with(|c: char| c.is_ascii_uppercase()) && !after.starts_with(char::is_alphanumeric);
    inside.starts_with('$') || is_word && (after.is_empty() || after.trim_start().starts_with(['*', '/', '=']))
}

fn shown(inside: &str, own: &Values, values: &Values) -> Result<String, QuantityError> {
    let (text, words) = inside.split_once('=').map_or((inside, None), |(text, words)| (text, Some(words.trim())));
    let text = if text.starts_with('$') { text.trim().to_owned() } else { format!("${}", text.trim()) };
    let quantity: Quantity = text.parse()?;
    let value = quantity.value(values)?;
    let is_size =
        text.split(['*', '/']).any(|part| !part.trim().starts_with('$') && part.contains(char::is_alphabetic));
    Ok(match words {
        Some(words) if quantity.value(own) == Ok(value) => words.to_owned(),
        _ if is_size => size(value),
        _ => format_count(value as f64),
    })
}

/// A size without rounding, in the largest unit that divides it.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 6] =
        [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000)];
    let unit = UNITS.iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    let (name, unit) = unit.map_or((if bytes == 1 { "byte" } else { "bytes" }, 1), |(name, unit)| (*name, *unit));
    format!("{} {name}", format_count((bytes / unit) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(files: u64, mib: u64) -> Values {
        BTreeMap::from([("FILES".to_owned(), files), ("BIG_MIB".to_owned(), mib)])
    }

    fn at(title: &str, files: u64, mib: u64) -> String {
        filled(title, &values(10_000, 1024), &values(files, mib))
    }

    #[test]
    fn counts_and_sizes_are_those_of_the_scale() {
        let (count, size) = ("touch {FILES} files", "copy the {BIG_MIB * 1 MiB = 1 GB} file");
        assert_eq!([at(count, 10_000, 1), at(count, 100, 1)], ["touch 10,000 files", "touch 100 files"]);
        assert_eq!([at(size, 1, 1024), at(size, 1, 10)], ["copy the 1 GB file", "copy the 10 MiB file"]);
        assert_eq!(at("{$BIG_MIB * 1 MiB / 4}, {FILES / 2}, {FILES * 1000 * 1 B}", 3, 1), "256 KiB, 1, 3 KB");
        assert_eq!(
            [super::size(1), super::size(1000), super::size(1001), super::size(0)],
            ["1 byte", "1 KB", "1,001 bytes", "0 bytes"]
        );
        assert_eq!([super::size(10 << 20), super::size(1536 << 20)], ["10 MiB", "1,536 MiB"]);
    }

    #[test]
    fn other_braces_are_text() {
        for title in ["copy {a,b} to {c", "{}", "{Any} }{", "{ FILES }", "{A,B}"] {
            assert_eq!(at(title, 1, 1), title);
            assert_eq!(check(title, &values(1, 1)), Ok(()));
        }
    }

    #[test]
    fn a_placeholder_without_a_value_is_told() {
        let fault = |title: &str| check(title, &values(1, 1)).unwrap_err().to_string();
        assert!(
            fault("touch {FILEZ} files")
                .contains("the parameter FILEZ, which is not among the suite's: BIG_MIB, FILES")
        );
        assert!(fault("{FILES * 1 MOB}").contains("is not a quantity"));
        assert!(fault("{FILES / 0}").contains("has no value"));
        assert_eq!(at("{FILES / BIG}", 1, 1), "{FILES / BIG}");
    }
}
