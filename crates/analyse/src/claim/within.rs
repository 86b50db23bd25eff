//! Tests within one file system: of its tasks, its metrics, or the study's runs.

use mountmark_model::{Group, Order};

use super::Subject;
use super::clause::{Maker, center, claimed, pairs};
use super::column::Column;

impl Maker<'_> {
    /// One test within each of several file systems.
    pub fn within_filesystem(&mut self, order: &Order, within: f64, on: &[String], column: impl Fn(&str) -> Column) {
        let groups = order.resolved(&[]);
        for (index, fs) in on.iter().enumerate() {
            let names = groups.iter().flat_map(|group| &group.names);
            let blocks: Vec<(String, Vec<Option<f64>>)> =
                names.map(|name| (name.clone(), self.figures(self.context.table, fs, &column(name)))).collect();
            if blocks.iter().all(|(_, row)| row.iter().all(Option::is_none)) {
                self.out.filesystems.push(fs.clone());
            }
            self.ordered(index, Subject::One(fs.clone()), &blocks, (order, &groups, within));
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
