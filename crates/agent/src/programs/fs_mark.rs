//! fs_mark 3.3: one line per loop, with the times of single calls if -v is given (microseconds).

use mountmark_model::Metric;

use super::{Figure, Line, Unparsed, absent, lines};

const NAME: &str = "fs_mark";
/// The calls that -v shows, in this order, with the least, the mean and the largest time of each.
const CALLS: [&str; 6] = ["CREAT", "WRITE", "FSYNC", "SYNC", "CLOSE", "UNLINK"];

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, Unparsed> {
    let mut rest = lines(NAME, text).skip_while(|line| line.words().next() != Some("FSUse%"));
    let head = rest.next().ok_or_else(|| absent(NAME, "table (FSUse%, Count, Size, Files/sec)", text))?;
    let heads: Vec<&str> = head.words().filter(|word| *word != "(Min/Avg/Max)").collect();
    let calls = match heads.strip_prefix(&["FSUse%", "Count", "Size", "Files/sec", "App", "Overhead"]) {
        Some([]) => &[][..],
        Some(calls) if *calls == CALLS => &CALLS[..],
        _ => return Err(head.expected("FSUse%, Count, Size, Files/sec, App Overhead, and the calls of -v or none")),
    };
    let mut rows = Vec::new();
    for line in rest.filter(|line| !line.text.trim().is_empty()) {
        rows.push(row(line, 5 + 3 * calls.len())?);
    }
    // The first comment repeats the command; without -L there is one loop.
    let loops = text.lines().find(|line| line.starts_with('#')).and_then(|command| {
        let mut words = command.split_whitespace().skip_while(|word| *word != "-L").skip(1);
        words.next()?.parse::<usize>().ok()
    });
    if rows.len() < loops.unwrap_or(1) {
        return Err(absent(NAME, format!("{} lines below the table's head", loops.unwrap_or(1)), text));
    }
    let Some(last) = rows.last() else { return Err(absent(NAME, "line below the table's head", text)) };
    // Every loop makes the same number of files, so the rate over all of them is the harmonic mean.
    let rate = rows.len() as f64 / rows.iter().map(|row| 1.0 / row[3]).sum::<f64>();
    let mut figures = vec![Figure::new("create").with(Metric::RATE, rate).with(Metric::OPERATIONS, last[1])];
    for (index, call) in calls.iter().enumerate() {
        let column = |part: usize| rows.iter().map(move |row| row[5 + 3 * index + part] / 1e6);
        let (mean, max) = (column(1).sum::<f64>() / rows.len() as f64, column(2).fold(0.0, f64::max));
        let mut figure = Figure::new(call.to_lowercase())
            .with(Metric::LATENCY_MIN, column(0).fold(f64::INFINITY, f64::min))
            .with(Metric::LATENCY_MEAN, mean)
            .with(Metric::LATENCY_MAX, max);
        // Calls that were not made have times of 0.
        if *call == "FSYNC" && max > 0.0 {
            for syncs in [&mut figure, &mut figures[0]] {
                syncs.put(Metric::SYNC_LATENCY_MEAN, mean);
                syncs.put(Metric::SYNC_LATENCY_MAX, max);
            }
        }
        figures.push(figure);
    }
    Ok(figures)
}

/// The numbers of a line; a rate of 0 is an error.
fn row(line: Line<'_>, count: usize) -> Result<Vec<f64>, Unparsed> {
    let row: Vec<f64> = line.words().map(|word| line.number(word, "a figure")).collect::<Result<_, _>>()?;
    if row.len() != count {
        return Err(line.expected(format!("{count} figures")));
    }
    if row[3] > 0.0 { Ok(row) } else { Err(line.expected("a rate above 0 in Files/sec")) }
}
