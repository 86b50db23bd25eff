//! IOzone 3: the table printed by one process, and the report of the throughput mode (-l, -u, -t).
//!
//! Rates are KiB a second: IOzone's "kBytes/sec" has 1024 bytes, as do its file sizes. It prints what its clock tells
//! apart; a rate of less than [`LEAST_TICKS`] of these is none.

use std::collections::BTreeSet;

use mountmark_model::Metric;
use mountmark_model::program::IOZONE;

use super::{Figure, Line, Unparsed, absent, lines};

const NAME: &str = "iozone";
/// The column where the table's rates begin; the columns have these widths.
const FIRST: usize = 24;
const WIDTHS: [usize; 13] = [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9];
/// The lower line of the table's header; another version would have another.
const HEAD: &str = "kB reclen write rewrite read reread read write read rewrite read fwrite frewrite fread freread";

/// Steps of the clock that limit the error of a rate to 1 %.
const LEAST_TICKS: f64 = 100.0;

/// Why there is no rate of `kib` that were moved at `rate` KiB a second.
fn unknown_rate(text: &str, kib: f64, rate: f64) -> Result<Option<String>, Unparsed> {
    if rate <= 0.0 {
        return Ok(Some("it moved no data, so there is no rate".to_owned()));
    }
    let Some(line) = lines(NAME, text).find(|line| line.text.trim_start().starts_with("Time Resolution =")) else {
        return Ok(None);
    };
    let tick = value(line, "seconds.")?;
    let ticks = (kib / rate / tick).round();
    Ok((ticks < LEAST_TICKS).then(|| {
        format!(
            "IOzone's clock has steps of {tick} s, and this took {ticks} of them: too few for a rate (at least \
             {LEAST_TICKS}); let it move more"
        )
    }))
}

/// A figure with this rate, or the reason that it has none.
fn rated(text: &str, name: &str, kib: f64, rate: f64) -> Result<Figure, Unparsed> {
    Ok(match unknown_rate(text, kib, rate)? {
        Some(reason) => Figure::missing(name, reason),
        None => Figure::new(name).with(Metric::RATE, rate),
    })
}

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let unit = lines(NAME, text).find(|line| line.text.trim_start().to_lowercase().starts_with("output is in"));
    if let Some(unit) = unit.filter(|line| !line.text.to_lowercase().trim_end().ends_with("kbytes/sec")) {
        return Err(unit.expected("\"Output is in kBytes/sec\"; leave -O and -N away"));
    }
    let figures = if lines(NAME, text).any(|line| line.text.contains("Throughput test with")) {
        throughput(text)?
    } else {
        table(text)?
    };
    if !text.contains("iozone test complete.") {
        return Err(absent(NAME, "\"iozone test complete.\"", text));
    }
    Ok(figures)
}

/// Whether the table begins below this line.
fn is_head(line: &Line<'_>) -> bool {
    let mut words = line.words();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("kB")) && words.next() == Some("reclen")
}

/// A line of the table: size and record length in KiB, and a rate for each test that was run.
struct Row {
    size: u64,
    record: u64,
    rates: Vec<Option<f64>>,
}

fn table(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let mut rest = lines(NAME, text).skip_while(|line| !is_head(line));
    let head = rest.next().ok_or_else(|| absent(NAME, "table (kB, reclen, write, ...)", text))?;
    if head.words().map(str::to_lowercase).collect::<Vec<_>>().join(" ") != HEAD.to_lowercase() {
        return Err(head.expected(format!("the columns {HEAD}")));
    }
    let rows: Vec<Row> = rest.take_while(|line| !line.text.trim().is_empty()).map(row).collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Err(absent(NAME, "line below the table's head", text));
    }
    let several = |of: fn(&Row) -> u64| rows.iter().map(of).collect::<BTreeSet<u64>>().len() > 1;
    let (sizes, records) = (several(|row| row.size), several(|row| row.record));
    let mut figures = Vec::new();
    for row in &rows {
        let mut suffix = String::new();
        if sizes {
            suffix += &format!("/s{}", row.size);
        }
        if records {
            suffix += &format!("/r{}", row.record);
        }
        for ((name, _), rate) in IOZONE.iter().zip(&row.rates) {
            let Some(rate) = rate else { continue };
            figures.push(rated(text, &format!("{name}{suffix}"), row.size as f64, *rate)?);
        }
    }
    Ok(figures)
}

fn row(line: Line<'_>) -> Result<Row, Unparsed> {
    let fault = || line.expected("two sizes and at most 13 rates, below the columns of the head");
    let text = line.text.trim_end();
    if !text.is_ascii() || text.len() <= FIRST {
        return Err(fault());
    }
    let sizes: Vec<u64> =
        text[..FIRST].split_whitespace().map(str::parse).collect::<Result<_, _>>().map_err(|_| fault())?;
    let [size, record] = sizes[..] else { return Err(fault()) };
    let mut rates = Vec::new();
    let mut rest = &text[FIRST..];
    for width in WIDTHS {
        if rest.is_empty() {
            break;
        }
        let (column, after) = rest.split_at(rest.len().min(width));
        rates.push(match column.trim() {
            "" => None,
            // A column ends where its number ends: otherwise the line is cut or shifted.
            rate if column.len() == width && column.ends_with(rate) => Some(line.number(rate, "a rate")?),
            _ => return Err(fault()),
        });
        rest = after;
    }
    if rest.is_empty() { Ok(Row { size, record, rates }) } else { Err(fault()) }
}

/// IOzone's test names in the throughput mode, and ours.
const WRITERS: [(&str, &str); 14] = [
    ("initial writers", "write"),
    ("rewriters", "rewrite"),
    ("readers", "read"),
    ("re-readers", "reread"),
    ("reverse readers", "backward"),
    ("stride readers", "stride"),
    ("random readers", "random_read"),
    ("mixed workload", "mixed"),
    ("random writers", "random_write"),
    ("pwrite writers", "pwrite"),
    ("pread readers", "pread"),
    ("fwriters", "fwrite"),
    ("freaders", "fread"),
    ("re-freaders", "freread"),
];

/// Groups of six lines, one per test.
fn throughput(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let mut all = lines(NAME, text);
    // What the fastest process has moved when it stops the others.
    let each = lines(NAME, text).find_map(|line| {
        let mut words = line.text.trim_start().strip_prefix("Each process writes a ")?.split_whitespace();
        words.next()?.parse::<f64>().ok()
    });
    let mut figures: Vec<(u64, Figure)> = Vec::new();
    while let Some(line) = all.next() {
        let Some(rest) = line.text.trim_start().strip_prefix("Children see throughput for") else { continue };
        let (what, _) = rest.split_once('=').ok_or_else(|| line.expected("= and a rate"))?;
        let mut words = what.split_whitespace();
        let processes = words.next().and_then(|word| word.parse::<u64>().ok());
        let processes = processes.ok_or_else(|| line.expected("the number of processes"))?;
        let test = words.collect::<Vec<_>>().join(" ");
        let known = WRITERS.iter().find(|(known, _)| *known == test);
        let (_, name) = known.ok_or_else(|| line.expected("a known test, such as \"initial writers\""))?;
        let mut figure = Figure::new(*name).with(Metric::RATE, value(line, "kB/sec")?);
        for (begin, unit, metric) in [
            ("Parent sees throughput for", "kB/sec", Metric::PARENT_RATE),
            ("Min throughput per", "kB/sec", Metric::PROCESS_RATE_MIN),
            ("Max throughput per", "kB/sec", Metric::PROCESS_RATE_MAX),
            ("Avg throughput per", "kB/sec", Metric::PROCESS_RATE_MEAN),
            ("Min xfer", "kB", Metric::PROCESS_BYTES_MIN),
        ] {
            let next = all.next().ok_or_else(|| absent(NAME, format!("line {begin:?} of {test}"), text))?;
            if !next.text.trim_start().starts_with(begin) {
                return Err(next.expected(format!("{begin:?}")));
            }
            let value = value(next, unit)?;
            match unit {
                "kB" => figure.put(metric, value * 1024.0),
                // A process that moved nothing has no rate.
                _ if value > 0.0 => figure.put(metric, value),
                _ => {}
            }
        }
        let fastest = figure.values.get(Metric::PROCESS_RATE_MAX.id).copied().unwrap_or_default();
        if let Some(reason) = unknown_rate(text, each.unwrap_or(f64::INFINITY), fastest)? {
            figure = Figure::missing(name, reason);
        }
        figures.push((processes, figure));
    }
    if figures.is_empty() {
        return Err(absent(NAME, "\"Children see throughput\"", text));
    }
    let several = figures.iter().any(|(processes, _)| *processes != figures[0].0);
    let named = figures.into_iter().map(|(processes, figure)| match several {
        true => Figure { name: format!("{}/t{processes}", figure.name), ..figure },
        false => figure,
    });
    Ok(named.collect())
}

/// The number after `=`, which must have this unit in any case, such as `kB/sec` or `KB/sec`.
fn value(line: Line<'_>, unit: &str) -> Result<f64, Unparsed> {
    let mut words = line.text.rsplit('=').next().unwrap_or_default().split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(number), Some(found), None) if found.eq_ignore_ascii_case(unit) => line.number(number, "a rate"),
        _ => Err(line.expected(format!("= and a number of {unit}"))),
    }
}
