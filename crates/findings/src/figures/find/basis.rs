//! Categories of rankings, and the metrics behind their scores.

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
    /// Whether it includes rates, of which more is better.
    pub fn has_rates(self) -> bool {
        matches!(self, Basis::Rate | Basis::DurableOrRate | Basis::TimeOrRate)
    }
}
