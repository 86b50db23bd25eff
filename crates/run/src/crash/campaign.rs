//! A campaign: all chosen workloads on one configuration, by several guests side by side.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mountmark_crash::campaign::Tried;
use mountmark_crash::oracle::Promises;
use mountmark_crash::policy::Policy;
use mountmark_crash::states::{Budget, Device};
use mountmark_crash::workload::{Workload, smaller};
use mountmark_lab::emulator::Witnesses;
use mountmark_model::Cell;

use super::explore::{Course, explore};
use super::talk::Talk;

/// Workloads that are tried at most to find a smaller one for a finding, and for how long.
const MOST_SMALLER: usize = 60;
const LONGEST: Duration = Duration::from_secs(20);

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
    /// After this moment nothing new begins.
    pub deadline: Instant,
    /// Guests side by side.
    pub jobs: usize,
    /// Whether to look for smaller workloads that break the same promise.
    pub shrink: bool,
}

/// Something was tried: a workload under a policy by its place, which is that of the workload times the number of
/// policies, plus that of the policy; `None` if it was tried only to find a smaller one.
pub struct News {
    pub place: Option<usize>,
    pub tried: Tried,
}

/// How a campaign ended.
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
        mut tell: impl FnMut(News) -> Result<()>,
    ) -> Result<Ended> {
        let team =
            Team { work: self, done, stop, next: AtomicUsize::new(0), late: false.into(), known: Mutex::default() };
        let left = self.places() - done.iter().filter(|place| **place < self.places()).count();
        let jobs = self.jobs.min(left);
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let hands: Vec<_> = (0..jobs)
                .map(|_| {
                    let (team, sender) = (&team, sender.clone());
                    scope.spawn(move || team.hand(&sender))
                })
                .collect();
            drop(sender);
            let mut told = Ok(());
            for news in receiver {
                if told.is_ok() {
                    told = tell(news);
                }
                if told.is_err() {
                    team.next.store(usize::MAX / 2, Ordering::SeqCst);
                }
            }
            for hand in hands {
                hand.join().expect("a guest's thread does not panic")?;
            }
            told
        })?;
        Ok(if stop.load(Ordering::SeqCst) {
            Ended::Stopped
        } else if team.late.load(Ordering::SeqCst) {
            Ended::Late
        } else {
            Ended::Done
        })
    }
}

/// What a smaller workload must show.
struct Wanted<'a> {
    signature: &'a str,
    /// Whether it was found after a second power cut.
    in_recovery: bool,
    deadline: Instant,
}

/// What the guests of a campaign share.
struct Team<'a> {
    work: &'a Work<'a>,
    done: &'a BTreeSet<usize>,
    stop: &'a AtomicBool,
    next: AtomicUsize,
    late: AtomicBool,
    /// Signatures of which somebody has looked for smaller workloads.
    known: Mutex<BTreeSet<String>>,
}

impl Team<'_> {
    /// One guest: takes places until none is left. An error of one ends all.
    fn hand(&self, out: &Sender<News>) -> Result<()> {
        let result = self.work_on(out);
        if result.is_err() {
            self.next.store(usize::MAX / 2, Ordering::SeqCst);
        }
        result
    }

    fn work_on(&self, out: &Sender<News>) -> Result<()> {
        let work = self.work;
        let Some(mut talk) = Talk::start(work.lab, work.cell, self.stop)? else { return Ok(()) };
        loop {
            let place = self.next.fetch_add(1, Ordering::SeqCst);
            if place >= work.places() {
                return Ok(());
            }
            if self.done.contains(&place) {
                continue;
            }
            if self.is_late() {
                return Ok(());
            }
            let workload = &work.workloads[place / work.policies.len()];
            let policy = work.policies[place % work.policies.len()];
            let Some(tried) = self.attempt(&mut talk, workload, policy, None)? else { return Ok(()) };
            let found = tried.clone();
            let _ = out.send(News { place: Some(place), tried });
            if work.shrink && !self.shrink(&mut talk, &found, policy, out)? {
                return Ok(());
            }
        }
    }

    fn is_late(&self) -> bool {
        let is_late = Instant::now() > self.work.deadline;
        if is_late {
            self.late.store(true, Ordering::SeqCst);
        }
        is_late
    }

    /// `None` if the user stopped it.
    fn attempt(
        &self,
        talk: &mut Talk,
        workload: &Workload,
        policy: Policy,
        wanted: Option<Wanted>,
    ) -> Result<Option<Tried>> {
        let work = self.work;
        let (device, seed, promises) = (work.device, work.seed, work.promises);
        let recoveries = if wanted.as_ref().is_none_or(|wanted| wanted.in_recovery) { work.recoveries } else { 0 };
        let deadline = wanted.as_ref().map_or(work.deadline, |wanted| wanted.deadline);
        let budget = Budget::of(work.images);
        let course = Course { device, policy, budget, seed, promises, deadline, recoveries };
        let configuration = &work.cell.configuration;
        let explored = explore(talk, configuration, workload, &course, wanted.as_ref().map(|wanted| wanted.signature))
            .with_context(|| format!("{}: {workload}", configuration.name))?;
        let tried = |explored| Tried { workload: workload.clone(), policy, shrunk: wanted.is_some(), explored };
        Ok(explored.map(tried))
    }

    /// Looks for the smallest workload of each new finding; false if the user stopped it.
    fn shrink(&self, talk: &mut Talk, found: &Tried, policy: Policy, out: &Sender<News>) -> Result<bool> {
        for finding in found.explored.findings.iter().filter(|finding| finding.promised) {
            let signature = finding.fault.signature(&found.workload);
            if !self.known.lock().expect("no thread panics").insert(signature.clone()) {
                continue;
            }
            let mut smallest = found.workload.clone();
            let mut torn = finding.is_torn();
            let mut left = MOST_SMALLER;
            let deadline = self.work.deadline.min(Instant::now() + LONGEST);
            let in_recovery = finding.state.recovery.is_some();
            'smaller: loop {
                for workload in smaller(&smallest) {
                    if left == 0 || Instant::now() > deadline {
                        break 'smaller;
                    }
                    left -= 1;
                    let Some(tried) = self.attempt(
                        talk,
                        &workload,
                        policy,
                        Some(Wanted { signature: &signature, in_recovery, deadline }),
                    )?
                    else {
                        return Ok(false);
                    };
                    let shows = tried.explored.broken(&workload, &signature).map(|finding| finding.is_torn());
                    if shows.is_some_and(|is_torn| torn || !is_torn) {
                        (smallest, torn) = (workload, shows == Some(true));
                        let _ = out.send(News { place: None, tried });
                        continue 'smaller;
                    }
                }
                break;
            }
        }
        Ok(true)
    }
}
