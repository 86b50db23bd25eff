//! What findings use a metric for: the columns of its row that the guest's program, which has the table of all metrics
//! too, does not need.

use mountmark_model::Metric;

use Role::{Alone, Judged, Memory, Processor, Ranked, Space, Speed};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// A task that has it is judged by it alone: of several the first in the table.
    Alone,
    /// It counts in verdicts, so its figures are always read.
    Judged,
    /// It counts in rankings.
    Ranked,
    /// It is ranked as processor time.
    Processor,
    /// It is ranked as memory.
    Memory,
    /// Words for it are those of speed.
    Speed,
    /// Words for it are those of room on a disk.
    Space,
}

static ROLES: &[(Metric, &[Role])] = &[
    // A power cut is survived or not: how long the way back took is asked by tasks of its own.
    (Metric::LOST, &[Alone]),
    (Metric::RATE, &[Alone, Judged, Ranked, Speed]),
    (Metric::FIGURE, &[Alone, Judged]),
    (Metric::FIGURE_LESS, &[Alone, Judged]),
    (Metric::SYNC_LATENCY_MEAN, &[Alone, Judged]),
    (Metric::LATENCY_MEAN, &[Alone, Judged]),
    (Metric::DURABLE, &[Judged, Ranked, Speed]),
    (Metric::ELAPSED, &[Judged, Ranked, Speed]),
    (Metric::PROCESSOR, &[Judged]),
    (Metric::CAPACITY_DEVICE, &[Judged, Ranked, Space]),
    (Metric::CAPACITY, &[Judged, Ranked, Space]),
    (Metric::CAPACITY_BYTES, &[Space]),
    (Metric::BUSY, &[Ranked, Processor]),
    (Metric::MINOR_FAULTS, &[Ranked, Memory]),
    (Metric::PEAK_MEMORY, &[Ranked, Memory]),
];

/// The metrics that have a role, in the order of the table.
pub(crate) fn of(role: Role) -> impl Iterator<Item = &'static Metric> {
    ROLES.iter().filter(move |(_, roles)| roles.contains(&role)).map(|(metric, _)| metric)
}

/// Whether the metric of this id has a role.
pub(crate) fn has(id: &str, role: Role) -> bool {
    of(role).any(|metric| metric.id == id)
}

/// Whether anything is judged by the metric of this id, or by a sum that it is part of.
pub fn is_judged_by(id: &str) -> bool {
    has(id, Judged) || of(Judged).filter_map(Metric::sum_of).flatten().any(|part| part.id == id)
}
