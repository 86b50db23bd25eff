//! IOzone 3: the table printed by one process, and the report of the throughput mode (-l, -u, -t).
//!
//! Rates are KiB a second: IOzone's "kBytes/sec" has 1024 bytes, as do its file sizes.

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
            figures.extend(rate.map(|rate| Figure::new(format!("{name}{suffix}")).with(Metric::RATE, rate)));
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
            figure.put(metric, if unit == "kB" { value * 1024.0 } else { value });
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

/// The number after `=`, which must have this unit, `kB/sec` or `KB/sec`.
fn value(line: Line<'_>, unit: &str) -> Result<f64, Unparsed> {
    let mut words = line.text.rsplit('=').next().unwrap_or_default().split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(number), Some(found), None) if found.eq_ignore_ascii_case(unit) => line.number(number, "a rate"),
        _ => Err(line.expected(format!("= and a number of {unit}"))),
    }
}
