//! Merges results of repetitions of a workload: counts, bytes and times add up.

use mountmark_model::WorkloadResult;
use mountmark_model::workload::{Latency, OperationResult, PhaseResult, Series};

/// Adds `other`, which has the same phases, to `all`.
pub(super) fn add(all: &mut WorkloadResult, other: &WorkloadResult) {
    for (phase, more) in all.phases.iter_mut().zip(&other.phases) {
        add_phase(phase, more);
    }
}

fn add_phase(phase: &mut PhaseResult, more: &PhaseResult) {
    phase.seconds += more.seconds;
    phase.user_seconds += more.user_seconds;
    phase.system_seconds += more.system_seconds;
    phase.verified_bytes += more.verified_bytes;
    // One repetition's series does not describe the others.
    phase.series = Series::default();
    add_operations(&mut phase.operations, &more.operations);
    for (thread, more) in phase.threads.iter_mut().zip(&more.threads) {
        thread.seconds += more.seconds;
        add_operations(&mut thread.operations, &more.operations);
    }
    for error in &more.errors {
        if !phase.errors.contains(error) {
            phase.errors.push(error.clone());
        }
    }
    for note in &more.notes {
        if !phase.notes.contains(note) {
            phase.notes.push(note.clone());
        }
    }
}

fn add_operations(all: &mut Vec<OperationResult>, more: &[OperationResult]) {
    for one in more {
        let Some(same) = all.iter_mut().find(|same| same.operation == one.operation) else {
            all.push(one.clone());
            continue;
        };
        same.count += one.count;
        same.bytes += one.bytes;
        same.errors += one.errors;
        same.seconds += one.seconds;
        same.latency = match (same.latency.take(), &one.latency) {
            (Some(a), Some(b)) => Some(together(&[&a, b])),
            (a, b) => a.or_else(|| b.clone()),
        };
    }
    all.sort_by_key(|operation| operation.operation);
}

/// Combines latencies of several operations or repetitions. Quantiles come from the histograms, and are as exact as
/// these.
pub(super) fn together(all: &[&Latency]) -> Latency {
    let all: Vec<&&Latency> = all.iter().filter(|latency| latency.count > 0).collect();
    let count: u64 = all.iter().map(|latency| latency.count).sum();
    if count == 0 {
        return Latency::default();
    }
    let mut steps: Vec<(u64, u64)> = all.iter().flat_map(|latency| latency.histogram.iter().copied()).collect();
    steps.sort_unstable();
    steps.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    let max = all.iter().map(|latency| latency.max).max().unwrap_or(0);
    let mut latency = Latency {
        count,
        mean: all.iter().map(|latency| latency.mean * latency.count as f64).sum::<f64>() / count as f64,
        min: all.iter().map(|latency| latency.min).min().unwrap_or(0),
        max,
        histogram: steps,
        ..Latency::default()
    };
    latency.p50 = latency.quantile(0.5);
    latency.p90 = latency.quantile(0.9);
    latency.p99 = latency.quantile(0.99);
    latency.p999 = latency.quantile(0.999);
    latency
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(histogram: &[(u64, u64)]) -> Latency {
        let count = histogram.iter().map(|(_, count)| count).sum();
        let sum: u64 = histogram.iter().map(|(value, count)| value * count).sum();
        Latency {
            count,
            mean: sum as f64 / count as f64,
            min: histogram[0].0,
            max: histogram[histogram.len() - 1].0,
            histogram: histogram.to_vec(),
            ..Latency::default()
        }
    }

    #[test]
    fn latencies_add_up() {
        let both = together(&[&latency(&[(10, 90), (20, 9)]), &latency(&[(10, 900), (1000, 1)]), &Latency::default()]);
        assert_eq!((both.count, both.min, both.max), (1000, 10, 1000));
        assert_eq!(both.histogram, [(10, 990), (20, 9), (1000, 1)]);
        assert_eq!((both.p50, both.p99, both.p999), (10, 10, 20));
        assert!((both.mean - (9900.0 + 180.0 + 1000.0) / 1000.0).abs() < 1e-9);
        assert_eq!(both.quantile(1.0), 1000);
        assert_eq!(together(&[]), Latency::default());
    }
}
