//! How a study is repeated: commands of this program, in their order.
//!
//! A study says what it was measured with; its claims name the suites and power cuts that decide them. This file does not
//! know how a command is carried out.

use mountmark_model::{Bytes, Clause, Study, StudyRun, Suite};

use crate::{Catalogue, varies_scale};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    PowerCuts(PowerCuts),
    Run(Repeated),
}

/// `mountmark crash --cases`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCuts {
    pub filesystems: Vec<String>,
    /// Seconds for each configuration; the program's default if none.
    pub budget: Option<u64>,
}

/// `mountmark run` of one suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    pub suite: String,
    /// Those of the program's default if empty.
    pub filesystems: Vec<String>,
    pub machine: Option<String>,
    pub disk_size: Option<Bytes>,
    pub scale: String,
    pub repeats: Option<u32>,
    pub vary: Option<String>,
}

impl Step {
    /// The command, as words without the program's name.
    pub fn words(&self) -> Vec<String> {
        match self {
            Step::PowerCuts(PowerCuts { filesystems, budget }) => {
                let words = ["crash", "--cases", "--fs", &filesystems.join(",")].map(str::to_owned).into_iter();
                words.chain(budget.iter().flat_map(|seconds| ["--budget".into(), format!("{seconds}s")])).collect()
            }
            Step::Run(run) => {
                let options = run.options().into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
                std::iter::once("run".to_owned()).chain(options).collect()
            }
        }
    }
}

impl Repeated {
    /// Its scale, unless it varies that.
    pub fn own_scale(&self) -> Option<&String> {
        Some(&self.scale).filter(|_| !self.vary.as_deref().is_some_and(varies_scale))
    }

    /// Its options that are set, with their values.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let names = (!self.filesystems.is_empty()).then(|| self.filesystems.join(","));
        let set = [
            ("--suite", Some(self.suite.clone())),
            ("--machine", self.machine.clone()),
            ("--disk-size", self.disk_size.map(typed)),
            ("--fs", names),
            ("--repeat", self.repeats.map(|repeats| repeats.to_string())),
            ("--scale", self.own_scale().cloned()),
            ("--vary", self.vary.clone()),
        ];
        set.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }
}

/// The commands that repeat a run of a study, and what its claims need beside; none if no suite of the catalogue does.
pub fn repetition(catalogue: &Catalogue, study: &Study, run: &StudyRun) -> Vec<Step> {
    let is_first = study.runs.first().is_some_and(|first| first.id == run.id);
    let is_there = |suite: &&str| catalogue.get::<Suite>(suite).is_ok();
    let mut steps = Vec::new();
    let cut = cut(study);
    if is_first && !cut.is_empty() {
        steps.push(Step::PowerCuts(PowerCuts { filesystems: cut, budget: None }));
    }
    let suites: Vec<&str> = match run.suites.is_empty() {
        true => study.suite.as_deref().into_iter().collect(),
        false => run.suites.iter().map(String::as_str).collect(),
    };
    let scale = || "1".to_owned();
    for suite in suites.iter().copied().filter(is_there) {
        steps.push(Step::Run(Repeated {
            suite: suite.to_owned(),
            filesystems: on_layers(measured(study, run, suite), run),
            machine: run.machine.clone().or_else(|| study.machine.clone()),
            disk_size: run.disk_size.or(study.disk_size),
            scale: scale(),
            repeats: study.repeats,
            vary: None,
        }));
    }
    // What another study repeats is repeated with that.
    let others: Vec<&str> = catalogue.list::<Study>().filter_map(|other| other.suite.as_deref()).collect();
    let clauses = study.claims.iter().flat_map(|claim| &claim.clauses).filter(|_| is_first);
    for clause in clauses {
        let vary = clause.test.varies().map(|(_, vary)| vary);
        let is_new = |suite: &&str| vary.is_some() || (!suites.contains(suite) && !others.contains(suite));
        let wanted = clause.suite.as_deref().or(study.suite.as_deref());
        let Some(suite) = wanted.filter(is_new).filter(is_there) else { continue };
        let is_it = |step: &Step| matches!(step, Step::Run(run) if run.suite == suite && run.vary.as_deref() == vary);
        match steps.iter_mut().find(|step| is_it(step)) {
            Some(Step::Run(step)) => add(&mut step.filesystems, clause.names()),
            _ => steps.push(Step::Run(Repeated {
                suite: suite.to_owned(),
                filesystems: named(std::iter::once(clause)),
                machine: study.machine.clone(),
                disk_size: None,
                scale: scale(),
                repeats: study.repeats,
                vary: vary.map(str::to_owned),
            })),
        }
    }
    steps
}

/// A size as somebody would type it.
fn typed(Bytes(size): Bytes) -> String {
    const GB: u64 = 1_000_000_000;
    if size.is_multiple_of(GB) { format!("{}GB", size / GB) } else { size.to_string() }
}

/// The configurations of a run; where the study names none, those of its first run or of claims about the suite.
fn measured(study: &Study, run: &StudyRun, suite: &str) -> Vec<String> {
    let with_names = std::iter::once(run).chain(&study.runs).find(|run| !run.filesystems.is_empty());
    let about = |clause: &&Clause| {
        let of = clause.suite.as_deref().or(study.suite.as_deref());
        of == Some(suite) && clause.test.varies().is_none()
    };
    match with_names {
        Some(run) => run.filesystems.clone(),
        None => named(study.claims.iter().flat_map(|claim| &claim.clauses).filter(about)),
    }
}

/// The names with what lay below them.
fn on_layers(names: Vec<String>, run: &StudyRun) -> Vec<String> {
    match &run.layers {
        Some(layers) => names.into_iter().map(|name| format!("{name}@{layers}")).collect(),
        None => names,
    }
}

fn named<'a>(clauses: impl Iterator<Item = &'a Clause>) -> Vec<String> {
    let mut names = Vec::new();
    clauses.for_each(|clause| add(&mut names, clause.names()));
    names
}

/// The configurations whose power claims want cut.
fn cut(study: &Study) -> Vec<String> {
    let mut names = Vec::new();
    for about in study.claims.iter().filter_map(|claim| claim.power_cuts.as_ref()) {
        add(&mut names, about.on.iter().chain(&about.than).map(String::as_str).collect());
    }
    names
}

fn add(names: &mut Vec<String>, more: Vec<&str>) {
    for name in more {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
}
