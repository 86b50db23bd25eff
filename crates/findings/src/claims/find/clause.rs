//! Turns a clause into comparisons of figures. Tests over file systems are in `across.rs`, tests within one in `within.rs`.

use std::collections::BTreeMap;

use libm::log;
use mountmark_model::{Clause, Group, Order, Relation, Test};
use mountmark_stats::summary::mean;

use crate::claims::find::decide::{Claimed, Comparison};
use crate::claims::find::{Against, Subject};
use crate::studies::find::Table;

/// The smallest relative difference that matters, unless a clause says otherwise.
pub const SMALLEST: f64 = 0.01;

/// One condition: all of its comparisons must hold, or any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    /// Which of the clause's tasks; units of one task are one test for `most` and `some`.
    pub task: usize,
    pub rule: Rule,
    pub comparisons: Vec<Comparison>,
}

/// How the comparisons of a unit are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Each counts on its own.
    #[default]
    Each,
    /// One that holds is enough.
    Any,
    /// Fewer than this many others are better. The comparisons say "not worse than".
    First(usize),
    /// All others are better.
    Last,
    /// Some other is worse.
    NotLast,
}

/// A clause ready to be judged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prepared {
    pub units: Vec<Demand>,
    /// Comparisons that lack a figure.
    pub unmeasured: usize,
    /// File systems without any figure that the clause needs.
    pub filesystems: Vec<String>,
    /// Missing figures, by file system and task, of file systems that have others.
    pub gaps: Vec<(String, Subject)>,
    /// The means of all names involved.
    pub figures: Vec<(Subject, Vec<(String, f64)>)>,
}

/// Figures that stand for those of a study's run: its own, or a run's.
#[derive(Clone)]
pub(crate) struct Standing<'a> {
    /// The study's run, by its id.
    pub id: &'a str,
    /// What they are called in words: `piszcz-2006#1`, or the name of a run.
    pub name: String,
    pub table: &'a Table,
}

/// The source of figures, and the file systems that the claim is about.
pub(crate) struct Context<'a> {
    /// Of the run that the clause is about.
    pub table: &'a Table,
    /// Of all runs.
    pub runs: &'a [Standing<'a>],
    /// The study's file systems; `others` and rankings refer to these.
    pub filesystems: &'a [String],
    /// The study's lists of tasks, by name.
    pub groups: &'a BTreeMap<String, Vec<String>>,
    /// Stratum number, unique to this clause.
    pub stratum: usize,
}

pub(crate) fn prepare(clause: &Clause, context: &Context<'_>) -> Prepared {
    let mut maker = Maker { clause, context, out: Prepared::default() };
    match &clause.test {
        Test::Tasks { order, within, on } => {
            maker.within_filesystem(order, *within, on, |at, name| Column::Task(at(name)));
        }
        Test::Metrics { order, within, on } => {
            let task = &clause.tasks[0];
            maker.within_filesystem(order, *within, on, |at, name| Column::Metric(at(task), name.into()));
        }
        Test::Points { order, within, on, .. } => maker.between_points(order, *within, on),
        Test::StudyRuns { order, within, on } => maker.between_runs(order, *within, on),
        _ => {
            for (index, column) in maker.columns().into_iter().enumerate() {
                maker.across(index, &column);
            }
        }
    }
    for unit in &mut maker.out.units {
        let pairs = unit.comparisons.len().max(1) as f64;
        let both = |found: &Comparison| [found.left.clone(), found.right.name().to_owned()];
        let mut names: Vec<String> = unit.comparisons.iter().flat_map(both).collect();
        names.sort_unstable();
        names.dedup();
        // k figures have k - 1 independent differences, whatever the number of pairs.
        let share = ((names.len() as f64 - 1.0) / pairs).clamp(0.1, 1.0);
        unit.comparisons.iter_mut().for_each(|found| found.share = share);
    }
    let Prepared { filesystems, gaps, .. } = &mut maker.out;
    gaps.sort_unstable();
    gaps.dedup();
    filesystems.dedup();
    maker.out
}

pub(crate) fn filesystems(clause: &Clause, all: &[String]) -> Vec<String> {
    let of = |order: &Order| order.resolved(all).into_iter().flat_map(|group| group.names).collect();
    match &clause.test {
        Test::FileSystems { order, .. } | Test::Difference { order, .. } | Test::Ratio { order, .. } => of(order),
        Test::Tasks { on, .. } | Test::Metrics { on, .. } | Test::Points { on, .. } | Test::StudyRuns { on, .. } => {
            on.clone()
        }
        Test::Value { on, .. } | Test::Spread { on, .. } if !on.is_empty() => on.clone(),
        Test::Value { .. } | Test::Spread { .. } | Test::First { .. } | Test::Last { .. } => all.to_vec(),
    }
}

/// What a figure refers to.
pub(crate) enum Column {
    Task(String),
    Metric(String, String),
    Together(Vec<String>),
}

pub(crate) struct Maker<'a> {
    pub clause: &'a Clause,
    pub context: &'a Context<'a>,
    pub out: Prepared,
}

impl Maker<'_> {
    /// Every name of a group with every name of another.
    pub fn groups<'b>(
        &mut self,
        task: usize,
        subject: &Subject,
        groups: [&Group; 2],
        claimed: Claimed,
        find: &impl Fn(&str) -> Option<&'b (String, Vec<Option<f64>>)>,
    ) {
        // All names of an `any` group form one unit, against each name of the other group.
        let [left, right] = groups;
        let single = |names: &[String]| -> Vec<Vec<String>> { names.iter().map(|name| vec![name.clone()]).collect() };
        let sides = |group: &Group| if group.any { vec![group.names.clone()] } else { single(&group.names) };
        for lefts in sides(left) {
            for rights in sides(right) {
                let rule = if left.any || right.any { Rule::Any } else { Rule::Each };
                let mut unit = Demand { task, rule, comparisons: Vec::new() };
                for (one, other) in lefts.iter().flat_map(|one| rights.iter().map(move |other| (one, other))) {
                    match (find(one), find(other)) {
                        (Some(one), Some(other)) => {
                            let right = (Against::Name(other.0.clone()), &other.1[..]);
                            unit.comparisons.extend(self.compare(subject, (&one.0, &one.1), right, claimed));
                        }
                        _ => self.out.unmeasured += 1,
                    }
                }
                self.out.units.push(unit);
            }
        }
    }

    /// A file system against all others.
    pub fn place<'b>(
        &mut self,
        task: usize,
        subject: &Subject,
        name: &str,
        names: &[String],
        rule: Rule,
        find: &impl Fn(&str) -> Option<&'b (String, Vec<Option<f64>>)>,
    ) {
        let others: Vec<_> = names.iter().filter(|other| *other != name).filter_map(|other| find(other)).collect();
        self.out.unmeasured += names.len() - 1 - others.len();
        // With three places for three file systems all would qualify.
        let fewest = if let Rule::First(places) = rule { places } else { 2 };
        let Some(own) = find(name).filter(|_| others.len() >= fewest) else {
            self.out.unmeasured += others.len();
            return;
        };
        let mut unit = Demand { task, rule, comparisons: Vec::new() };
        for other in others {
            let right = (Against::Name(other.0.clone()), &other.1[..]);
            unit.comparisons.extend(self.compare(subject, (&own.0, &own.1), right, Claimed::Better));
        }
        self.out.units.push(unit);
    }

    /// Two figures; `None` if they have no block in common.
    pub fn compare(
        &self,
        subject: &Subject,
        left: (&str, &[Option<f64>]),
        right: (Against, &[Option<f64>]),
        claimed: Claimed,
    ) -> Option<Comparison> {
        let pairs: Vec<(f64, f64)> = left.1.iter().zip(right.1).filter_map(|(one, other)| one.zip(*other)).collect();
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let above_0 = pairs.iter().all(|(one, other)| *one > 0.0 && *other > 0.0);
        Some(Comparison {
            subject: subject.clone(),
            left: left.0.to_owned(),
            right: right.0,
            left_value: mean(&first)?,
            right_value: mean(&second)?,
            claimed,
            better: self.better(),
            smallest: self.clause.smallest.unwrap_or(SMALLEST),
            differences: pairs.iter().filter(|_| above_0).map(|(one, other)| log(*one) - log(*other)).collect(),
            stratum: self.context.stratum + self.out.figures.len(),
            share: 1.0,
        })
    }

    /// Records the figures, and the missing ones.
    pub fn note(&mut self, subject: &Subject, blocks: &[(String, Vec<Option<f64>>)]) {
        let there: Vec<(String, f64)> =
            blocks.iter().filter_map(|(fs, row)| Some((fs.clone(), center(row)?))).collect();
        for (fs, _) in blocks.iter().filter(|(_, row)| row.iter().all(Option::is_none)) {
            self.lacks(fs, subject);
        }
        self.out.figures.push((subject.clone(), there));
    }

    /// Records that a file system has no figure.
    pub fn lacks(&mut self, fs: &str, subject: &Subject) {
        if self.context.table.filesystems.iter().any(|known| known == fs) {
            self.out.gaps.push((fs.to_owned(), subject.clone()));
        } else if !self.out.filesystems.iter().any(|known| known == fs) {
            self.out.filesystems.push(fs.to_owned());
        }
    }
}

pub(crate) fn center(row: &[Option<f64>]) -> Option<f64> {
    mean(&row.iter().flatten().copied().collect::<Vec<_>>())
}

pub(crate) fn claimed(relation: Relation, within: f64) -> Claimed {
    match relation {
        Relation::Better => Claimed::Better,
        Relation::NotWorse => Claimed::NotWorse,
        Relation::Equal => Claimed::Equal(within),
    }
}

pub(crate) fn pairs(groups: &[Group]) -> Vec<(usize, usize)> {
    (0..groups.len()).flat_map(|left| (left + 1..groups.len()).map(move |right| (left, right))).collect()
}
