//! Categories of rankings, and the metrics behind their scores.

use std::collections::BTreeSet;

use mountmark_model::Metric;

/// A kind of work with its own ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Category {
    /// Tasks of the suite, by the suite's name for the category.
    Work(String),
    /// mkfs, mount and umount.
    Steps,
    Capacity,
    /// The final check; part of no score.
    Check,
    /// Processor time of all tasks.
    Processor,
    Memory,
}

/// The metrics behind scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Time until the data is durable.
    Durable,
    /// Time until the command returns.
    Returned,
    /// The rate that a program or workload reports.
    Rate,
    /// Durable time of some tasks, rate of others.
    DurableOrRate,
    /// Rate of some tasks, several kinds of time of others.
    TimeOrRate,
    /// Several kinds of time, or times of steps.
    Time,
    Space,
    /// Processor time of the whole machine.
    Processor,
    Memory,
}

impl Basis {
    /// That of tasks by these metrics.
    pub fn of(named: impl Iterator<Item = (usize, &'static str)>) -> Basis {
        let metrics: BTreeSet<&str> = named.map(|(_, metric)| metric).collect();
        let [durable, returned, rate] = [Metric::DURABLE.id, Metric::ELAPSED.id, Metric::RATE.id];
        let has = |all: &[&str]| metrics == all.iter().copied().collect();
        match metrics.contains(rate) {
            _ if has(&[durable]) => Basis::Durable,
            _ if has(&[returned]) => Basis::Returned,
            _ if has(&[rate]) => Basis::Rate,
            _ if has(&[durable, rate]) => Basis::DurableOrRate,
            true => Basis::TimeOrRate,
            false => Basis::Time,
        }
    }

    /// Whether it includes rates, of which more is better.
    pub fn has_rates(self) -> bool {
        matches!(self, Basis::Rate | Basis::DurableOrRate | Basis::TimeOrRate)
    }
}
