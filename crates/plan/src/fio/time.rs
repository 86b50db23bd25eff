//! The run time that a job file states, or the least that it implies.

use super::Section;
use super::number::Number;

/// Options for the duration of a section; their times add up. `timeout` is another name of `runtime`.
const SPANS: [&[&str]; 3] = [&["startdelay"], &["ramp_time"], &["runtime", "timeout"]];

/// Units of time in seconds (fio's HOWTO, "time").
const UNITS: [(&str, f64); 8] = [
    ("d", 86_400.0),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("us", 1e-6),
    ("usec", 1e-6),
];

/// Bytes per second that no file system reaches, a disk in memory included.
const FASTEST: f64 = (16_u64 << 30) as f64;
/// Seconds of one pass over a job's files (`loops`), which closes and opens them: less than fio takes anywhere.
const PASS: f64 = 10e-6;

/// Seconds of all sections, each as `of` tells: groups run one after another, and in a group the longest section counts.
///
/// # Errors
/// The first section with an invalid time or number, and the reason.
pub(super) fn seconds<'a, 'b>(
    sections: &'a [Section<'b>],
    of: fn(&Section<'_>) -> Result<f64, String>,
) -> Result<f64, (&'a Section<'b>, String)> {
    let (mut before, mut longest) = (0.0, 0.0);
    for section in sections {
        if section.is_on(&["stonewall", "wait_for_previous"]) {
            before += longest;
            longest = 0.0;
        }
        longest = f64::max(longest, of(section).map_err(|reason| (section, reason))?);
    }
    Ok(before + longest)
}

/// Seconds that a section states; 0 if it ends when its data is moved.
pub(super) fn stated(section: &Section<'_>) -> Result<f64, String> {
    let mut sum = 0.0;
    for keys in SPANS {
        let Some(entry) = section.find(keys) else { continue };
        // A range of delays: use its end.
        let text = entry.value.rsplit('-').next().unwrap_or_default();
        sum += plain(text).ok_or_else(|| {
            let (line, value) = (entry.line, &entry.value);
            format!("line {line}: {value} is no plain time, so how long it runs is unknown; write one such as 30s")
        })?;
    }
    Ok(sum)
}

/// Seconds that the data of a section take at least, if no stated time ends it before.
pub(super) fn least(section: &Section<'_>) -> Result<f64, String> {
    if section.find(&["runtime", "timeout"]).is_some() {
        return Ok(0.0);
    }
    let last = |keys: &[&str]| {
        let number = section.numbers(keys)?.and_then(|numbers| numbers.last().copied());
        Ok::<_, String>(number.and_then(Number::plain).unwrap_or(0) as f64)
    };
    let passes = last(&["loops"])?.max(1.0);
    let bytes = match last(&["io_size", "io_limit"])? {
        _ if section.is_on(&["fill_device", "fill_fs"]) => 0.0,
        0.0 => last(&["size"])?,
        moved => moved,
    };
    let rates = section.numbers(&["rate"])?.unwrap_or_default();
    // Reads and writes have a rate each; 0 and nothing before a comma are none.
    let is_whole = section.find(&["rate"]).is_some_and(|entry| !entry.value.starts_with(','));
    let fastest = match rates.iter().map(|rate| rate.plain().filter(|rate| *rate > 0)).collect::<Option<Vec<_>>>() {
        Some(rates) if is_whole && !rates.is_empty() => 2.0 * rates.into_iter().max().unwrap_or(1) as f64,
        _ => FASTEST,
    };
    Ok((passes * PASS).max(passes * bytes / fastest))
}

/// `90`, `1.5m`, `200ms` in seconds. fio also reads hexadecimal numbers and sums; these are not supported here.
fn plain(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let unit = if unit.is_empty() { 1.0 } else { UNITS.iter().find(|(name, _)| *name == unit)?.1 };
    number.parse::<f64>().ok().map(|number| number * unit)
}
