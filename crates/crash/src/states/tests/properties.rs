//! Random recordings: the states are exactly the images that a simulated disk can reach.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::simulate::Simulator;
use super::tape::Tape;
use crate::states::{Budget, Epoch, StateId, States};

const SECTORS: u64 = 4;
/// More make the simulator slow.
const CHANGES: u32 = 5;

/// Steps: what, where, how long, and which letters.
pub fn tape(steps: &[(u8, u8, u8, u8)]) -> Tape {
    let mut tape = Tape::new("a.b.");
    let (mut under_way, mut changes) = (Vec::new(), 0);
    for &(what, place, length, letters) in steps {
        let start = u64::from(place) % SECTORS;
        let count = 1 + u64::from(length) % (SECTORS - start);
        let text: String = (0..count).map(|sector| char::from(b'a' + (letters >> (2 * sector)) % 4)).collect();
        let is_change = changes < CHANGES;
        match what % 16 {
            0..=3 if is_change => under_way.push(tape.write(start, &text, false)),
            4 | 5 if is_change => under_way.push(tape.write(start, &text, true)),
            6 if is_change => under_way.push(tape.trim(start, count as usize)),
            7 if is_change => under_way.push(tape.zero(start, count as usize, letters % 2 == 0)),
            8 | 9 => under_way.push(tape.flush()),
            _ if !under_way.is_empty() => {
                let number = under_way.remove(usize::from(place) % under_way.len());
                tape.fail(number, if letters % 16 == 0 { 5 } else { 0 });
                continue;
            }
            _ => continue,
        }
        changes += u32::from(what % 16 < 8);
    }
    tape
}

pub fn steps() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    prop::collection::vec(any::<(u8, u8, u8, u8)>(), 1..18)
}

fn fault() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", "", "+i1", "+i2", "+i3:1", "+i3:2", "+i4:lower", "+i4:upper", "+i8"])
}

fn enumerated(tape: &Tape, states: &States, epoch: u32) -> BTreeSet<String> {
    let images = tape.all(states, epoch);
    let set: BTreeSet<String> = images.iter().cloned().collect();
    assert_eq!(images.len(), set.len(), "an image was made twice: {images:?}");
    let pending = states.open(epoch).unwrap();
    let possible = pending.possible();
    let count =
        if states.device().unit == crate::states::Unit::Request { possible.by_request } else { possible.by_sector };
    let (difference, is_counted) = (count - (set.len() as f64).log2(), pending.bits <= 12);
    assert!(difference > -1e-9 && (difference < 1e-9 || !is_counted), "{count} for {set:?}");
    set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn sector_by_sector_the_states_are_what_a_disk_can_reach(steps in steps(), fault in fault()) {
        let (tape, device) = (tape(&steps), format!("sector{fault}"));
        let states = tape.states(&device);
        let simulator = Simulator::new(&tape, &states.device());
        for epoch in states.epochs() {
            prop_assert_eq!(enumerated(&tape, &states, epoch.number), simulator.by_sector(epoch.end));
        }
    }

    #[test]
    fn request_by_request_the_states_are_what_a_disk_can_reach(steps in steps(), fault in fault()) {
        let (tape, device) = (tape(&steps), format!("request{fault}"));
        let states = tape.states(&device);
        let simulator = Simulator::new(&tape, &states.device());
        // The other epochs of races on many sectors have too many images to make.
        let few = |epoch: &&Epoch| states.open(epoch.number).is_some_and(|pending| pending.bits <= 14);
        for epoch in states.epochs().iter().filter(few) {
            let enumerated = enumerated(&tape, &states, epoch.number);
            let reached = simulator.by_request(epoch.end);
            if simulator.has_races() {
                let loose = simulator.by_request_with_own_orders(epoch.end);
                prop_assert!(reached.is_subset(&enumerated), "not made: {:?}", reached.difference(&enumerated));
                prop_assert!(enumerated.is_subset(&loose), "too many: {:?}", enumerated.difference(&loose));
            } else {
                prop_assert_eq!(enumerated, reached);
            }
        }
    }

    #[test]
    fn an_epoch_ends_with_all_that_it_allows(steps in steps()) {
        let tape = tape(&steps);
        let states = tape.states("sector");
        let simulator = Simulator::new(&tape, &states.device());
        let mut start = 0;
        for epoch in states.epochs() {
            let last = enumerated(&tape, &states, epoch.number);
            for end in start..epoch.end {
                prop_assert!(simulator.by_sector(end).is_subset(&last));
            }
            start = epoch.end + 1;
        }
    }

    #[test]
    fn a_state_has_one_name_and_one_image(steps in steps(), seed in any::<u64>(), tiers in prop::array::uniform5(0usize..20)) {
        let tape = tape(&steps);
        let states = tape.states("sector");
        let budget = Budget { tiers, first: std::iter::once(512..1024).collect() };
        let mut hashes = HashMap::new();
        for epoch in states.epochs() {
            let pending = states.open(epoch.number).unwrap();
            let made: Vec<_> = pending.explore(&budget, seed).collect();
            prop_assert_eq!(&made, &pending.explore(&budget, seed).collect::<Vec<_>>());
            for state in made {
                let id: StateId = state.id.to_string().parse().unwrap();
                prop_assert_eq!(&id, &state.id);
                prop_assert_eq!(&states.rebuild(&id).unwrap(), &state);
                let text = serde_json::to_string(&state).unwrap();
                prop_assert_eq!(&serde_json::from_str::<crate::states::State>(&text).unwrap(), &state);
                let letters = tape.letters(&state);
                // The hash is that of the image, in whichever epoch, and the extents are what differs and nothing else.
                prop_assert_eq!(hashes.entry(letters.clone()).or_insert(state.hash), &state.hash);
                let differing = letters.chars().zip("a.b.".chars()).filter(|(now, then)| now != then).count() as u64;
                prop_assert_eq!(state.extents.iter().map(|extent| extent.length).sum::<u64>(), differing * 512);
                prop_assert!(state.extents.windows(2).all(|pair| pair[0].end() <= pair[1].offset));
            }
        }
        let different: BTreeSet<u128> = hashes.values().copied().collect();
        prop_assert_eq!(different.len(), hashes.len());
    }

    #[test]
    fn all_pending_requests_make_the_live_image(steps in steps()) {
        let tape = tape(&steps);
        let states = tape.states("sector");
        for epoch in states.epochs() {
            let id: StateId = format!("e{}.t0.all", epoch.number).parse().unwrap();
            let mut live = tape.base.clone();
            for event in &tape.trace.events[..epoch.end] {
                apply(event, &tape.trace.data, &mut live);
            }
            let mut image = tape.base.clone();
            states.rebuild(&id).unwrap().apply(&tape.trace.data, &mut image);
            prop_assert_eq!(image, live);
        }
    }
}

/// What a disk shows that takes up requests as they arrive.
fn apply(event: &crate::trace::Event, data: &[u8], image: &mut [u8]) {
    use crate::trace::{Event, Request};
    let Event::Sent { request, .. } = *event else { return };
    match request {
        Request::Write { offset, length, data: from, .. } => {
            image[offset as usize..][..length as usize].copy_from_slice(&data[from as usize..][..length as usize]);
        }
        Request::Trim { offset, length } | Request::Zero { offset, length, .. } => {
            image[offset as usize..][..length as usize].fill(0);
        }
        Request::Flush | Request::FlushDisk { .. } => {}
    }
}
