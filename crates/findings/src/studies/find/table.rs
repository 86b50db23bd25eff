//! Figures of a run or a study in one form: file system x task x metric, one figure per block.

use std::collections::{HashMap, HashSet};

use mountmark_model::{Study, Vary, protocol_task};
use mountmark_record::RunRecord;
use mountmark_stats::summary::mean;

use crate::figures::find::series::Figures;
use crate::options::Options;

/// A point of a varied parameter, by its place; `None` where nothing is varied.
pub(crate) type Point = Option<usize>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Configurations with figures, in the order of their source.
    pub filesystems: Vec<String>,
    /// Task ids and titles in order, without protocol steps.
    pub tasks: Vec<(String, String)>,
    /// The parameter that a run varies, with its points.
    pub vary: Option<Vary>,
    blocks: HashMap<(String, String, String), Vec<Option<f64>>>,
}

impl Table {
    /// From a run: one figure per repeat, without those of failed tasks.
    pub fn of_run(run: &RunRecord) -> Table {
        let figures = Figures::new(run, &Options::default());
        let mut table =
            Table { filesystems: figures.configurations.clone(), vary: run.plan.vary.clone(), ..Table::default() };
        for task in &figures.tasks {
            if !protocol_task::is_step(run.plan.of_recorded(&task.id).0) {
                table.tasks.push((task.id.clone(), task.title.clone()));
            }
            for series in &task.series {
                for (name, blocks) in figures.configurations.iter().zip(&series.blocks) {
                    let key = (name.clone(), task.id.clone(), series.metric.id.to_owned());
                    table.blocks.insert(key, blocks.clone());
                }
            }
        }
        let rows = table.blocks.iter().filter(|(_, row)| row.iter().any(Option::is_some));
        let there: HashSet<&String> = rows.map(|((name, ..), _)| name).collect();
        let filesystems = table.filesystems.iter().filter(|fs| there.contains(fs)).cloned().collect();
        Table { filesystems, ..table }
    }

    /// From a run that is held beside studies: file systems have the names of these, in which what lay below them is no part.
    pub fn beside(studies: &[&Study], run: &RunRecord) -> Table {
        let mut table = Table::of_run(run);
        for layers in studies.iter().flat_map(|study| &study.runs).filter_map(|run| run.layers.as_ref()) {
            let bare = |name: &String| name.strip_suffix(layers.as_str())?.strip_suffix('@').map(str::to_owned);
            // Where both were measured, the bare name is taken.
            let all = table.filesystems.clone();
            let named = |name: &String| bare(name).filter(|bare| !all.contains(bare)).unwrap_or_else(|| name.clone());
            table.filesystems = all.iter().map(named).collect();
            let blocks = table.blocks.drain();
            table.blocks = blocks.map(|((name, task, metric), row)| ((named(&name), task, metric), row)).collect();
        }
        table
    }

    /// From one run of a study: its printed figures, each a block of its own.
    pub fn of_study(study: &Study, run: &str) -> Table {
        let filesystems = study.run(Some(run)).map_or_else(Vec::new, |run| run.filesystems.clone());
        let mut table = Table { filesystems, ..Table::default() };
        let mut seen = HashSet::new();
        for figure in study.figures.iter().filter(|figure| figure.run == run) {
            let Some(value) = figure.point() else { continue };
            if !protocol_task::is_step(&figure.task) && seen.insert(&figure.task) {
                table.tasks.push((figure.task.clone(), title(study, &figure.task)));
            }
            let key = (figure.fs.clone(), figure.task.clone(), figure.metric.clone());
            table.blocks.insert(key, vec![Some(value)]);
        }
        table
    }

    /// All points, ascending; one that is none where nothing is varied.
    pub fn points(&self) -> Vec<Point> {
        self.vary.as_ref().map_or(vec![None], |vary| (0..vary.points.len()).map(Some).collect())
    }

    /// The name of a task or step at a point.
    pub fn at(&self, task: &str, point: Point) -> String {
        self.vary.as_ref().zip(point).map_or_else(|| task.to_owned(), |(vary, point)| vary.name(task, point))
    }

    /// Whether a recorded name is of a point.
    pub fn is_at(&self, name: &str, point: Point) -> bool {
        self.vary.as_ref().zip(point).is_none_or(|(vary, point)| name.ends_with(&vary.name("", point)))
    }

    /// The figures by block; empty if there are none.
    pub fn blocks(&self, fs: &str, task: &str, metric: &str) -> &[Option<f64>] {
        let key = (fs.to_owned(), task.to_owned(), metric.to_owned());
        self.blocks.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The mean over blocks.
    pub fn mean(&self, fs: &str, task: &str, metric: &str) -> Option<f64> {
        let values: Vec<f64> = self.blocks(fs, task, metric).iter().flatten().copied().collect();
        mean(&values)
    }

    /// Whether any file system has a figure of this metric at this task.
    pub fn has(&self, task: &str, metric: &str) -> bool {
        self.filesystems.iter().any(|fs| self.mean(fs, task, metric).is_some())
    }

    /// Whether any task has a figure of this metric.
    pub fn has_metric(&self, metric: &str) -> bool {
        self.blocks.iter().any(|((_, _, id), blocks)| id == metric && blocks.iter().any(Option::is_some))
    }
}

/// The title of a study's task, or its id if it has none.
pub(crate) fn title(study: &Study, task: &str) -> String {
    study.tasks.get(task).cloned().unwrap_or_else(|| task.to_owned())
}
