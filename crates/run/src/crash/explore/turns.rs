//! A fault that is of each request, or of each disk, in turn: one disk after the other.

use anyhow::Result;
use mountmark_crash::campaign::Explored;
use mountmark_crash::oracle::History;
use mountmark_crash::states::{Fault, States};
use mountmark_guest::questions::Recorded;

use super::{Flow, Sitting};
use crate::crash::explore_options::ExploreOptions;
use crate::crash::observation_cache::ObservationCache;
use crate::crash::recording::{Recording, Under, record};
use crate::crash::rounds::share;
use crate::crash::witness_client::WitnessClient;

impl Sitting<'_> {
    /// Explores the disk whose turn it is, of which `left` are left with this one. `None` if there is no recording of it.
    pub(super) fn in_turn(
        &self,
        talk: &mut WitnessClient,
        (recorded, states): (&Recorded, &States),
        left: usize,
        known: &mut ObservationCache,
        explored: &mut Explored,
    ) -> Result<Option<Flow>> {
        let (device, course) = (self.device(), self.course);
        if device.gone().is_some() {
            // What is seen of an image depends on it, and so does each recovery; the others have their share of the time.
            let known = &mut ObservationCache::new(&recorded.trace, device, &[]);
            let course = &ExploreOptions { device, deadline: share(course.deadline, left), ..course.clone() };
            let flow = Sitting { course, ..*self }.explore(talk, &recorded.trace, states, known, explored)?;
            let goes_on = flow == Flow::Late && left > 1;
            explored.cut_short |= goes_on;
            return Ok(Some(if goes_on { Flow::On } else { flow }));
        }
        if !matches!(device.fault, Some(Fault::Fail { .. })) {
            let under = Under { talk, below: &[], data: &recorded.trace.data };
            let states = match States::new(&recorded.trace, &under, device, self.workload.recorded) {
                Ok(states) => states,
                Err(error) => return Ok(unrecorded(explored, error.to_string())),
            };
            explored.error = None;
            return Ok(Some(self.explore(talk, &recorded.trace, &states, known, explored)?));
        }
        // What the kernel does depends on it.
        let course = &ExploreOptions { device, ..course.clone() };
        let (recorded, states) = match record(talk, self.workload, course)? {
            Recording::Set(set) => *set,
            Recording::Failed(error) => return Ok(unrecorded(explored, error)),
            Recording::Stopped if talk.is_stopped() => return Ok(Some(Flow::Stopped)),
            Recording::Stopped => {
                explored.cut_short = true;
                return Ok(None);
            }
        };
        explored.error = None;
        let known = &mut ObservationCache::new(&recorded.trace, device, &[]);
        let history = &History::new(self.workload, &recorded.results);
        let sitting = Sitting { course, history, ..*self };
        Ok(Some(sitting.explore(talk, &recorded.trace, &states, known, explored)?))
    }
}

/// Counts a request whose fault leaves no recording. That is the error while there is no image of another.
fn unrecorded(explored: &mut Explored, error: String) -> Option<Flow> {
    explored.in_turn.get_or_insert_default();
    explored.unrecorded += 1;
    if explored.states == 0 {
        explored.error = Some(error);
    }
    None
}
