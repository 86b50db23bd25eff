//! Which configurations a mean over pairs leaves out, because they lack figures that others have.

use super::{Design, TaskEffects, ratios};
use crate::figures::find::roles::{Role, has};
use crate::figures::find::series::{Figures, Series};

/// Notes at each effect on a task who is left out of it; at those on all tasks, who is in some task.
pub(super) fn note(design: &Design, figures: &Figures, found: &mut [TaskEffects]) {
    let series: Vec<(&str, &Series)> = main_series(figures).collect();
    for task in found {
        for effect in &mut task.effects {
            let of_task = series
                .iter()
                .filter(|(id, series)| task.task.as_deref().map_or_else(|| is_speed(series), |own| own == *id));
            let mut out: Vec<usize> =
                of_task.flat_map(|(_, series)| design.left_out(effect.factor, effect.level, series)).collect();
            out.sort_unstable();
            out.dedup();
            effect.left_out = out.into_iter().map(|one| figures.configurations[one].clone()).collect();
        }
    }
}

/// The figures by which each test is judged, by the test's name.
pub(super) fn main_series(figures: &Figures) -> impl Iterator<Item = (&str, &Series)> {
    let tests = figures.tasks.iter().filter(|task| !task.step);
    tests.filter_map(|task| Some((task.id.as_str(), task.main()?)))
}

/// Whether the figures are speeds, of which the mean over tasks is one.
pub(super) fn is_speed(series: &Series) -> bool {
    has(series.metric.id, Role::Speed)
}

impl Design {
    /// Positions of configurations that have a partner at the factor's first level, and fewer blocks with it than others.
    fn left_out(&self, factor: usize, level: usize, series: &Series) -> Vec<usize> {
        let mut all = Vec::new();
        for (at, own) in self.levels.iter().enumerate() {
            let Some(own) = own.as_deref().filter(|own| own[factor] == level) else { continue };
            let mut first = own.to_vec();
            first[factor] = 0;
            let base = self.levels.iter().position(|known| known.as_ref() == Some(&first));
            all.extend(base.map(|base| (at, ratios(series, [at, base]).len())));
        }
        let most = all.iter().map(|(_, blocks)| *blocks).max().unwrap_or(0);
        all.into_iter().filter(|(_, blocks)| *blocks < most).map(|(at, _)| at).collect()
    }
}
