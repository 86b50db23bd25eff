//! Figures that a run lacks for a claim, and the commands that would measure them.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::{Claim, Clause, Over, Study, Test};
use mountmark_record::RunRecord;

use super::Subject;
use super::clause::{filesystems, is_of_every_suite};
use super::judge::{Decided, Reach};
use crate::study::Table;

#[derive(Clone, Debug, PartialEq)]
pub enum Lack {
    FileSystems(Vec<String>),
    Metric(String),
    Unavailable {
        filesystem: String,
        /// From the catalogue, or as the run found.
        reason: String,
    },
    /// A file system has no figure of a metric at some tasks.
    Tasks {
        filesystem: String,
        metric: String,
        /// How several tasks are combined.
        over: Over,
        tasks: Vec<Subject>,
    },
    TooFew,
    /// File systems that need a kernel from the user.
    OwnKernel(Vec<String>),
    /// The claim is about another suite.
    OtherSuite {
        suite: String,
        of_run: String,
    },
    /// There is no such suite.
    NoSuite(String),
}

pub(super) struct Missing<'a> {
    pub run: &'a RunRecord,
    pub table: &'a Table,
    pub study: &'a Study,
    pub claim: &'a Claim,
    pub reach: &'a Reach,
    pub clauses: &'a [Decided<'a>],
}

impl Missing<'_> {
    /// The lacks, and the commands that would measure them.
    pub fn found(&self) -> (Vec<Lack>, Vec<String>) {
        let (mut lacks, mut commands) = (Vec::new(), Vec::new());
        if self.claim.undecidable.is_some() {
            return (lacks, commands);
        }
        let own = self.study.runs.first().map_or(&[][..], |run| &run.filesystems);
        let mut absent = Vec::new();
        // Needed file systems by suite.
        let mut needed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for Decided { clause, prepared, .. } in self.clauses {
            let any_suite = is_of_every_suite(clause);
            let suite = clause.suite.as_ref().or(self.study.suite.as_ref()).cloned().unwrap_or_default();
            // File systems that need a kernel from the user are requested only if the claim names them.
            let is_asked = |fs: &String| !self.reach.own_kernel.contains(fs) || names_it(clause, fs);
            let names: Vec<String> = filesystems(clause, own).into_iter().filter(is_asked).collect();
            let Some(ready) = prepared else {
                needed.entry(suite).or_default().extend(names);
                continue;
            };
            let suite = if any_suite || self.study.is_repeated_by(&self.run.plan.suite) {
                &self.run.plan.suite
            } else {
                &suite
            };
            if !self.table.has_metric(&clause.metric) && !names.is_empty() {
                push(&mut lacks, Lack::Metric(clause.metric.clone()));
            }
            for fs in &ready.filesystems {
                match self.unavailable(fs) {
                    Some(reason) => {
                        push(&mut lacks, Lack::Unavailable { filesystem: fs.clone(), reason: reason.into() });
                    }
                    None if !is_asked(fs) => push(&mut absent, fs.clone()),
                    None => {
                        push(&mut absent, fs.clone());
                        needed.entry(suite.clone()).or_default().extend(names.iter().cloned());
                    }
                }
            }
            for lack in gaps(clause, &ready.gaps) {
                push(&mut lacks, lack);
            }
            let nothing_is_said = ready.filesystems.is_empty() && ready.gaps.is_empty();
            if (ready.unmeasured > 0 || ready.units.is_empty()) && nothing_is_said {
                push(&mut lacks, Lack::TooFew);
            }
        }
        let own: Vec<String> = absent.iter().filter(|fs| self.reach.own_kernel.contains(*fs)).cloned().collect();
        if !own.is_empty() {
            push(&mut lacks, Lack::OwnKernel(own));
        }
        if !absent.is_empty() {
            absent.sort_unstable();
            lacks.insert(0, Lack::FileSystems(absent));
        }
        for (suite, names) in needed {
            if suite != self.run.plan.suite {
                push(&mut lacks, Lack::OtherSuite { suite: suite.clone(), of_run: self.run.plan.suite.clone() });
            }
            if !self.reach.suites.contains(&suite) {
                push(&mut lacks, Lack::NoSuite(suite));
                continue;
            }
            let names: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| self.unavailable(name).is_none()).collect();
            // Those that cannot be measured are among the lacks above.
            if !names.is_empty() {
                commands.push(self.command(&suite, &names));
            }
        }
        (lacks, commands)
    }

    /// Why a file system cannot be measured: from the catalogue, or as the run found.
    fn unavailable(&self, fs: &str) -> Option<&str> {
        let skipped = self.run.plan.skipped.iter().find(|(name, _)| name == fs).map(|(_, reason)| reason.as_str());
        self.reach.unavailable.get(fs).map(String::as_str).or(skipped)
    }

    fn command(&self, suite: &str, filesystems: &[&str]) -> String {
        let plan = &self.run.plan;
        let (machine, scale) = if suite == plan.suite {
            (plan.machine.name.as_str(), plan.scale.to_string())
        } else {
            (self.study.machine.as_deref().unwrap_or(&plan.machine.name), "1".to_owned())
        };
        let of = |name: &&str| name.split(':').next().is_some_and(|fs| self.reach.own_kernel.contains(fs));
        let kernel = if filesystems.iter().any(of) { " --kernel VMLINUX,MODULES" } else { "" };
        let names = filesystems.join(",");
        format!("mountmark run --suite {suite} --fs {names} --machine {machine} --scale {scale}{kernel}")
    }
}

/// Whether a clause names a file system, alone or followed by a colon and options.
fn names_it(clause: &Clause, fs: &str) -> bool {
    let is_it = |name: &str| name.split(':').next() == Some(fs);
    match &clause.test {
        Test::FileSystems { order, .. } | Test::Ratio { order, .. } => order.names().any(is_it),
        Test::Tasks { on, .. }
        | Test::Metrics { on, .. }
        | Test::First { on, .. }
        | Test::Last { on, .. }
        | Test::Value { on, .. }
        | Test::Spread { on, .. } => on.iter().any(|name| is_it(name)),
    }
}

/// Missing figures, by file system.
fn gaps(clause: &Clause, gaps: &[(String, Subject)]) -> Vec<Lack> {
    let mut by_filesystem: BTreeMap<&String, Vec<Subject>> = BTreeMap::new();
    for (fs, subject) in gaps {
        by_filesystem.entry(fs).or_default().push(subject.clone());
    }
    let lack = |(filesystem, tasks): (&String, Vec<Subject>)| {
        let (filesystem, metric) = (filesystem.clone(), clause.metric.clone());
        Lack::Tasks { filesystem, metric, over: clause.over, tasks }
    };
    by_filesystem.into_iter().map(lack).collect()
}

fn push<T: PartialEq>(list: &mut Vec<T>, new: T) {
    if !list.contains(&new) {
        list.push(new);
    }
}
