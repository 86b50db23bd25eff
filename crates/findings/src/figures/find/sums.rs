//! Metrics that are sums of others ([`Metric::sum_of`]), computed where a cell has both.

use std::collections::HashMap;

use mountmark_model::Metric;

use crate::figures::find::series::CellFigure;

/// A metric that is wanted and is the sum of two, by positions in [`Metric::ALL`].
pub(crate) struct Sum {
    pub at: usize,
    pub parts: [usize; 2],
}

/// The sums among the wanted metrics; `wanted` as [`Metric::ALL`].
pub(crate) fn wanted(wanted: &[bool]) -> Vec<Sum> {
    let position = |metric: Metric| Metric::ALL.iter().position(|known| known.id == metric.id).unwrap_or_default();
    let metrics = Metric::ALL.iter().enumerate().filter(|(at, _)| wanted[*at]);
    metrics.filter_map(|(at, metric)| Some(Sum { at, parts: metric.sum_of()?.map(position) })).collect()
}

impl Sum {
    /// Computes a task's figures of the sum, unless it was measured itself; whether there are any now. `slots` as
    /// [`Metric::ALL`]: by configuration the figures, in cell order.
    pub fn fill(&self, slots: &mut [Vec<Vec<CellFigure>>]) -> bool {
        if slots[self.at].is_empty() {
            let [one, other] = self.parts;
            let sums: Vec<Vec<CellFigure>> =
                slots[one].iter().zip(&slots[other]).map(|(one, other)| add(one, other)).collect();
            if sums.iter().any(|sums| !sums.is_empty()) {
                slots[self.at] = sums;
            }
        }
        !slots[self.at].is_empty()
    }
}

fn add(one: &[CellFigure], other: &[CellFigure]) -> Vec<CellFigure> {
    let others: HashMap<u32, &CellFigure> = other.iter().map(|other| (other.cell, other)).collect();
    let sum = |figure: &CellFigure| {
        let other = others.get(&figure.cell)?;
        let both = |(iteration, value): (u32, f64)| {
            let (_, second) = other.values().find(|(known, _)| *known == iteration)?;
            Some((iteration, value + second))
        };
        let mut values = figure.values().filter_map(both);
        let CellFigure { cell, repeat, sitting, .. } = *figure;
        Some(CellFigure { cell, repeat, sitting, mean: 0.0, first: values.next()?, more: values.collect() })
    };
    one.iter().filter_map(sum).collect()
}
