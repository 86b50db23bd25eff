//! What a run lacks for a claim, and the commands that would measure it.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::{Claim, Study};
use mountmark_record::RunRecord;

use super::clause::{filesystems, is_of_every_suite};
use super::judge::{Decided, Reach};
use super::words;
use crate::study::Table;

/// Tasks without a figure that are named.
const GAPS: usize = 4;

/// What a run lacks for a claim.
pub(super) struct Missing<'a> {
    pub run: &'a RunRecord,
    pub table: &'a Table,
    pub study: &'a Study,
    pub claim: &'a Claim,
    pub reach: &'a Reach,
    pub clauses: &'a [Decided<'a>],
}

impl Missing<'_> {
    /// Sentences, and the commands that mend them.
    pub fn told(&self) -> (Vec<String>, Vec<String>) {
        let (mut sentences, mut commands) = (Vec::new(), Vec::new());
        if self.claim.undecidable.is_some() {
            return (sentences, commands);
        }
        let own = self.study.runs.first().map_or(&[][..], |run| &run.filesystems);
        let mut absent = Vec::new();
        // Suite by suite: what it needs, and of which file systems.
        let mut needed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for Decided { clause, prepared, .. } in self.clauses {
            let any_suite = is_of_every_suite(clause);
            let suite = clause.suite.as_ref().or(self.study.suite.as_ref()).cloned().unwrap_or_default();
            // What needs a kernel of the user's own is asked for where the claim names it, not where it is one of the others.
            let test = words::test(clause);
            let is_asked = |fs: &String| !self.reach.own_kernel.contains(fs) || test.contains(fs.as_str());
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
                push(&mut sentences, format!("The run has no figure of {}.", clause.metric));
            }
            for fs in &ready.filesystems {
                match self.unavailable(fs) {
                    Some(reason) => {
                        push(&mut sentences, format!("{fs} cannot be measured: {}.", reason.trim_end_matches('.')))
                    }
                    None if !is_asked(fs) => push(&mut absent, fs.clone()),
                    None => {
                        push(&mut absent, fs.clone());
                        needed.entry(suite.clone()).or_default().extend(names.iter().cloned());
                    }
                }
            }
            for sentence in gaps(&clause.metric, &ready.gaps) {
                push(&mut sentences, sentence);
            }
            let nothing_is_said = ready.filesystems.is_empty() && ready.gaps.is_empty();
            if (ready.unmeasured > 0 || ready.units.is_empty()) && nothing_is_said {
                push(&mut sentences, "The run has too few file systems for it, or none with a figure.".into());
            }
        }
        let own: Vec<&str> =
            absent.iter().map(String::as_str).filter(|fs| self.reach.own_kernel.contains(*fs)).collect();
        if !own.is_empty() {
            let text = format!(
                "No distribution's kernel has {}: give one that has (--kernel VMLINUX,MODULES).",
                own.join(", ")
            );
            push(&mut sentences, text);
        }
        if !absent.is_empty() {
            let verb = if absent.len() == 1 { "has" } else { "have" };
            absent.sort_unstable();
            sentences.insert(0, format!("{} {verb} no figures in the run.", absent.join(", ")));
        }
        for (suite, names) in needed {
            if suite != self.run.plan.suite {
                push(&mut sentences, format!("It is about suite {suite}; the run's is {}.", self.run.plan.suite));
            }
            if !self.reach.suites.contains(&suite) {
                push(&mut sentences, format!("This version has no suite {suite}."));
                continue;
            }
            let names: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| self.unavailable(name).is_none()).collect();
            // What is missing of those that cannot be measured is said above.
            if !names.is_empty() {
                commands.push(self.command(&suite, &names));
            }
        }
        (sentences, commands)
    }

    /// Why a file system cannot be measured: by the catalogue, or as the run found.
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

/// What has no figure: by file system, the first few of its tasks.
fn gaps(metric: &str, gaps: &[(String, String)]) -> Vec<String> {
    let mut by_filesystem: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (fs, task) in gaps {
        by_filesystem.entry(fs).or_default().push(task);
    }
    let sentence = |(fs, tasks): (&str, Vec<&str>)| {
        let more = if tasks.len() > GAPS { format!(" and {} more", tasks.len() - GAPS) } else { String::new() };
        format!("{fs} has no figure of {metric} at {}{more}.", tasks[..tasks.len().min(GAPS)].join(", "))
    };
    by_filesystem.into_iter().map(sentence).collect()
}

fn push(sentences: &mut Vec<String>, sentence: String) {
    if !sentences.contains(&sentence) {
        sentences.push(sentence);
    }
}
