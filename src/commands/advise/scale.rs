//! The scale of a search: as large as the budget lets it be. Figures of little work vary from repeat to repeat, and show what is
//! true of little work.

use anyhow::Result;
use mountmark_model::Metric;

use super::runs::Runs;

/// The scales that are tried first, and those that may be taken.
const PILOTS: [f64; 2] = [0.02, 0.1];
const SCALES: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

/// Seconds of the guest's processor for a cell, of a budget of a second: with 15 minutes, 0.8 seconds, which take this machine some
/// 5. It is no wall time, so that the same command takes the same scale on every machine.
const OF_BUDGET: f64 = 0.8 / 900.0;

/// A cell may take so many times that before a smaller scale is taken.
const TOO_LONG: f64 = 1.5;

impl Runs<'_> {
    /// Chooses the scale, by cells of one configuration, unless the user chose it, or the work has none.
    pub fn choose_scale(&mut self, configuration: &str) -> Result<()> {
        if self.arguments.scale.is_some() || self.arguments.work.suite.is_none() {
            return Ok(());
        }
        let most = self.arguments.budget.as_secs_f64() * OF_BUDGET;
        let Some(first) = self.busy(configuration, PILOTS[0])? else { return Ok(()) };
        if first >= most {
            return Ok(());
        }
        let Some(second) = self.busy(configuration, PILOTS[1])? else { return Ok(()) };
        let slope = ((second - first) / (PILOTS[1] - PILOTS[0])).max(0.0);
        let fits = |scale: &&f64| second + slope * (**scale - PILOTS[1]) <= most;
        let mut at = SCALES.iter().rposition(|scale| fits(&scale)).unwrap_or(0);
        // Work that has a least size grows faster than was foretold.
        while at > 0 && self.busy(configuration, SCALES[at])?.is_none_or(|busy| busy > most * TOO_LONG) {
            at -= 1;
        }
        if self.stopped.is_none() {
            say!("mountmark: the work at scale {}: what the budget has time for; --scale takes another", SCALES[at]);
            self.scale = Some(SCALES[at].to_string());
        }
        Ok(())
    }

    /// Seconds of the guest's processor for a cell at a scale; `None` if it failed.
    fn busy(&mut self, configuration: &str, scale: f64) -> Result<Option<f64>> {
        let Some(run) = self.run(&[configuration.to_owned()], 1, &["--scale", &scale.to_string()], None)? else {
            return Ok(None);
        };
        let Some(cell) = run.cells.first().filter(|cell| cell.outcome.is_ok()) else { return Ok(None) };
        let busy = cell.samples.iter().filter(|sample| sample.metric == Metric::BUSY.id);
        let samples: Vec<f64> = busy.map(|sample| sample.value).collect();
        Ok((!samples.is_empty()).then(|| samples.iter().sum()))
    }
}
