//! What the figures of a configuration stand for when the power fails.

pub(crate) mod column;

use mountmark_model::promises::Promises;
use mountmark_model::{Configuration, Metric};
use mountmark_record::RunRecord;

use crate::figures::find::series::Figures;

#[derive(Clone, Debug, PartialEq)]
pub struct AfterCut {
    /// What its documents promise of the time after a power cut.
    pub promises: Promises,
    /// Why that is the least that any file system owes, if so.
    pub undocumented: Option<String>,
    /// The most files of a returned fsync that a power cut of this run took; 0 if none was taken or none was tried.
    pub lost: f64,
}

/// By configuration.
pub(crate) fn safety(run: &RunRecord, figures: &Figures) -> Vec<AfterCut> {
    let one = |(at, name): (usize, &String)| {
        let mut planned = run.plan.cells.iter().map(|cell| &cell.configuration);
        let documented = planned.find(|configuration| configuration.name == *name).map(Configuration::promises);
        let (promises, undocumented) = documented.unwrap_or_else(|| (Promises::least(), None));
        let cuts = figures.tasks.iter().filter_map(|task| task.series(&Metric::LOST));
        let lost = cuts.flat_map(|series| series.figures(at)).fold(0.0, f64::max);
        AfterCut { promises, undocumented, lost }
    };
    figures.configurations.iter().enumerate().map(one).collect()
}
