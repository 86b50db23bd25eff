//! What a disk's requests took, and what those of a modelled drive must take.

use anyhow::{Context, Result};
use mountmark_disk::flash::fit::Costs;
use mountmark_model::Metric;
use mountmark_record::{CellRecord, RunRecord};

/// What a run of the suite says of its disk: the least over its cells, and in each the median of single requests where
/// there is one, as other programs make some requests wait, and none shorter.
pub fn of(run: &RunRecord) -> Result<Costs> {
    let mut least = [f64::INFINITY; 6];
    for cell in &run.cells {
        let values = of_cell(cell).with_context(|| format!("run {}", run.id))?;
        for (least, value) in least.iter_mut().zip(values) {
            *least = least.min(value);
        }
    }
    Ok(Costs::new(least))
}

fn of_cell(cell: &CellRecord) -> Result<[f64; 6]> {
    let figure = |task: &str, metric: &Metric| {
        let value = cell.figure(task, metric).filter(|value| *value > 0.0);
        value.with_context(|| format!("there is no {} of {task}", metric.title))
    };
    let p50 = |task: &str| figure(task, &Metric::LATENCY_P50);
    let write = p50("random-write")?;
    // A flush has no median of its own: it is what an operation takes more than its write.
    let flush = 1.0 / figure("flush", &Metric::OPERATION_RATE)? - figure("flush", &Metric::LATENCY_MEAN)?;
    let large_write = p50("write")?;
    let left = figure("write", &Metric::SYNC)? / figure("write", &Metric::OPERATIONS)?;
    let seconds = [p50("random-read")?, write, write + flush.max(0.0), p50("read")?, large_write, large_write + left];
    Ok(seconds.map(|seconds| seconds * 1e9))
}

/// The way from what was measured to a model, in ns.
pub struct Wanted {
    /// On this machine.
    pub measured: Costs,
    /// Seconds of the guest for one of the machine.
    pub pace: f64,
    /// What a guest with the modelled drive should take, in its own time.
    pub guest: Costs,
    /// What the guest's way to its disk takes of that.
    pub way: Costs,
}

impl Wanted {
    /// `quick`: what requests take in a guest whose drive takes `drive` of it.
    pub fn new(measured: &Costs, quick: &Costs, drive: &Costs, pace: f64) -> Wanted {
        let guest = measured.values().map(|time| time * pace);
        let mut way = quick.values();
        for (time, drive) in way.iter_mut().zip(drive.values()) {
            *time = (*time - drive).max(0.0);
        }
        Wanted { measured: *measured, pace, guest: Costs::new(guest), way: Costs::new(way) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_guests_and_the_way_is_what_its_drive_does_not_take() {
        let measured = Costs::new([100e3, 20e3, 400e3, 500e3, 600e3, 900e3]);
        let quick = Costs::new([120e3, 60e3, 500e3, 1_300e3, 2_500e3, 2_500e3]);
        let drive = Costs::new([80e3, 20e3, 440e3, 340e3, 420e3, 420e3]);
        let wanted = Wanted::new(&measured, &quick, &drive, 3.0);
        let whole = |costs: &Costs| costs.values().map(|time| (time / 1e3).round());
        assert_eq!(whole(&wanted.guest), [300.0, 60.0, 1_200.0, 1_500.0, 1_800.0, 2_700.0]);
        assert_eq!(whole(&wanted.way), [40.0, 40.0, 60.0, 960.0, 2_080.0, 2_080.0]);
    }
}
