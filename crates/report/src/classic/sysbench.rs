//! sysbench 1.0: the summary of fileio, one for each test and cell.

use std::fmt::Write as _;

use mountmark_model::Metric;
use mountmark_record::{CellRecord, RunRecord};

use super::{label, mean};

/// Modes of fileio and sysbench's headings for them.
const MODES: [(&str, &str); 6] = [
    ("seqwr", "sequential write (creation)"),
    ("seqrewr", "sequential rewrite"),
    ("seqrd", "sequential read"),
    ("rndrd", "random read"),
    ("rndwr", "random write"),
    ("rndrw", "random r/w"),
];

pub(super) fn report(run: &RunRecord) -> Option<String> {
    let mut out = String::new();
    for cell in &run.cells {
        for (mode, title) in MODES.iter().filter(|(mode, _)| run.plan.tasks.iter().any(|(id, _)| id == mode)) {
            if let Some(summary) = summary(cell, mode, title) {
                let _ = write!(out, "{}\n{summary}\n", label(run, cell));
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The summary of one test; `None` without figures. Only sysbench itself knows the fairness of its threads.
fn summary(cell: &CellRecord, mode: &str, title: &str) -> Option<String> {
    let value = |metric: Metric| mean(cell, mode, &metric).unwrap_or(0.0);
    let rate = mean(cell, mode, &Metric::RATE)?;
    let seconds = value(Metric::MEASURED);
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let (mut read, mut written) = (value(Metric::READ_RATE), value(Metric::WRITE_RATE));
    if read + written == 0.0 {
        let target = if mode.ends_with("rd") { &mut read } else { &mut written };
        *target = rate;
    }
    let [reads, writes, syncs] = [Metric::READ_OPERATIONS, Metric::WRITE_OPERATIONS, Metric::SYNC_OPERATIONS]
        .map(|metric| per_second(value(metric)));
    let milliseconds = |metric: Metric| value(metric) * 1e3;
    let events = value(Metric::OPERATIONS);
    let mut out = format!("Doing {title} test\n\n\nFile operations:\n");
    for (key, rate) in [("reads/s:", reads), ("writes/s:", writes), ("fsyncs/s:", syncs)] {
        let _ = writeln!(out, "    {key:<30}{rate:.2}");
    }
    out += "\nThroughput:\n";
    for (key, kib) in [("read, MiB/s:", read), ("written, MiB/s:", written)] {
        let _ = writeln!(out, "    {key:<30}{:.2}", kib / 1024.0);
    }
    let _ = write!(
        out,
        "\nGeneral statistics:\n    {:<37}{seconds:.4}s\n    {:<37}{events:.0}\n",
        "total time:", "total number of events:"
    );
    out += "\nLatency (ms):\n";
    for (key, ms) in [
        ("min:", milliseconds(Metric::LATENCY_MIN)),
        ("avg:", milliseconds(Metric::LATENCY_MEAN)),
        ("max:", milliseconds(Metric::LATENCY_MAX)),
        ("95th percentile:", milliseconds(Metric::LATENCY_P95)),
        ("sum:", milliseconds(Metric::LATENCY_MEAN) * events),
    ] {
        let _ = writeln!(out, "         {key:<34}{ms:10.2}");
    }
    Some(out)
}
