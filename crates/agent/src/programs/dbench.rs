//! dbench 3 and 4: the last lines of the report. A megabyte is 1,000,000 bytes; latencies are milliseconds with three
//! decimals, and a mean of few of these microseconds is none.

use mountmark_model::Metric;

use super::{Figure, Unparsed, absent, lines};

const NAME: &str = "dbench";
/// Seconds that limit the error of three decimals of a millisecond to 1 %.
const LEAST_MEAN: f64 = 50e-6;

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let line = lines(NAME, text).rev().find(|line| line.text.starts_with("Throughput "));
    let line = line.ok_or_else(|| absent(NAME, "line \"Throughput ... MB/sec\"", text))?;
    let words: Vec<&str> = line.words().collect();
    if words.get(2) != Some(&"MB/sec") {
        return Err(line.expected("\"Throughput\", a number and \"MB/sec\""));
    }
    let rate = line.number(words[1], "the throughput")? * 1e6 / 1024.0;
    if rate <= 0.0 {
        return Ok(vec![Figure::missing("throughput", "it moved no data, so there is no rate")]);
    }
    let mut total = Figure::new("throughput").with(Metric::RATE, rate);
    // Only version 4 prints it.
    if let Some(latency) = words.iter().find_map(|word| word.strip_prefix("max_latency=")) {
        total.put(Metric::LATENCY_MAX, line.number(latency, "the largest latency")? / 1e3);
    }
    let mut figures = vec![total];
    let table = lines(NAME, text).skip_while(|line| line.words().next() != Some("Operation")).skip(2);
    for line in table.take_while(|line| !line.text.trim().is_empty()) {
        let words: Vec<&str> = line.words().collect();
        let [operation, count, mean, max] = words[..] else {
            return Err(line.expected("an operation, its count, its mean and its largest latency"));
        };
        let (mean, max) = (line.number(mean, "a latency")? / 1e3, line.number(max, "a latency")? / 1e3);
        let mut figure = Figure::new(operation)
            .with(Metric::OPERATIONS, line.number(count, "a count")?)
            .with(Metric::LATENCY_MAX, max);
        if mean < LEAST_MEAN {
            figure.note = Some("dbench counts whole microseconds, and this mean has too few of them".to_owned());
        } else {
            figure.put(Metric::LATENCY_MEAN, mean);
            // A client's flush is an fsync.
            if operation == "Flush" {
                for syncs in [&mut figure, &mut figures[0]] {
                    syncs.put(Metric::SYNC_LATENCY_MEAN, mean);
                    syncs.put(Metric::SYNC_LATENCY_MAX, max);
                }
            }
        }
        figures.push(figure.with_something_to_judge());
    }
    Ok(figures)
}
