//! Figures that a run lacks for a claim, and the commands that would measure them.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::{Bytes, Claim, Clause, Study};

use crate::claims::find::clause::{Prepared, filesystems};
use crate::claims::find::lack::MissingReason;
use crate::claims::find::reach::Reach;
use crate::claims::find::{JudgedClause, Judges, Subject, fit};
use crate::studies::find::Table;

/// A clause with its comparisons, and their decisions if there are any.
pub(crate) struct Decided<'a> {
    pub clause: &'a Clause,
    /// Or why no figures are asked.
    pub prepared: Result<Prepared, MissingReason>,
    pub judged: JudgedClause,
}

pub(crate) struct Missing<'a> {
    pub judges: &'a Judges<'a>,
    /// Of the run, if there is one.
    pub table: Option<&'a Table>,
    pub study: &'a Study,
    pub claim: &'a Claim,
    pub reach: &'a Reach,
    pub clauses: &'a [Decided<'a>],
}

impl Missing<'_> {
    /// The lacks, and the commands that would measure them.
    pub fn found(&self) -> (Vec<MissingReason>, Vec<String>) {
        let mut lacks = Vec::new();
        lacks.extend(self.claim.power_cuts.as_ref().map(|_| MissingReason::PowerCuts));
        let mut absent = Vec::new();
        let mut needed = Needed::new();
        for Decided { clause, prepared, .. } in self.clauses {
            // File systems that need a kernel from the user are requested only if the claim names them.
            let is_asked = |fs: &String| !self.reach.own_kernel.contains(fs) || names_it(clause, fs);
            let own = self.study.run(clause.run.as_deref()).map_or(&[][..], |run| &run.filesystems);
            let names: Vec<String> = filesystems(clause, own).into_iter().filter(is_asked).collect();
            let wanted = self.wanted(clause);
            let ready = match prepared {
                Ok(ready) => ready,
                Err(lack) => {
                    push(&mut lacks, lack.clone());
                    if !matches!(lack, MissingReason::StudyRun { can_be_given: false, .. }) {
                        let earlier = matches!(lack, MissingReason::StudyRun { .. });
                        needed.entry(Wanted { earlier, ..wanted }).or_default().extend(names);
                    }
                    continue;
                }
            };
            if self.table.is_some_and(|table| !table.has_metric(&clause.metric)) && !names.is_empty() {
                push(&mut lacks, MissingReason::Metric(clause.metric.clone()));
            }
            for fs in &ready.filesystems {
                match self.unavailable(fs) {
                    Some(reason) => {
                        push(&mut lacks, MissingReason::Unavailable { filesystem: fs.clone(), reason: reason.into() });
                    }
                    None if !is_asked(fs) => push(&mut absent, fs.clone()),
                    None => {
                        push(&mut absent, fs.clone());
                        needed.entry(wanted.clone()).or_default().extend(names.iter().cloned());
                    }
                }
            }
            for lack in gaps(clause, &ready.gaps) {
                push(&mut lacks, lack);
            }
            let nothing_is_said = ready.filesystems.is_empty() && ready.gaps.is_empty();
            if (ready.unmeasured > 0 || ready.units.is_empty()) && nothing_is_said {
                push(&mut lacks, MissingReason::TooFew);
            }
        }
        let own: Vec<String> = absent.iter().filter(|fs| self.reach.own_kernel.contains(*fs)).cloned().collect();
        if !own.is_empty() {
            push(&mut lacks, MissingReason::OwnKernel(own));
        }
        if !absent.is_empty() {
            absent.sort_unstable();
            lacks.insert(0, MissingReason::FileSystems(absent));
        }
        let commands = self.commands(needed, &mut lacks);
        (lacks, commands)
    }

    /// The commands of runs that are needed, by their file systems; those that no suite repeats are lacks.
    fn commands(&self, needed: Needed<'_>, lacks: &mut Vec<MissingReason>) -> Vec<String> {
        let mut commands = Vec::new();
        for (wanted, names) in needed {
            if !self.reach.suites.contains(wanted.suite) {
                // Of a study that no suite repeats, the misfit says so.
                if !wanted.suite.is_empty() {
                    push(lacks, MissingReason::NoSuite(wanted.suite.to_owned()));
                }
                continue;
            }
            let names: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| self.unavailable(name).is_none()).collect();
            // Those that cannot be measured are among the lacks above.
            if !names.is_empty() {
                commands.push(self.command(&wanted, &names));
            }
            if let (true, Some(run)) = (wanted.earlier, self.judges.run) {
                let run = &run.id;
                commands.push(format!("mountmark compare EARLIER {run} --claims --study {}", self.study.name));
            }
        }
        commands
    }

    /// The run that would judge a clause.
    fn wanted<'b>(&'b self, clause: &'b Clause) -> Wanted<'b> {
        let suite = clause.suite.as_deref().or(self.study.suite.as_deref()).unwrap_or_default();
        let needs = fit::needs(self.study, self.claim, clause, self.reach);
        // A disk in proportion to the suite's own comes with its scale.
        let disk_size = self.claim.needs.disk_size;
        let vary = clause.test.varies().map(|(_, vary)| vary);
        let machine = fit::machine(self.study, clause, self.reach);
        let Some(plan) = self.judges.run.map(|run| &run.plan) else {
            return Wanted { suite, machine, earlier: false, scale: "1".to_owned(), disk_size, vary };
        };
        let own = clause.suite.is_none() && self.study.is_repeated_by(&plan.suite);
        let (suite, machine) = match machine {
            _ if self.judges.anyway => (plan.suite.as_str(), plan.machine.name.as_str()),
            machine => (if own { plan.suite.as_str() } else { suite }, machine.unwrap_or(&plan.machine.name)),
        };
        // Figures of a smaller run are left behind as they are, and not measured once more at its scale.
        let keeps = suite == plan.suite && needs.scale.is_none_or(|least| plan.scale >= least);
        let scale = if keeps { plan.scale.to_string() } else { "1".to_owned() };
        Wanted { suite, machine: Some(machine), earlier: false, scale, disk_size, vary }
    }

    /// Why a file system cannot be measured: from the catalogue, or as the run found.
    fn unavailable(&self, fs: &str) -> Option<&str> {
        let skipped = self
            .judges
            .run
            .and_then(|run| run.plan.skipped.iter().find(|(name, _)| name == fs))
            .map(|(_, reason)| reason.as_str());
        self.reach.unavailable.get(fs).map(String::as_str).or(skipped)
    }

    fn command(&self, wanted: &Wanted<'_>, filesystems: &[&str]) -> String {
        let Wanted { suite, machine, earlier, scale, disk_size, vary } = wanted;
        let of = |name: &&str| name.split(':').next().is_some_and(|fs| self.reach.own_kernel.contains(fs));
        let kernel = match filesystems.iter().any(of) {
            true => " --kernel VMLINUX,MODULES",
            false if *earlier => " --kernel OLDER",
            false => "",
        };
        let names = filesystems.join(",");
        let size = disk_size.map_or(String::new(), |size| format!(" --disk-size {}", size.0));
        let vary = vary.map_or(String::new(), |vary| format!(" --vary {vary}"));
        let machine = machine.map_or(String::new(), |machine| format!(" --machine {machine}"));
        format!("mountmark run --suite {suite} --fs {names}{machine} --scale {scale}{size}{vary}{kernel}")
    }
}

/// A run that would judge clauses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted<'a> {
    suite: &'a str,
    /// If the claim or the run has one.
    machine: Option<&'a str>,
    scale: String,
    disk_size: Option<Bytes>,
    vary: Option<&'a str>,
    /// Whether it stands for the study's earlier run.
    earlier: bool,
}

/// Runs with the file systems that they need.
type Needed<'a> = BTreeMap<Wanted<'a>, BTreeSet<String>>;

/// Whether a clause names a file system, alone or followed by a colon and options.
fn names_it(clause: &Clause, fs: &str) -> bool {
    clause.names().into_iter().any(|name| name.split(':').next() == Some(fs))
}

/// Missing figures, by file system.
fn gaps(clause: &Clause, gaps: &[(String, Subject)]) -> Vec<MissingReason> {
    let mut by_filesystem: BTreeMap<&String, Vec<Subject>> = BTreeMap::new();
    for (fs, subject) in gaps {
        by_filesystem.entry(fs).or_default().push(subject.clone());
    }
    let lack = |(filesystem, tasks): (&String, Vec<Subject>)| {
        let (filesystem, metric) = (filesystem.clone(), clause.metric.clone());
        MissingReason::Tasks { filesystem, metric, over: clause.over, tasks }
    };
    by_filesystem.into_iter().map(lack).collect()
}

fn push<T: PartialEq>(list: &mut Vec<T>, new: T) {
    if !list.contains(&new) {
        list.push(new);
    }
}
