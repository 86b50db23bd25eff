//! Everything that was found in a run, as plain data.

use mountmark_model::Metric;
use serde::Serialize;

use crate::curves::find::Curves;
use crate::dependence::find::Dependence;
use crate::doubts::find::Doubt;
use crate::effects::find::Effects;
use crate::figures::find::{TaskFindings, Total, best_as_printed, metric_id, sums};
use crate::missing::find::Missing;
use crate::overview::find::Conclusion;
use crate::rankings::find::rank::{CategoryFindings, Overall};
use crate::remarks::find::Remark;
use crate::robustness::find::Robustness;
use crate::safety::find::AfterCut;

/// What was found in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// The run's name.
    pub run: String,
    /// Configuration names in the user's order.
    pub configurations: Vec<String>,
    /// Their headings, in the same order: what people read.
    pub headings: Vec<String>,
    /// Index of the configuration that ratios refer to.
    pub baseline: usize,
    /// Cells of each configuration in the plan.
    pub repeats: u32,
    /// Repeats that have cells: fewer than planned where a run was interrupted.
    #[serde(skip)]
    pub measured: usize,
    /// Confidence of intervals, as requested: 0.95.
    pub level: f64,
    /// The smallest relative difference that matters, as requested: 0.01.
    pub matters: f64,
    /// The metric by which most tasks are judged; in most suites all of them.
    #[serde(serialize_with = "metric_id")]
    pub main: &'static Metric,
    /// Protocol steps and tasks in execution order: mkfs, mount, the suite's tasks, umount, capacity.
    #[serde(skip)]
    pub tasks: Vec<TaskFindings>,
    #[serde(skip)]
    pub categories: Vec<CategoryFindings>,
    #[serde(skip)]
    pub overall: Overall,
    /// By configuration.
    #[serde(skip)]
    pub safety: Vec<AfterCut>,
    /// The most important first.
    #[serde(skip)]
    pub conclusions: Vec<Conclusion>,
    /// The curves over the parameter that the plan varies; `None` if it varies none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<Curves>,
    /// What each factor changes; `None` if none were crossed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Whether orders hold on real machines; `None` if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robustness: Option<Robustness>,
    /// Samples that a robust test finds to be outliers.
    pub doubts: Vec<Doubt>,
    /// Cells and tasks without a figure, and the reasons.
    #[serde(skip)]
    pub missing: Vec<Missing>,
    /// Limits of the findings.
    #[serde(skip)]
    pub remarks: Vec<Remark>,
}

impl Findings {
    /// The figures by which tasks are judged that depend on conditions, with their configurations.
    pub fn dependent(&self) -> impl Iterator<Item = (&TaskFindings, usize, &Dependence)> {
        let judged = self.tasks.iter().filter_map(|task| Some((task, task.judged()?)));
        judged.flat_map(|(task, judged)| judged.dependences().map(move |(one, found)| (task, one, found)))
    }

    /// The suite's tasks, without protocol steps.
    pub fn suite(&self) -> impl Iterator<Item = &TaskFindings> {
        self.tasks.iter().filter(|task| !task.step)
    }

    /// The sum of a metric's medians over the suite's tasks that have it and are accepted by `wanted`; no sums of a metric
    /// that does not add up.
    pub fn total(&self, metric: &Metric, wanted: impl Fn(&TaskFindings) -> bool) -> Total {
        let tasks = self.suite().filter(|task| metric.adds_up() && wanted(task));
        let tasks: Vec<_> = tasks.filter_map(|task| task.figures(metric)).collect();
        let sums = sums(&tasks, self.configurations.len());
        let base = sums.get(self.baseline).copied().flatten().filter(|base| *base > 0.0);
        let ratios = sums.iter().map(|sum| Some((*sum)? / base?)).collect();
        let best = best_as_printed(metric, &sums);
        Total { tasks: tasks.len(), sums, ratios, best }
    }
}
