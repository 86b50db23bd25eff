//! The run time that a job file states.

use super::Section;

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

/// Seconds of all sections: groups run one after another, and in a group the longest section counts. A section without
/// a time counts 0: it ends when its data is moved.
///
/// # Errors
/// The first section with an invalid time, and the reason.
pub(super) fn seconds<'a, 'b>(sections: &'a [Section<'b>]) -> Result<f64, (&'a Section<'b>, String)> {
    let (mut before, mut longest) = (0.0, 0.0);
    for section in sections {
        if section.is_on(&["stonewall", "wait_for_previous"]) {
            before += longest;
            longest = 0.0;
        }
        longest = f64::max(longest, span(section).map_err(|reason| (section, reason))?);
    }
    Ok(before + longest)
}

fn span(section: &Section<'_>) -> Result<f64, String> {
    let mut sum = 0.0;
    for keys in SPANS {
        let Some(entry) = section.find(keys) else { continue };
        // A range of delays: use its end.
        let text = entry.value.rsplit('-').next().unwrap_or_default();
        sum += plain(text).ok_or_else(|| {
            let (line, value) = (entry.line, entry.value);
            format!("line {line}: {value} is no plain time, so how long it runs is unknown; write one such as 30s")
        })?;
    }
    Ok(sum)
}

/// `90`, `1.5m`, `200ms` in seconds. fio also reads hexadecimal numbers and sums; these are not supported here.
fn plain(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let unit = if unit.is_empty() { 1.0 } else { UNITS.iter().find(|(name, _)| *name == unit)?.1 };
    number.parse::<f64>().ok().map(|number| number * unit)
}
