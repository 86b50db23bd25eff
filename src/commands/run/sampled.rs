//! `--precision` and `--budget`: a run looks at its figures after each repeat and decides what the next one measures.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use mountmark_cells::{Plan, PlannedCell};
use mountmark_findings::sampling::{Look, Pace, ended, left, look};
use mountmark_model::{Sampling, SamplingEnd, WhyEnded, counted};
use mountmark_plan::{Catalogue, Options, next_block};
use mountmark_record::{RunId, RunRecord};

use super::Session;
use crate::common::{self, WrongUse};
use crate::progress::Progress;

/// Repeats if nothing else is said.
const USUAL: u32 = 3;

#[derive(Args, Clone, Debug, Default)]
pub struct SamplingOptions {
    /// Repeat until every figure is known this well, such as 2%: half the width of its 98 % interval, divided by the
    /// figure. Each repeat measures the file systems with a figure or a comparison that is wider, at most 30 times
    /// without --budget
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    precision: Option<f64>,
    /// Repeat for at most this long, such as 90s, 30m or 2h, or until --precision is reached: a repeat that is not likely
    /// to fit is not begun. With --study also the time of each configuration's power cuts
    #[arg(long, value_name = "TIME", value_parser = common::duration)]
    pub(super) budget: Option<Duration>,
}

impl SamplingOptions {
    /// The repeats that are planned, of which the user has given a number or not.
    pub fn repeats(&self, given: Option<u32>, vary: &[String]) -> Result<u32> {
        if self.budget.is_some_and(|budget| budget.is_zero()) {
            bail!(WrongUse("--budget 0: nothing can be measured in no time".into()));
        }
        let is_sampled = self.is_sampled();
        if let (true, Some(vary)) = (is_sampled, vary.first()) {
            bail!(WrongUse(format!(
                "--vary {vary} measures each point equally often: give --repeat instead of --precision or --budget"
            )));
        }
        match (self.precision, given) {
            (Some(_), Some(few @ 1..Sampling::LEAST)) => bail!(WrongUse(format!(
                "--repeat {few} with --precision: how precise fewer than {} repeats are is chance; give at least {}, or leave \
                 --repeat away",
                Sampling::LEAST,
                Sampling::LEAST
            ))),
            (Some(_), None) => Ok(Sampling::LEAST),
            (_, given) => Ok(given.unwrap_or(USUAL)),
        }
    }

    /// The least number of repeats, if figures are to have a precision.
    pub fn least(&self) -> Option<u32> {
        self.precision.map(|_| Sampling::LEAST)
    }

    /// Whether figures decide how many repeats there are.
    pub fn is_sampled(&self) -> bool {
        self.precision.is_some() || self.budget.is_some()
    }

    /// The plan with what was asked for.
    pub fn of(&self, catalogue: &Catalogue, options: &Options, plan: Plan) -> Result<Plan> {
        let budget = self.budget.map(|budget| budget.as_secs_f64());
        match (self.precision, budget) {
            (None, None) => Ok(plan),
            (precision, budget) => Ok(mountmark_plan::with_sampling(catalogue, options, precision, budget, plan)?),
        }
    }
}

/// The least precision in percent: outputs show hundredths.
const LEAST_PERCENT: f64 = 0.01;

/// `2%` or `0.5 %`: at least [`LEAST_PERCENT`] and less than 100.
fn percent(text: &str) -> Result<f64, String> {
    let fits = common::percent(text).filter(|number| *number >= LEAST_PERCENT && *number < 100.0);
    fits.map(|number| number / 100.0)
        .ok_or_else(|| format!("`{text}` is no percentage from {LEAST_PERCENT}% to below 100%, such as 2%"))
}

impl Session<'_> {
    /// Runs the missing cells of an open run, then further repeats until its figures or its time end it; true as in
    /// [`Session::cells`].
    pub(super) fn sample(&self, id: &RunId) -> Result<bool> {
        let mut run = self.store.load(id)?;
        let there: BTreeSet<u32> = run.cells.iter().map(|cell| cell.index).collect();
        let mut rest = run.plan.clone();
        rest.cells.retain(|cell| !there.contains(&cell.index));
        let mut progress = Progress::new(&rest, self.jobs, self.verbose);
        let ended = self.rounds(&mut run, &mut progress);
        progress.finish();
        self.remark();
        let Some(ended) = self.stop.or(ended, None)? else { return Ok(false) };
        if let Some(sampling) = &mut run.plan.sampling {
            sampling.ended = Some(ended);
        }
        self.store.replan_run(id, &run.plan)?;
        Ok(true)
    }

    /// `None` if the user requested an end.
    fn rounds(&self, run: &mut RunRecord, progress: &mut Progress) -> Result<Option<SamplingEnd>> {
        let Some(sampling) = run.plan.sampling.clone() else { bail!("run {} has a fixed number of repeats", run.id) };
        let (before, begin) = (spent(run), Instant::now());
        let used = || before + begin.elapsed().as_secs_f64();
        progress.note(&mountmark_findings::sampling::say::asked(&run.plan).unwrap_or_default());
        loop {
            let found = look(run, sampling.precision);
            let rest = sampling.budget.map(|budget| (budget - used()).max(0.0));
            progress.look_ahead(0, left(run, &found, used()), rest);
            if let Some(precision) = sampling.precision.filter(|_| !run.cells.is_empty()) {
                progress.note(&mountmark_findings::sampling::say::progress(&found, precision));
            }
            let mut plan = run.plan.clone();
            let next = match next_planned(run) {
                next if !next.is_empty() => next,
                _ => match ended(run, &found) {
                    Some(why) => return Ok(Some(SamplingEnd { why, used: used() })),
                    None => further(&mut plan, &found)?,
                },
            };
            let [first, ..] = &next[..] else { bail!("run {} has no configuration to repeat", run.id) };
            let is_begun = run.cells.iter().any(|cell| round(&plan, cell.repeat) == round(&plan, first.repeat));
            let names = next.iter().map(|cell| cell.configuration.name.as_str());
            let needed = Pace::new(run, used()).map_or(0.0, |pace| pace.seconds(names));
            let is_over = sampling.budget.is_some_and(|budget| used() + needed > budget);
            if is_over && !is_begun && !run.cells.is_empty() {
                run.plan.repeats = run.plan.repeats.min(first.repeat);
                run.plan.cells.retain(|cell| cell.index < first.index);
                return Ok(Some(SamplingEnd { why: WhyEnded::Time, used: used() }));
            }
            if plan.cells.len() > run.plan.cells.len() {
                next.iter().try_for_each(|cell| self.lab.prepare(&cell.whole()))?;
                self.store.replan_run(&run.id, &plan)?;
                progress.look_ahead(next.len(), left(run, &found, used()), rest);
                run.plan = plan;
            }
            if !self.measure(&run.id, &run.plan, &next, progress)? {
                return Ok(None);
            }
            *run = self.store.load(&run.id)?;
        }
    }

    /// Counts the time of cells that were run again after a run's end.
    pub(super) fn also_used(&self, id: &RunId, time: Duration) -> Result<()> {
        let mut plan = self.store.load(id)?.plan;
        let Some(ended) = plan.sampling.as_mut().and_then(|sampling| sampling.ended.as_mut()) else { return Ok(()) };
        ended.used += time.as_secs_f64();
        Ok(self.store.replan_run(id, &plan)?)
    }

    /// Leaves out of `again` what does not fit into the run's budget any more.
    pub(super) fn within_budget(&self, run: &RunRecord, again: &mut Plan) {
        let sampling = run.plan.sampling.as_ref();
        let limits = sampling.and_then(|sampling| Some((sampling.budget?, sampling.ended?.used)));
        let Some(((budget, used), pace)) = limits.and_then(|limits| Some((limits, Pace::new(run, limits.1)?))) else {
            return;
        };
        let (all, mut rest) = (again.cells.len(), budget - used);
        again.cells.retain(|cell| {
            rest -= pace.seconds(std::iter::once(cell.configuration.name.as_str()));
            rest >= 0.0
        });
        if again.cells.len() < all {
            let cells = counted(all - again.cells.len(), "cell");
            say!("mountmark: {cells} with figures in doubt would not fit into the budget, and stay as they are");
        }
    }
}

/// On several targets a repeat is a block on each, and all of them are one round.
fn round(plan: &Plan, repeat: u32) -> u32 {
    repeat / plan.targets.len().max(1) as u32
}

/// The planned cells to run before the next look: those of a round, or all if no budget may end them before.
fn next_planned(run: &RunRecord) -> Vec<PlannedCell> {
    let plan = &run.plan;
    let missing = plan.cells.iter().filter(|cell| !run.cells.iter().any(|there| there.index == cell.index));
    let mut missing: Vec<PlannedCell> = missing.cloned().collect();
    let first = missing.first().map(|cell| round(plan, cell.repeat));
    if plan.sampling.as_ref().is_some_and(|sampling| sampling.budget.is_some()) {
        missing.retain(|cell| Some(round(plan, cell.repeat)) == first);
    }
    missing
}

/// Adds another round of what is wanted to the plan.
fn further(plan: &mut Plan, found: &Look) -> Result<Vec<PlannedCell>> {
    let mut realise = super::corpora(mountmark_corpus::realise);
    let before = plan.cells.len();
    for _ in 0..plan.targets.len().max(1) {
        let block = next_block(plan, &|name| found.wants(name), &mut realise)?;
        plan.cells.extend(block);
        plan.repeats += 1;
    }
    Ok(plan.cells[before..].to_vec())
}

/// Seconds in which cells that have ended were measured, as all that is known of earlier sittings.
fn spent(run: &RunRecord) -> f64 {
    let mut times: Vec<(i64, i64)> = run.cells.iter().map(|cell| (cell.started.0, cell.ended.0)).collect();
    times.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for (started, ended) in times {
        sum += (ended - started.max(until)).max(0);
        until = until.max(ended);
    }
    sum as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_and_nonsense_is_refused() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("0.5 %"), Ok(0.005));
        for wrong in ["0", "0%", "200%", "100%", "-1%", "2", "two", "", "%", "NaN%", "inf%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
