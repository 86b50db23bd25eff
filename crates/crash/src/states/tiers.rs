//! Which states a tier makes: the same ones in the same order for the same recording, device, budget and seed.

use std::ops::Range;

use mountmark_random::{Stream, mix};

use super::bits::Bits;
use super::covering::Covering;
use super::id::{Choice, Part, Tier};
use super::pending::{Candidate, Pending, Slot};

/// A request is torn at so many places or fewer.
const TEARS: usize = 8;
/// The families of random numbers.
const SUBSETS: u64 = 0x7375_6273_6574_7300;
const SECTORS: u64 = 0x7365_6374_6f72_7300;

/// The states that one tier makes of one epoch.
pub(super) enum Plan {
    List(Vec<Choice>),
    /// All subsets; neighbours differ in one bit.
    Gray(u64),
    /// All pairs, and random subsets behind them.
    Pairs {
        rows: usize,
        count: usize,
        seed: u64,
    },
    /// Every combination of versions.
    Versions(u64),
    Random {
        count: usize,
        seed: u64,
    },
}

impl Plan {
    pub fn get(&self, index: usize) -> Option<Choice> {
        let number = index as u64;
        match *self {
            Plan::List(ref choices) => choices.get(index).cloned(),
            Plan::Gray(count) => (number < count).then(|| Choice::Subset(Bits::from(number ^ number >> 1))),
            Plan::Pairs { count, .. } if index >= count => None,
            Plan::Pairs { rows, .. } if index < rows => Some(Choice::Row(index)),
            Plan::Pairs { rows, seed, .. } => Some(Choice::Sample { seed, index: (index - rows) as u64 }),
            Plan::Versions(count) => (number < count).then_some(Choice::Versions(number)),
            Plan::Random { count, seed } => (index < count).then_some(Choice::Random { seed, index: number }),
        }
    }
}

impl Pending<'_> {
    /// At most `budget` states of a tier, and whether these are all that it has. Requests within `first`, in bytes, are
    /// torn first.
    pub(super) fn plan(&self, tier: Tier, budget: usize, seed: u64, first: &[Range<u64>]) -> (Plan, bool) {
        let fits = |count: &u64| *count <= budget as u64;
        match tier {
            Tier::Marks => spread(self.at_marks(), 2, budget),
            Tier::Single => spread(self.single(), 0, budget),
            Tier::Subsets => match 1u64.checked_shl(self.bits as u32).filter(fits) {
                Some(count) => (Plan::Gray(count), true),
                None => (Plan::Pairs { rows: self.rows(), count: budget, seed }, false),
            },
            Tier::Torn | Tier::Sectors if !self.tears => (Plan::List(Vec::new()), true),
            Tier::Torn => {
                let (list, kept) = self.torn(first);
                spread(list, kept, budget)
            }
            Tier::Sectors => match self.combinations().filter(fits) {
                Some(count) => (Plan::Versions(count), true),
                None => (Plan::Random { count: budget, seed }, false),
            },
        }
    }

    fn at_marks(&self) -> Vec<Choice> {
        let done = |change: &u32| self.history.changes[*change as usize].done.unwrap_or(usize::MAX);
        let mut counts: Vec<usize> =
            self.marks.iter().map(|&mark| self.changes.partition_point(|change| done(change) < mark)).collect();
        counts.dedup();
        [Choice::All, Choice::None].into_iter().chain(counts.into_iter().map(Choice::Prefix)).collect()
    }

    fn single(&self) -> Vec<Choice> {
        let count = self.changes.len();
        let prefixes = (0..=count).map(Choice::Prefix);
        prefixes.chain((0..count).map(Choice::Without)).chain((0..count).map(Choice::Only)).collect()
    }

    /// And how many of them, at the start, are of requests within `first`.
    fn torn(&self, first: &[Range<u64>]) -> (Vec<Choice>, usize) {
        let mut places = vec![Vec::new(); self.changes.len()];
        for slot in &self.slots {
            for candidate in &self.cells[slot.cell as usize].candidates {
                if let (Some(bit), Some(change)) = (candidate.bit, candidate.change) {
                    places[bit].push(slot.granule - self.history.changes[change as usize].first);
                }
            }
        }
        let is_first = |request: usize| {
            let change = &self.history.changes[self.changes[request] as usize];
            let start = change.first * self.history.granule;
            let end = start + change.count * self.history.granule;
            first.iter().any(|range| start < range.end && range.start < end)
        };
        let (before, behind): (Vec<usize>, Vec<usize>) =
            (0..self.changes.len()).partition(|&request| is_first(request));
        let choices = |requests: &[usize]| -> Vec<Choice> {
            let parts = requests.iter().flat_map(|&request| parts(&places[request]).map(move |part| (request, part)));
            parts
                .flat_map(|(request, part)| [true, false].map(|others| Choice::Torn { request, part, others }))
                .collect()
        };
        let (mut list, rest) = (choices(&before), choices(&behind));
        let kept = list.len();
        list.extend(rest);
        (list, kept)
    }

    fn rows(&self) -> usize {
        Covering::new(self.bits).rows()
    }

    /// How many images there are sector by sector, if a number of 64 bits can say it.
    pub(super) fn combinations(&self) -> Option<u64> {
        let counts = self.slots.iter().map(|slot| self.versions(slot).count() as u64);
        counts.into_iter().try_fold(1u64, u64::checked_mul)
    }

    /// The candidates of a slot whose contents differ there.
    pub(super) fn versions(&self, slot: &Slot) -> impl Iterator<Item = u32> {
        let candidates = &self.cells[slot.cell as usize].candidates;
        let granule = slot.granule;
        let key = move |candidate: &Candidate| candidate.change.map_or(0, |change| self.history.key(change, granule));
        (0..candidates.len()).filter_map(move |index| {
            let is_new = candidates[..index].iter().all(|before| key(before) != key(&candidates[index]));
            is_new.then_some(index as u32)
        })
    }

    /// Which pending requests are wholly on the medium, for choices that tear none; None for others and for those
    /// that name what there is not. Behind the bits of [`Pending::requests`] are those of [`Choice::Subset`].
    pub fn subset(&self, choice: &Choice) -> Option<Bits> {
        let count = self.changes.len();
        match *choice {
            Choice::All => Some(Bits::below(count)),
            Choice::None => Some(Bits::default()),
            Choice::Prefix(length) => (length <= count).then(|| Bits::below(length)),
            Choice::Without(request) => (request < count).then(|| Bits::below(count).with(request, false)),
            Choice::Only(request) => (request < count).then(|| Bits::default().with(request, true)),
            Choice::Subset(ref bits) => (bits.end() <= self.bits).then(|| bits.clone()),
            Choice::Row(row) => (row < self.rows()).then(|| Covering::new(self.bits).row(row)),
            Choice::Sample { seed, index } => Some(self.sample(seed, index)),
            Choice::Torn { .. } | Choice::Versions(_) | Choice::Random { .. } => None,
        }
    }

    /// One request in ten, half of them, or nine in ten.
    fn sample(&self, seed: u64, index: u64) -> Bits {
        let mut random = self.stream(seed, SUBSETS, index);
        let tenths = [1, 5, 9][(index % 3) as usize];
        (0..self.bits).filter(|_| random.below(10) < tenths).fold(Bits::default(), |bits, bit| bits.with(bit, true))
    }

    /// For each slot a random candidate: any, or mostly the last, or mostly the first.
    pub(super) fn random(&self, seed: u64, index: u64) -> impl FnMut(&Slot) -> u32 {
        let mut random = self.stream(seed, SECTORS, index);
        move |slot| {
            let count = self.cells[slot.cell as usize].candidates.len() as u64;
            let (any, is_any) = (random.below(count), random.below(8) == 0);
            match index % 3 {
                1 if !is_any => count as u32 - 1,
                2 if !is_any => 0,
                _ => any as u32,
            }
        }
    }

    fn stream(&self, seed: u64, family: u64, index: u64) -> Stream {
        Stream::family(seed, mix(family ^ u64::from(self.epoch)), index)
    }
}

/// Parts of a request that changes these of its granules; each is another image.
fn parts(places: &[u64]) -> impl Iterator<Item = Part> {
    let tears = places.len().saturating_sub(1);
    let count = tears.min(TEARS);
    let place = move |tear: usize| 1 + if count < 2 { 0 } else { tear * (tears - 1) / (count - 1) };
    let cuts: Vec<u64> = (0..count).map(|tear| places[place(tear)]).collect();
    let parity = [Part::Even, Part::Odd].into_iter().filter(move |_| tears > 0);
    cuts.into_iter().flat_map(|cut| [Part::First(cut), Part::From(cut)]).chain(parity)
}

/// At most `budget` of these: the first ones up to `kept`, and the others evenly.
fn spread(mut list: Vec<Choice>, kept: usize, budget: usize) -> (Plan, bool) {
    if list.len() <= budget {
        return (Plan::List(list), true);
    }
    let rest = list.split_off(kept.min(budget));
    let left = budget - list.len();
    list.extend((0..left).map(|index| rest[index * rest.len() / left].clone()));
    (Plan::List(list), false)
}
