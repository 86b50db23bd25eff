//! Bonnie++: the CSV lines of 2.00 (format 1.98, 50 fields), of 1.9x (formats 1.96 and 1.97, 48 fields) and of 1.03 (27
//! fields), and the text report of 1.03.
//!
//! The fields are those of bonnie++'s own `bon_csv2txt`; rates are KiB a second (1024 bytes) or operations a second.
//! `+++++` is a test that took less than 0.5 s, an empty field one that was not run.

use mountmark_model::Metric;
use mountmark_model::program::{BONNIE, TOO_FAST};

use super::{Figure, Line, Unparsed, absent, lines};

const NAME: &str = "bonnie++";
/// Formats of a CSV line: its first field, its number of fields, and the index of the large file's first result. 1.98
/// has the numbers of seeks and of seeking processes before the results.
const FORMATS: [(&str, usize, usize); 3] = [("1.96", 48, 7), ("1.97", 48, 7), ("1.98", 50, 9)];
/// Units that limit the error of a rate without decimals to 1 %.
const LEAST_WHOLE: f64 = 50.0;
const TOO_COARSE: &str = "bonnie++ prints this rate without decimals, and it is too low for that";
const NOT_RUN: &str = "bonnie++ was not asked to run this test";

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let mut found = lines(NAME, text).filter_map(|line| csv(line).transpose());
    if let Some(first) = found.next() {
        let first = first?;
        return match found.next() {
            None => Ok(first),
            Some(_) => {
                Err(absent(NAME, "single line of CSV, but several (leave -x away: repeats are --repeat's)", text))
            }
        };
    }
    report(text)
}

/// The figures of a CSV line; `None` for other lines.
fn csv(line: Line<'_>) -> Result<Option<Vec<Figure>>, Unparsed> {
    let fields: Vec<&str> = line.text.trim_end().split(',').collect();
    let format = FORMATS.iter().find(|(version, _, _)| fields[0] == *version && fields.len() > 10);
    let (results, latencies) = if let Some((version, count, first)) = format {
        if fields.len() != *count {
            return Err(line.expected(format!("{count} fields of format {version}, and not {}", fields.len())));
        }
        // Twelve results, five fields about the small files, twelve results, twelve latencies.
        let (large, small) = (&fields[*first..first + 12], &fields[first + 17..first + 29]);
        ([large, small].concat(), &fields[first + 29..])
    } else if fields.len() == 27 {
        // Name, size, twelve results, number of files, twelve results.
        ([&fields[2..14], &fields[15..27]].concat(), &[][..])
    } else if fields.len() > 10 {
        let known = FORMATS.map(|(version, _, _)| version).join(", ");
        return Err(line.expected(format!(
            "a CSV line of 27 fields (1.03) or one that begins with {known}, and not {} fields",
            fields.len()
        )));
    } else {
        return Ok(None);
    };
    let mut figures = Vec::new();
    for (index, (name, _)) in BONNIE.iter().enumerate() {
        let mut figure = figure(line, name, results[2 * index], results[2 * index + 1])?;
        // A test too fast for a rate still reports its slowest operation; without a rate it is no figure.
        if let Some(latency) = latencies.get(index).filter(|text| !text.is_empty() && figure.missing.is_none()) {
            figure.put(Metric::LATENCY_MAX, seconds(line, latency)?);
        }
        figures.push(figure);
    }
    Ok(Some(figures))
}

/// One test, from its two fields.
fn figure(line: Line<'_>, name: &str, rate: &str, cpu: &str) -> Result<Figure, Unparsed> {
    match rate {
        "" => Ok(Figure::missing(name, NOT_RUN)),
        "+++++" => Ok(Figure::missing(name, TOO_FAST)),
        rate => {
            let number = line.number(rate, &format!("the rate of {name}"))?;
            if number < LEAST_WHOLE && !rate.contains('.') {
                return Ok(Figure::missing(name, TOO_COARSE));
            }
            let figure = Figure::new(name).with(Metric::RATE, number);
            match cpu {
                "" | "+++" => Ok(figure),
                cpu => Ok(figure.with(Metric::CPU_PERCENT, line.number(cpu, &format!("the CPU of {name}"))?)),
            }
        }
    }
}

/// `70186us`, `172ms` or `3s`.
fn seconds(line: Line<'_>, text: &str) -> Result<f64, Unparsed> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let found = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (digits, factor) = found.ok_or_else(|| line.expected("a latency such as 345us, 12ms or 3s"))?;
    Ok(line.number(digits, "a latency")? * factor)
}

/// The text report of 1.03: two lines of figures, each below its own header.
fn report(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let head = lines(NAME, text).find(|line| line.text.trim_start().starts_with("Version "));
    let Some(head) = head else { return Err(absent(NAME, "line of CSV and no report", text)) };
    if !head.words().nth(1).is_some_and(|version| version.starts_with("1.0")) {
        // Newer reports have rounded figures; the CSV line after them has all digits.
        return Err(head.expected("the report of version 1.03, or a CSV line after it"));
    }
    let mut figures = Vec::new();
    for (title, names) in [("Machine", &BONNIE[..6]), ("files", &BONNIE[6..])] {
        let mut rest = lines(NAME, text).skip_while(|line| line.words().next() != Some(title)).skip(1);
        match rest.next() {
            Some(line) => figures.extend(pairs(line, names)?),
            // With -n 0 the create tests have neither header nor figures.
            None if title == "files" => figures.extend(names.iter().map(|(name, _)| Figure::missing(name, NOT_RUN))),
            None => return Err(absent(NAME, "figures below the report's head", text)),
        }
    }
    Ok(figures)
}

/// Six pairs of rate and CPU, from column 19 on (`" %5d %3d"` each; ten blanks for a test that was not run).
fn pairs(line: Line<'_>, names: &[(&str, &str)]) -> Result<Vec<Figure>, Unparsed> {
    const FIRST: usize = 19;
    const BLANK: &str = "          ";
    let mut rest = line.text.get(FIRST..).ok_or_else(|| line.expected("six rates from column 20 on"))?;
    let mut figures = Vec::new();
    for (name, _) in names {
        if rest.trim().is_empty() || rest.starts_with(BLANK) {
            rest = rest.get(BLANK.len()..).unwrap_or_default();
            figures.push(Figure::missing(name, NOT_RUN));
            continue;
        }
        let mut word = || {
            let start = rest.trim_start();
            let end = start.find(' ').unwrap_or(start.len());
            rest = &start[end..];
            &start[..end]
        };
        let (rate, cpu) = (word(), word());
        if cpu.is_empty() {
            return Err(line.expected(format!("rate and CPU of {name}")));
        }
        figures.push(figure(line, name, rate, cpu)?);
    }
    if rest.trim().is_empty() {
        Ok(figures)
    } else {
        Err(line.expected(format!("nothing after {} pairs", names.len())))
    }
}
