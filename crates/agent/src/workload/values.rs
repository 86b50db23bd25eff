//! Converts a phase of the engine to a figure: rates, counts, times.

use mountmark_model::workload::{Latency, Operation, OperationResult, PhaseResult};
use mountmark_model::{Metric, RateOf, WorkloadResult};

use super::merge::together;
use crate::programs::Figure;

/// The figure with the phase's name.
pub(super) fn figure(phase: &PhaseResult, rate: RateOf) -> Figure {
    // fsync counts separately, unless the phase consists of it.
    let syncs_only = phase.operations.iter().all(|operation| operation.operation == Operation::Fsync);
    let counted = |operation: &&OperationResult| syncs_only || operation.operation != Operation::Fsync;
    let operations: Vec<&OperationResult> = phase.operations.iter().filter(counted).collect();
    let count: u64 = operations.iter().map(|operation| operation.count).sum();
    let bytes: u64 = operations.iter().map(|operation| operation.bytes).sum();
    let per_second = |value: f64| if phase.seconds > 0.0 { value / phase.seconds } else { 0.0 };
    let of = |wanted: &[Operation]| {
        let wanted = operations.iter().filter(|operation| wanted.contains(&operation.operation));
        wanted.fold((0, 0), |sum, operation| (sum.0 + operation.count, sum.1 + operation.bytes))
    };
    let (reads, read) = of(&[Operation::Read, Operation::ReadFile]);
    let (writes, written) = of(&[Operation::Write, Operation::WriteFile, Operation::AppendFile]);
    let syncs = || phase.operations.iter().filter(|operation| operation.operation == Operation::Fsync);
    let sync_times = together(&syncs().filter_map(|operation| operation.latency.as_ref()).collect::<Vec<_>>());
    let syncs: u64 = syncs().map(|operation| operation.count).sum();

    let mut values = Figure { name: phase.name.clone(), ..Figure::default() };
    let mut put = |metric: Metric, value: f64| {
        values.values.insert(metric.id.to_owned(), value);
    };
    let threads = rates_of_threads(phase);
    let (data, operation_rate) = (per_second(bytes as f64 / 1024.0), per_second(count as f64));
    put(
        Metric::RATE,
        match rate {
            RateOf::Children if !threads.is_empty() => threads.iter().sum(),
            RateOf::Data | RateOf::Children => data,
            RateOf::Automatic if bytes > 0 => data,
            RateOf::Automatic | RateOf::Operations => operation_rate,
        },
    );
    put(Metric::OPERATION_RATE, operation_rate);
    put(Metric::OPERATIONS, count as f64);
    put(Metric::MEASURED, phase.seconds);
    if phase.seconds > 0.0 {
        put(Metric::CPU_PERCENT, 100.0 * (phase.user_seconds + phase.system_seconds) / phase.seconds);
    }
    for (count, bytes, operations, rate) in [
        (reads, read, Metric::READ_OPERATIONS, Metric::READ_RATE),
        (writes, written, Metric::WRITE_OPERATIONS, Metric::WRITE_RATE),
    ] {
        if count > 0 {
            put(operations, count as f64);
            put(rate, per_second(bytes as f64 / 1024.0));
        }
    }
    if syncs > 0 {
        put(Metric::SYNC_OPERATIONS, syncs as f64);
    }
    if bytes > 0 && !threads.is_empty() {
        put(Metric::PARENT_RATE, data);
        put(Metric::PROCESS_RATE_MIN, threads.iter().copied().fold(f64::INFINITY, f64::min));
        put(Metric::PROCESS_RATE_MEAN, threads.iter().sum::<f64>() / threads.len() as f64);
        put(Metric::PROCESS_RATE_MAX, threads.iter().copied().fold(0.0, f64::max));
    }
    let kept: Vec<_> = operations.iter().filter_map(|operation| operation.latency.as_ref()).collect();
    put_latencies(&together(&kept), &sync_times, &mut put);
    values
}

/// KiB that each thread moved in a second.
fn rates_of_threads(phase: &PhaseResult) -> Vec<f64> {
    let measured = phase.threads.iter().filter(|thread| thread.seconds > 0.0);
    measured.map(|thread| moved(&thread.operations) as f64 / 1024.0 / thread.seconds).collect()
}

/// What single operations took, and the syncs among them, in seconds.
fn put_latencies(latency: &Latency, syncs: &Latency, put: &mut dyn FnMut(Metric, f64)) {
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    if syncs.count > 0 {
        put(Metric::SYNC_LATENCY_MEAN, syncs.mean / 1e9);
        put(Metric::SYNC_LATENCY_P50, seconds(syncs.p50));
        put(Metric::SYNC_LATENCY_P95, seconds(syncs.quantile(0.95)));
        put(Metric::SYNC_LATENCY_P99, seconds(syncs.p99));
        put(Metric::SYNC_LATENCY_P99_9, seconds(syncs.p999));
        put(Metric::SYNC_LATENCY_MAX, seconds(syncs.max));
    }
    if latency.count > 0 {
        put(Metric::LATENCY_MIN, seconds(latency.min));
        put(Metric::LATENCY_MEAN, latency.mean / 1e9);
        put(Metric::LATENCY_P50, seconds(latency.p50));
        put(Metric::LATENCY_P90, seconds(latency.p90));
        put(Metric::LATENCY_P95, seconds(latency.quantile(0.95)));
        put(Metric::LATENCY_P99, seconds(latency.p99));
        put(Metric::LATENCY_P99_9, seconds(latency.p999));
        put(Metric::LATENCY_MAX, seconds(latency.max));
    }
}

/// Bytes written by all phases, including those that only prepare others.
pub(super) fn written(result: &WorkloadResult) -> u64 {
    use Operation as O;
    let writes = |o| matches!(o, O::Write | O::Rewrite | O::WriteFile | O::AppendFile | O::CopyFile);
    let operations = result.phases.iter().flat_map(|phase| &phase.operations);
    operations.filter(|operation| writes(operation.operation)).map(|operation| operation.bytes).sum()
}

fn moved(operations: &[OperationResult]) -> u64 {
    operations.iter().filter(|operation| operation.operation != Operation::Fsync).map(|operation| operation.bytes).sum()
}

#[cfg(test)]
mod tests {
    use mountmark_model::workload::{Engine, Latency, Series, ThreadResult};

    use super::*;

    fn operation(operation: Operation, count: u64, bytes: u64) -> OperationResult {
        let latency =
            Latency { count, mean: 2e3, min: 1000, max: 9000, histogram: vec![(2000, count)], ..Latency::default() };
        OperationResult { operation, count, bytes, errors: 0, seconds: 2.0, latency: Some(latency) }
    }

    fn phase(operations: Vec<OperationResult>) -> PhaseResult {
        PhaseResult {
            name: "p".into(),
            setup: false,
            engine: Engine::Psync,
            seconds: 2.0,
            user_seconds: 0.5,
            system_seconds: 0.5,
            operations,
            threads: Vec::new(),
            series: Series::default(),
            verified_bytes: 0,
            errors: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn rates_are_of_data_where_any_was_moved() {
        let mixed = phase(vec![
            operation(Operation::Read, 60, 60 << 10),
            operation(Operation::Write, 40, 40 << 10),
            operation(Operation::Fsync, 7, 0),
        ]);
        let values = figure(&mixed, RateOf::Automatic).values;
        assert_eq!((values["rate"], values["operation_rate"], values["operations"]), (50.0, 50.0, 100.0));
        assert_eq!((values["read_rate"], values["write_rate"]), (30.0, 20.0));
        assert_eq!((values["sync_operations"], values["cpu_percent"]), (7.0, 50.0));
        assert_eq!((values["latency_p50"], values["latency_max"]), (2e-6, 9e-6));
        let values = figure(&phase(vec![operation(Operation::Create, 10, 0)]), RateOf::Automatic).values;
        assert_eq!(values["rate"], 5.0);
        assert!(!values.contains_key("read_rate"));
    }

    #[test]
    fn all_phases_write() {
        let some = phase(vec![operation(Operation::Read, 1, 1), operation(Operation::Rewrite, 1, 2)]);
        let setup = PhaseResult { setup: true, ..phase(vec![operation(Operation::CopyFile, 1, 4)]) };
        assert_eq!(written(&WorkloadResult { phases: vec![some, setup], clock: String::new() }), 6);
    }

    #[test]
    fn seeks_are_counted_and_children_have_their_own_time() {
        let mut seeks =
            phase(vec![operation(Operation::Read, 10, 80 << 10), operation(Operation::Rewrite, 1, 8 << 10)]);
        assert_eq!(figure(&seeks, RateOf::Operations).values["rate"], 5.5);
        let thread = |thread, seconds, bytes| ThreadResult {
            thread,
            seconds,
            operations: vec![operation(Operation::Read, 5, bytes)],
        };
        seeks.threads = vec![thread(0, 1.0, 40 << 10), thread(1, 2.0, 48 << 10)];
        let values = figure(&seeks, RateOf::Children).values;
        assert_eq!((values["rate"], values["parent_rate"]), (64.0, 44.0));
        assert_eq!((values["process_rate_min"], values["process_rate_max"]), (24.0, 40.0));
        // How much each had moved when the first one ended is not known here.
        assert!(!values.contains_key("process_bytes_min"));
    }
}
