//! Recordings: of a workload, and of the recovery from a power cut.

use anyhow::{Result, bail};
use mountmark_crash::states::{Base, Device, Extent, State, States};
use mountmark_crash::workload::Workload;
use mountmark_guest::questions::Recorded;

use super::explore_options::{ExploreOptions, IDLE};
use super::witness_client::{Reply, WitnessClient};

/// Bytes of the disk when a recording began: the base, changed by an image.
pub struct Under<'t, 'a> {
    pub talk: &'t WitnessClient<'a>,
    pub below: &'t [Extent],
    /// Of the recording.
    pub data: &'t [u8],
}

impl Base for Under<'_, '_> {
    fn read(&self, offset: u64, into: &mut [u8]) {
        self.talk.base(offset, into).expect("the guest's memory is there as long as the guest");
        let end = offset + into.len() as u64;
        for extent in self.below.iter().filter(|extent| extent.offset < end && offset < extent.end()) {
            let (first, last) = (extent.offset.max(offset), extent.end().min(end));
            let part = &mut into[(first - offset) as usize..(last - offset) as usize];
            extent.read(self.data, first - extent.offset, part);
        }
    }
}

/// A recording and the states that follow from it.
pub enum Recording {
    Set(Box<(Recorded, States)>),
    /// It could not be recorded, and why.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

pub fn record(talk: &mut WitnessClient, workload: &Workload, course: &ExploreOptions) -> Result<Recording> {
    let reply = match &workload.log {
        Some(log) => Reply::Done(Some(super::log::set(talk, log)?)),
        None => talk.record(workload, course.policy, course.device, IDLE)?,
    };
    scene(talk, reply, &[], course.device, workload.recorded)
}

/// Records the recovery of an image.
pub fn recover(talk: &mut WitnessClient, state: &State, course: &ExploreOptions) -> Result<Recording> {
    let reply = talk.recover(&state.extents, course.policy, course.device)?;
    scene(talk, reply, &state.extents, course.device, 0)
}

fn scene(
    talk: &mut WitnessClient,
    reply: Reply<Option<Recorded>>,
    below: &[Extent],
    device: Device,
    recorded_from: u16,
) -> Result<Recording> {
    let recorded = match reply {
        Reply::Done(Some(recorded)) => recorded,
        Reply::Done(None) => bail!("the guest did not answer"),
        Reply::Gone { reason, log, .. } => {
            let failed = Recording::Failed(format!("{reason} while the workload ran\n{log}"));
            return Ok(if talk.restart()? { failed } else { Recording::Stopped });
        }
        Reply::Interrupted => return Ok(Recording::Stopped),
    };
    if let Some(error) = recorded.error {
        return Ok(Recording::Failed(error));
    }
    let under = Under { talk, below, data: &recorded.trace.data };
    let states = States::new(&recorded.trace, &under, device, recorded_from)?;
    Ok(Recording::Set(Box::new((recorded, states))))
}
