//! Recordings: of a workload, and of the recovery from a power cut.

use anyhow::{Result, bail};
use mountmark_crash::states::{Base, Device, Extent, Fault, State, States};
use mountmark_crash::trace::{Event, Trace};
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
    let device = afterwards(course.device);
    let reply = talk.recover(&state.extents, course.policy, device)?;
    scene(talk, reply, &state.extents, device, 0)
}

/// The disk once the power is back: a fault of one request is past, and requests have new numbers.
fn afterwards(device: Device) -> Device {
    let is_past = |fault: &Fault| {
        matches!(fault, Fault::Drop { .. } | Fault::Misdirect { .. } | Fault::Flip { .. } | Fault::Fail { .. })
    };
    Device { fault: device.fault.filter(|fault| !is_past(fault)), ..device }
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
    if lacks_request(device, &recorded.trace) {
        return Ok(Recording::Failed(format!("the device is `{device}`, and the recording has no such request")));
    }
    let under = Under { talk, below, data: &recorded.trace.data };
    // The disk's fault may be of a request that this workload does not send, and others do.
    Ok(match States::new(&recorded.trace, &under, device, recorded_from) {
        Ok(states) => Recording::Set(Box::new((recorded, states))),
        Err(error) => Recording::Failed(error.to_string()),
    })
}

/// Whether nothing could fail, as what should have was not sent.
fn lacks_request(device: Device, trace: &Trace) -> bool {
    let Some(Fault::Fail { request: Some(request) }) = device.fault else { return false };
    !trace.events.iter().any(|event| matches!(event, Event::Sent { number, .. } if *number == request))
}

#[cfg(test)]
mod tests {
    use mountmark_crash::trace::Request;

    use super::*;

    #[test]
    fn a_request_that_was_not_sent_did_not_fail() {
        let events = (0..3).map(|number| Event::Sent { number, request: Request::Flush }).collect();
        let trace = Trace { events, ..Trace::default() };
        let lacks = |device: &str| lacks_request(device.parse().unwrap(), &trace);
        assert!(lacks("request+i10:3") && !lacks("request+i10:2") && !lacks("request+i10:each") && !lacks("request"));
    }

    #[test]
    fn a_fault_of_one_request_is_past_when_the_power_is_back() {
        let after = |device: &str| afterwards(device.parse().unwrap()).to_string();
        for past in ["i5:12", "i5:each", "i7:3@4096", "i7:each^9", "i10:2"] {
            assert_eq!(after(&format!("sector+trim+{past}")), "sector+trim", "{past}");
        }
        for stays in ["request", "sector+i1", "sector+i3:2", "request+i9", "request+i11:0"] {
            assert_eq!(after(stays), stays);
        }
    }
}
