//! The judged figures of a run, for programs that watch them over time.

use mountmark_document::forms::Gauge;
use mountmark_model::{Better, Metric, heading};
use mountmark_stats::summary::median;

use crate::figures::find::series::Figures;
use crate::options::Options;
use crate::run::show::Run;

/// One for each task on each configuration, by what it is judged by: the median over repeats.
pub(crate) fn gauges(subject: &Run) -> Vec<Gauge> {
    let figures = Figures::new(subject.run, &Options { resamples: 0, ..Options::default() });
    let mut out = Vec::new();
    for (at, configuration) in figures.configurations.iter().enumerate() {
        for task in &figures.tasks {
            let chosen: Vec<&Metric> =
                subject.metric.map_or_else(|| task.judged().iter().collect(), |metric| vec![metric]);
            for series in chosen.into_iter().filter_map(|metric| task.series(metric)) {
                let values = series.figures(at);
                let Some(value) = median(&values) else { continue };
                let ends = values
                    .iter()
                    .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], one| [low.min(*one), high.max(*one)]);
                out.push(Gauge {
                    name: format!("{}/{}", heading(configuration), task.id),
                    measure: series.metric.id.to_owned(),
                    unit: series.metric.unit_text().to_owned(),
                    value,
                    range: ends,
                    is_lower_better: series.metric.better == Better::Lower,
                });
            }
        }
    }
    out
}
