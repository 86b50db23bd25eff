//! A disk with a cache, moved one step at a time in every way that it may move. It shares nothing with the code that it
//! checks but the recording.

use std::collections::BTreeSet;

use super::tape::Tape;
use crate::states::{Device, Fault, Half};
use crate::trace::{Event, Request, SECTOR};

/// A request that changes the disk: its sectors, and their letters.
#[derive(Clone, Debug)]
pub struct Change {
    pub number: u32,
    start: usize,
    letters: String,
    fua: bool,
    pub sent: usize,
    pub done: Option<(usize, bool)>,
}

impl Change {
    fn letter(&self, sector: usize) -> Option<char> {
        self.letters.chars().nth(sector.checked_sub(self.start)?)
    }

    /// Whether both were under way at the same time and have a sector in common.
    fn races(&self, other: &Change) -> bool {
        let before = |a: &Change, b: &Change| a.done.is_some_and(|(done, _)| done < b.sent);
        let apart = |a: &Change, b: &Change| a.start + a.letters.len() <= b.start;
        ![before(self, other), before(other, self), apart(self, other), apart(other, self)].contains(&true)
    }
}

pub struct Simulator<'t> {
    tape: &'t Tape,
    pub changes: Vec<Change>,
    /// By the event of a reply: which changes it says are on the medium.
    promised: Vec<(usize, Vec<usize>)>,
}

impl<'t> Simulator<'t> {
    pub fn new(tape: &'t Tape, device: &Device) -> Simulator<'t> {
        let mut simulator = Simulator { tape, changes: changes(tape, device), promised: Vec::new() };
        simulator.promise(device);
        simulator
    }

    pub fn has_races(&self) -> bool {
        let all = &self.changes;
        (0..all.len()).any(|a| (0..a).any(|b| all[a].races(&all[b])))
    }

    fn promise(&mut self, device: &Device) {
        let mut durable = BTreeSet::new();
        let mut arrived = std::collections::HashMap::new();
        for (event, what) in self.tape.trace.events.iter().enumerate() {
            if let Event::Sent { number, request } = what
                && request.is_flush()
            {
                arrived.insert(*number, (event, request.range(self.tape.trace.size)));
            }
            let Event::Done { number, error: 0 } = what else { continue };
            let is_success = |change: &Change, before| matches!(change.done, Some((done, true)) if done < before);
            let mut kept: Vec<usize> = Vec::new();
            if let Some((sent, range)) = arrived.get(number) {
                kept = (0..self.changes.len()).filter(|&index| is_success(&self.changes[index], *sent)).collect();
                kept.retain(|&index| range.contains(&(self.changes[index].start as u64 * SECTOR)));
                let half = self.tape.base.len() / SECTOR as usize / 2;
                match device.fault {
                    Some(Fault::IgnoreFlush) => kept.clear(),
                    Some(Fault::HalfFlush { lost: Half::Lower }) => {
                        kept.retain(|&index| self.changes[index].start >= half)
                    }
                    Some(Fault::HalfFlush { lost: Half::Upper }) => {
                        kept.retain(|&index| self.changes[index].start + self.changes[index].letters.len() <= half);
                    }
                    Some(Fault::LateFlush { last }) => {
                        kept.retain(|index| !durable.contains(index));
                        kept.sort_by_key(|&index| self.changes[index].done);
                        kept.truncate(kept.len().saturating_sub(last as usize));
                    }
                    _ => {}
                }
            } else if device.fault != Some(Fault::IgnoreFua) {
                kept.extend(self.changes.iter().position(|change| change.number == *number && change.fua));
            }
            durable.extend(kept.iter().copied());
            self.promised.push((event, kept));
        }
    }

    /// All images that `end` events may leave if each sector goes its own way.
    pub fn by_sector(&self, end: usize) -> BTreeSet<String> {
        let mut images = BTreeSet::from([String::new()]);
        for sector in 0..self.tape.base.len() / SECTOR as usize {
            let letters = self.run(
                end,
                |index| self.changes[index].letter(sector).is_some(),
                |seen, medium| {
                    let last = seen[..medium.count_ones() as usize].last();
                    last.map_or(self.base(sector), |&index| self.changes[index].letter(sector).unwrap()).to_string()
                },
                true,
            );
            images =
                images.iter().flat_map(|image| letters.iter().map(move |letter| format!("{image}{letter}"))).collect();
        }
        images
    }

    /// All images that `end` events may leave if requests are stored and written whole, one after another.
    pub fn by_request(&self, end: usize) -> BTreeSet<String> {
        self.run(
            end,
            |_| true,
            |seen, medium| {
                let letter = |sector: usize| {
                    let there = seen.iter().rev().filter(|&&index| medium >> index & 1 == 1);
                    let letters = there.filter_map(|&index| self.changes[index].letter(sector));
                    letters.into_iter().next().unwrap_or(self.base(sector))
                };
                (0..self.tape.base.len() / SECTOR as usize).map(letter).collect()
            },
            false,
        )
    }

    /// The same, but where requests were under way at once each sector has an order of its own.
    pub fn by_request_with_own_orders(&self, end: usize) -> BTreeSet<String> {
        let by_sector: Vec<BTreeSet<(u32, String)>> = (0..self.tape.base.len() / SECTOR as usize)
            .map(|sector| {
                let tagged = self.run(
                    end,
                    |_| true,
                    |seen, medium| {
                        let there = seen.iter().rev().filter(|&&index| medium >> index & 1 == 1);
                        let letter = there.filter_map(|&index| self.changes[index].letter(sector)).next();
                        format!("{medium} {}", letter.unwrap_or(self.base(sector)))
                    },
                    false,
                );
                let split = |text: &String| {
                    text.split_once(' ').map(|(medium, letter)| (medium.parse().unwrap(), letter.to_owned()))
                };
                tagged.iter().filter_map(split).collect()
            })
            .collect();
        let media: BTreeSet<u32> = by_sector[0].iter().map(|(medium, _)| *medium).collect();
        let images = media.into_iter().flat_map(|medium| {
            by_sector.iter().fold(vec![String::new()], |images, letters| {
                let letters: Vec<&String> =
                    letters.iter().filter(|(of, _)| *of == medium).map(|(_, letter)| letter).collect();
                images.iter().flat_map(|image| letters.iter().map(move |letter| format!("{image}{letter}"))).collect()
            })
        });
        images.collect()
    }

    fn base(&self, sector: usize) -> char {
        match self.tape.base[sector * SECTOR as usize] {
            0 => '.',
            letter => char::from(letter),
        }
    }

    /// Moves the disk through all its ways. What it has taken up is a list in the order of taking; what is on the medium
    /// is a set of its requests or, for one sector (`queue`), a prefix of the list, with as many bits.
    fn run(
        &self,
        end: usize,
        concerns: impl Fn(usize) -> bool,
        image: impl Fn(&[usize], u32) -> String,
        queue: bool,
    ) -> BTreeSet<String> {
        let mut ways = BTreeSet::from([(Vec::<usize>::new(), 0u32)]);
        for event in 0..=end {
            // Between events the disk takes up what has arrived, and writes from its cache to the medium.
            let mut new: Vec<_> = ways.iter().cloned().collect();
            while let Some((seen, medium)) = new.pop() {
                let mut steps = Vec::new();
                for (index, change) in self.changes.iter().enumerate().filter(|(index, _)| concerns(*index)) {
                    let is_under_way = change.sent < event && change.done.is_none_or(|(done, _)| done >= event);
                    if is_under_way && !seen.contains(&index) {
                        steps.push((seen.iter().copied().chain([index]).collect(), medium));
                    }
                    if !queue && seen.contains(&index) {
                        steps.push((seen.clone(), medium | 1 << index));
                    }
                }
                if queue {
                    steps.push((seen.clone(), (1 << seen.len()) - 1));
                }
                new.extend(steps.into_iter().filter(|step| ways.insert(step.clone())));
            }
            if event < end {
                ways.retain(|(seen, medium)| self.keeps(event, seen, *medium, &concerns, queue));
            }
        }
        ways.iter().map(|(seen, medium)| image(seen, *medium)).collect()
    }

    /// Whether a disk in this condition may send the reply that is this event.
    fn keeps(&self, event: usize, seen: &[usize], medium: u32, concerns: impl Fn(usize) -> bool, queue: bool) -> bool {
        let is_taken = |index: usize| {
            let is_reply = self.changes[index].done == Some((event, true));
            !(is_reply && concerns(index)) || seen.contains(&index)
        };
        let is_kept = |index: usize| match seen.iter().position(|&other| other == index) {
            Some(place) => medium >> (if queue { place } else { index }) & 1 == 1,
            None => false,
        };
        let promised = self.promised.iter().filter(|(reply, _)| *reply == event).flat_map(|(_, kept)| kept);
        (0..self.changes.len()).all(is_taken) && promised.copied().filter(|&index| concerns(index)).all(is_kept)
    }
}

fn changes(tape: &Tape, device: &Device) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (event, what) in tape.trace.events.iter().enumerate() {
        match *what {
            Event::Sent { number, request } => {
                let fill = |length: u64, letter: &str| letter.repeat((length / SECTOR) as usize);
                let trimmed = if device.fault == Some(Fault::PoisonTrim) { "!" } else { "." };
                let (offset, letters, fua) = match request {
                    Request::Flush | Request::FlushDisk { .. } => continue,
                    Request::Trim { offset, length } => (offset, fill(length, trimmed), false),
                    Request::Zero { offset, length, fua } => (offset, fill(length, "."), fua),
                    Request::Write { offset, length, fua, data } => {
                        let letters = tape.trace.data[data as usize..][..length as usize].chunks_exact(SECTOR as usize);
                        let letter = |sector: &[u8]| if sector[0] == 0 { '.' } else { char::from(sector[0]) };
                        (offset, letters.map(letter).collect(), fua)
                    }
                };
                changes.push(Change {
                    number,
                    start: (offset / SECTOR) as usize,
                    letters,
                    fua,
                    sent: event,
                    done: None,
                });
            }
            Event::Done { number, error } => {
                let change = changes.iter_mut().find(|change| change.number == number);
                change.into_iter().for_each(|change| change.done = Some((event, error == 0)));
            }
            Event::Mark(_) => {}
        }
    }
    changes
}
