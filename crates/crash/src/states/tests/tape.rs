//! Recordings written by hand: the contents of a sector are one letter.

use crate::states::{Base, Budget, State, States, Unit};
use crate::trace::{Event, Mark, Request, SECTOR, Trace};

/// A disk of four sectors, and what happens at it.
#[derive(Clone, Debug)]
pub struct Tape {
    pub trace: Trace,
    pub base: Vec<u8>,
    sent: u32,
}

impl Tape {
    /// The disk holds these letters when the recording begins; a dot is a sector of zeros.
    pub fn new(base: &str) -> Tape {
        let size = base.len() as u64 * SECTOR;
        Tape { trace: Trace { size, ..Trace::default() }, base: image(base), sent: 0 }
    }

    fn send(&mut self, request: Request) -> u32 {
        self.trace.events.push(Event::Sent { number: self.sent, request });
        self.sent += 1;
        self.sent - 1
    }

    fn range(sector: u64, count: usize) -> (u64, u64) {
        (sector * SECTOR, count as u64 * SECTOR)
    }

    pub fn write(&mut self, sector: u64, letters: &str, fua: bool) -> u32 {
        let data = self.trace.data.len() as u64;
        self.trace.data.extend(image(letters));
        let (offset, length) = Tape::range(sector, letters.len());
        self.send(Request::Write { offset, length, fua, data })
    }

    pub fn zero(&mut self, sector: u64, count: usize, fua: bool) -> u32 {
        let (offset, length) = Tape::range(sector, count);
        self.send(Request::Zero { offset, length, fua })
    }

    pub fn trim(&mut self, sector: u64, count: usize) -> u32 {
        let (offset, length) = Tape::range(sector, count);
        self.send(Request::Trim { offset, length })
    }

    pub fn flush(&mut self) -> u32 {
        self.send(Request::Flush)
    }

    /// A flush of these sectors, which are a disk.
    pub fn flush_disk(&mut self, sector: u64, count: usize) -> u32 {
        let (offset, length) = Tape::range(sector, count);
        self.send(Request::FlushDisk { offset, length })
    }

    pub fn done(&mut self, number: u32) {
        self.fail(number, 0);
    }

    pub fn fail(&mut self, number: u32, error: i32) {
        self.trace.events.push(Event::Done { number, error });
    }

    pub fn mark(&mut self, mark: Mark) {
        self.trace.events.push(Event::Mark(mark));
    }

    pub fn states(&self, device: &str) -> States {
        States::new(&self.trace, self.base.as_slice(), device.parse().unwrap(), 0).unwrap()
    }

    /// The image of a state, as letters; a dot is zeros and an exclamation mark is poison.
    pub fn letters(&self, state: &State) -> String {
        let mut image = self.base.clone();
        state.apply(&self.trace.data, &mut image);
        let sectors = image.chunks_exact(SECTOR as usize);
        sectors
            .map(|sector| match sector[0] {
                0 if sector.iter().all(|&byte| byte == 0) => '.',
                letter if sector.iter().all(|&byte| byte == letter) => char::from(letter),
                _ if sector[7] == 0x5a => '!',
                _ => '?',
            })
            .collect()
    }

    /// All images that the last epoch may leave, sorted: every subset of requests, or every choice of versions.
    pub fn last(&self, device: &str) -> Vec<String> {
        let states = self.states(device);
        self.all(&states, states.epochs().last().unwrap().number)
    }

    pub fn all(&self, states: &States, epoch: u32) -> Vec<String> {
        let pending = states.open(epoch).unwrap();
        let budget = Budget { tiers: [1 << 20; 5], ..Budget::default() };
        let mut explore = pending.explore(&budget, 1);
        let mut images: Vec<String> = explore.by_ref().map(|state| self.letters(&state)).collect();
        let exhaustive = if states.device().unit == Unit::Request { 2 } else { 4 };
        assert!(explore.tested()[exhaustive].is_complete, "{:?}", self.trace.events);
        images.sort();
        images
    }
}

pub fn image(letters: &str) -> Vec<u8> {
    letters.bytes().flat_map(|letter| [if letter == b'.' { 0 } else { letter }; SECTOR as usize]).collect()
}

/// A base image that is one byte again and again.
pub struct Plain(pub u8);

impl Base for Plain {
    fn read(&self, _: u64, into: &mut [u8]) {
        into.fill(self.0);
    }
}
