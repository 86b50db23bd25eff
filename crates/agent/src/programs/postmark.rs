//! PostMark 1.5: its report.
//!
//! PostMark counts whole seconds and counts a phase of less than one as one: n printed seconds took between n - 1 and n
//! + 1. Rates over fewer than [`LEAST`] seconds are omitted with that reason.

use mountmark_model::Metric;

use super::{Figure, Line, Unparsed, absent, lines};

const NAME: &str = "postmark";
/// Seconds that limit the error of a rate to 10 %.
const LEAST: f64 = 10.0;
const TOO_FAST: &str =
    "PostMark counts whole seconds, and this took fewer than ten: ask for more files or transactions";

const TOO_SLOW: &str = "PostMark prints rates without decimals, and this one is less than 1 a second";

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let find = |ending: &str| -> Result<Line<'_>, Unparsed> {
        let found = lines(NAME, text).find(|line| line.text.contains(ending));
        found.ok_or_else(|| absent(NAME, format!("line {:?}", ending.trim()), text))
    };
    let total = find(" seconds total")?;
    let total = total.number(total.words().next().unwrap_or_default(), "the total time")?;
    let line = find(" seconds of transactions (")?;
    let seconds = line.number(line.words().next().unwrap_or_default(), "the time of transactions")?;

    let mut figures = Vec::new();
    let transactions = Figure::new("transactions").with(Metric::RATE, bracket(line)?).with(Metric::MEASURED, seconds);
    push(&mut figures, transactions, seconds);
    for (name, begin) in [("create", "Creation alone: "), ("delete", "Deletion alone: ")] {
        let line = find(begin)?;
        let text = line.text.split(begin).nth(1).unwrap_or_default();
        let count = line.number(text.split_whitespace().next().unwrap_or_default(), "a number of files")?;
        let rate = bracket(line)?;
        // The time is not printed; the rate is the count divided by it, rounded down.
        let seconds = (count / rate.max(1.0)).round();
        push(&mut figures, Figure::new(name).with(Metric::RATE, rate).with(Metric::OPERATIONS, count), seconds);
    }
    for (name, ending) in [("read", " read ("), ("append", " appended (")] {
        let line = find(ending)?;
        let count = line.number(line.words().next().unwrap_or_default(), "a number of files")?;
        push(
            &mut figures,
            Figure::new(name).with(Metric::RATE, bracket(line)?).with(Metric::OPERATIONS, count),
            seconds,
        );
    }
    for (name, ending) in [("data_read", "bytes read ("), ("data_written", "bytes written (")] {
        push(&mut figures, Figure::new(name).with(Metric::RATE, data_rate(find(ending)?)?), total);
    }
    Ok(figures)
}

fn push(figures: &mut Vec<Figure>, figure: Figure, seconds: f64) {
    let rate = figure.values.get(Metric::RATE.id).copied().unwrap_or_default();
    figures.push(match () {
        () if rate < 1.0 => Figure::missing(&figure.name, TOO_SLOW),
        () if seconds < LEAST => Figure::missing(&figure.name, TOO_FAST),
        () => figure,
    });
}

/// The number in the brackets: `50 files (50 per second)`.
fn bracket(line: Line<'_>) -> Result<f64, Unparsed> {
    let rest = line.text.split_once('(').map(|(_, rest)| rest).filter(|rest| rest.trim_end().ends_with("per second)"));
    let rest = rest.ok_or_else(|| line.expected("\"(... per second)\""))?;
    line.number(rest.split_whitespace().next().unwrap_or_default(), "a rate")
}

/// KiB a second: `93.06 kilobytes written (93.06 kilobytes per second)`, in steps of 1024.
fn data_rate(line: Line<'_>) -> Result<f64, Unparsed> {
    let rate = bracket(line)?;
    let unit = line.text.split_once('(').and_then(|(_, rest)| rest.split_whitespace().nth(1)).unwrap_or_default();
    let kib = match unit {
        "bytes" => 1.0 / 1024.0,
        "kilobytes" => 1.0,
        "megabytes" => 1024.0,
        "gigabytes" => 1024.0 * 1024.0,
        _ => return Err(line.expected("bytes, kilobytes, megabytes or gigabytes per second")),
    };
    Ok(rate * kib)
}
