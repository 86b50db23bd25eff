//! The figures of a run for the page's script: each task by each metric, once, in few bytes.

use mountmark_model::{Better, Metric, Unit};
use serde::{Serialize, Serializer};

use super::matrix::{MIXED, adds_up, caption_text};
use super::view::{View, best, figures, shown};

/// What the script reads.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    /// What the ids of this run's elements begin with.
    id: String,
    configurations: &'a [String],
    baseline: usize,
    metrics: Vec<MetricData>,
    tasks: Vec<TaskData<'a>>,
    /// For tests with different metrics: the caption of the matrix by what each is judged by.
    mixed: &'static str,
    /// `[configuration, task, word]` for figures that are missing for a reason.
    absent: Vec<(usize, usize, &'static str)>,
}

#[derive(Serialize)]
struct MetricData {
    id: &'static str,
    caption: String,
    unit: &'static str,
    /// The way of writing: `s`, `B`, `%`, `n`, `r` or `k` (a rate).
    kind: char,
    /// Whether more is better.
    more: bool,
    sums: bool,
}

#[derive(Serialize)]
struct TaskData<'a> {
    id: &'a str,
    title: &'a str,
    step: bool,
    /// Position in `metrics` of what it is judged by.
    judged: Option<usize>,
    /// What its rate counts, where it has one: `KiB/s` or `1/s`.
    rate: Option<&'static str>,
    figures: Vec<Figures>,
}

/// `[metric, medians, ratios, best]`; `ratios` is empty where each is the quotient of the medians.
#[derive(Serialize)]
struct Figures(usize, Vec<Option<Short>>, Vec<Option<Short>>, Vec<usize>);

/// A number with one digit more than readers are shown, or as many as it takes that the script writes it as the program
/// does.
#[derive(Clone, Copy, PartialEq)]
struct Short(f64);

impl Short {
    fn new(value: f64, digits: usize) -> Option<Short> {
        // Rounded twice, a number may come out otherwise than rounded once: never to a 5 that is not there.
        let tie = |text: &str| text.split('e').next().unwrap_or(text).trim_end_matches('0').ends_with('5');
        let texts = (digits - 1..17).map(|decimals| format!("{value:.decimals$e}"));
        let short = texts.filter(|text| !tie(text)).find_map(|text| text.parse().ok()).unwrap_or(value);
        short.is_finite().then_some(Short(short))
    }
}

/// Digits of ratios.
const RATIO: usize = 4;

/// Digits of a figure: counts and rates are shown in full, up to six.
fn digits(metric: &Metric) -> usize {
    match metric.unit {
        Unit::Seconds | Unit::Bytes => 4,
        Unit::Percent | Unit::Ratio => 5,
        Unit::Count | Unit::KibPerSecond | Unit::PerSecond | Unit::Throughput => 6,
    }
}

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `12` for `12.0`.
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// The data of a run.
pub(super) fn data<'a>(view: &View<'a>) -> Data<'a> {
    let findings = view.findings();
    let known: Vec<&'static Metric> =
        Metric::ALL.iter().filter(|metric| findings.tasks.iter().any(|task| figures(task, metric).is_some())).collect();
    let position = |metric: &Metric| known.iter().position(|other| other.id == metric.id);
    let metrics = known
        .iter()
        .map(|metric| MetricData {
            id: metric.id,
            caption: caption_text(metric),
            unit: metric.unit_text(),
            kind: match metric.unit {
                Unit::Seconds => 's',
                Unit::Bytes => 'B',
                Unit::Percent => '%',
                Unit::Count => 'n',
                Unit::Ratio => 'r',
                Unit::KibPerSecond | Unit::PerSecond | Unit::Throughput => 'k',
            },
            more: metric.better == Better::Higher,
            sums: adds_up(metric),
        })
        .collect();
    let mut absent = Vec::new();
    let tasks = findings
        .tasks
        .iter()
        .enumerate()
        .map(|(number, task)| {
            for configuration in 0..findings.configurations.len() {
                let word = view.absent(configuration, &task.id);
                if word != "–" {
                    absent.push((configuration, number, word));
                }
            }
            let rate = figures(task, &Metric::RATE).map(|found| found.metric.unit_text());
            let figures = task.metrics.iter().filter_map(|found| {
                let digits = digits(found.metric);
                let medians: Vec<Option<Short>> = found
                    .estimates
                    .iter()
                    .map(|estimate| Short::new(estimate.as_ref()?.summary.median, digits))
                    .collect();
                let ratios: Vec<Option<Short>> =
                    found.estimates.iter().map(|estimate| Short::new(estimate.as_ref()?.ratio?, RATIO)).collect();
                let base = found.estimates.get(findings.baseline).and_then(Option::as_ref);
                let base = base.map_or(f64::NAN, |estimate| estimate.summary.median);
                let is_quotient = found.estimates.iter().zip(&ratios).all(|(estimate, ratio)| {
                    let (Some(estimate), Some(ratio)) = (estimate, ratio) else { return true };
                    (estimate.summary.median / base / ratio.0 - 1.0).abs() < 1e-3
                });
                let ratios = if is_quotient { Vec::new() } else { ratios };
                Some(Figures(position(found.metric)?, medians, ratios, best(found)))
            });
            TaskData {
                id: &task.id,
                title: if task.title == task.id { "" } else { &task.title },
                step: task.step,
                judged: shown(task, view.main()).and_then(|found| position(found.metric)),
                rate,
                figures: figures.collect(),
            }
        })
        .collect();
    Data {
        id: view.id(""),
        configurations: &findings.configurations,
        baseline: findings.baseline,
        metrics,
        tasks,
        mixed: MIXED,
        absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_written_as_the_long_ones() {
        for step in 1..200_000 {
            let value = f64::from(step).powf(1.5) * 1.234_567e-7;
            let short = Short::new(value, 4).expect("a number").0;
            for decimals in 0..3 {
                assert_eq!(format!("{short:.decimals$e}"), format!("{value:.decimals$e}"), "{short} for {value}");
            }
        }
        assert_eq!(Short::new(0.5, 4).map(|short| short.0), Some(0.5));
        assert_eq!(Short::new(f64::NAN, 4).map(|short| short.0), None);
    }
}
