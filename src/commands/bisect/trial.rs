//! One cell on one kernel, and the journal of all that were tried.

use anyhow::{Result, bail};
use mountmark_cells::Plan;
use mountmark_findings::bisect::{Tried, Verdict, verdict, worse};
use mountmark_lab::OpenLab;
use mountmark_lab::emulator::options;
use mountmark_model::{Configuration, Machine, Metric};
use mountmark_plan::{Catalogue, Options, PlanError};
use mountmark_record::{RunRecord, RunStatus, Store, StoreError};

use crate::commands::resume::difference;
use crate::commands::run::{LabOptions, Session, ShelfOptions, Stop, corpora, leave_out_programs};
use crate::commands::why::one;
use crate::common::{FormatOptions, WrongUse};
use crate::work_options::Work;

/// What is measured on each kernel.
pub struct Trial<'a> {
    pub catalogue: &'a Catalogue,
    /// Of one cell; the kernel is filled in.
    pub options: Options,
    pub configuration: &'a Configuration,
    pub machine: &'a Machine,
    pub task: &'a str,
    pub work: &'a Work,
    pub silence_limit: u64,
    pub shelf: ShelfOptions,
    /// Whether cells run with the profiler.
    pub profile: bool,
    pub store: &'a Store,
    pub stop: &'a Stop,
}

/// What became of a kernel.
enum Said {
    Measured(Box<RunRecord>),
    Skipped(String),
    Stopped,
}

impl Trial<'_> {
    /// Measures a kernel, or finds it in the store. What is wrong with this kernel is no error.
    fn measure(&self, kernel: &str) -> Result<Said> {
        match self.try_kernel(kernel) {
            Err(_) if self.stop.is_set() => Ok(Said::Stopped),
            Err(error)
                if error.chain().any(|one| one.is::<StoreError>() || one.is::<PlanError>() || one.is::<WrongUse>()) =>
            {
                Err(error)
            }
            // A guest's last words are lines; a reason is one.
            Err(error) => Ok(Said::Skipped(format!("{error:#}").lines().map(str::trim).collect::<Vec<_>>().join("; "))),
            Ok(Said::Measured(run)) => {
                let unfit = one(&run, whole(&run, self.task), &self.configuration.name, 0).err();
                Ok(unfit.map_or(Said::Measured(run), |reason| Said::Skipped(format!("{reason:#}"))))
            }
            said => said,
        }
    }

    fn try_kernel(&self, kernel: &str) -> Result<Said> {
        let options = LabOptions { lab: self.options.lab, ..LabOptions::usual() }
            .with(&options::MACHINE, &self.options.machine)
            .with(&options::KERNEL, kernel)
            .with(&options::SILENCE_LIMIT, self.silence_limit)
            .with_profiler(self.profile);
        let opened = options.open_with_profiler(self.machine)?;
        let shelved = self.shelf.over(self.options.lab, opened.lab(), opened.profiler().is_some())?;
        let lab = shelved.as_ref().map_or(opened.lab(), |shelved| shelved as &dyn OpenLab);
        if let Some(reason) = lab.make_available(self.configuration)? {
            return Ok(Said::Skipped(reason));
        }
        let options = Options { kernel: kernel.to_owned(), ..self.options.clone() };
        let mut plan = mountmark_plan::plan(self.catalogue, &options, &mut corpora(mountmark_corpus::realise))?;
        leave_out_programs(&mut plan, &|program| lab.lacks(program))?;
        lab.prepare(&plan.cells[0].whole())?;
        self.work.check_programs(lab, &plan.cells[0].whole())?;
        if let Some(run) = self.kept(&plan, lab)? {
            return Ok(Said::Measured(Box::new(run)));
        }
        let (profiler, format) = (opened.profiler(), FormatOptions::default());
        let (store, stop) = (self.store, self.stop);
        let session = Session { lab, profiler, store, jobs: 1, stop, verbose: false, format: &format, sitting: 1 };
        Ok(session.collect(&plan)?.map_or(Said::Stopped, |run| Said::Measured(Box::new(run))))
    }

    /// The newest run of the same cell, by the same build on the same kernel.
    fn kept(&self, plan: &Plan, lab: &dyn OpenLab) -> Result<Option<RunRecord>> {
        let now = lab.environment(&plan.cells[0].whole())?;
        for listed in self.store.runs()?.iter().rev() {
            let is_like = listed.status == RunStatus::Done
                && (&listed.suite, &listed.configurations, listed.seed, listed.planned)
                    == (&plan.suite, &plan.configurations, plan.seed, 1);
            let Some(run) = is_like.then(|| self.store.load(&listed.id).ok()).flatten() else { continue };
            let Some(record) = run.cells.first().filter(|record| !record.has_failure()) else { continue };
            let mut same = run.plan.clone();
            same.kernel.clone_from(&plan.kernel);
            let is_same = same == *plan && difference(&record.configuration, &record.environment, &now).is_none();
            if is_same && (!self.profile || self.store.profile_size(&run.id)?.0 > 0) {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }
}

/// What was tried, in order: the good end, the bad end, the middles.
pub struct Journal<'a> {
    pub trial: Trial<'a>,
    pub tried: Vec<Tried>,
    /// Of each that was tried, if it was measured.
    pub runs: Vec<Option<RunRecord>>,
    /// What the task is judged by, once an end was measured.
    pub metric: Option<&'static Metric>,
    fail_on: f64,
    any: bool,
}

impl<'a> Journal<'a> {
    /// `fail_on`: the least change that is looked for, 0.03 is 3 %. `any`: also to the better.
    pub fn new(trial: Trial<'a>, fail_on: f64, any: bool) -> Journal<'a> {
        Journal { trial, tried: Vec::new(), runs: Vec::new(), metric: None, fail_on, any }
    }

    /// Tries a kernel; `None` if the user stopped it.
    ///
    /// # Errors
    /// An end cannot be measured; the store or the plan fails.
    pub fn try_kernel(&mut self, name: &str, kernel: &str) -> Result<Option<Verdict>> {
        let run = match self.trial.measure(kernel)? {
            Said::Stopped => return Ok(None),
            Said::Skipped(reason) => return self.skip(name, reason).map(Some),
            Said::Measured(run) => *run,
        };
        let metric = *self.metric.get_or_insert_with(|| judged(&run, self.trial.task));
        let found = run.cells.first().and_then(|record| record.figure(self.trial.task, metric));
        let Some(figure) = found.filter(|figure| figure.is_finite() && *figure > 0.0) else {
            return self.skip(name, format!("run {} has no {} above 0", run.id, metric.id)).map(Some);
        };
        let verdict = match self.tried.len() {
            0 => Verdict::Good,
            1 => Verdict::Bad,
            _ => verdict(self.ends(), figure),
        };
        let (name, run_id) = (name.to_owned(), Some(run.id.to_string()));
        self.tried.push(Tried { name, figure: Some(figure), run: run_id, verdict, reason: None });
        self.runs.push(Some(run));
        Ok(Some(verdict))
    }

    /// Notes one that cannot be measured.
    pub fn skip(&mut self, name: &str, reason: String) -> Result<Verdict> {
        if self.tried.len() < 2 {
            let end = ["good", "bad"][self.tried.len()];
            bail!("{name}, the {end} end, cannot be measured: {reason}");
        }
        let (name, verdict) = (name.to_owned(), Verdict::Skipped);
        self.tried.push(Tried { name, figure: None, run: None, verdict, reason: Some(reason) });
        self.runs.push(None);
        Ok(verdict)
    }

    /// Prints what was tried last, and what is `left`.
    pub fn say(&self, left: &str) {
        let (Some(tried), Some(metric)) = (self.tried.last(), self.metric) else { return };
        say!("mountmark: {}{left}", mountmark_findings::bisect::say::tried(tried, metric, self.ends()[0]));
    }

    /// Why there is nothing to look for between the ends: a sentence.
    pub fn nothing_between(&self) -> Option<String> {
        let (ends, metric) = (self.ends(), self.metric?);
        let (times, limit) = (worse(metric, ends[0], ends[1]), 1.0 + self.fail_on);
        let is_there = times >= limit || (self.any && times <= 1.0 / limit);
        (!is_there)
            .then(|| mountmark_findings::bisect::say::not_there(metric, ends, self.fail_on, times <= 1.0 / limit))
    }

    /// The figures of the ends, as far as they are known.
    fn ends(&self) -> [f64; 2] {
        [0, 1].map(|at| self.tried.get(at).and_then(|tried| tried.figure).unwrap_or(f64::NAN))
    }
}

/// What is measured and explained of a run's task: the whole that it is a part of, or itself.
pub fn whole<'a>(run: &'a RunRecord, task: &'a str) -> &'a str {
    let mut tasks = run.plan.cells.iter().flat_map(|cell| cell.tasks.iter());
    tasks.find(|own| own.id == task).and_then(|own| own.part_of.as_deref()).unwrap_or(task)
}

/// What a run's task is judged by; else the time that it took.
fn judged(run: &RunRecord, task: &str) -> &'static Metric {
    let found = mountmark_findings::findings(run, &mountmark_findings::Options::default());
    let found = found.tasks.iter().find(|known| known.id == task);
    found.and_then(|task| task.shown()).map_or(&Metric::DURABLE, |shown| shown.metric)
}

#[cfg(test)]
mod tests {
    use mountmark_model::Task;

    use super::*;

    #[test]
    fn a_part_is_measured_with_its_whole() {
        let mut run = crate::commands::resume::tests::run(&[0]);
        let mut cell = run.plan.cells[0].whole();
        cell.tasks.push(Task { id: "tps".into(), part_of: Some("a".into()), ..Task::default() });
        run.plan.cells[0] = cell.into();
        assert_eq!(["a", "tps", "mkfs"].map(|task| whole(&run, task)), ["a", "a", "mkfs"]);
    }
}
