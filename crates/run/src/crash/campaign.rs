//! A campaign: all chosen workloads on one configuration, by several guests side by side.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mountmark_crash::campaign::{Reason, Tried};
use mountmark_crash::oracle::Promises;
use mountmark_crash::states::{Budget, Device};
use mountmark_crash::trace::Policy;
use mountmark_crash::workload::{Workload, smaller};
use mountmark_lab::emulator::Witnesses;
use mountmark_model::Cell;

use super::explore::explore;
use super::explore_options::ExploreOptions;
use super::witness_client::WitnessClient;
use crate::pool::{self, Queue};

/// Workloads that are tried at most to find smaller ones for the findings of one, and images that guests are shown of
/// them: how fast the machine is has no part in what is found.
const MOST_SMALLER: usize = 60;
const MOST_SHOWN: usize = 600;

/// What to try, and how.
pub struct Work<'a> {
    pub lab: &'a Witnesses,
    pub cell: &'a Cell,
    pub promises: Promises,
    pub device: Device,
    pub seed: u64,
    /// Most images of one tier at one moment.
    pub images: usize,
    /// Of each workload: in how many recoveries the power is cut again.
    pub recoveries: usize,
    pub workloads: &'a [Workload],
    /// Each workload runs under each.
    pub policies: &'a [Policy],
    /// Time from when the first guest is ready; after it nothing new begins.
    pub budget: Duration,
    /// The first so many workloads get equal shares of it. Others, of which there are more than it has room for, get
    /// what one share leaves.
    pub sharing: usize,
    /// Guests side by side.
    pub jobs: usize,
    /// Whether to look for smaller workloads that break the same promise.
    pub shrink: bool,
}

/// Something was tried: a workload under a policy by its place, which is that of the workload times the number of
/// policies, plus that of the policy; `None` if it was tried only to find a smaller one.
pub struct CampaignProgress {
    pub place: Option<usize>,
    pub tried: Tried,
}

/// How a campaign ended, and how long it took until the first guest was ready.
pub struct End {
    pub ended: Ended,
    pub prepared: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Done,
    /// The deadline came first.
    Late,
    /// The user stopped it.
    Stopped,
}

impl Work<'_> {
    pub fn places(&self) -> usize {
        self.workloads.len() * self.policies.len()
    }

    /// Tries everything but the places in `done`, and tells each result at once, in the order in which they come.
    pub fn run(
        &self,
        done: &BTreeSet<usize>,
        stop: &AtomicBool,
        mut tell: impl FnMut(CampaignProgress) -> Result<()>,
    ) -> Result<End> {
        let started = Instant::now();
        let team = Team { work: self, done, stop, ready: OnceLock::new(), late: false.into(), known: Mutex::default() };
        let left = self.places() - done.iter().filter(|place| **place < self.places()).count();
        pool::work(self.places(), self.jobs.min(left), |queue, out| team.work_on(queue, out), &mut tell)?;
        let ended = if stop.load(Ordering::SeqCst) {
            Ended::Stopped
        } else if team.late.load(Ordering::SeqCst) {
            Ended::Late
        } else {
            Ended::Done
        };
        let ready = team.ready.get().copied().unwrap_or_else(Instant::now);
        Ok(End { ended, prepared: ready - started })
    }
}

/// What a smaller workload must show.
struct Wanted<'a> {
    reason: &'a Reason,
    /// Whether it was found after a second power cut.
    in_recovery: bool,
}

/// What the guests of a campaign share.
struct Team<'a> {
    work: &'a Work<'a>,
    done: &'a BTreeSet<usize>,
    stop: &'a AtomicBool,
    /// When the first guest was ready.
    ready: OnceLock<Instant>,
    late: AtomicBool,
    /// Signatures of which somebody has looked for smaller workloads.
    known: Mutex<BTreeSet<String>>,
}

impl Team<'_> {
    /// One guest: takes places until none is left.
    fn work_on(&self, queue: &Queue, out: &SyncSender<CampaignProgress>) -> Result<()> {
        let work = self.work;
        let Some(mut talk) = WitnessClient::start(work.lab, work.cell, self.stop)? else { return Ok(()) };
        self.ready.get_or_init(Instant::now);
        talk.end_at(self.deadline());
        while let Some(place) = queue.take() {
            if self.done.contains(&place) {
                continue;
            }
            if self.is_late() {
                return Ok(());
            }
            let workload = &work.workloads[place / work.policies.len()];
            let policy = work.policies[place % work.policies.len()];
            let share = self.share(place);
            let Some(tried) = self.attempt(&mut talk, workload, policy, share, None)? else { return Ok(()) };
            let found = tried.clone();
            let _ = out.send(CampaignProgress { place: Some(place), tried });
            if work.shrink && !self.shrink(&mut talk, &found, policy, share, out)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn deadline(&self) -> Instant {
        self.ready.get().copied().unwrap_or_else(Instant::now) + self.work.budget
    }

    /// Until when a place may be explored: what is left of the budget is shared among those that are left.
    fn share(&self, place: usize) -> Instant {
        let (work, now, deadline) = (self.work, Instant::now(), self.deadline());
        let sharing = work.sharing * work.policies.len();
        if place >= sharing {
            return deadline;
        }
        let left = sharing - place + usize::from(sharing < work.places());
        now + deadline.saturating_duration_since(now).mul_f64(work.jobs.min(left) as f64 / left as f64)
    }

    fn is_late(&self) -> bool {
        let is_late = Instant::now() > self.deadline();
        if is_late {
            self.late.store(true, Ordering::SeqCst);
        }
        is_late
    }

    /// `None` if the user stopped it.
    fn attempt(
        &self,
        talk: &mut WitnessClient,
        workload: &Workload,
        policy: Policy,
        deadline: Instant,
        wanted: Option<Wanted>,
    ) -> Result<Option<Tried>> {
        let work = self.work;
        let (device, seed, promises) = (work.device, work.seed, work.promises);
        let recoveries = if wanted.as_ref().is_none_or(|wanted| wanted.in_recovery) { work.recoveries } else { 0 };
        let budget = Budget::of(work.images);
        let course = ExploreOptions { device, policy, budget, seed, promises, deadline, recoveries };
        let configuration = &work.cell.configuration;
        let explored = explore(talk, configuration, workload, &course, wanted.as_ref().map(|wanted| wanted.reason))
            .with_context(|| format!("{}: {workload}", configuration.name))?;
        let tried = |explored| Tried { workload: workload.clone(), policy, shrunk: wanted.is_some(), explored };
        Ok(explored.map(tried))
    }

    /// Looks for the smallest workload of each new finding; false if the user stopped it.
    fn shrink(
        &self,
        talk: &mut WitnessClient,
        found: &Tried,
        policy: Policy,
        deadline: Instant,
        out: &SyncSender<CampaignProgress>,
    ) -> Result<bool> {
        let (mut left, mut shown) = (MOST_SMALLER, 0);
        for finding in found.explored.findings.iter().filter(|finding| finding.promised) {
            let reason = finding.fault.reason(&found.workload);
            if !self.known.lock().expect("no thread panics").insert(reason.signature.clone()) {
                continue;
            }
            let mut smallest = found.workload.clone();
            let mut torn = finding.is_torn();
            let in_recovery = finding.state.recovery.is_some();
            'smaller: loop {
                for workload in smaller(&smallest) {
                    if left == 0 || shown > MOST_SHOWN || Instant::now() > deadline {
                        break 'smaller;
                    }
                    left -= 1;
                    let Some(tried) =
                        self.attempt(talk, &workload, policy, deadline, Some(Wanted { reason: &reason, in_recovery }))?
                    else {
                        return Ok(false);
                    };
                    shown += tried.explored.shown;
                    let shows = tried.explored.broken(&workload, &reason.signature).map(|finding| finding.is_torn());
                    if shows.is_some_and(|is_torn| torn || !is_torn) {
                        (smallest, torn) = (workload, shows == Some(true));
                        let _ = out.send(CampaignProgress { place: None, tried });
                        continue 'smaller;
                    }
                }
                break;
            }
        }
        Ok(true)
    }
}
