//! Categories of rankings, and the metrics behind their scores.

use mountmark_model::Metric;

use crate::figures::series::{Figures, Task};

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
    /// The basis on which the tasks accepted by `want` are judged.
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

    /// Whether it includes rates, of which more is better.
    pub fn has_rates(self) -> bool {
        matches!(self, Basis::Rate | Basis::DurableOrRate | Basis::TimeOrRate)
    }
}
