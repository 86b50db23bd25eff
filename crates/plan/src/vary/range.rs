//! The points of a range, in the units that a parameter has.

use std::collections::BTreeSet;

use mountmark_model::{Bytes, Scale, VaryPoint};

/// Maximum number of points: a larger one is probably a typing error.
const MOST_POINTS: usize = 10_000;

/// NAME=FROM..TO:POINTS
pub(super) struct Range {
    pub parameter: String,
    from: String,
    to: String,
    points: usize,
}

/// What the values of a parameter are.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Multiples of `unit` bytes.
    Bytes { unit: u64 },
    /// Whole numbers.
    Whole,
    /// Fractions.
    Factor,
}

impl Range {
    /// As written; a sentence if it is no range.
    pub fn parse(text: &str) -> Result<Range, String> {
        let form = || "write NAME=FROM..TO:POINTS, such as ram=512MiB..2GiB:8".to_owned();
        let (parameter, rest) = text.split_once('=').ok_or_else(form)?;
        let (from, rest) = rest.split_once("..").ok_or_else(form)?;
        let (to, points) = rest.rsplit_once(':').ok_or_else(form)?;
        let [parameter, from, to] = [parameter, from, to].map(|part| part.trim().to_owned());
        if parameter.is_empty() || from.is_empty() || to.is_empty() {
            return Err(form());
        }
        let points = points.trim().parse().map_err(|_| format!("{points:?} is no number of points; {}", form()))?;
        match points {
            0 | 1 => Err("a curve has at least 2 points; for one value leave --vary away".into()),
            _ if points > MOST_POINTS => Err(format!("a curve has at most {MOST_POINTS} points; give fewer")),
            _ => Ok(Range { parameter, from, to, points }),
        }
    }
}

impl Kind {
    /// Of a suite's parameter: a size if both ends are written with a unit, else a count.
    pub fn of_parameter(range: &Range) -> Kind {
        const PAGE: u64 = 4096;
        let sizes = [&range.from, &range.to].map(|text| {
            let has_unit = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
            text.parse::<Bytes>().is_ok_and(|size| has_unit && size.0.is_multiple_of(PAGE))
        });
        if sizes == [true; 2] { Kind::Bytes { unit: PAGE } } else { Kind::Whole }
    }

    /// All points: each a constant factor from the last, or a constant step where the range begins at 0. A sentence if
    /// there are none.
    pub fn points(self, range: &Range) -> Result<Vec<VaryPoint>, String> {
        let (from, to) = (self.value(&range.from)?, self.value(&range.to)?);
        if from == to {
            return Err(format!("both ends are {}, which is one point; give two values", range.from));
        }
        if from > to {
            let (low, high, points) = (&range.to, &range.from, range.points);
            return Err(format!("the range is reversed; write {}={low}..{high}:{points}", range.parameter));
        }
        let points = self.spaced(from, to, range.points);
        if points.len() == range.points {
            return Ok(points);
        }
        let fewer = (2..range.points).rev().find(|count| self.spaced(from, to, *count).len() == *count);
        let what = match self {
            Kind::Bytes { unit } => format!("steps of {}", Bytes(unit)),
            Kind::Whole => "whole numbers".into(),
            Kind::Factor => "four digits".into(),
        };
        let (count, parameter) = (range.points, &range.parameter);
        let fewer = fewer.unwrap_or(2);
        let (low, high) = (&range.from, &range.to);
        Err(format!(
            "{parameter} has {what}, and {count} points of this range are not all different; {fewer} are: write \
             {parameter}={low}..{high}:{fewer}"
        ))
    }

    fn value(self, text: &str) -> Result<f64, String> {
        if matches!(self, Kind::Factor) {
            return text.parse::<Scale>().map(Scale::factor).map_err(|error| error.to_string());
        }
        let value = text.parse::<Bytes>().map_err(|error| error.to_string())?.0;
        match self {
            Kind::Bytes { unit } if !value.is_multiple_of(unit) || value == 0 => {
                let near = Bytes((value.max(1)).div_ceil(unit).saturating_mul(unit));
                Err(format!("{text} is no multiple of {}; give {}", Bytes(unit), exact(near.0)))
            }
            _ => Ok(value as f64),
        }
    }

    /// As many different points as there are among `count`.
    fn spaced(self, from: f64, to: f64, count: usize) -> Vec<VaryPoint> {
        let mut seen = BTreeSet::new();
        let last = (count - 1) as f64;
        let point = |at: usize| {
            let value = match at {
                0 => from,
                at if at + 1 == count => to,
                at if from > 0.0 => from * (to / from).powf(at as f64 / last),
                at => to * at as f64 / last,
            };
            self.rounded(value)
        };
        (0..count).map(point).filter(|point| seen.insert(point.text.clone())).collect()
    }

    fn rounded(self, value: f64) -> VaryPoint {
        match self {
            Kind::Bytes { unit } => {
                let bytes = (value / unit as f64).round() as u64 * unit;
                VaryPoint { value: bytes as f64, text: exact(bytes) }
            }
            Kind::Whole => VaryPoint { value: value.round(), text: format!("{}", value.round()) },
            Kind::Factor => {
                let digits = (3.0 - value.log10().floor()).clamp(0.0, 12.0) as usize;
                let rounded: f64 = format!("{value:.digits$}").parse().unwrap_or(value);
                VaryPoint { value: rounded, text: rounded.to_string() }
            }
        }
    }
}

/// In the largest binary unit of which it is a multiple: `1664MiB`.
fn exact(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, name)| format!("{}{name}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str, kind: Kind) -> Result<Vec<String>, String> {
        let points = kind.points(&Range::parse(text)?)?;
        Ok(points.into_iter().map(|point| point.text).collect())
    }

    #[test]
    fn points_are_a_factor_apart_in_the_units_of_the_parameter() {
        let ram = Kind::Bytes { unit: 128 << 20 };
        let found = points("ram=512MiB..2GiB:8", ram).unwrap();
        assert_eq!(found, ["512MiB", "640MiB", "768MiB", "896MiB", "1152MiB", "1408MiB", "1664MiB", "2GiB"]);
        assert_eq!(points("n=1..1000:4", Kind::Whole).unwrap(), ["1", "10", "100", "1000"]);
        assert_eq!(points("n=0..30:4", Kind::Whole).unwrap(), ["0", "10", "20", "30"]);
        assert_eq!(points("scale=1/100..1:3", Kind::Factor).unwrap(), ["0.01", "0.1", "1"]);
        let page = Kind::of_parameter(&Range::parse("S=4k..16k:3").unwrap());
        assert_eq!(points("S=4k..16k:3", page).unwrap(), ["4KiB", "8KiB", "16KiB"]);
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_mend() {
        let ram = Kind::Bytes { unit: 128 << 20 };
        for (text, said) in [
            ("ram", "write NAME=FROM..TO:POINTS"),
            ("ram=512MiB", "write NAME=FROM..TO:POINTS"),
            ("ram=512MiB..2GiB", "write NAME=FROM..TO:POINTS"),
            ("ram=..2GiB:8", "write NAME=FROM..TO:POINTS"),
            ("ram=512MiB..2GiB:many", "\"many\" is no number of points"),
            ("ram=512MiB..2GiB:1", "a curve has at least 2 points"),
            ("ram=512MiB..2GiB:0", "a curve has at least 2 points"),
            ("ram=512MiB..2GiB:10001", "at most 10000 points"),
            ("ram=2GiB..512MiB:8", "write ram=512MiB..2GiB:8"),
            ("ram=1GiB..1GiB:8", "both ends are 1GiB"),
            ("ram=500MiB..2GiB:8", "give 512MiB"),
            ("ram=much..2GiB:8", "\"much\" is not a size"),
            ("ram=512MiB..1GiB:8", "not all different; 5 are: write ram=512MiB..1GiB:5"),
            ("ram=0..1GiB:3", "give 128MiB"),
        ] {
            let found = points(text, ram).unwrap_err();
            assert!(found.contains(said), "{text}: {found}");
        }
        assert!(points("scale=0..1:3", Kind::Factor).unwrap_err().contains("is not a scale"));
    }
}
