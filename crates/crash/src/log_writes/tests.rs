use std::collections::BTreeSet;

use proptest::prelude::*;

use super::export::{Entry, entries};
use super::*;
use crate::states::tests::{Tape, image, steps, tape};
use crate::trace::{Event, Mark, Request, SECTOR};

fn log(tape: &Tape) -> Vec<u8> {
    let mut log = Vec::new();
    export(&tape.trace, &mut log).unwrap();
    log
}

/// The log as one word an entry: the letters of a write, with an exclamation mark behind if it has FUA.
fn said(tape: &Tape) -> String {
    let word = |(_, entry): (usize, Entry)| match entry {
        Entry::Mark(_) => "mark".to_owned(),
        Entry::Request(Request::Flush | Request::FlushDisk { .. }) => "flush".to_owned(),
        Entry::Request(Request::Trim { .. }) => "trim".to_owned(),
        Entry::Request(Request::Zero { .. }) => "zero".to_owned(),
        Entry::Request(Request::Write { fua, data, .. }) => {
            format!("{}{}", char::from(tape.trace.data[data as usize]), if fua { "!" } else { "" })
        }
    };
    entries(&tape.trace).into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The sequence that the source of the kernel's target explains. Its comment has b before the flush; its code and its
/// documentation do not.
#[test]
fn writes_are_logged_by_the_flush_that_covers_them() {
    let mut tape = Tape::new("........");
    let [a, b, c] = [(0, "a"), (1, "b"), (2, "c")].map(|(sector, letter)| tape.write(sector, letter, false));
    tape.done(c);
    tape.done(a);
    let flush = tape.flush();
    let d = tape.write(3, "d", true);
    tape.mark(Mark::Begin(4));
    [b, flush, d].into_iter().for_each(|number| tape.done(number));
    let e = tape.write(4, "e", false);
    tape.fail(e, 5);
    let last = tape.flush();
    tape.fail(last, 5);
    tape.flush();
    assert_eq!(said(&tape), "mark c a flush d! b");
}

#[test]
fn the_format_is_that_of_the_kernel() {
    let mut tape = Tape::new("........");
    tape.mark(Mark::End(3, -1));
    let write = tape.write(2, "xy", true);
    let trim = tape.trim(5, 3);
    [write, trim].into_iter().for_each(|number| tape.done(number));
    let log = log(&tape);
    assert_eq!(log.len(), 512 * (1 + 1 + 3 + 1));
    let word =
        |sector: usize, index: usize| u64::from_le_bytes(log[sector * 512 + index * 8..][..8].try_into().unwrap());
    let words = |sector: usize| [0, 1, 2, 3].map(|index| word(sector, index));
    assert_eq!(words(0), [0x6a736677736872, 1, 3, 512]);
    assert_eq!(words(1), [0, 0, 8, 8]);
    assert_eq!(&log[512 + 32..512 + 41], b"end 3 -1\0");
    assert_eq!(words(2), [2, 2, 2, 0]);
    assert_eq!(log[3 * 512..5 * 512], image("xy"));
    assert_eq!(words(5), [5, 3, 4, 0]);
}

#[test]
fn a_log_is_read_as_a_recording() {
    let mut tape = Tape::new("........");
    tape.mark(Mark::Begin(0));
    let write = tape.write(0, "a", false);
    tape.done(write);
    let trim = tape.trim(1, 2);
    tape.done(trim);
    let flush = tape.flush();
    tape.done(flush);
    tape.mark(Mark::Acknowledged(3));
    let forced = tape.write(2, "b", true);
    tape.done(forced);
    let imported = import(&log(&tape), tape.trace.size).unwrap();
    // Its marks come before the writes that waited for a flush.
    assert_eq!(imported, Imported { trace: tape.trace.clone(), marks: vec![] });

    let mut log = log(&tape);
    log[512 + 32..512 + 39].copy_from_slice(b"another");
    log[512 + 24] = 7;
    let imported = import(&log, tape.trace.size).unwrap();
    assert_eq!(imported.marks, [(0, "another".to_owned())]);
    assert_eq!(imported.trace.events, tape.trace.events[1..]);
    // A flush that bears data comes before its data.
    let flags = 512 * 2 + 16;
    log[flags] = FLUSH as u8;
    let imported = import(&log, tape.trace.size).unwrap();
    assert_eq!(imported.trace.events[0], Event::Sent { number: 0, request: Request::Flush });
}

/// The target would log b first, and then the older a, which it is written over: the end of that log is no image.
#[test]
fn a_write_with_fua_comes_after_what_it_overwrites() {
    let mut tape = Tape::new("....");
    let [plain, other] = [tape.write(0, "aa", false), tape.write(3, "c", false)];
    [plain, other].into_iter().for_each(|number| tape.done(number));
    let forced = tape.write(1, "bb", true);
    tape.done(forced);
    let flush = tape.flush();
    tape.done(flush);
    assert_eq!(said(&tape), "a b! c flush");
    assert_eq!(tape.last("request"), ["abbc"]);
}

/// The target would log b, and then a and the first flush: b without a is no image, since the second flush covers a.
#[test]
fn the_first_flush_that_is_replied_to_covers_all_before_it() {
    let mut tape = Tape::new("....");
    let plain = tape.write(0, "a", false);
    tape.done(plain);
    let [first, second] = [tape.flush(), tape.flush()];
    tape.done(second);
    let forced = tape.write(1, "b", true);
    tape.done(forced);
    tape.done(first);
    assert_eq!(said(&tape), "a flush b! flush");
}

/// A plain write is logged late by the target, so it may have been before a write with FUA that is logged before it.
#[test]
fn an_order_that_the_log_does_not_tell_is_open() {
    let start = entry([MAGIC, VERSION, 4, 512]);
    let write =
        |sector, flags, letters: &str| [entry([sector, letters.len() as u64, flags, 0]), image(letters)].concat();
    let log = [start, write(1, FUA, "bb"), write(0, 0, "aa"), write(3, 0, "c"), entry([0, 0, FLUSH, 0])].concat();
    let mut read = Tape::new("....");
    read.trace = import(&log, read.trace.size).unwrap().trace;
    assert_eq!(read.last("request"), ["aabc", "abbc"]);
}

fn entry(words: [u64; 4]) -> Vec<u8> {
    let mut sector = words.map(u64::to_le_bytes).concat();
    sector.resize(512, 0);
    sector
}

#[test]
fn damaged_logs_are_refused_by_name_and_place() {
    let start = |entries: u64, sector: u64| entry([MAGIC, VERSION, entries, sector]);
    let problem = |header: [u64; 4], rest: usize| {
        let bytes = [start(1, 512), entry(header), vec![0; rest]].concat();
        match import(&bytes, 4096) {
            Err(LogError::Entry { entry: 0, entries: 1, at: 512, problem }) => Some(problem),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    };
    assert_eq!(problem([7, 1, 0, 0], 512), None);
    assert_eq!(problem([7, 1, 0, 0], 511), Some(Problem::CutOff { needed: 512, left: 511 }));
    assert_eq!(problem([7, 2, 0, 0], 1024), Some(Problem::OutsideDisk { sector: 7, count: 2, size: 4096 }));
    assert!(matches!(problem([u64::MAX, 2, 4, 0], 0), Some(Problem::OutsideDisk { .. })));
    assert!(matches!(problem([0, u64::MAX / 512, 4, 0], 0), Some(Problem::OutsideDisk { .. })));
    assert_eq!(problem([0, 0, 32, 0], 0), Some(Problem::Flags { flags: 32 }));
    assert_eq!(problem([0, 0, 0, 0], 0), Some(Problem::Empty));
    assert_eq!(problem([0, 0, 8, 480], 0), None);
    assert_eq!(problem([0, 0, 8, 481], 0), Some(Problem::Text { length: 481 }));
    assert_eq!(problem([0, 0, 8, u64::MAX], 0), Some(Problem::Text { length: u64::MAX }));
    assert_eq!(problem([0, 1, 0, 512], 512), Some(Problem::Inline));

    assert_eq!(import(&[0; 31], 4096), Err(LogError::Short { length: 31 }));
    assert_eq!(import(&start(0, 512)[..511], 4096), Err(LogError::Short { length: 511 }));
    assert_eq!(import(&[1; 512], 4096), Err(LogError::Magic { found: 0x101_0101_0101_0101 }));
    assert_eq!(import(&entry([MAGIC, 2, 0, 512]), 4096), Err(LogError::Version { found: 2 }));
    assert_eq!(import(&start(0, 512), 4096), Err(LogError::NoEntries));
    for found in [0, 256, 513, 1 << 17] {
        assert_eq!(import(&start(0, found.into()), 4096), Err(LogError::SectorSize { found }));
    }
    let missing = import(&start(u64::MAX, 512), 4096).unwrap_err();
    let text = "entry 0 of 18446744073709551615, at byte 512 of the log, needs 512 bytes, and the log ends 0 bytes behind its start: it is cut off";
    assert_eq!(missing.to_string(), text);
    // Entries of disks with larger sectors.
    let mut large = start(1, 4096);
    large.resize(4096, 0);
    large.extend(entry([1, 1, 4, 0]));
    large.resize(8192, 0);
    let trim = Request::Trim { offset: 4096, length: 4096 };
    assert_eq!(import(&large, 8192).unwrap().trace.events[0], Event::Sent { number: 0, request: trim });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn each_prefix_of_a_log_is_a_state(steps in steps()) {
        let tape = tape(&steps);
        let states = tape.states("request");
        let images: Vec<BTreeSet<String>> =
            states.epochs().iter().map(|epoch| tape.all(&states, epoch.number).into_iter().collect()).collect();
        let mut replayed = tape.base.clone();
        for (event, entry) in entries(&tape.trace) {
            match entry {
                Entry::Request(Request::Write { offset, length, data, .. }) => {
                    let bytes = &tape.trace.data[data as usize..][..length as usize];
                    replayed[offset as usize..][..length as usize].copy_from_slice(bytes);
                }
                Entry::Request(Request::Trim { offset, length } | Request::Zero { offset, length, .. }) => {
                    replayed[offset as usize..][..length as usize].fill(0);
                }
                _ => {}
            }
            let letter = |sector: &[u8]| if sector[0] == 0 { '.' } else { char::from(sector[0]) };
            let image: String = replayed.chunks_exact(SECTOR as usize).map(letter).collect();
            // A power cut just before the reply that brought this entry into the log.
            let epoch = states.epochs().iter().position(|epoch| epoch.end >= event).unwrap();
            prop_assert!(images[epoch].contains(&image), "{image} is not in {:?}", images[epoch]);
        }
    }

    #[test]
    fn a_log_survives_being_read_and_written(steps in steps()) {
        let tape = tape(&steps);
        prop_assume!(!entries(&tape.trace).is_empty());
        let (first, size) = (log(&tape), tape.trace.size);
        let imported = import(&first, size).unwrap();
        let mut second = Vec::new();
        export(&imported.trace, &mut second).unwrap();
        prop_assert_eq!(&import(&second, size).unwrap(), &imported);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn no_damage_makes_reading_fail_otherwise(steps in steps(), place in 0usize..2000, value in any::<u8>(), cut in 0usize..4000) {
        let mut log = log(&tape(&steps));
        let length = log.len();
        log[place % length] = value;
        log.truncate(cut.max(1) % (length + 1));
        if let Ok(imported) = import(&log, 2048) {
            prop_assert!(imported.trace.data.len() <= log.len());
            prop_assert!(imported.trace.events.len() <= 2 * log.len() / 512);
        }
    }
}

#[test]
fn power_is_cut_after_the_mark_that_was_named() {
    let mark = |text: &str| {
        let mut sector = entry([0, 0, MARK, text.len() as u64]);
        sector[32..32 + text.len()].copy_from_slice(text.as_bytes());
        sector
    };
    let write = |sector, letter| [entry([sector, 1, 0, 0]), image(letter)].concat();
    let flush = entry([0, 0, FLUSH, 0]);
    let start = entry([MAGIC, VERSION, 5, 512]);
    let bytes = [start, write(0, "a"), flush.clone(), mark("mkfs"), write(1, "b"), flush].concat();
    let imported = import(&bytes, 2048).unwrap();
    let from = |from: Option<&str>| Log { path: "log".into(), base: None, from: from.map(str::to_owned) };
    let mut tape = Tape::new("....");
    let mut ends = |log: Log| {
        tape.trace = log.cut(imported.clone()).unwrap();
        let states = tape.states("request");
        states.epochs().iter().flat_map(|epoch| tape.all(&states, epoch.number)).collect::<Vec<_>>()
    };
    assert_eq!(ends(from(None)), ["....", "a...", "a...", "ab..", "ab.."]);
    assert_eq!(ends(from(Some("mkfs"))), ["a...", "ab..", "ab.."]);
    assert_eq!(from(Some("mount")).cut(imported).unwrap_err(), ["mkfs"]);
}
