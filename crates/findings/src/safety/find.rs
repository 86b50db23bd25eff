//! What the figures of a configuration stand for when the power fails.

pub(crate) mod column;
pub(crate) mod survive;

use mountmark_model::promises::{Level, Promises, SyncedLost};
use mountmark_model::{Configuration, DiskModel, KnownFault, Metric, Seen};
use mountmark_record::RunRecord;
use serde::Serialize;

use crate::figures::find::series::{Figures, Task};

/// What the syncs of a configuration are worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AfterCut {
    /// What its documents promise of the time after a power cut.
    pub promises: Promises,
    /// Why that is the least that any file system owes, if so.
    pub undocumented: Option<String>,
    /// The most files of a returned fsync that a power cut of this run took; 0 if none was taken or none was tried.
    pub lost: f64,
    /// The same of another run, as the catalogue has it of this kernel's series; `None` if the disk has no volatile cache.
    pub known: Option<SyncedLost>,
    /// Whether that was measured without the layers that lie below it here.
    pub without_layers: bool,
    /// The most flushes and writes with FUA that a task with syncs sent to the device. `None` if no task has syncs, or the
    /// disk has no volatile cache.
    pub flushes: Option<f64>,
    /// Promises that power cuts showed to be broken on kernels of this series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<BrokenPromise>,
}

/// A promise that its documents make, and that power cuts showed to be broken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BrokenPromise {
    /// The promise.
    pub level: Level,
    /// What happens, a clause.
    pub about: String,
    /// The kernel on which it was seen.
    pub release: String,
    /// The day.
    pub date: String,
}

impl AfterCut {
    /// Whether a power cut took files whose fsync had returned, or takes them, as nothing asks the disk to keep them.
    pub fn loses_synced(&self) -> bool {
        self.lost > 0.0 || self.flushes == Some(0.0) || self.known.as_ref().is_some_and(|known| known.files > 0)
    }
}

/// Figures by which it is seen what syncs are worth.
pub(crate) const SHOWING: [&Metric; 3] = [&Metric::FLUSHES, &Metric::FUA_WRITES, &Metric::LOST];

/// By configuration.
pub(crate) fn safety(run: &RunRecord, figures: &Figures) -> Vec<AfterCut> {
    let flushes = |at: usize| {
        let synced = figures.tasks.iter().filter(|task| task.syncs());
        let of_task = |task: &Task| {
            let metrics = [Metric::FLUSHES, Metric::FUA_WRITES];
            let all = metrics.iter().filter_map(|metric| task.series(metric)).map(|series| series.figures(at));
            all.filter_map(|figures| figures.into_iter().reduce(f64::max)).reduce(|one, other| one + other)
        };
        synced.filter_map(of_task).reduce(f64::max)
    };
    let flushes: Vec<Option<f64>> = (0..figures.configurations.len()).map(flushes).collect();
    // Of a real disk it is known by what some file system sends to it.
    let is_volatile = match run.plan.lab.capabilities().exact_clock {
        true => run.plan.cells.iter().any(|cell| cell.disk.models().any(DiskModel::has_volatile_cache)),
        false => flushes.iter().flatten().any(|sent| *sent > 0.0),
    };
    let one = |(at, name): (usize, &String)| {
        let configuration = run.plan.configuration(name);
        let (promises, undocumented) = configuration.map_or_else(|| (Promises::least(), None), Configuration::promises);
        let release = run.cells.iter().find(|cell| cell.configuration == *name).map(|cell| &cell.environment.kernel);
        let both = configuration.zip(release);
        let known = both.and_then(|(configuration, release)| catalogued(configuration, release));
        let seen = |fault: &KnownFault| {
            let (configuration, release) = both?;
            let Seen { release, date, .. } = fault.of(configuration, release)?.clone();
            Some(BrokenPromise { level: fault.level, about: fault.about.clone(), release, date })
        };
        let without_layers = configuration.is_some_and(is_layered);
        let cuts = figures.tasks.iter().filter_map(|task| task.series(&Metric::LOST));
        let lost = cuts.flat_map(|series| series.figures(at)).fold(0.0, f64::max);
        AfterCut {
            promises,
            undocumented,
            lost,
            known: known.filter(|_| is_volatile).cloned(),
            without_layers,
            flushes: flushes[at].filter(|_| is_volatile),
            faults: run.plan.known_faults.iter().filter_map(seen).collect(),
        }
    };
    figures.configurations.iter().enumerate().map(one).collect()
}

fn is_layered(configuration: &Configuration) -> bool {
    let base = configuration.base();
    !base.layers.is_empty() || base.own_disks.is_some()
}

/// What the catalogue knows of a configuration, measured on one disk. A layer may hold a flush back: that nothing was lost
/// without it says nothing of it.
fn catalogued<'a>(configuration: &'a Configuration, release: &str) -> Option<&'a SyncedLost> {
    configuration.synced_lost(release).filter(|known| known.files > 0 || !is_layered(configuration))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_lost_on_one_disk_says_nothing_of_several() {
        let mut configuration = crate::tests::run(&["ext4"], 1).plan.cells[0].configuration.clone();
        configuration.mount_options.clear();
        for (files, disks, is_known) in [(0, None, true), (0, Some(2), false), (98, None, true), (98, Some(2), true)] {
            let known =
                json!([{"kernel": "6.12", "release": "6.12.117", "date": "2026-11-27", "files": files, "of": 100}]);
            configuration.filesystem.synced_lost = serde_json::from_value(known).unwrap();
            configuration.own_disks = disks;
            assert_eq!(catalogued(&configuration, "6.12.57").is_some(), is_known, "{files} {disks:?}");
        }
    }
}
