//! Epochs with more pending requests than subsets can be made of.

use std::collections::BTreeSet;

use super::tape::{Plain, Tape};
use crate::states::{Budget, Choice, NoState, StateId, States, Tier};

/// So many writes of two sectors each, none overlapping, all pending.
fn bulk(count: usize) -> Tape {
    let mut tape = Tape::new(&".".repeat(2 * count));
    for index in 0..count {
        let write = tape.write(2 * index as u64, "ab", false);
        tape.done(write);
    }
    tape
}

#[test]
fn many_requests_are_sampled_and_their_states_have_exact_names() {
    let tape = bulk(300);
    let states = tape.states("sector");
    let pending = states.open(0).unwrap();
    assert_eq!((pending.possible().by_request, pending.possible().by_sector), (300.0, 600.0));
    let budget = Budget { tiers: [10, 90, 60, 50, 20], ..Budget::default() };
    let mut explore = pending.explore(&budget, 0xfeed);
    let made: Vec<_> = explore.by_ref().collect();
    let tested = explore.tested();
    assert_eq!(tested.map(|tier| tier.made), [2, 90, 60, 50, 20]);
    assert_eq!(tested.map(|tier| tier.is_complete), [true, false, false, false, false]);
    assert_eq!(made.len(), tested.map(|tier| tier.different).iter().sum::<usize>());
    for state in &made {
        let id: StateId = state.id.to_string().parse().unwrap();
        assert_eq!(&states.rebuild(&id).unwrap(), state);
        assert!(state.id.to_string().len() < 24, "{}", state.id);
    }
    let images: BTreeSet<String> = made.iter().map(|state| tape.letters(state)).collect();
    assert_eq!(images.len(), made.len());
    let other: BTreeSet<_> = pending.explore(&budget, 1).map(|state| tape.letters(&state)).collect();
    assert_ne!(images, other);

    // All four cases of each pair of requests are among the rows.
    let rows = made.iter().filter(|state| matches!(state.id.choice, Choice::Row(_)));
    let rows: Vec<Vec<char>> = rows.map(|state| tape.letters(state).chars().step_by(2).collect()).collect();
    for (a, b) in (0..300).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let cases: BTreeSet<(char, char)> = rows.iter().map(|row| (row[a], row[b])).collect();
        assert_eq!(cases.len() + usize::from(!cases.contains(&('.', '.'))), 4, "{a} {b}");
    }

    // Requests are whole but in the last two tiers; there only the torn one is not.
    for state in &made {
        let letters: Vec<char> = tape.letters(state).chars().collect();
        let torn = letters.chunks(2).filter(|pair| (pair[0] == '.') != (pair[1] == '.')).count();
        match state.id.tier {
            Tier::Torn => assert_eq!(torn, 1, "{}", state.id),
            Tier::Sectors => assert!(torn > 10, "{}", state.id),
            _ => assert_eq!(torn, 0, "{}", state.id),
        }
    }
}

#[test]
fn requests_in_a_range_are_torn_first() {
    let tape = bulk(40);
    let states = tape.states("sector");
    let range = std::iter::once(30 * 512..33 * 512).collect();
    let budget = Budget { tiers: [0, 0, 0, 4, 0], first: range };
    let torn: BTreeSet<String> =
        states.open(0).unwrap().explore(&budget, 0).map(|state| state.id.to_string()).collect();
    assert!(torn.iter().all(|id| id.contains("+15") || id.contains("+16") || id.contains("-15") || id.contains("-16")));
    assert_eq!(torn.len(), 4);
    // A disk that writes requests whole tears none.
    assert_eq!(tape.states("request").open(0).unwrap().explore(&budget, 0).count(), 0);
}

#[test]
fn a_long_request_is_torn_at_a_few_places() {
    let mut tape = Tape::new(&".".repeat(64));
    tape.write(0, &"x".repeat(64), false);
    let states = tape.states("sector");
    let budget = Budget { tiers: [0, 0, 0, 100, 0], ..Budget::default() };
    let images: Vec<String> = states.open(0).unwrap().explore(&budget, 0).map(|state| tape.letters(&state)).collect();
    assert_eq!(images.len(), 8 * 2 + 2);
    for part in ["x.", ".x"].map(|part| part.repeat(32)) {
        assert!(images.contains(&part));
    }
    for first in [1, 63] {
        assert!(images.contains(&("x".repeat(first) + &".".repeat(64 - first))));
        assert!(images.contains(&(".".repeat(first) + &"x".repeat(64 - first))));
    }
}

#[test]
fn names_of_what_there_is_not_are_refused() {
    let tape = bulk(3);
    let states = tape.states("request");
    for name in ["e0.t0.p4", "e0.t1.-3", "e0.t1.+3", "e0.t2.8", "e0.t2.r4", "e0.t3.+0f1", "e0.t4.m0", "e0.t4.s1:1"] {
        let id: StateId = name.parse().unwrap();
        assert!(matches!(states.rebuild(&id), Err(NoState::Choice { pending: 3, .. })), "{name}");
    }
    assert!(matches!(states.rebuild(&"e1.t0.all".parse().unwrap()), Err(NoState::Epoch { count: 1, .. })));
    let sector = tape.states("sector");
    for name in ["e0.t3.+3f1", "e0.t4.m40", "e0.t2.8000000000000000000000000"] {
        assert!(sector.rebuild(&name.parse().unwrap()).is_err(), "{name}");
    }
    for text in [
        "", "e0", "e0.t2", "e0.t2.", "e0.t5.all", "e0.t1.all", "e0.t2.0f", "e01.t2.f", "e0.t2.F", "e0.t3.+1",
        "e0.t3.1f1",
    ]
    .into_iter()
    .chain(["e0.t3.+1e4", "e0.t2.s1", "e0.t4.s01:1", "e0.t1.+01", "e0.t1.++1", "e0.t0.allx", "e0.t0.née", "é"])
    {
        assert!(text.parse::<StateId>().is_err(), "{text}");
    }
}

#[test]
fn too_large_a_recording_is_refused() {
    let mut trace = bulk(1).trace;
    trace.size = 1 << 40;
    trace.events.push(crate::trace::Event::Sent {
        number: 9,
        request: crate::trace::Request::Trim { offset: 0, length: 1 << 40 },
    });
    let result = States::new(&trace, &Plain(0), "sector".parse().unwrap(), 0);
    assert_eq!(result.err(), Some(crate::states::TraceError::TooMuch));
}
