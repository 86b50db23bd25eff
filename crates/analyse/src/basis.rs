//! What rankings are of, and what their scores are made of.

use mountmark_model::Metric;

use crate::figures::{Figures, Task};

/// A kind of work, with a ranking of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Category {
    /// Tasks of the suite, under the suite's name for them.
    Work(String),
    /// Making, mounting and unmounting.
    Steps,
    /// Usable space.
    Capacity,
    /// The check at the end, which is no part of any score.
    Check,
    /// Processor time of all tasks.
    Processor,
    /// Memory of all tasks.
    Memory,
}

/// What scores are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The time until the data is durable.
    Durable,
    /// The time until the command returned.
    Returned,
    /// The rate that a program or workload gave.
    Rate,
    /// Of some tasks the durable time, of others the rate.
    DurableOrRate,
    /// Of some tasks the rate, of others several kinds of time.
    TimeOrRate,
    /// Several kinds of time, or that of steps.
    Time,
    /// Usable space.
    Space,
    /// Processor time of the whole machine.
    Processor,
    /// Minor faults and peak memory.
    Memory,
}

impl Basis {
    /// By what the tasks that `want` accepts are judged.
    pub(crate) fn of(figures: &Figures, want: impl Fn(&Task) -> bool) -> Basis {
        let mut metrics: Vec<&str> =
            figures.tasks.iter().filter(|task| want(task)).filter_map(|task| Some(task.main()?.metric.id)).collect();
        metrics.sort_unstable();
        metrics.dedup();
        let [durable, returned, rate] = [Metric::DURABLE.id, Metric::ELAPSED.id, Metric::RATE.id];
        match metrics.as_slice() {
            [one] if *one == durable => Basis::Durable,
            [one] if *one == returned => Basis::Returned,
            [one] if *one == rate => Basis::Rate,
            [one, other] if [*one, *other] == [durable, rate] => Basis::DurableOrRate,
            metrics if metrics.contains(&rate) => Basis::TimeOrRate,
            _ => Basis::Time,
        }
    }

    /// Whether rates are part of it, of which more is better.
    pub fn has_rates(self) -> bool {
        matches!(self, Basis::Rate | Basis::DurableOrRate | Basis::TimeOrRate)
    }
}
