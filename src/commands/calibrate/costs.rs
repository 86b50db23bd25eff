//! What a disk's requests took, and what those of a modelled drive must take.

use anyhow::{Context, Result};
use mountmark_analyse::calibrate::figure;
use mountmark_disk::flash::fit::Costs;
use mountmark_model::Metric;
use mountmark_record::RunRecord;

/// The least part of its measured time that a modelled request takes, where the lab's own way to the disk takes all.
const LEAST: f64 = 0.02;

/// What a run of the suite says of its disk. Where there are medians of single requests they are taken, as other
/// programs make some requests wait.
pub fn of(run: &RunRecord) -> Result<Costs> {
    let figure = |task: &str, metric: &Metric| {
        let value = figure(run, task, metric).filter(|value| *value > 0.0);
        value.with_context(|| format!("run {} has no {} of {task}", run.id, metric.title))
    };
    let p50 = |task: &str| figure(task, &Metric::LATENCY_P50);
    let write = p50("random-write")?;
    // A flush has no median of its own: it is what an operation takes more than its write.
    let flush = 1.0 / figure("flush", &Metric::OPERATION_RATE)? - figure("flush", &Metric::LATENCY_MEAN)?;
    let large_write = p50("write")?;
    let left = figure("write", &Metric::SYNC)? / figure("write", &Metric::OPERATIONS)?;
    let seconds = [p50("random-read")?, write, write + flush.max(0.0), p50("read")?, large_write, large_write + left];
    Ok(Costs::new(seconds.map(|seconds| seconds * 1e9)))
}

/// The way from what was measured to a model, in ns.
pub struct Wanted {
    /// On this machine.
    pub measured: Costs,
    /// Seconds of the guest for one of the machine.
    pub pace: f64,
    /// What a guest with the modelled drive should take, in its own time.
    pub guest: Costs,
    /// What the drive takes of that; the rest is the guest's way to its disk.
    pub model: Costs,
}

impl Wanted {
    /// `quick`: what requests take in a guest whose drive takes `drive` of it.
    pub fn new(measured: &Costs, quick: &Costs, drive: &Costs, pace: f64) -> Wanted {
        let guest = measured.values().map(|time| time * pace);
        let way = quick.values().into_iter().zip(drive.values()).map(|(all, drive)| (all - drive).max(0.0));
        let mut model = guest;
        for (time, way) in model.iter_mut().zip(way) {
            *time = (*time - way).max(*time * LEAST);
        }
        Wanted { measured: *measured, pace, guest: Costs::new(guest), model: Costs::new(model) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_the_disk_is_taken_off_and_a_disk_that_is_quicker_than_it_takes_next_to_nothing() {
        let measured = Costs::new([100e3, 20e3, 400e3, 500e3, 600e3, 900e3]);
        let quick = Costs::new([120e3, 60e3, 500e3, 1_300e3, 2_500e3, 2_500e3]);
        let drive = Costs::new([80e3, 20e3, 440e3, 340e3, 420e3, 420e3]);
        let wanted = Wanted::new(&measured, &quick, &drive, 3.0);
        let whole = |costs: &Costs| costs.values().map(|time| (time / 1e3).round());
        assert_eq!(whole(&wanted.guest), [300.0, 60.0, 1_200.0, 1_500.0, 1_800.0, 2_700.0]);
        assert_eq!(whole(&wanted.model), [260.0, 20.0, 1_140.0, 540.0, 36.0, 620.0]);
    }
}
