//! Makes one image of a workload again, by its name.

use anyhow::{Result, bail};
use mountmark_crash::campaign::Replay;
use mountmark_crash::oracle::History;
use mountmark_crash::order::Order;
use mountmark_crash::states::{Epoch, ImageId, NoState, State, StateId, States};
use mountmark_crash::verdict;
use mountmark_crash::workload::Workload;
use mountmark_model::Configuration;

use super::explore::{gone, moment};
use super::explore_options::ExploreOptions;
use super::recording::{Recording, Under, record, recover};
use super::witness_client::{Reply, WitnessClient};

/// Why an image was not made again.
pub enum NotAgain {
    /// The workload could not be run.
    Failed(String),
    NoState(NoState),
    /// The user stopped it.
    Stopped,
}

/// Recordings of a workload until one shows a finding: what the kernel sends may depend on what it did before.
const RECORDINGS: usize = 5;

/// Makes one image of a workload again and looks at it. With the signature of a finding as `wanted` the workload is
/// recorded a few times, until the image shows it.
pub fn again(
    talk: &mut WitnessClient,
    configuration: &Configuration,
    workload: &Workload,
    course: &ExploreOptions,
    id: &ImageId,
    wanted: Option<&str>,
) -> Result<Result<Replay, NotAgain>> {
    let shows = |again: &Replay| {
        wanted.is_none_or(|wanted| again.faults.iter().any(|told| told.fault.signature(workload) == wanted))
    };
    let mut last = once(talk, configuration, workload, course, id)?;
    for _ in 1..RECORDINGS {
        match &last {
            Ok(again) if shows(again) => break,
            Err(NotAgain::NoState(_)) if wanted.is_none() => break,
            Err(NotAgain::Failed(_) | NotAgain::Stopped) => break,
            Ok(_) | Err(NotAgain::NoState(_)) => last = once(talk, configuration, workload, course, id)?,
        }
    }
    Ok(last)
}

/// Makes it again from one recording.
fn once(
    talk: &mut WitnessClient,
    configuration: &Configuration,
    workload: &Workload,
    course: &ExploreOptions,
    id: &ImageId,
) -> Result<Result<Replay, NotAgain>> {
    let (mut recorded, states) = match record(talk, workload, course)? {
        Recording::Set(set) => *set,
        Recording::Failed(error) => return Ok(Err(NotAgain::Failed(error))),
        Recording::Stopped => return Ok(Err(NotAgain::Stopped)),
    };
    let (state, epoch) = match rebuild(&states, &id.state) {
        Ok(found) => found,
        Err(error) => return Ok(Err(NotAgain::NoState(error))),
    };
    let (moment, mut end) = (moment(epoch), epoch.end);
    let history = History::new(workload, &recorded.results);
    let (mut below, mut own) = (Vec::new(), state.extents.clone());
    if let Some(second) = &id.recovery {
        let (recovered, states) = match recover(talk, &state, course)? {
            Recording::Set(set) => *set,
            Recording::Failed(error) => return Ok(Err(NotAgain::Failed(error))),
            Recording::Stopped => return Ok(Err(NotAgain::Stopped)),
        };
        let (state, epoch) = match rebuild(&states, second) {
            Ok(found) => found,
            Err(error) => return Ok(Err(NotAgain::NoState(error))),
        };
        end = epoch.end;
        below = std::mem::replace(&mut own, state.extents);
        recorded.trace = recovered.trace;
    }
    let extents = [&below[..], &own[..]].concat();
    let (seen, faults) = match talk.look(vec![extents.clone()], workload.asked(moment), course.device.gone())? {
        Reply::Done(seen) => {
            let Some(seen) = seen.into_iter().next() else { bail!("the guest did not answer") };
            let faults = verdict::faults(&seen, configuration, &course.promises, &history, moment);
            (Some(seen), faults)
        }
        Reply::Gone { reason, log, .. } => (None, vec![gone(reason, log, &course.promises)]),
        Reply::Interrupted => return Ok(Err(NotAgain::Stopped)),
    };
    let order = Order::new(&recorded.trace, end, &own, &Under { talk, below: &below, data: &recorded.trace.data });
    Ok(Ok(Replay { trace: recorded.trace, id: id.clone(), extents, order, moment, seen, faults }))
}

fn rebuild<'s>(states: &'s States, id: &StateId) -> Result<(State, &'s Epoch), NoState> {
    let state = states.rebuild(id)?;
    match states.epochs().iter().find(|epoch| epoch.number == id.epoch) {
        Some(epoch) => Ok((state, epoch)),
        None => {
            let count = states.epochs().last().map_or(0, |epoch| epoch.number as usize + 1);
            Err(NoState::Epoch { id: id.clone(), count, device: states.device() })
        }
    }
}
