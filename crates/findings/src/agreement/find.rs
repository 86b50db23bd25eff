//! How far the virtual lab's orders agree with a real machine's: two runs of one work, one under each clock.
//!
//! What counts is the order of configurations, task by task, since times of a model are those of another machine. The
//! machine's run says which pairs of configurations are told apart at all (its verdicts); of those the model must have
//! the order. A model's pair that is closer than the smallest difference that matters has no order.

use mountmark_model::{Better, MachineAgreement, Metric, Side, SuiteAgreement, TaskAgreement};
use mountmark_record::RunRecord;
use mountmark_stats::summary::{geometric_mean, median};
use serde::Serialize;

use crate::changes::find::differences;
use crate::changes::find::differences::{Difference, joined, kernel};
use crate::figures::find::metric_id;
use crate::figures::find::series::{Figures, Series, Task};
use crate::options::Options;
use crate::robustness::find::corner::Survival;
use crate::robustness::find::{Known, Robustness, TaskOrders, robustness};
use crate::studies::find::Agreement;
use crate::verdicts::find::{Family, told_apart};

/// Two runs of one work, the model's and the machine's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelAgreement {
    pub model: String,
    pub machine: String,
    /// What differs between the runs, the model's side first.
    pub differences: Vec<Difference>,
    /// Those that both runs have figures of.
    pub configurations: Vec<String>,
    /// Protocol steps and tasks that both runs judge by one metric.
    pub tasks: Vec<AgreedTask>,
    /// The median of tau over the suite's tasks of which the machine tells pairs apart; `None` if there is none.
    pub tau: Option<f64>,
    /// Of the orders in the suite's tasks that the model's run marks as holding on real machines; `None` if it ran without
    /// the profiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<Marked>,
    /// The same as it is kept in the catalogue.
    #[serde(skip)]
    pub kept: SuiteAgreement,
}

/// One task in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreedTask {
    pub title: String,
    /// Whether it is a protocol step, not part of the suite.
    pub step: bool,
    #[serde(serialize_with = "metric_id")]
    pub metric: &'static Metric,
    /// By configuration: medians of the model and of the machine.
    pub figures: Vec<(Option<f64>, Option<f64>)>,
    /// Of the orders of these medians.
    pub agreement: Agreement,
    /// Pairs that the machine tells apart and the model has in reverse order, the one that is better on the machine
    /// first: indices of configurations.
    pub reversed: Vec<(usize, usize)>,
    #[serde(flatten)]
    pub counts: TaskAgreement,
    /// Of its orders that the model's run marks as holding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<Marked>,
}

/// Orders that the model's run marks as holding for every machine in a range of costs, on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Marked {
    /// How many there are.
    pub orders: usize,
    /// Of these, pairs that the machine tells apart.
    pub told: usize,
    /// Of those, pairs in that order.
    pub same: usize,
}

/// Why two runs cannot be set side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The first is no run of the virtual lab.
    NoModel,
    /// The second is a run of the virtual lab too.
    NoMachine,
    /// No configuration is in both.
    NothingCommon,
}

/// Sets a run of the virtual lab beside one of a real machine.
///
/// # Errors
/// Runs of which this says nothing. Whether they did the same work is for [`crate::incomparable`].
pub fn model_agreement(model: &RunRecord, machine: &RunRecord, options: &Options) -> Result<ModelAgreement, Unfit> {
    match (model.plan.lab.capabilities().exact_clock, machine.plan.lab.capabilities().exact_clock) {
        (false, _) => return Err(Unfit::NoModel),
        (_, true) => return Err(Unfit::NoMachine),
        (true, false) => {}
    }
    let sides = [Figures::new(model, options), Figures::new(machine, options)];
    let place = |side: &Figures, name: &String| side.configurations.iter().position(|known| known == name);
    let has_figures = |side: &Figures, at: usize| {
        side.tasks.iter().flat_map(|task| &task.series).any(|series| series.median(at).is_some())
    };
    let common: Vec<[usize; 2]> = (sides[0].configurations.iter())
        .filter_map(|name| Some([place(&sides[0], name)?, place(&sides[1], name)?]))
        .filter(|[left, right]| has_figures(&sides[0], *left) && has_figures(&sides[1], *right))
        .collect();
    if common.is_empty() {
        return Err(Unfit::NothingCommon);
    }
    let family = Family::new(&sides[1], options);
    let holding = robustness(model, &sides[0], &Family::new(&sides[0], options), options);
    let holding = holding.filter(|found| found.known == Known::Classes);
    let together = Together { sides: &sides, common: &common, family: &family, holding: holding.as_ref(), options };
    let all = sides[0].tasks.iter();
    let tasks: Vec<AgreedTask> = all
        .filter_map(|task| Some((task, sides[1].tasks.iter().position(|other| other.id == task.id)?)))
        .filter_map(|(task, other)| together.task(task, other))
        .collect();
    let told = tasks.iter().filter(|task| !task.step && task.counts.told > 0);
    let taus: Vec<f64> = told.filter_map(|task| task.agreement.tau).collect();
    let marked = tasks.iter().filter(|task| !task.step).filter_map(|task| task.marked.as_ref());
    let marked = marked.fold(Marked::default(), |sum, task| Marked {
        orders: sum.orders + task.orders,
        told: sum.told + task.told,
        same: sum.same + task.same,
    });
    let configurations: Vec<String> = common.iter().map(|[at, _]| sides[0].configurations[*at].clone()).collect();
    let counted = tasks.iter().filter(|task| !task.step).map(|task| task.counts.clone());
    Ok(ModelAgreement {
        model: model.id.to_string(),
        machine: machine.id.to_string(),
        differences: differences(model, machine),
        marked: holding.map(|_| marked),
        kept: SuiteAgreement {
            suite: machine.plan.suite.clone(),
            scale: machine.plan.scale,
            configurations: configurations.clone(),
            model: Side { machine: model.plan.machine.name.clone(), ..side(model) },
            machine: side(machine),
            tasks: counted.collect(),
        },
        configurations,
        tasks,
        tau: median(&taus),
    })
}

fn side(run: &RunRecord) -> Side {
    Side {
        machine: run.environment.host_cpu.clone(),
        disk: joined(run.cells.iter().map(|cell| cell.disk.clone())),
        kernel: kernel(run),
        program: run.program.clone(),
        repeats: run.plan.repeats,
    }
}

/// What the tasks of two runs are compared with.
struct Together<'a> {
    /// The model's and the machine's.
    sides: &'a [Figures; 2],
    /// Places of common configurations on both sides.
    common: &'a [[usize; 2]],
    /// Of the machine.
    family: &'a Family,
    /// Of the model.
    holding: Option<&'a Robustness>,
    options: &'a Options,
}

impl Together<'_> {
    /// `other` is the machine's task of the same id. `None` if the two are not judged by one metric.
    fn task(&self, task: &Task, other: usize) -> Option<AgreedTask> {
        let series = task.main()?;
        let theirs = self.sides[1].tasks[other].main().filter(|theirs| theirs.metric.id == series.metric.id)?;
        let medians = |[left, right]: &[usize; 2]| (series.median(*left), theirs.median(*right));
        let figures: Vec<(Option<f64>, Option<f64>)> = self.common.iter().map(medians).collect();
        let pairs: Vec<(f64, f64)> = figures.iter().filter_map(|(left, right)| left.zip(*right)).collect();
        let mut counts = TaskAgreement {
            task: task.id.clone(),
            tau: None,
            told: 0,
            same: 0,
            reversed: 0,
            factor: factor(&pairs),
            processor: None,
        };
        counts.processor = self.processor(task, &self.sides[1].tasks[other]);
        let agreement = Agreement::of(&pairs);
        counts.tau = agreement.tau;
        let mut reversed = Vec::new();
        let told = self.told(other, theirs);
        let marked = self.holding.map(|found| self.marked(found.task(&task.id), &told));
        for (better, worse) in told {
            let Some(ahead) = ahead(series.metric.better, &figures, better, worse) else { continue };
            counts.told += 1;
            if ahead >= self.options.ln_matters() {
                counts.same += 1;
            } else if -ahead >= self.options.ln_matters() {
                counts.reversed += 1;
                reversed.push((better, worse));
            }
        }
        let (title, step) = (task.title.clone(), task.step);
        Some(AgreedTask { title, step, metric: series.metric, figures, agreement, reversed, counts, marked })
    }

    /// `told`: as places in `common`, the better one on the machine first.
    fn marked(&self, orders: Option<&TaskOrders>, told: &[(usize, usize)]) -> Marked {
        let place = |one: usize| self.common.iter().position(|[left, _]| *left == one);
        let mut out = Marked::default();
        for pair in orders.iter().flat_map(|orders| &orders.pairs).filter(|pair| pair.survival == Survival::Holds) {
            let (Some(better), Some(worse)) = (place(pair.better), place(pair.worse)) else { continue };
            let (is_same, is_reverse) = (told.contains(&(better, worse)), told.contains(&(worse, better)));
            out.orders += 1;
            out.told += usize::from(is_same || is_reverse);
            out.same += usize::from(is_same);
        }
        out
    }

    /// Of processor times, as [`factor`] of figures.
    fn processor(&self, task: &Task, other: &Task) -> Option<f64> {
        let (model, machine) = (task.series(&Metric::PROCESSOR)?, other.series(&Metric::PROCESSOR)?);
        let both = |[left, right]: &[usize; 2]| model.median(*left).zip(machine.median(*right));
        factor(&self.common.iter().filter_map(both).collect::<Vec<_>>())
    }

    /// Pairs that the machine tells apart, the better one first, as places in `common`.
    fn told(&self, task: usize, series: &Series) -> Vec<(usize, usize)> {
        let Some(judged) = self.family.find(task, series.metric.id) else { return Vec::new() };
        let place = |one: usize| self.common.iter().position(|[_, right]| *right == one);
        let told = told_apart(series, judged, self.options).into_iter();
        told.filter_map(|(better, worse)| Some((place(better)?, place(worse)?))).collect()
    }
}

/// By which logarithm of a factor the model has `better` ahead of `worse`; `None` without figures.
fn ahead(way: Better, figures: &[(Option<f64>, Option<f64>)], better: usize, worse: usize) -> Option<f64> {
    let ratio = figures[worse].0? / figures[better].0?;
    let log = if way == Better::Lower { libm::log(ratio) } else { -libm::log(ratio) };
    (!log.is_nan()).then_some(log)
}

/// Geometric mean of the machine's figures over the model's.
fn factor(pairs: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = pairs.iter().map(|(model, machine)| machine / model).collect();
    geometric_mean(&ratios).filter(|factor| factor.is_finite())
}

/// What is known about a suite of the virtual lab from real machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Names of the machines that ran it.
    pub machines: Vec<String>,
    /// Tasks of which a machine tells configurations apart.
    pub told: usize,
    /// Of these, tasks in which the model misleads.
    pub misleads: Vec<String>,
}

impl Trust {
    /// Of all machines together: counts of pairs are added up.
    pub fn of(run: &RunRecord, accords: &[MachineAgreement]) -> Trust {
        let mut sums: Vec<TaskAgreement> = Vec::new();
        let mut machines = Vec::new();
        for accord in accords {
            let Some(suite) = accord.suites.iter().find(|suite| suite.suite == run.plan.suite) else { continue };
            machines.push(accord.name.clone());
            for task in &suite.tasks {
                match sums.iter_mut().find(|sum| sum.task == task.task) {
                    Some(sum) => {
                        (sum.told, sum.same) = (sum.told + task.told, sum.same + task.same);
                        sum.reversed += task.reversed;
                    }
                    None => sums.push(task.clone()),
                }
            }
        }
        let told = sums.iter().filter(|sum| sum.told > 0).count();
        let misleads = sums.iter().filter(|sum| sum.agrees() == Some(false)).map(|sum| sum.task.clone());
        Trust { machines, told, misleads: misleads.collect() }
    }
}
