//! The columns that a suite names: one figure of each configuration, of one task.

use mountmark_model::{Column, Metric};

use crate::found::Findings;

impl Findings {
    /// The metric of a column that is no ratio.
    ///
    /// `None` if it is a ratio, or if nothing was measured.
    pub fn column_metric(&self, column: &Column) -> Option<&'static Metric> {
        let task = self.tasks.iter().find(|task| task.id == column.task)?;
        let metric = task.figures(Metric::find(&column.metric)?)?.metric;
        column.per.is_none().then_some(metric)
    }

    /// A column's figure of a configuration: the median over repeats; of a ratio the quotient of two medians. `None` if
    /// it was not measured.
    pub fn column(&self, column: &Column, configuration: usize) -> Option<f64> {
        let task = self.tasks.iter().find(|task| task.id == column.task)?;
        let median = |id: &str| task.median(Metric::find(id)?, configuration);
        let value = median(&column.metric)?;
        match &column.per {
            None => Some(value),
            Some(per) => median(per).filter(|per| *per > 0.0).map(|per| value / per),
        }
    }
}
