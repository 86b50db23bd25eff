//! Recordings whose images can be counted by hand.

use super::tape::Tape;
use crate::states::{StateId, TraceError};
use crate::trace::{Event, Mark, Request};

/// `W(a) W(b) F W(c) W(d)`.
fn four_writes(fua: bool) -> Tape {
    let mut tape = Tape::new("....");
    let first = [tape.write(0, "a", false), tape.write(1, "b", false)];
    first.into_iter().for_each(|write| tape.done(write));
    let flush = tape.flush();
    tape.done(flush);
    let last = [tape.write(2, "c", fua), tape.write(3, "d", false)];
    last.into_iter().for_each(|write| tape.done(write));
    tape
}

#[test]
fn two_pending_writes_leave_four_images() {
    assert_eq!(four_writes(false).last("request"), ["ab..", "ab.d", "abc.", "abcd"]);
}

#[test]
fn a_write_with_fua_is_durable_when_it_is_replied_to() {
    assert_eq!(four_writes(true).last("request"), ["abc.", "abcd"]);
    let images = ["ab..", "ab.d", "abc.", "abcd"];
    assert_eq!(four_writes(true).last("request+i2"), images);
    // Until then it is pending, and the epoch before has it.
    let tape = four_writes(true);
    let states = tape.states("request");
    assert_eq!(states.epochs().len(), 3);
    assert_eq!(tape.all(&states, 1), images);
}

#[test]
fn a_flush_covers_what_was_replied_to_before_it_arrived() {
    let mut tape = Tape::new(".");
    let write = tape.write(0, "a", false);
    let flush = tape.flush();
    tape.done(write);
    tape.done(flush);
    assert_eq!(tape.last("request"), [".", "a"]);
    let again = tape.flush();
    assert_eq!(tape.last("request"), [".", "a"]);
    tape.fail(again, 5);
    assert_eq!(tape.last("request"), [".", "a"]);
    let again = tape.flush();
    tape.done(again);
    assert_eq!(tape.last("request"), ["a"]);
    assert_eq!(tape.last("request+i1"), [".", "a"]);
}

#[test]
fn a_flush_of_one_disk_covers_no_write_of_another() {
    let mut tape = Tape::new("....");
    for sector in [0, 2] {
        let write = tape.write(sector, "a", false);
        tape.done(write);
    }
    let flush = tape.flush_disk(2, 2);
    tape.done(flush);
    assert_eq!(tape.last("request"), ["..a.", "a.a."]);
    let flush = tape.flush_disk(0, 2);
    tape.done(flush);
    assert_eq!(tape.last("request"), ["a.a."]);
}

#[test]
fn a_later_write_covers_an_earlier_one() {
    let mut tape = Tape::new(".b");
    let first = tape.write(0, "xx", false);
    tape.done(first);
    assert_eq!(tape.last("sector"), [".b", ".x", "xb", "xx"]);
    let second = tape.write(0, "y", false);
    tape.done(second);
    assert_eq!(tape.last("request"), [".b", "xx", "yb", "yx"]);
    assert_eq!(tape.last("sector"), [".b", ".x", "xb", "xx", "yb", "yx"]);
    let pending = tape.states("sector");
    let possible = pending.open(0).unwrap().possible();
    assert_eq!((possible.by_request, possible.by_sector), (2.0, 6f64.log2()));
}

#[test]
fn two_versions_of_one_sector_are_three_contents() {
    let mut tape = Tape::new(".");
    for letter in ["v", "w"] {
        let write = tape.write(0, letter, false);
        tape.done(write);
    }
    assert_eq!(tape.last("request"), [".", "v", "w"]);
    assert_eq!(tape.states("request").open(0).unwrap().possible().by_request, 3f64.log2());
}

#[test]
fn writes_that_were_under_way_at_once_have_no_order() {
    let mut tape = Tape::new("....");
    let both = [tape.write(0, "aaa", false), tape.write(1, "bbb", false)];
    both.into_iter().for_each(|write| tape.done(write));
    assert_eq!(tape.last("request"), ["....", ".bbb", "aaa.", "aaab", "abbb"]);
    let flush = tape.flush();
    tape.done(flush);
    assert_eq!(tape.last("request"), ["aaab", "abbb"]);
    // The live image is that of the order in which they arrived.
    let all: StateId = "e1.t0.all".parse().unwrap();
    assert_eq!(tape.letters(&tape.states("request").rebuild(&all).unwrap()), "abbb");
}

#[test]
fn requests_are_counted_in_the_order_of_their_replies() {
    let mut tape = Tape::new("...");
    let [a, b, c] = [(0, "a"), (1, "b"), (2, "c")].map(|(sector, letter)| tape.write(sector, letter, false));
    tape.done(b);
    tape.mark(Mark::Acknowledged(1));
    tape.done(a);
    let states = tape.states("request");
    assert_eq!(states.open(0).unwrap().requests(), [b, a, c]);
    let image = |name: &str| tape.letters(&states.rebuild(&name.parse().unwrap()).unwrap());
    let names = ["e0.t0.p1", "e0.t1.p2", "e0.t1.p3", "e0.t1.-0", "e0.t1.+2", "e0.t2.5"];
    assert_eq!(names.map(image), [".b.", "ab.", "abc", "a.c", "..c", ".bc"]);
    // The mark's prefix is among the states of T0.
    let pending = states.open(0).unwrap();
    let ids: Vec<String> = pending.explore(&Default::default(), 0).take(3).map(|state| state.id.to_string()).collect();
    assert_eq!(ids, ["e0.t0.all", "e0.t0.none", "e0.t0.p1"]);
}

#[test]
fn sectors_are_independent_by_contract() {
    let mut tape = Tape::new("...");
    let write = tape.write(0, "abc", false);
    tape.done(write);
    assert_eq!(tape.last("request"), ["...", "abc"]);
    assert_eq!(tape.last("sector").len(), 8);
}

#[test]
fn what_changes_nothing_is_left_out() {
    let mut tape = Tape::new("ab..");
    for (sector, letters) in [(0, "a"), (0, "ax"), (2, "..")] {
        let write = tape.write(sector, letters, false);
        tape.done(write);
    }
    let trim = tape.trim(2, 2);
    tape.done(trim);
    let states = tape.states("request");
    assert_eq!(states.open(0).unwrap().requests(), [1]);
    assert_eq!(tape.last("request"), ["ab..", "ax.."]);
    // In the second sector only.
    assert_eq!(tape.last("sector").len(), 2);
}

#[test]
fn trims_and_zeros_are_writes_of_zeros() {
    let mut tape = Tape::new("abcd");
    let trim = tape.trim(0, 2);
    tape.done(trim);
    let zero = tape.zero(3, 1, true);
    tape.done(zero);
    assert_eq!(tape.last("request"), ["..c.", "abc."]);
    assert_eq!(tape.last("sector"), ["..c.", ".bc.", "a.c.", "abc."]);
    assert_eq!(tape.last("request+i8"), ["!!c.", "abc."]);
}

#[test]
fn a_failed_write_is_there_or_not_for_ever() {
    let mut tape = Tape::new("..");
    let write = tape.write(0, "aa", true);
    tape.fail(write, 5);
    let flush = tape.flush();
    tape.done(flush);
    assert_eq!(tape.last("request"), ["..", "aa"]);
    let over = tape.write(0, "b", true);
    tape.done(over);
    assert_eq!(tape.last("request"), ["b.", "ba"]);
}

#[test]
fn faults_lose_what_they_say() {
    let mut tape = Tape::new("....");
    for (sector, letter) in [(0, "a"), (1, "b"), (2, "c"), (3, "d")] {
        let write = tape.write(sector, letter, false);
        tape.done(write);
    }
    let flush = tape.flush();
    tape.done(flush);
    assert_eq!(tape.last("request"), ["abcd"]);
    assert_eq!(tape.last("request+i3:1"), ["abc.", "abcd"]);
    assert_eq!(tape.last("request+i3:2"), ["ab..", "ab.d", "abc.", "abcd"]);
    assert_eq!(tape.last("request+i4:lower"), ["..cd", ".bcd", "a.cd", "abcd"]);
    assert_eq!(tape.last("request+i4:upper"), ["ab..", "ab.d", "abc.", "abcd"]);
    assert_eq!(tape.last("request+i5:1"), ["a.cd"]);
    assert_eq!(tape.last("request+i7:3@0"), ["dbc."]);
    assert_eq!(tape.last("request+i7:3^0"), ["abc?"]);
    assert_eq!(tape.last("request+i1").len(), 16);
    for device in ["request+i5:4", "request+i7:3@2048", "request+i7:3@1", "request+i7:3^4096"] {
        let result = crate::states::States::new(&tape.trace, tape.base.as_slice(), device.parse().unwrap(), 0);
        assert!(matches!(result.err(), Some(TraceError::NoSuchWrite { .. })), "{device}");
    }
}

#[test]
fn a_disk_below_the_contract_tears_sectors() {
    let mut tape = Tape::new(".");
    let write = tape.write(0, "a", false);
    tape.done(write);
    assert_eq!(tape.last("sector"), [".", "a"]);
    assert_eq!(tape.last("sector+i6"), [".", "?", "?", "a"]);
}

#[test]
fn obligations_are_those_at_the_end_of_the_epoch() {
    let mut tape = four_writes(false);
    tape.trace.events.insert(0, Event::Mark(Mark::Begin(0)));
    tape.mark(Mark::End(0, 0));
    tape.mark(Mark::Acknowledged(7));
    tape.mark(Mark::Begin(1));
    let flush = tape.flush();
    tape.done(flush);
    tape.mark(Mark::End(1, 28));
    let states = tape.states("request");
    let told: Vec<_> = states
        .epochs()
        .iter()
        .map(|epoch| (states.begun(epoch).len(), states.returned(epoch).to_vec(), epoch.acknowledged))
        .collect();
    assert_eq!(told, [(1, vec![], None), (2, vec![(0, 0)], Some(7)), (2, vec![(0, 0), (1, 28)], Some(7))]);
    let from = |recorded| {
        let states = crate::states::States::new(&tape.trace, tape.base.as_slice(), "sector".parse().unwrap(), recorded);
        states.unwrap().epochs().iter().map(|epoch| epoch.number).collect::<Vec<_>>()
    };
    assert_eq!((from(0), from(1), from(2)), (vec![0, 1, 2], vec![1, 2], vec![2]));
    // What had completed before each mark, of the epoch with marks at its end.
    let choices: Vec<String> = {
        let pending = states.open(1).unwrap();
        pending.explore(&Default::default(), 0).map(|state| state.id.to_string()).collect()
    };
    assert_eq!(choices, ["e1.t0.all", "e1.t0.none", "e1.t1.p1", "e1.t1.-0"]);
}

#[test]
fn a_recording_that_makes_no_sense_is_refused() {
    let write = |offset, length, data| Request::Write { offset, length, fua: false, data };
    let check = |events: Vec<Event>| {
        let trace = crate::trace::Trace { size: 4096, events, data: vec![1; 512], ..Default::default() };
        crate::states::States::new(&trace, &super::tape::Plain(0), "sector".parse().unwrap(), 0).err()
    };
    let sent = |number, request| Event::Sent { number, request };
    assert_eq!(check(vec![sent(0, write(0, 512, 0)), Event::Done { number: 0, error: 0 }]), None);
    let twice = vec![sent(0, Request::Flush), Event::Done { number: 0, error: 0 }, sent(0, Request::Flush)];
    assert_eq!(check(twice), Some(TraceError::SentTwice { number: 0, event: 2 }));
    assert_eq!(check(vec![Event::Done { number: 3, error: 0 }]), Some(TraceError::NotAsked { number: 3, event: 0 }));
    for (offset, length) in [(1, 512), (0, 511), (4096, 512), (u64::MAX - 511, 512)] {
        assert!(matches!(check(vec![sent(0, write(offset, length, 0))]), Some(TraceError::Range { .. })));
    }
    assert_eq!(check(vec![sent(0, write(0, 512, 1))]), Some(TraceError::NoData { number: 0, held: 512 }));
    assert_eq!(check(vec![sent(0, write(0, 512, u64::MAX))]), Some(TraceError::NoData { number: 0, held: 512 }));
}
