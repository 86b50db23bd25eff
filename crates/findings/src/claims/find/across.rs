//! Tests over file systems: their order, a difference or ratio of two groups, limits of values, places.

use mountmark_model::{Among, Group, Limits, Order, Test};
use mountmark_stats::summary::mean;

use crate::claims::find::clause::{Column, Demand, Maker, Rule, claimed, filesystems, pairs};
use crate::claims::find::decide::Claimed;
use crate::claims::find::{Against, Subject};

/// A file system and its figures by block.
type Row = (String, Vec<Option<f64>>);

/// The rows of one column, and what they are about.
struct Rows<'a> {
    /// Which of the clause's tasks.
    index: usize,
    subject: &'a Subject,
    rows: &'a [Row],
}

impl Rows<'_> {
    /// The figures of a file system, if it has any.
    fn find(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|(fs, _)| fs == name).filter(|(_, row)| row.iter().any(Option::is_some))
    }
}

impl Maker<'_> {
    /// One test over file systems.
    pub fn across(&mut self, index: usize, column: &Column) {
        let subject = Maker::subject(column);
        let names = filesystems(self.clause, self.context.filesystems);
        let rows: Vec<Row> =
            names.iter().map(|fs| (fs.clone(), self.figures(self.context.table, fs, column))).collect();
        self.note(&subject, &rows);
        let of = Rows { index, subject: &subject, rows: &rows };
        let clause = self.clause;
        match &clause.test {
            Test::FileSystems { order, within } => {
                let groups = order.resolved(self.context.filesystems);
                for (left, right) in pairs(&groups) {
                    let claimed = claimed(order.relation(left, right), *within);
                    self.groups(index, &subject, [&groups[left], &groups[right]], claimed, &|name: &str| of.find(name));
                }
            }
            Test::Difference { order, limits } => self.difference(&of, order, limits),
            Test::Ratio { order, limits } => self.ratio(&of, order, limits),
            Test::Value { limits, .. } => self.value(&of, &names, limits),
            Test::Spread { limits, among, .. } => self.spread(&of, &names, limits, *among),
            Test::First { places, on } => {
                for name in on {
                    self.place(index, &subject, name, &names, Rule::First(*places), &|name: &str| of.find(name));
                }
            }
            Test::Last { is, on } => {
                let rule = if *is { Rule::Last } else { Rule::NotLast };
                for name in on {
                    self.place(index, &subject, name, &names, rule, &|name: &str| of.find(name));
                }
            }
            Test::Tasks { .. } | Test::Metrics { .. } | Test::Points { .. } | Test::StudyRuns { .. } => {}
        }
    }

    fn ratio(&mut self, of: &Rows<'_>, order: &Order, limits: &Limits) {
        let groups = order.resolved(self.context.filesystems);
        if groups[1].any {
            let claimed = Claimed::Within(*limits);
            return self.groups(of.index, of.subject, [&groups[0], &groups[1]], claimed, &|name: &str| of.find(name));
        }
        let (name, right) = mean_of(of, &groups[1]);
        let mut unit = Demand { task: of.index, ..Demand::default() };
        for left in &groups[0].names {
            match of.find(left).filter(|_| !right.is_empty()) {
                Some(left) => unit.comparisons.extend(self.compare(
                    of.subject,
                    (left.0.as_str(), &left.1),
                    (name.clone(), &right),
                    Claimed::Within(*limits),
                )),
                None => self.out.unmeasured += 1,
            }
        }
        self.out.units.push(unit);
    }

    /// Each of the left group less the mean of the right one, as figures with limits.
    fn difference(&mut self, of: &Rows<'_>, order: &Order, limits: &Limits) {
        let groups = order.resolved(self.context.filesystems);
        let (_, right) = mean_of(of, &groups[1]);
        let less = |row: &[Option<f64>]| -> Vec<Option<f64>> {
            row.iter().zip(&right).map(|(left, right)| left.zip(*right).map(|(left, right)| left - right)).collect()
        };
        let rows: Vec<Row> =
            groups[0].names.iter().filter_map(|name| of.find(name)).map(|(fs, row)| (fs.clone(), less(row))).collect();
        self.value(&Rows { rows: &rows, ..*of }, &groups[0].names, limits);
    }

    fn value(&mut self, of: &Rows<'_>, names: &[String], limits: &Limits) {
        let mut unit = Demand { task: of.index, ..Demand::default() };
        for name in names {
            match of.find(name) {
                Some((fs, row)) => {
                    let ones = vec![Some(1.0); row.len()];
                    unit.comparisons.extend(self.compare(
                        of.subject,
                        (fs, row),
                        (Against::Limits(*limits), &ones),
                        Claimed::Within(*limits),
                    ));
                }
                None => self.out.unmeasured += 1,
            }
        }
        self.out.units.push(unit);
    }

    fn spread(&mut self, of: &Rows<'_>, names: &[String], limits: &Limits, among: Among) {
        let value = |row: &[Option<f64>]| mean(&row.iter().flatten().copied().collect::<Vec<_>>());
        let mut there: Vec<&Row> = names.iter().filter_map(|name| of.find(name)).collect();
        self.out.unmeasured += usize::from(there.len() < names.len());
        there.sort_by(|a, b| value(&a.1).unwrap_or(0.0).total_cmp(&value(&b.1).unwrap_or(0.0)));
        if among == Among::Most {
            let middle = |of: &&Row| value(&of.1).unwrap_or(0.0);
            let ratio = |near: &&[&Row]| middle(&near[near.len() - 1]) / middle(&near[0]);
            let near = there.windows(there.len() / 2 + 1);
            there = near.min_by(|a, b| ratio(a).total_cmp(&ratio(b))).map(<[_]>::to_vec).unwrap_or_default();
        }
        if let [least, .., most] = there[..] {
            let right = (Against::Name(least.0.clone()), &least.1[..]);
            let pair = self.compare(of.subject, (&most.0, &most.1), right, Claimed::Within(*limits));
            self.out.units.push(Demand { task: of.index, rule: Rule::Each, comparisons: pair.into_iter().collect() });
        }
    }
}

/// The mean of a group's figures by block, and what it is called; empty if there are none.
fn mean_of(of: &Rows<'_>, group: &Group) -> (Against, Vec<Option<f64>>) {
    let rows: Vec<&Row> = group.names.iter().filter_map(|name| of.find(name)).collect();
    let names = Group { names: rows.iter().map(|(name, _)| name.clone()).collect(), any: false };
    let blocks = rows.iter().map(|(_, row)| row.len()).min().unwrap_or(0);
    let mean_at = |block| mean(&rows.iter().map(|(_, row)| row[block]).collect::<Option<Vec<f64>>>()?);
    (Against::Name(names.to_string()), (0..blocks).map(mean_at).collect())
}
