//! Merges the results of a phase's threads.

use mountmark_model::workload::{Operation, OperationResult, PhaseResult, ThreadResult};

use super::histogram::Histogram;
use super::recorder::{Found, Kind};
use super::resolve::Work;
use super::series::Timeline;
use super::worker::SENTENCES;

pub(super) fn merge(work: &Work, found: Vec<Found>) -> PhaseResult {
    let begin = found.iter().map(|found| found.begin).min().unwrap_or(0);
    let end = found.iter().map(|found| found.end).max().unwrap_or(0);
    let seconds = (end - begin) as f64 / 1e9;
    let mut series = Timeline::new();
    found.iter().for_each(|found| series.add(&found.series));
    let kinds: Vec<&Kind> = found.iter().flat_map(|found| &found.kinds).collect();
    let threads = match found.len() {
        0 | 1 => Vec::new(),
        _ => found
            .iter()
            .map(|found| {
                let seconds = (found.end - found.begin) as f64 / 1e9;
                let kinds: Vec<&Kind> = found.kinds.iter().collect();
                ThreadResult { thread: found.thread, seconds, operations: operations(&kinds, seconds, false) }
            })
            .collect(),
    };
    let mut notes: Vec<String> = Vec::new();
    for note in found.iter().flat_map(|found| &found.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    PhaseResult {
        name: work.name.clone(),
        setup: work.setup,
        engine: work.engine,
        seconds,
        user_seconds: found.iter().map(|found| found.user).sum(),
        system_seconds: found.iter().map(|found| found.system).sum(),
        operations: operations(&kinds, seconds, true),
        threads,
        series: series.summary(),
        verified_bytes: found.iter().map(|found| found.verified).sum(),
        errors: found.iter().flat_map(|found| found.sentences.iter().cloned()).take(SENTENCES).collect(),
        notes,
    }
}

fn operations(kinds: &[&Kind], seconds: f64, with_histogram: bool) -> Vec<OperationResult> {
    let of = |operation: Operation| {
        let mut result = OperationResult { operation, count: 0, bytes: 0, errors: 0, seconds, latency: None };
        let mut histogram = Histogram::new();
        let mut there = false;
        for kind in kinds.iter().filter(|kind| kind.operation == operation) {
            there = true;
            result.count += kind.count;
            result.bytes += kind.bytes;
            result.errors += kind.errors;
            histogram.add(&kind.histogram);
        }
        result.latency = histogram.summary(with_histogram);
        there.then_some(result)
    };
    Operation::ALL.into_iter().filter_map(of).collect()
}
