//! Words for metrics and for rankings by them.

pub(crate) mod quantity;

use mountmark_model::{Better, Metric};

use crate::figures::find::basis::{Basis, Category};
use crate::figures::find::roles::{Role, has};

/// The subject of a verdict: "durable time", "rate", "usable space".
pub(crate) fn subject(metric: &Metric) -> &'static str {
    match metric.id {
        id if id == Metric::DURABLE.id => "durable time",
        id if id == Metric::ELAPSED.id => "returned time",
        id if id == Metric::PROCESSOR.id => "processor time of its programs",
        id if id == Metric::CAPACITY_DEVICE.id => "usable part of the device",
        id if has(id, Role::Space) => "usable space",
        _ => metric.title,
    }
}

/// Phrase for the best configuration.
pub(crate) fn is_best(metric: &Metric) -> &'static str {
    match metric.better {
        _ if has(metric.id, Role::Speed) => "is fastest",
        _ if has(metric.id, Role::Space) => "leaves the most",
        Better::Lower => "has the least",
        Better::Higher => "has the most",
    }
}

/// Comparative for any other configuration.
pub(crate) fn is_worse(metric: &Metric) -> &'static str {
    match metric.better {
        _ if has(metric.id, Role::Speed) => "slower",
        Better::Lower => "higher",
        Better::Higher => "lower",
    }
}

/// Verb for a file system's figure: "took" 3.2 s.
pub(crate) fn verb(metric: &Metric) -> &'static str {
    match (metric.better, has(metric.id, Role::Speed)) {
        (Better::Lower, true) => "took",
        (Better::Higher, true) => "reached",
        _ => "had",
    }
}

pub(crate) fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Durable => "durable time",
        Basis::Returned => "returned time",
        Basis::Rate => "rate",
        Basis::DurableOrRate => "durable time or rate",
        Basis::TimeOrRate => "time or rate",
        Basis::Time => "time",
        Basis::Space => "usable space",
        Basis::Processor => "processor time of the whole machine",
        Basis::Memory => "minor faults and peak memory",
    }
}

pub(crate) fn category(category: &Category) -> &str {
    match category {
        Category::Work(name) if name.is_empty() => "tasks",
        Category::Work(name) => name,
        Category::Steps => "mkfs, mount, umount",
        Category::Capacity => "capacity",
        Category::Check => "check",
        Category::Processor => "CPU efficiency",
        Category::Memory => "memory",
    }
}
