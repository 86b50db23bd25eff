//! Reads the figures of a run from its cells.
//!
//! Figures of a task that failed or was skipped in a cell do not count, whatever else succeeded in that cell.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mountmark_model::{Metric, MetricFinder, protocol_task};
use mountmark_record::{CellRecord, RunRecord};
use mountmark_stats::summary::{mean, median};

use crate::figures::find::basis::Category;
use crate::figures::find::series::{Absurd, CellFigure, Figures, Series, Task, sitting};
use crate::figures::find::{rate, sums};
use crate::group::each_once;
use crate::missing::find::gather as missing;
use crate::options::Options;

impl Figures {
    pub fn new(run: &RunRecord, options: &Options) -> Figures {
        let names = configurations(run);
        let blocks: Vec<(u32, u32)> =
            run.cells.iter().map(|cell| (cell.repeat, sitting(cell))).collect::<BTreeSet<_>>().into_iter().collect();
        let mut tasks = tasks(run);
        let mut missing = Vec::new();
        missing.extend(missing::cells(run, &names));
        missing.extend(missing::outcomes(run, &tasks));
        let mut absurd = BTreeMap::new();
        for (task, metric, cells) in gather(run, &names, &mut tasks, options, &mut absurd) {
            let of_configuration = |cells: &Vec<CellFigure>| {
                let mut means: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
                for cell in cells {
                    means.entry((cell.repeat, cell.sitting)).or_default().push(cell.mean);
                }
                blocks.iter().map(|block| median(means.get(block)?)).collect()
            };
            let blocks = cells.iter().map(of_configuration).collect();
            tasks[task].series.push(Series { metric: &Metric::ALL[metric], blocks, cells });
        }
        rates(run, &mut tasks);
        missing.extend(missing::absurd(absurd, &names, &tasks));
        tasks.retain(|task| !task.step || !task.series.is_empty());
        let exact_clock = run.plan.lab.capabilities().exact_clock;
        Figures { configurations: names, blocks, tasks, missing, exact_clock }
    }
}

/// Configurations in the user's order; any others in the run come last rather than being lost.
pub(crate) fn configurations(run: &RunRecord) -> Vec<String> {
    let all = run.plan.configurations.iter().chain(run.cells.iter().map(|cell| &cell.configuration));
    let skipped = |name: &String| run.plan.skipped.iter().any(|(skipped, _)| skipped == name);
    let measured = |name: &String| run.cells.iter().any(|cell| cell.configuration == *name);
    each_once(all).into_iter().filter(|name| measured(name) || !skipped(name)).cloned().collect()
}

fn tasks(run: &RunRecord) -> Vec<Task> {
    let plan = &run.plan;
    let definition = |name: &str| {
        let id = plan.of_recorded(name).0;
        plan.cells.iter().flat_map(|cell| &cell.tasks).find(|task| task.id == id)
    };
    let step = |id: &str, category: Category| {
        let names = match &plan.vary {
            Some(vary) => (0..vary.points.len()).map(|point| vary.name(id, point)).collect(),
            None => vec![id.to_owned()],
        };
        let step = move |id: String| Task {
            title: id.clone(),
            id,
            category: category.clone(),
            step: true,
            in_parts: false,
            restart: None,
            series: Vec::new(),
            measured: vec![false; Metric::ALL.len()],
        };
        names.into_iter().map(step)
    };
    let work = |id: &str| definition(id).map_or(String::new(), |task| task.category.clone());
    let before = step(protocol_task::MKFS, Category::Steps).chain(step(protocol_task::MOUNT, Category::Steps));
    let mut out: Vec<Task> = before.collect();
    out.extend(plan.tasks.iter().map(|(id, title)| Task {
        id: id.clone(),
        title: if title.is_empty() { id.clone() } else { title.clone() },
        category: Category::Work(work(id)),
        step: false,
        in_parts: false,
        restart: definition(id).and_then(|task| task.restart),
        series: Vec::new(),
        measured: vec![false; Metric::ALL.len()],
    }));
    out.extend(step(protocol_task::UMOUNT, Category::Steps));
    out.extend(step(protocol_task::FSCK, Category::Check));
    out.extend(step(protocol_task::CAPACITY, Category::Capacity));
    // A suite may name a task like a step: it is listed once, as a task.
    let named: BTreeSet<&str> = plan.tasks.iter().map(|(id, _)| id.as_str()).collect();
    out.retain(|task| !task.step || !named.contains(task.id.as_str()));
    out
}

/// Gives rates the unit of their task, and marks programs that are judged by their parts.
fn rates(run: &RunRecord, tasks: &mut [Task]) {
    let Some(cell) = run.plan.cells.iter().find(|cell| !cell.tasks.is_empty()) else { return };
    let all = cell.tasks.to_vec();
    let mut wholes: BTreeSet<&str> = BTreeSet::new();
    for task in tasks.iter_mut().filter(|task| !task.step) {
        let Some(definition) = cell.tasks.iter().find(|known| known.id == run.plan.of_recorded(&task.id).0) else {
            continue;
        };
        if task.main().is_some_and(|main| main.metric.id == Metric::RATE.id || main.metric.is_latency()) {
            wholes.extend(definition.part_of.as_deref());
        }
        let has = |metric: &Metric| task.has(metric);
        let metric = rate::metric(definition, &all, has);
        let Some(series) = task.series.iter_mut().find(|series| series.metric.id == metric.id) else { continue };
        series.metric = metric;
    }
    for task in tasks.iter_mut() {
        task.in_parts = wholes.contains(run.plan.of_recorded(&task.id).0);
    }
}

/// Task, metric, and by configuration the figures of cells in order.
type Gathered = (usize, usize, Vec<Vec<CellFigure>>);

/// Collects the figures of cells by task, then by metric, and notes what is measured.
fn gather(
    run: &RunRecord,
    names: &[String],
    tasks: &mut [Task],
    options: &Options,
    absurd: &mut Absurd,
) -> Vec<Gathered> {
    let ids: Vec<String> = tasks.iter().map(|task| task.id.clone()).collect();
    let task_at: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    let wanted: Vec<bool> = Metric::ALL.iter().map(|metric| options.wants(metric)).collect();
    let sums = sums::wanted(&wanted);
    let mut needed = wanted.clone();
    sums.iter().flat_map(|sum| sum.parts).for_each(|part| needed[part] = true);
    let mut metrics = MetricFinder::default();
    let mut slots: Vec<Vec<Vec<CellFigure>>> = (0..tasks.len() * Metric::ALL.len()).map(|_| Vec::new()).collect();
    for cell in &run.cells {
        let Some(configuration) = names.iter().position(|name| *name == cell.configuration) else { continue };
        let bad = bad_tasks(cell);
        // A cell's samples are in task order, so each task is looked up once.
        let mut last: (&str, Option<&usize>) = ("", None);
        for sample in &cell.samples {
            if sample.task != last.0 {
                let known = task_at.get(sample.task).filter(|_| !bad.contains(sample.task));
                last = (sample.task, known);
            }
            let (Some(task), Some(metric)) = (last.1, metrics.position(sample.metric)) else { continue };
            // Nothing that is measured can be less than nothing.
            if !sample.value.is_finite() || sample.value < 0.0 {
                let entry = absurd.entry((configuration, *task, metric)).or_insert((0, sample.value));
                entry.0 += 1;
                continue;
            }
            tasks[*task].measured[metric] = true;
            if !needed[metric] {
                continue;
            }
            let slot = &mut slots[task * Metric::ALL.len() + metric];
            slot.resize_with(names.len(), Vec::new);
            add(&mut slot[configuration], cell, (sample.iteration, sample.value));
        }
    }
    for (task, slots) in tasks.iter_mut().zip(slots.chunks_mut(Metric::ALL.len())) {
        for sum in sums.iter().filter(|sum| sum.fill(slots)) {
            task.measured[sum.at] = true;
        }
    }
    let mut out = Vec::new();
    let is_there = |(at, slot): &(usize, Vec<_>)| !slot.is_empty() && wanted[at % Metric::ALL.len()];
    for (at, mut slot) in slots.into_iter().enumerate().filter(is_there) {
        for figure in slot.iter_mut().flatten() {
            figure.mean = mean_of(figure);
        }
        out.push((at / Metric::ALL.len(), at % Metric::ALL.len(), slot));
    }
    out
}

/// Adds an iteration's value to the figure of its cell.
fn add(figures: &mut Vec<CellFigure>, cell: &CellRecord, value: (u32, f64)) {
    match figures.last_mut() {
        Some(last) if last.cell == cell.index => last.more.push(value),
        _ => {
            let (cell, repeat, sitting) = (cell.index, cell.repeat, sitting(cell));
            figures.push(CellFigure { cell, repeat, sitting, mean: 0.0, first: value, more: Vec::new() });
        }
    }
}

fn mean_of(figure: &CellFigure) -> f64 {
    match figure.more[..] {
        [] => figure.first.1,
        _ => mean(&figure.values().map(|(_, value)| value).collect::<Vec<_>>()).unwrap_or_default(),
    }
}

/// Tasks of a cell that did not succeed: the time of a failed command is not the time of the task.
fn bad_tasks(cell: &CellRecord) -> BTreeSet<&str> {
    cell.outcomes.iter().filter(|ended| !ended.outcome.is_ok()).map(|ended| ended.task.as_str()).collect()
}
