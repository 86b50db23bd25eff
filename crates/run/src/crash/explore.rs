//! Explores one workload on one configuration: records it, makes the images that a power cut may leave, shows them to a
//! witness, and judges what it sees.

mod turns;

use std::time::Instant;

use anyhow::Result;
use mountmark_crash::campaign::{Explored, Fault, Finding, Reason, Told};
use mountmark_crash::moment::Moment;
use mountmark_crash::oracle::{History, Level, Promises};
use mountmark_crash::order::Order;
use mountmark_crash::states::{Choice, Device, Epoch, Fault as DeviceFault, ImageId, State, States};
use mountmark_crash::trace::Trace;
use mountmark_crash::workload::Workload;
use mountmark_crash::{stateless, verdict};
use mountmark_model::{Configuration, FileOutcome};
use mountmark_random::Stream;

use super::explore_options::ExploreOptions;
use super::holes;
use super::observation::{Observation, look};
use super::observation_cache::ObservationCache;
use super::recording::{Recording, Under, record, recover};
use super::rehearsal::{Rehearsal, rehearse};
use super::rounds::{self, Open, share};
use super::witness_client::WitnessClient;

/// Most images of one tier at one moment of a recovery.
const AGAIN: usize = 32;

/// Why a workload has no images whose recording was not done in time.
const LATE: &str = "the budget ended before it had run: take a larger --budget";

/// How far the workload had come at the end of an epoch. Operations run one after the other, so their number says which.
pub(super) fn moment(epoch: &Epoch) -> Moment {
    Moment { begun: epoch.begun as u16, returned: epoch.returned as u16 }
}

/// Explores a workload; if something is `wanted`, until that is found, and nothing else is told. `None` if the user
/// stopped it.
pub fn explore(
    talk: &mut WitnessClient,
    configuration: &Configuration,
    workload: &Workload,
    course: &ExploreOptions,
    wanted: Option<&Reason>,
) -> Result<Option<Explored>> {
    let begun = Instant::now();
    let mut explored = Explored::default();
    let failed = |error: String| Ok(Some(Explored { error: Some(error), ..Explored::default() }));
    match rehearse(talk, workload)? {
        Rehearsal::Sound => {}
        Rehearsal::Failed(error) => return failed(error),
        Rehearsal::Stopped if talk.is_stopped() => return Ok(None),
        Rehearsal::Stopped => return failed(LATE.to_owned()),
    }
    let (recorded, states) = match record(talk, workload, course)? {
        Recording::Set(set) => *set,
        Recording::Failed(error) => return failed(error),
        Recording::Stopped if talk.is_stopped() => return Ok(None),
        Recording::Stopped => return failed(LATE.to_owned()),
    };
    explored.seconds[0] = begun.elapsed().as_secs_f64();
    explored.suspicious = stateless::check(&recorded.trace, workload);
    let known = &mut ObservationCache::new(&recorded.trace, course.device, &[]);
    let history = &History::new(workload, &recorded.results);
    (explored.failed, explored.strange) = (history.failed(), history.strange());
    let mut sitting = Sitting { configuration, workload, course, history, wanted, device: None };
    let mut flow = Flow::On;
    if !course.device.fault.is_some_and(DeviceFault::is_in_turn) {
        flow = sitting.explore(talk, &recorded.trace, &states, known, &mut explored)?;
    }
    let devices = course.device.in_turn(&recorded.trace);
    for (device, left) in devices.iter().copied().zip((1..=devices.len()).rev()) {
        let is_late = flow == Flow::On && device != course.device && Instant::now() > course.deadline;
        explored.cut_short |= is_late;
        if flow != Flow::On || device == course.device || is_late {
            break;
        }
        sitting.device = Some(device);
        let before = broken_images(&explored);
        let Some(one) = sitting.in_turn(talk, (&recorded, &states), left, known, &mut explored)? else { continue };
        flow = one;
        let is_broken = broken_images(&explored) > before;
        let [requests, broken] = explored.in_turn.get_or_insert_default();
        *requests += 1;
        *broken += usize::from(is_broken);
    }
    explored.cut_short |= flow == Flow::Late;
    explored.findings.sort_by_key(|finding| !finding.promised);
    explored.seconds[1] = begun.elapsed().as_secs_f64();
    Ok((flow != Flow::Stopped).then_some(explored))
}

fn broken_images(explored: &Explored) -> usize {
    explored.findings.iter().filter(|finding| finding.promised).map(|finding| finding.images).sum()
}

/// What all images of one workload are judged by.
pub(super) struct Sitting<'a> {
    pub configuration: &'a Configuration,
    pub workload: &'a Workload,
    pub course: &'a ExploreOptions,
    pub history: &'a History<'a>,
    wanted: Option<&'a Reason>,
    /// The disk, where the fault of the course's is of each request in turn.
    device: Option<Device>,
}

/// The moment of a power cut, of which there are many images.
struct Place<'a> {
    trace: &'a Trace,
    /// Number of events before the power cut.
    end: usize,
    moment: Moment,
    /// The image of the first power cut, if this is one during the recovery from it.
    first: Option<&'a State>,
}

impl Place<'_> {
    fn id(&self, state: &State) -> ImageId {
        match self.first {
            None => ImageId::from(state.id.clone()),
            Some(first) => ImageId { state: first.id.clone(), recovery: Some(state.id.clone()) },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    /// What was wanted is found.
    Enough,
    /// A moment's share of the time has ended.
    Short,
    /// There is no more time.
    Late,
    /// The user stopped it.
    Stopped,
}

impl Sitting<'_> {
    /// The disk that left its images.
    pub fn device(&self) -> Device {
        self.device.unwrap_or(self.course.device)
    }

    /// Goes through all moments of a recording.
    fn explore(
        &self,
        talk: &mut WitnessClient,
        trace: &Trace,
        states: &States,
        known: &mut ObservationCache,
        explored: &mut Explored,
    ) -> Result<Flow> {
        // The last image of each epoch is the one after which most is to be recovered.
        let mut candidates: Vec<(State, Moment)> = Vec::new();
        let mut epochs: Vec<Open> = states.epochs().iter().filter_map(|epoch| Open::new(states, epoch)).collect();
        let mut asked = None;
        let mut flow = Flow::Short;
        // Each moment has its share of the time, and in further rounds of what others have left.
        while flow == Flow::Short {
            flow = Flow::On;
            let mut left = epochs.iter().filter(|open| !open.is_done).count() + self.course.recoveries.min(1);
            for open in epochs.iter_mut().filter(|open| !open.is_done) {
                let place = Place { trace, end: open.epoch.end, moment: moment(open.epoch), first: None };
                let next = self.workload.asked(place.moment);
                if next != asked {
                    // What is seen of an image depends on what is asked.
                    *known = ObservationCache::new(trace, self.course.device, &[]);
                    asked = next;
                }
                let Some(pending) = states.open(open.epoch.number) else { continue };
                let mut images = pending.explore(&self.course.budget, self.course.seed);
                open.made.checked_sub(1).map(|last| images.nth(last));
                let mut examined = images.by_ref().inspect(|state| {
                    open.made += 1;
                    if state.id.choice == Choice::All {
                        candidates.push((state.clone(), place.moment));
                    }
                });
                let until = share(self.course.deadline, left);
                left -= 1;
                let end = self.examine(talk, &place, &mut examined, until, known, explored)?;
                open.tested = images.tested();
                open.is_done = end == Flow::On;
                if !matches!(end, Flow::On | Flow::Short) {
                    rounds::add(&epochs, explored);
                    return Ok(end);
                }
                flow = if end == Flow::Short { end } else { flow };
            }
        }
        rounds::add(&epochs, explored);
        let mut stream = Stream::new(self.course.seed, &format!("recoveries {}", self.workload));
        // A guest that made no recording has no room for another behind it.
        let recoveries = if self.workload.log.is_some() { 0 } else { self.course.recoveries };
        for _ in 0..recoveries.min(candidates.len()) {
            let (state, moment) = candidates.swap_remove(stream.below(candidates.len() as u64) as usize);
            flow = self.cut_again(talk, &state, moment, &trace.data, explored)?;
            if flow != Flow::On {
                break;
            }
        }
        Ok(flow)
    }

    /// Whether what is wanted was found.
    fn has_wanted(&self, explored: &Explored) -> bool {
        let found = |wanted: &Reason| explored.broken(self.workload, &wanted.signature);
        self.wanted.and_then(found).is_some_and(|found| !found.is_torn())
    }

    /// Shows and judges images, until a time.
    fn examine(
        &self,
        talk: &mut WitnessClient,
        place: &Place,
        images: &mut dyn Iterator<Item = State>,
        until: Instant,
        known: &mut ObservationCache,
        explored: &mut Explored,
    ) -> Result<Flow> {
        let (begun, before) = (Instant::now(), explored.states);
        let (asked, promises) = (self.workload.asked(place.moment), &self.course.promises);
        loop {
            let many = rounds::batch(begun, explored.states - before, until);
            let batch: Vec<State> = images.take(many).collect();
            if batch.is_empty() {
                return Ok(Flow::On);
            }
            let data = &place.trace.data;
            let gone_disk = self.device().gone();
            let Some(seen) = look(talk, data, &batch, asked.as_ref(), gone_disk, known, &mut explored.shown)? else {
                return Ok(if talk.is_stopped() { Flow::Stopped } else { Flow::Late });
            };
            let count = if place.first.is_some() { &mut explored.recoveries[1] } else { &mut explored.states };
            *count += batch.len();
            for (state, seen) in batch.iter().zip(seen) {
                let (told, seen) = match seen {
                    Observation::Seen(index) => {
                        let seen = &known.seen[index];
                        let told = verdict::faults(seen, self.configuration, promises, self.history, place.moment);
                        (told, Some(seen))
                    }
                    Observation::Gone { reason, log } => (vec![gone(reason, log, promises)], None),
                };
                if place.first.is_none() {
                    let whole = seen.map_or(FileOutcome::NotMounted, |seen| verdict::whole(seen, &told));
                    explored.count(self.history, place.moment, seen, whole);
                }
                let id = place.id(state);
                let is_wanted =
                    |told: &Told| self.wanted.is_none_or(|wanted| told.fault.reason(self.workload) == *wanted);
                for told in told.into_iter().filter(is_wanted) {
                    let below = place.first.map_or(&[][..], |first| &first.extents);
                    let under = Under { talk, below, data };
                    let order = || Order::new(place.trace, place.end, &state.extents, &under);
                    explored.add(self.workload, Finding::new(id.clone(), self.device, place.moment, told), order);
                }
            }
            if place.first.is_none() {
                holes::name(talk, self, &batch, data, explored)?;
            }
            if self.has_wanted(explored) {
                return Ok(Flow::Enough);
            }
            match Instant::now() {
                now if now > self.course.deadline => return Ok(Flow::Late),
                now if now > until => return Ok(Flow::Short),
                _ => {}
            }
        }
    }

    /// Cuts the power while the file system recovers from a first power cut.
    fn cut_again(
        &self,
        talk: &mut WitnessClient,
        first: &State,
        moment: Moment,
        data: &[u8],
        explored: &mut Explored,
    ) -> Result<Flow> {
        talk.replay(data)?;
        let (recorded, states) = match recover(talk, first, self.course)? {
            Recording::Set(set) => *set,
            // Of an image that ends the guest it has been said already.
            Recording::Failed(_) => return Ok(Flow::On),
            Recording::Stopped => return Ok(if talk.is_stopped() { Flow::Stopped } else { Flow::Late }),
        };
        explored.recoveries[0] += 1;
        let mut known = ObservationCache::new(&recorded.trace, self.course.device, &first.extents);
        for epoch in states.epochs() {
            let Some(pending) = states.open(epoch.number) else { continue };
            let budget = self.course.budget.at_most(AGAIN);
            let mut images = pending.explore(&budget, self.course.seed);
            let place = Place { trace: &recorded.trace, end: epoch.end, moment, first: Some(first) };
            let flow = self.examine(talk, &place, &mut images, self.course.deadline, &mut known, explored)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }
}

/// Looking at an image has ended the guest.
pub(super) fn gone(reason: String, log: String, promises: &Promises) -> Told {
    Told { fault: Fault::Gone { reason, log }, promised: promises.has(Level::L0) }
}
