//! Tests within one file system: of its tasks, its metrics, or the study's runs.

use mountmark_model::{Group, Order, POINTS};

use crate::claims::find::Subject;
use crate::claims::find::clause::{Column, Maker, center, claimed, pairs};

impl Maker<'_> {
    /// One test within each of several file systems; in a run that varies a parameter, at each of its points. `column` is
    /// of a name and of what gives a task its name there.
    pub fn within_filesystem(
        &mut self,
        order: &Order,
        within: f64,
        on: &[String],
        column: impl Fn(&dyn Fn(&str) -> String, &str) -> Column,
    ) {
        let groups = order.resolved(&[]);
        let table = self.context.table;
        for (index, fs) in on.iter().enumerate() {
            for point in table.points() {
                let at = |task: &str| table.at(task, point);
                let names = groups.iter().flat_map(|group| &group.names);
                let blocks: Vec<(String, Vec<Option<f64>>)> =
                    names.map(|name| (name.clone(), self.figures(table, fs, &column(&at, name)))).collect();
                if blocks.iter().all(|(_, row)| row.iter().all(Option::is_none)) {
                    self.out.filesystems.push(fs.clone());
                }
                self.ordered(index, Subject::One(table.at(fs, point)), &blocks, (order, &groups, within));
            }
        }
    }

    /// One test between each point of a varied parameter and the next larger one, for each of several file systems.
    pub fn between_points(&mut self, order: &Order, within: f64, on: &[String]) {
        let table = self.context.table;
        let Some(vary) = &table.vary else { return };
        let points = self.columns_by_point();
        for (at, pair) in points.windows(2).enumerate() {
            let names = [at, at + 1].map(|point| vary.points[point].text.clone());
            for (index, (smaller, larger)) in pair[0].iter().zip(&pair[1]).enumerate() {
                for fs in on {
                    let rows = [smaller, larger].map(|column| self.figures(table, fs, column));
                    if rows.iter().any(|row| row.iter().all(Option::is_none)) {
                        self.lacks(fs, &Maker::subject(larger));
                    }
                    let blocks: Vec<(String, Vec<Option<f64>>)> = names.iter().cloned().zip(rows).collect();
                    let group = |name: &str| Group { names: vec![name.to_owned()], any: false };
                    let named = |written: &Group| group(&names[usize::from(written.names[0] != POINTS[0])]);
                    let groups: Vec<Group> = order.groups().iter().map(named).collect();
                    let of = Box::new(Maker::subject(larger).without(&vary.name("", at + 1)));
                    let subject = Subject::On { filesystem: fs.clone(), of };
                    self.ordered(index, subject, &blocks, (order, &groups, within));
                }
            }
        }
    }

    /// One test between runs for each of several file systems.
    pub fn between_runs(&mut self, order: &Order, within: f64, on: &[String]) {
        let runs = self.context.runs;
        let find = |id: &String| runs.iter().find(|run| run.id == id);
        let groups = order.resolved(&[]);
        let name = |id: &String| find(id).map_or_else(|| id.clone(), |run| run.name.clone());
        let named: Vec<Group> = groups
            .iter()
            .map(|group| Group { names: group.names.iter().map(name).collect(), any: group.any })
            .collect();
        for (index, column) in self.columns().iter().enumerate() {
            for fs in on {
                let row = |id: &String| find(id).map_or_else(Vec::new, |run| self.figures(run.table, fs, column));
                let ids = groups.iter().flat_map(|group| &group.names);
                let blocks: Vec<(String, Vec<Option<f64>>)> = ids.map(|id| (name(id), row(id))).collect();
                let of = Maker::subject(column);
                if blocks.iter().any(|(_, row)| row.iter().all(Option::is_none)) {
                    self.lacks(fs, &of);
                }
                let subject = Subject::On { filesystem: fs.clone(), of: Box::new(of) };
                self.ordered(index, subject, &blocks, (order, &named, within));
            }
        }
    }

    /// Compares the figures of one subject as an order says.
    fn ordered(
        &mut self,
        index: usize,
        subject: Subject,
        blocks: &[(String, Vec<Option<f64>>)],
        (order, groups, within): (&Order, &[Group], f64),
    ) {
        let there = blocks.iter().filter_map(|(name, row)| Some((name.clone(), center(row)?))).collect();
        self.out.figures.push((subject.clone(), there));
        let find =
            |name: &str| blocks.iter().find(|(id, _)| id == name).filter(|(_, row)| row.iter().any(Option::is_some));
        for (left, right) in pairs(groups) {
            let claimed = claimed(order.relation(left, right), within);
            self.groups(index, &subject, [&groups[left], &groups[right]], claimed, &find);
        }
    }
}
