//! Sizes and scales, and numbers formatted for people.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A number of bytes, written `"512"`, `"10 KB"` (1000) or `"10 KiB"` (1024) in files and on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Why a text is not a size or scale.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParseQuantityError {
    #[error("{0:?} is not a size: write a number and a unit, such as 512 MiB, 2 GiB or 100 MB")]
    Size(String),
    #[error("{0:?} is more bytes than 64 bits can count")]
    TooLarge(String),
    #[error("{0:?} is not a scale: write a number from 0.000001 to 1000, such as 1, 0.01 or 1/50")]
    Scale(String),
}

const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
];

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseQuantityError::Size(text.to_owned());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = unit.trim().to_ascii_lowercase();
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(bad)?;
        let number = number.replace('_', "");
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Bytes).ok_or_else(|| ParseQuantityError::TooLarge(text.to_owned()));
        }
        let value = number.parse::<f64>().map_err(|_| bad())? * factor as f64;
        if !value.is_finite() || value < 0.0 {
            return Err(bad());
        }
        if value >= u64::MAX as f64 {
            return Err(ParseQuantityError::TooLarge(text.to_owned()));
        }
        Ok(Bytes(value.round() as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_bytes(self.0))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"512 MiB\" or a whole number of bytes")
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Bytes, E> {
                Ok(Bytes(v))
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Bytes, E> {
                u64::try_from(v).map(Bytes).map_err(|_| E::custom("a size cannot be negative"))
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Bytes, E> {
                v.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The factor on a suite's counts and sizes; 1 is the articles' own size.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Scale(f64);

impl Scale {
    pub const ONE: Scale = Scale(1.0);
    /// The smallest scale: below it nothing remains of any suite.
    const LEAST: f64 = 1e-6;

    /// The factor, above 0 and at most 1000.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// `value` at this scale, rounded to the nearest whole number, at least `min`.
    pub fn apply(self, value: u64, min: u64) -> u64 {
        ((value as f64 * self.0).round() as u64).max(min)
    }
}

impl TryFrom<f64> for Scale {
    type Error = ParseQuantityError;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value > 0.0 && value <= 1000.0 {
            Ok(Scale(value))
        } else {
            Err(ParseQuantityError::Scale(value.to_string()))
        }
    }
}

impl From<Scale> for f64 {
    fn from(scale: Scale) -> f64 {
        scale.0
    }
}

impl FromStr for Scale {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseQuantityError::Scale(text.to_owned());
        let number = |part: &str| part.trim().parse::<f64>().map_err(|_| bad());
        let value = match text.split_once('/') {
            Some((over, under)) => number(over)? / number(under)?,
            None => number(text)?,
        };
        Scale::try_from(value).ok().filter(|scale| scale.0 >= Scale::LEAST).ok_or_else(bad)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Bytes with a binary unit, three significant digits: `1.50 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    const NAMES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < NAMES.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{} {}", significant(value), NAMES[unit]) }
}

/// Seconds with at least three significant digits: `0.00123`, `1.23`, `123`.
pub fn format_seconds(seconds: f64) -> String {
    significant(seconds)
}

/// A rate: from 1000 on whole, with thousands separators, else three significant digits: `105,487`, `3.21`.
pub fn format_rate(rate: f64) -> String {
    if rate.abs() >= 999.5 { format_count(rate) } else { significant(rate) }
}

/// `1 task`, `3 tasks`: for nouns with a plural in s.
pub fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// A count with thousands separators: `12,345`.
pub fn format_count(count: f64) -> String {
    if !count.is_finite() || count.abs() >= 1e15 {
        return format!("{count}");
    }
    let digits = format!("{:.0}", count.abs());
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if count <= -0.5 { format!("-{out}") } else { out }
}

/// At least three significant digits, without scientific notation for common values.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // Uses the rounded value: 0.009999 is 0.0100, and not 0.01000.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_both_bases() {
        assert_eq!("10 MB".parse(), Ok(Bytes(10_000_000)));
        assert_eq!("10MiB".parse(), Ok(Bytes(10 << 20)));
        assert_eq!("1.5 GiB".parse(), Ok(Bytes(3 << 29)));
        assert_eq!("4k".parse(), Ok(Bytes(4096)));
        for bad in ["", "ten", "-1", "5 furlongs", "1e400 GB", "NaN"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad:?}");
        }
        assert_eq!("99999999999 TB".parse::<Bytes>(), Err(ParseQuantityError::TooLarge("99999999999 TB".into())));
    }

    #[test]
    fn scales_refuse_what_shrinks_to_nothing() {
        assert_eq!("1/50".parse::<Scale>().unwrap().factor(), 0.02);
        for bad in ["0", "-1", "NaN", "inf", "", "1/0", "x", "1e-300"] {
            assert!(bad.parse::<Scale>().is_err(), "{bad:?}");
        }
        assert_eq!("0.0001".parse::<Scale>().unwrap().apply(10, 1), 1);
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(3 << 29), "1.50 GiB");
        assert_eq!(format_seconds(0.001234), "0.00123");
        assert_eq!(format_seconds(123.4), "123");
        assert_eq!(format_count(1234567.0), "1,234,567");
        assert_eq!(format_count(-12.0), "-12");
        assert_eq!(format_rate(105_487.4), "105,487");
        assert_eq!(format_rate(3.214), "3.21");
    }
}
