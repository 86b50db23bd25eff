//! Explores one workload on one configuration: records it, makes the images that a power cut may leave, shows them to a
//! witness, and judges what it sees.

use std::time::Instant;

use anyhow::{Result, bail};
use mountmark_crash::application::Asked;
use mountmark_crash::campaign::{Again, Explored, Fault, Told};
use mountmark_crash::oracle::{History, Level, Moment, Promises};
use mountmark_crash::order::Order;
use mountmark_crash::policy::Policy;
use mountmark_crash::stateless;
use mountmark_crash::states::{Base, Budget, Device, Epoch, NoState, State, StateId, States, Tested};
use mountmark_crash::verdict;
use mountmark_crash::workload::Workload;
use mountmark_model::Configuration;

use super::known::{Differences, Known};
use super::questions::Recorded;
use super::talk::{Reply, Talk};

/// Images shown at once: few, so that what is seen of some spares others.
const BATCH: usize = 16;
/// Seconds after the last operation, in which the kernel writes back and commits by itself.
pub(super) const IDLE: u32 = 40;

/// What to explore, and how far.
#[derive(Clone, Debug)]
pub struct Course {
    pub device: Device,
    pub policy: Policy,
    pub budget: Budget,
    /// Of samples.
    pub seed: u64,
    pub promises: Promises,
    /// After this moment no more images are made.
    pub deadline: Option<Instant>,
}

struct BaseOf<'t, 'a>(&'t Talk<'a>);

impl Base for BaseOf<'_, '_> {
    fn read(&self, offset: u64, into: &mut [u8]) {
        self.0.base(offset, into).expect("the guest's memory is there as long as the guest");
    }
}

/// A recording and the states that follow from it.
enum Scene {
    Set(Box<(Recorded, States)>),
    /// The workload could not be run, and why.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

fn record(talk: &mut Talk, workload: &Workload, course: &Course) -> Result<Scene> {
    if let Some(log) = &workload.log {
        let recorded = super::log::set(talk, log)?;
        return scene(talk, recorded, workload, course);
    }
    let recorded = match talk.record(workload, course.policy, IDLE)? {
        Reply::Done(Some(recorded)) => recorded,
        Reply::Done(None) => bail!("the guest did not answer"),
        Reply::Gone { reason, log, .. } => {
            let failed = Scene::Failed(format!("{reason} while the workload ran\n{log}"));
            return Ok(if talk.restart()? { failed } else { Scene::Stopped });
        }
        Reply::Interrupted => return Ok(Scene::Stopped),
    };
    if let Some(error) = recorded.error {
        return Ok(Scene::Failed(error));
    }
    scene(talk, recorded, workload, course)
}

fn scene(talk: &Talk, recorded: Recorded, workload: &Workload, course: &Course) -> Result<Scene> {
    let states = States::new(&recorded.trace, &BaseOf(talk), course.device, workload.recorded)?;
    Ok(Scene::Set(Box::new((recorded, states))))
}

/// How far the workload had come at the end of an epoch. Operations run one after the other, so their number says which.
fn moment(epoch: &Epoch) -> Moment {
    Moment { begun: epoch.begun as u16, returned: epoch.returned as u16 }
}

/// Explores a workload, until something with the signature `wanted` is found if one is. `None` if the user stopped it.
pub fn explore(
    talk: &mut Talk,
    configuration: &Configuration,
    workload: &Workload,
    course: &Course,
    wanted: Option<&str>,
) -> Result<Option<Explored>> {
    let begun = Instant::now();
    let mut explored = Explored::default();
    let (recorded, states) = match record(talk, workload, course)? {
        Scene::Set(set) => *set,
        Scene::Failed(error) => return Ok(Some(Explored { error: Some(error), ..explored })),
        Scene::Stopped => return Ok(None),
    };
    explored.seconds[0] = begun.elapsed().as_secs_f64();
    explored.suspicious = stateless::check(&recorded.trace, workload);
    let mut known = Known::new(&recorded.trace);
    let history = History::new(workload, &recorded.results);
    let mut asked = None;
    'epochs: for epoch in states.epochs() {
        let moment = moment(epoch);
        let next = workload.application.as_ref().map(|application| application.asked(moment));
        if next != asked {
            // What is seen of an image depends on what is asked.
            known = Known::new(&recorded.trace);
            asked = next;
        }
        let Some(pending) = states.open(epoch.number) else { continue };
        let mut images = pending.explore(&course.budget, course.seed);
        explored.epochs += 1;
        loop {
            let batch: Vec<State> = images.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            if explored.states > 0 && course.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                explored.cut_short = true;
                break 'epochs;
            }
            explored.states += batch.len();
            let Some(seen) = look(talk, &recorded, &batch, asked.as_ref(), &mut known, &mut explored.shown)? else {
                return Ok(None);
            };
            for (state, seen) in batch.iter().zip(seen) {
                let told = match seen {
                    Sight::Seen(index) => {
                        verdict::faults(&known.seen[index], configuration, &course.promises, &history, moment)
                    }
                    Sight::Gone { reason, log } => vec![gone(reason, log, &course.promises)],
                };
                for told in told {
                    let order = || Order::new(&recorded.trace, epoch.end, state);
                    explored.add(workload, &state.id, moment, told, order);
                }
            }
            if wanted.is_some_and(|wanted| explored.broken(workload, wanted).is_some_and(|found| !found.is_torn())) {
                break 'epochs;
            }
        }
        for (sum, tested) in explored.tested.iter_mut().zip(images.tested()) {
            let complete = tested.is_complete && (sum.is_complete || explored.epochs == 1);
            *sum = Tested {
                made: sum.made + tested.made,
                different: sum.different + tested.different,
                is_complete: complete,
            };
        }
    }
    if explored.cut_short {
        explored.tested.iter_mut().for_each(|tier| tier.is_complete = false);
    }
    explored.findings.sort_by_key(|finding| !finding.promised);
    explored.seconds[1] = begun.elapsed().as_secs_f64();
    Ok(Some(explored))
}

/// Looking at an image has ended the guest.
fn gone(reason: String, log: String, promises: &Promises) -> Told {
    Told { fault: Fault::Gone { reason, log }, promised: promises.has(Level::L0) }
}

/// Why a state was not made again.
pub enum NotAgain {
    /// The workload could not be run.
    Failed(String),
    NoState(NoState),
    /// The user stopped it.
    Stopped,
}

/// Makes one state of a workload again and looks at it.
pub fn again(
    talk: &mut Talk,
    configuration: &Configuration,
    workload: &Workload,
    course: &Course,
    id: &StateId,
) -> Result<Result<Again, NotAgain>> {
    let (recorded, states) = match record(talk, workload, course)? {
        Scene::Set(set) => *set,
        Scene::Failed(error) => return Ok(Err(NotAgain::Failed(error))),
        Scene::Stopped => return Ok(Err(NotAgain::Stopped)),
    };
    let state = match states.rebuild(id) {
        Ok(state) => state,
        Err(error) => return Ok(Err(NotAgain::NoState(error))),
    };
    let Some(epoch) = states.epochs().iter().find(|epoch| epoch.number == id.epoch) else {
        let count = states.epochs().last().map_or(0, |epoch| epoch.number as usize + 1);
        return Ok(Err(NotAgain::NoState(NoState::Epoch { id: id.clone(), count, device: course.device })));
    };
    let (moment, end) = (moment(epoch), epoch.end);
    let asked = workload.application.as_ref().map(|application| application.asked(moment));
    let (seen, faults) = match talk.look(vec![state.extents.clone()], asked)? {
        Reply::Done(seen) => {
            let Some(seen) = seen.into_iter().next() else { bail!("the guest did not answer") };
            let history = History::new(workload, &recorded.results);
            let faults = verdict::faults(&seen, configuration, &course.promises, &history, moment);
            (Some(seen), faults)
        }
        Reply::Gone { reason, log, .. } => (None, vec![gone(reason, log, &course.promises)]),
        Reply::Interrupted => return Ok(Err(NotAgain::Stopped)),
    };
    let order = Order::new(&recorded.trace, end, &state);
    Ok(Ok(Again { trace: recorded.trace, state, order, moment, seen, faults }))
}

/// What a witness made of one image.
enum Sight {
    /// An index into what is known.
    Seen(usize),
    Gone {
        reason: String,
        log: String,
    },
}

/// Shows those images of a batch that are not known. `None` if the user stopped it.
fn look(
    talk: &mut Talk,
    recorded: &Recorded,
    batch: &[State],
    asked: Option<&Asked>,
    known: &mut Known,
    shown: &mut usize,
) -> Result<Option<Vec<Sight>>> {
    let data = &recorded.trace.data;
    let differences: Vec<Differences> = batch.iter().map(|state| Differences::of(state, data)).collect();
    let mut sights: Vec<Option<Sight>> =
        batch.iter().zip(&differences).map(|(state, of)| known.find(state, of).map(Sight::Seen)).collect();
    loop {
        let missing: Vec<usize> = (0..batch.len()).filter(|&index| sights[index].is_none()).collect();
        if missing.is_empty() {
            return Ok(Some(sights.into_iter().flatten().collect()));
        }
        let question = missing.iter().map(|&index| batch[index].extents.clone()).collect();
        let (seen, gone) = match talk.look(question, asked.cloned())? {
            Reply::Done(seen) => (seen, None),
            Reply::Gone { before, reason, log } => (before, Some(Sight::Gone { reason, log })),
            Reply::Interrupted => return Ok(None),
        };
        *shown += seen.len();
        let count = seen.len();
        for (&index, seen) in missing.iter().zip(seen) {
            sights[index] = Some(Sight::Seen(known.add(&batch[index], &differences[index], seen)));
        }
        match (gone, missing.get(count)) {
            (Some(gone), Some(&index)) => {
                *shown += 1;
                sights[index] = Some(gone);
                if !talk.restart()? {
                    return Ok(None);
                }
                talk.replay(data)?;
            }
            (None, None) => {}
            _ => bail!("the guest said what {count} of {} images hold", missing.len()),
        }
    }
}
