//! Sizes, shares and counts as fio reads them (parse.c of fio 3.33, `str_to_decimal` and `__get_mult_bytes`). Debian's
//! fio is built without sums in parentheses.

/// A number of a job file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Plain(u64),
    /// Of the files, 0 to 100.
    Percent(u64),
}

impl Number {
    pub fn plain(self) -> Option<u64> {
        match self {
            Number::Plain(number) => Some(number),
            Number::Percent(_) => None,
        }
    }
}

/// What `k` and `m` count in (`kb_base`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Base {
    /// `k` is 1024 and `kib` is 1000.
    #[default]
    Binary,
    /// `k` is 1000 and `kib` is 1024.
    Decimal,
}

/// Units by their beginnings; fio reads no further.
const UNITS: [(&str, u32); 5] = [("k", 1), ("m", 2), ("g", 3), ("t", 4), ("p", 5)];

/// The numbers of a value: fio separates them at commas, else at colons, else at dashes, and skips an empty first one.
pub(super) fn all(value: &str, base: Base) -> Result<Vec<Number>, String> {
    if value.contains('$') {
        return Err(format!("{value} is not known in advance; write the number, or a parameter of the suite"));
    }
    if value.starts_with('(') {
        return Err(format!(
            "Debian's fio is built without arithmetic and refuses {value}; write what it comes to as a plain number"
        ));
    }
    let mut numbers = Vec::new();
    let mut rest = Some(value);
    while let Some(text) = rest {
        let at = text.find(',').or_else(|| text.find(':')).or_else(|| text.find('-'));
        let piece = at.map_or(text, |at| &text[..at]);
        rest = at.map(|at| &text[at + 1..]).filter(|rest| !rest.is_empty());
        if !(piece.is_empty() && numbers.is_empty() && rest.is_some()) {
            numbers.push(one(piece, base)?);
        }
    }
    Ok(numbers)
}

fn one(text: &str, base: Base) -> Result<Number, String> {
    let text = text.trim();
    let unreadable = || format!("{text:?} is no number of fio; write one such as 1g");
    let parsed = |digits: &str, radix| u64::from_str_radix(digits, radix).map_err(|_| unreadable());
    if let Some(at) = text.find("0x").or_else(|| text.find("0X")) {
        // No unit after it: fio reads up to the x when it looks for one.
        let digits: &str = text[at + 2..].split(|c: char| !c.is_ascii_hexdigit()).next().unwrap_or_default();
        return if at == 0 { parsed(digits, 16).map(Number::Plain) } else { Err(unreadable()) };
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number = parsed(digits, 10)?;
    match unit.chars().next() {
        Some('%') if number > 100 => Err(format!("{text} is more than the whole; write at most 100%")),
        Some('%') => return Ok(Number::Percent(number)),
        Some('z' | 'Z') => Err(format!("{text} counts zones of a zoned device, and files have none; write a size")),
        // fio would take it as another number without a word.
        Some(c) if !c.is_ascii_alphabetic() && c != '/' => {
            Err(format!("fio reads {text} as {number}; write a whole number with a unit, such as 1536m"))
        }
        Some('e' | 'E') => Err(format!("fio reads {text} as {number}; write the number in full")),
        _ => Ok(()),
    }?;
    let unit = unit.to_ascii_lowercase();
    let (power, spelled) = UNITS
        .iter()
        .find(|(name, _)| unit.starts_with(name))
        .map_or((0, false), |(name, power)| (*power, unit.starts_with(&format!("{name}ib"))));
    let thousand: u64 = if spelled == (base == Base::Binary) { 1000 } else { 1024 };
    let multiple = thousand.checked_pow(power).and_then(|multiple| number.checked_mul(multiple));
    multiple.map(Number::Plain).ok_or_else(|| format!("{text} is more than fio can count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside the sizes of files that fio 3.33-3 of Debian 12 made.
    #[test]
    fn sizes_are_those_of_fio() {
        for (text, bytes) in [
            ("1m", 1 << 20),
            ("1mib", 1_000_000),
            ("64KIB", 64_000),
            ("64kq", 65_536),
            ("100000b", 100_000),
            ("010k", 10_240),
            ("0x10000k", 65_536),
            ("4194304/2", 4_194_304),
            ("65536", 65_536),
            ("7", 7),
        ] {
            assert_eq!(all(text, Base::Binary).unwrap(), [Number::Plain(bytes)], "{text}");
        }
        for (text, bytes) in [("1m", 1_000_000), ("1mib", 1 << 20), ("1MB", 1_000_000)] {
            assert_eq!(all(text, Base::Decimal).unwrap(), [Number::Plain(bytes)], "{text}");
        }
        let plain = |numbers: &[u64]| numbers.iter().map(|number| Number::Plain(*number)).collect::<Vec<_>>();
        for (text, numbers) in [
            ("1MiB,2MiB", plain(&[1_000_000, 2_000_000])),
            ("1k:2k", plain(&[1024, 2048])),
            ("64k-128k", plain(&[65_536, 131_072])),
            (",64k", plain(&[65_536])),
            ("-1", plain(&[1])),
            ("50%", vec![Number::Percent(50)]),
        ] {
            assert_eq!(all(text, Base::Binary).unwrap(), numbers, "{text}");
        }
    }

    #[test]
    fn what_fio_reads_as_another_number_is_refused() {
        for (text, reason) in [
            ("1.5m", "fio reads 1.5m as 1;"),
            ("1e6", "fio reads 1e6 as 1;"),
            ("64 k", "fio reads 64 k as 64;"),
            ("2*1024k", "fio reads 2*1024k as 2;"),
            ("(4*1024)", "without arithmetic"),
            ("64z", "zones"),
            ("150%", "at most 100%"),
            ("$ncpus", "not known in advance"),
            ("", "is no number of fio"),
            ("many", "is no number of fio"),
            ("99999999p", "more than fio can count"),
        ] {
            let error = all(text, Base::Binary).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
