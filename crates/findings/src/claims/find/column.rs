//! What the figures of a clause refer to: tasks, metrics, or several tasks together.

use libm::{exp, log};
use mountmark_model::{Better, Over};
use mountmark_stats::summary::mean;

use crate::claims::find::Subject;
use crate::claims::find::clause::{Column, Maker};
use crate::studies::find::{Point, Table};

/// Stands for the task where several are combined.
const ALL: &str = "all";

impl Maker<'_> {
    /// The tasks of the clause as the run records them at one of its points.
    fn tasks(&self, point: Point) -> Vec<String> {
        let table = self.context.table;
        let mut tasks = Vec::new();
        for task in &self.clause.tasks {
            if task == ALL {
                let has = |id: &&String| table.is_at(id, point) && table.has(id, &self.clause.metric);
                tasks.extend(table.tasks.iter().map(|(id, _)| id).filter(has).cloned());
            } else if let Some(group) = self.context.groups.get(task) {
                tasks.extend(group.iter().map(|task| table.at(task, point)));
            } else {
                tasks.push(table.at(task, point));
            }
        }
        tasks
    }

    /// What is tested; in a run that varies a parameter, at each of its points.
    pub fn columns(&self) -> Vec<Column> {
        self.columns_by_point().into_iter().flatten().collect()
    }

    /// What is tested at each point of a varied parameter, smallest first.
    pub fn columns_by_point(&self) -> Vec<Vec<Column>> {
        let together = !self.clause.over.is_by_task();
        let of = |point: Point| -> Vec<Column> {
            let tasks = self.tasks(point);
            if together { vec![Column::Together(tasks)] } else { tasks.into_iter().map(Column::Task).collect() }
        };
        self.context.table.points().into_iter().map(of).collect()
    }

    pub fn subject(column: &Column) -> Subject {
        match column {
            Column::Task(one) | Column::Metric(_, one) => Subject::One(one.clone()),
            Column::Together(tasks) => match &tasks[..] {
                [one] => Subject::One(one.clone()),
                several => Subject::Together(several.to_vec()),
            },
        }
    }

    /// The figures of a file system by block; empty if one is missing.
    pub fn figures(&self, table: &Table, fs: &str, column: &Column) -> Vec<Option<f64>> {
        let metric = &self.clause.metric;
        match column {
            Column::Task(task) => table.blocks(fs, task, metric).to_vec(),
            Column::Metric(task, metric) => table.blocks(fs, task, metric).to_vec(),
            Column::Together(tasks) => {
                let rows: Vec<&[Option<f64>]> = tasks.iter().map(|task| table.blocks(fs, task, metric)).collect();
                let blocks = rows.iter().map(|row| row.len()).min().unwrap_or(0);
                (0..blocks).map(|block| self.together(table, tasks, &rows, block)).collect()
            }
        }
    }

    fn together(&self, table: &Table, tasks: &[String], rows: &[&[Option<f64>]], block: usize) -> Option<f64> {
        let values: Vec<f64> = rows.iter().map(|row| row[block]).collect::<Option<_>>()?;
        match self.clause.over {
            Over::Total => Some(values.iter().sum()),
            Over::Mean => mean(&values),
            Over::Quotient => (values[1] > 0.0).then(|| values[0] / values[1]),
            Over::Spread => {
                let (least, most) =
                    (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
                (least > 0.0).then(|| most / least)
            }
            _ => {
                let logarithms: Option<Vec<f64>> = values
                    .iter()
                    .zip(tasks)
                    .map(|(value, task)| self.log_to_best(table, *value, task, block))
                    .collect();
                mean(&logarithms?).map(exp)
            }
        }
    }

    /// Logarithm of the factor by which a figure is worse than the best of its task; at least 0.
    fn log_to_best(&self, table: &Table, value: f64, task: &str, block: usize) -> Option<f64> {
        let metric = &self.clause.metric;
        let of = |fs: &String| table.blocks(fs, task, metric).get(block).copied().flatten();
        let values = self.context.filesystems.iter().filter_map(of);
        let (best, sign) = match self.clause.better {
            Better::Lower => (values.reduce(f64::min)?, 1.0),
            Better::Higher => (values.reduce(f64::max)?, -1.0),
        };
        (best > 0.0 && value > 0.0).then(|| sign * (log(value) - log(best)))
    }

    /// Which values are better; for scores and spreads the lower ones.
    pub fn better(&self) -> Better {
        if matches!(self.clause.over, Over::Score | Over::Spread) { Better::Lower } else { self.clause.better }
    }
}
