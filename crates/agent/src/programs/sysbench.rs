//! sysbench 1.0: the report of `sysbench fileio ... run`.
//!
//! It gives no latency of fsync: its latencies are those of all events, of which periodic fsyncs are some; those after
//! each write (`--file-fsync-all`) are in the write's. The fsync at the end of a test is in none.
//!
//! It prints hundredths of milliseconds: the mean is that of its sum, and a time that it prints as 0 is none.

use mountmark_model::Metric;

use super::{Figure, Line, Unparsed, absent, lines};

const NAME: &str = "sysbench";
/// Operations a second that limit the error of two decimals to 1 %.
const LEAST_RATE: f64 = 0.5;
/// Seconds of all events that limit the error of two decimals of a millisecond to 1 %.
const LEAST_SUM: f64 = 0.5e-3;

/// A mode's name in the report and in `--file-test-mode`.
const MODES: [(&str, &str); 6] = [
    ("sequential write (creation)", "seqwr"),
    ("sequential rewrite", "seqrewr"),
    ("sequential read", "seqrd"),
    ("random read", "rndrd"),
    ("random write", "rndwr"),
    ("random r/w", "rndrw"),
];

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let doing = lines(NAME, text).find(|line| line.text.starts_with("Doing "));
    let doing = doing.ok_or_else(|| absent(NAME, "line \"Doing ... test\"", text))?;
    let mode = doing.text.strip_prefix("Doing ").and_then(|rest| rest.trim_end().strip_suffix(" test"));
    let known = MODES.iter().find(|(known, _)| Some(*known) == mode);
    let (_, name) = known.ok_or_else(|| doing.expected("a mode of fileio, such as \"Doing random r/w test\""))?;

    // The last section; a report without it was cut.
    if !lines(NAME, text).any(|line| line.text.trim_start().starts_with("execution time (avg/stddev):")) {
        return Err(absent(NAME, "line \"execution time (avg/stddev)\"", text));
    }
    let value = |section: &str, key: &str| field(text, section, key);
    let [reads, writes, syncs] = ["reads/s", "writes/s", "fsyncs/s"].map(|key| value("File operations:", key));
    let (reads, writes, syncs) = (reads?, writes?, syncs?);
    // MiB have only two decimals, a step of 10 KiB: operations times their size are more precise.
    let block = block_size(text);
    let rate = |key: &str, operations: f64| match block {
        Some(kib) => Ok(operations * kib),
        None => Ok(value("Throughput:", key)? * 1024.0),
    };
    let (read, written) = (rate("read, MiB/s", reads)?, rate("written, MiB/s", writes)?);
    let seconds = value("General statistics:", "total time")?;

    let mut figure = Figure::new(*name);
    // `--rate`: what it does in a second is what it was asked for.
    match lines(NAME, text).find(|line| line.text.starts_with("Target transaction rate: ")) {
        Some(_) => figure.note = Some("the option --rate fixes its rate".to_owned()),
        None if reads + writes < LEAST_RATE => {
            let reason = "sysbench prints rates with two decimals, and this one is too low for them; let it do more";
            figure.note = Some(reason.to_owned());
        }
        None => figure.put(Metric::RATE, read + written),
    }
    // What moved nothing has no rate.
    for (metric, rate) in [(Metric::READ_RATE, read), (Metric::WRITE_RATE, written)] {
        if rate > 0.0 {
            figure.put(metric, rate);
        }
    }
    figure.put(Metric::OPERATION_RATE, reads + writes);
    figure.put(Metric::READ_OPERATIONS, (reads * seconds).round());
    figure.put(Metric::WRITE_OPERATIONS, (writes * seconds).round());
    figure.put(Metric::SYNC_OPERATIONS, (syncs * seconds).round());
    // sysbench's events are reads and writes, since 1.0 also the periodic fsyncs.
    let events = value("General statistics:", "total number of events")?;
    figure.put(Metric::OPERATIONS, events);
    figure.put(Metric::MEASURED, seconds);
    put_latencies(text, events, &mut figure)?;
    Ok(vec![figure.with_something_to_judge()])
}

/// What its events took.
fn put_latencies(text: &str, events: f64, figure: &mut Figure) -> Result<(), Unparsed> {
    let milliseconds = |key: &str| Ok(field(text, "Latency (ms):", key)? / 1e3);
    let sum = milliseconds("sum")?;
    if sum >= LEAST_SUM && events > 0.0 {
        figure.put(Metric::LATENCY_MEAN, sum / events);
    }
    let mut put = |metric, time: f64| {
        if time > 0.0 {
            figure.put(metric, time);
        }
    };
    put(Metric::LATENCY_MIN, milliseconds("min")?);
    put(Metric::LATENCY_MAX, milliseconds("max")?);
    // The 95th unless --percentile is given; 0 if percentiles are off.
    let percentile =
        |key: &str| field_line(text, "Latency (ms):", key).is_some().then(|| milliseconds(key)).transpose();
    for (key, metric) in [("95th percentile", Metric::LATENCY_P95), ("99th percentile", Metric::LATENCY_P99)] {
        if let Some(value) = percentile(key)? {
            put(metric, value);
        }
    }
    Ok(())
}

/// KiB per operation: `Block size 16KiB`, with up to five digits and a unit.
fn block_size(text: &str) -> Option<f64> {
    let said = lines(NAME, text).find_map(|line| line.text.strip_prefix("Block size "))?.trim();
    let units = [("KiB", 1.0), ("MiB", 1024.0), ("GiB", 1024.0 * 1024.0), ("B", 1.0 / 1024.0)];
    let (number, kib) = units.iter().find_map(|(unit, kib)| Some((said.strip_suffix(unit)?, kib)))?;
    number.trim().parse::<f64>().ok().map(|number| number * kib).filter(|kib| *kib > 0.0)
}

/// The line `key:` below the header `section`.
fn field_line<'a>(text: &'a str, section: &str, key: &str) -> Option<Line<'a>> {
    lines(NAME, text)
        .skip_while(|line| line.text.trim_end() != section)
        .skip(1)
        .take_while(|line| !line.text.trim().is_empty())
        .find(|line| line.text.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}

/// The number of that line, with or without a unit of seconds.
fn field(text: &str, section: &str, key: &str) -> Result<f64, Unparsed> {
    let line =
        field_line(text, section, key).ok_or_else(|| absent(NAME, format!("{key:?} below {section:?}"), text))?;
    let word = line.text.rsplit(':').next().unwrap_or_default().trim();
    line.number(word.strip_suffix('s').unwrap_or(word), &format!("{key:?}"))
}
