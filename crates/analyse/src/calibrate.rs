//! What two runs of one suite, on this machine and in a guest, say of the machine that a guest must be to stand for it.
//!
//! A guest runs at most 1,000 million instructions a second, and most machines do the same work in less time. So a
//! second of the model is a part of a second of the machine: [`Speed::pace`] seconds of the guest are one of the
//! machine's. Disks that belong to it are slowed down by the same factor, so that processor and disk keep their
//! proportion, which orders file systems; what changes is the unit.

use mountmark_model::Metric;
use mountmark_record::RunRecord;

use crate::stats::summary::median;

/// How one task's times relate.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    pub task: String,
    /// Seconds on the machine.
    pub machine: f64,
    /// Seconds in the guest.
    pub guest: f64,
}

impl Ratio {
    /// Seconds of the guest for one of the machine.
    pub fn value(&self) -> f64 {
        self.guest / self.machine
    }
}

/// The speed of a processor, beside that of a guest with 1,000 million instructions a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// In the order of the suite.
    pub ratios: Vec<Ratio>,
    /// The guest's instructions take 2^`shift` ns.
    pub shift: u8,
    /// Seconds of such a guest for one of the machine, by the median of the ratios.
    pub pace: f64,
}

/// The slowest guest that the emulator knows.
const MOST_SHIFT: f64 = 10.0;

impl Speed {
    /// `None` if no task has a time in both runs.
    pub fn new(ratios: Vec<Ratio>) -> Option<Speed> {
        let usual = median(&ratios.iter().map(Ratio::value).collect::<Vec<_>>())?;
        // A machine that is slower than the guest gets a slower guest, by the nearest step.
        let steps = (-libm::log2(usual)).round().clamp(0.0, MOST_SHIFT);
        Some(Speed { ratios, shift: steps as u8, pace: usual * libm::exp2(steps) })
    }

    /// Of a run on the machine and one in a guest with 1,000 million instructions a second: processor time of each task.
    pub fn of(machine: &RunRecord, guest: &RunRecord) -> Option<Speed> {
        let ratio = |task: &String| {
            let (machine, guest) = (processor_time(machine, task)?, processor_time(guest, task)?);
            (machine > 0.0 && guest > 0.0).then(|| Ratio { task: task.clone(), machine, guest })
        };
        Speed::new(machine.plan.tasks.iter().filter_map(|(task, _)| ratio(task)).collect())
    }
}

/// Processor time of a task's programs, in user space and in the kernel, the median over cells. Its parts are no use:
/// kernels that count ticks tell the sum exactly, and guess how it divides.
fn processor_time(run: &RunRecord, task: &str) -> Option<f64> {
    let values = run.cells.iter().filter_map(|cell| cell.figure(task, &Metric::PROCESSOR));
    median(&values.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(values: &[f64]) -> Speed {
        let ratio = |value: &f64| Ratio { task: "t".into(), machine: 0.1, guest: 0.1 * value };
        Speed::new(values.iter().map(ratio).collect()).unwrap()
    }

    #[test]
    fn a_quick_machine_has_a_pace_and_a_slow_one_a_slower_guest() {
        let quick = speed(&[2.0, 4.0, 9.0]);
        assert_eq!((quick.shift, (quick.pace * 100.0).round()), (0, 400.0));
        let alike = speed(&[0.8, 0.8, 0.9]);
        assert_eq!((alike.shift, (alike.pace * 100.0).round()), (0, 80.0));
        let slow = speed(&[0.1, 0.12, 0.9]);
        assert_eq!((slow.shift, (slow.pace * 100.0).round()), (3, 96.0));
        assert_eq!(Speed::new(Vec::new()), None);
    }
}
