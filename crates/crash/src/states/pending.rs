//! The end of an epoch: what is durable, and between which versions of the rest a power cut decides.

use std::collections::HashMap;

use super::bits::Bits;
use super::history::History;
use super::state::push;
use crate::trace::Extent;

/// What a power cut decides at the end of an epoch.
pub struct Pending<'s> {
    pub(super) history: &'s History,
    pub(super) epoch: u32,
    /// The events of its marks.
    pub(super) marks: &'s [usize],
    /// Whether a request may be on the medium in part.
    pub(super) tears: bool,
    /// Pending changes that matter, in the order of their replies; those without a reply last. A subset has one bit for
    /// each, and one more for each candidate with `raised`.
    pub(super) changes: Vec<u32>,
    pub(super) bits: usize,
    pub(super) cells: Vec<Cell>,
    /// Sorted by granule.
    pub(super) slots: Vec<Slot>,
    /// The slots again, those joined that every subset of requests treats alike.
    runs: Vec<Run>,
    /// The cells that a bit decides on.
    pub(super) touches: Vec<Vec<u32>>,
    /// What differs from the base image for sure, and its hash.
    pub(super) fixed: Vec<Extent>,
    fixed_hash: u128,
}

/// Granules between whose versions the same changes decide.
pub(super) struct Cell {
    /// In the order in which they arrived. The base image, if it is one, comes first.
    pub candidates: Vec<Candidate>,
    /// Whether some were under way at once.
    is_raced: bool,
}

pub(super) struct Candidate {
    /// None is the base image.
    pub change: Option<u32>,
    /// Its bit; none if it is durable.
    pub bit: Option<usize>,
    /// The bit that puts it above those that were under way at the same time and arrived later.
    raised: Option<usize>,
    /// The exclusive or of its keys in all granules of the cell.
    pub key: u128,
}

#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub granule: u64,
    pub cell: u32,
}

struct Run {
    first: Slot,
    count: u64,
}

const BASE: u32 = u32::MAX;

impl<'s> Pending<'s> {
    pub(super) fn new(
        history: &'s History,
        since: &[Option<usize>],
        (epoch, end, marks): (u32, usize, &'s [usize]),
        tears: bool,
    ) -> Pending<'s> {
        let mut pending = Pending {
            history,
            epoch,
            marks,
            tears,
            changes: Vec::new(),
            bits: 0,
            cells: Vec::new(),
            slots: Vec::new(),
            runs: Vec::new(),
            touches: Vec::new(),
            fixed: Vec::new(),
            fixed_hash: 0,
        };
        let is_durable = |change: u32| since[change as usize].is_some_and(|event| event < end);
        let (mut cells, mut candidates) = (HashMap::<Vec<u32>, u32>::new(), Vec::new());
        for (granule, covers) in history.places() {
            legal(history, covers, end, is_durable, &mut candidates);
            let key = |change: u32| if change == BASE { 0 } else { history.key(change, granule) };
            if candidates.iter().all(|&candidate| key(candidate) == key(candidates[0])) {
                pending.fix(*candidates.last().unwrap_or(&BASE), granule);
                continue;
            }
            let cell = cells.get(&candidates).copied().unwrap_or_else(|| {
                pending.cells.push(Cell::new(history, &candidates));
                cells.insert(candidates.clone(), pending.cells.len() as u32 - 1);
                pending.cells.len() as u32 - 1
            });
            for (candidate, &change) in pending.cells[cell as usize].candidates.iter_mut().zip(&candidates) {
                candidate.key ^= key(change);
            }
            pending.add(Slot { granule, cell });
        }
        pending.number_bits(is_durable);
        pending
    }

    fn add(&mut self, slot: Slot) {
        match self.runs.last_mut() {
            Some(run) if run.continues(&slot, &self.cells, self.history) => run.count += 1,
            _ => self.runs.push(Run { first: slot, count: 1 }),
        }
        self.slots.push(slot);
    }

    fn fix(&mut self, change: u32, granule: u64) {
        let key = if change == BASE { 0 } else { self.history.key(change, granule) };
        if key != 0 {
            self.fixed_hash ^= key;
            push(&mut self.fixed, self.history.extent(change, granule));
        }
    }

    fn number_bits(&mut self, is_durable: impl Fn(u32) -> bool) {
        let candidates = self.cells.iter().flat_map(|cell| &cell.candidates);
        self.changes =
            candidates.filter_map(|candidate| candidate.change).filter(|&change| !is_durable(change)).collect();
        let history = self.history;
        self.changes
            .sort_unstable_by_key(|&change| (history.changes[change as usize].done.unwrap_or(usize::MAX), change));
        self.changes.dedup();
        let bits: HashMap<u32, usize> = self.changes.iter().enumerate().map(|(bit, &change)| (change, bit)).collect();
        self.touches = vec![Vec::new(); self.changes.len()];
        for (index, cell) in self.cells.iter_mut().enumerate() {
            for place in 0..cell.candidates.len() {
                let Some(change) = cell.candidates[place].change else { continue };
                // What was over when the next one arrived races with none of the later ones.
                let next = cell.candidates.get(place + 1).and_then(|next| next.change);
                let is_raced = next.is_some_and(|next| !history.precedes(change, next));
                let candidate = &mut cell.candidates[place];
                candidate.bit = bits.get(&change).copied();
                if let Some(bit) = candidate.bit {
                    self.touches[bit].push(index as u32);
                }
                if is_raced {
                    candidate.raised = Some(self.touches.len());
                    self.touches.push(vec![index as u32]);
                    cell.is_raced = true;
                }
            }
        }
        self.bits = self.touches.len();
    }

    /// The numbers of the pending requests that matter, in the order in which states count them: that of their replies,
    /// those without a reply last. Requests that change nothing are left out.
    pub fn requests(&self) -> Vec<u32> {
        self.changes.iter().map(|&change| self.history.changes[change as usize].number).collect()
    }

    /// For each cell, which candidate is on the medium.
    pub(super) fn winners(&self, bits: &Bits) -> Vec<u32> {
        self.cells.iter().map(|cell| cell.winner(self.history, bits)).collect()
    }

    /// The hash of the image with these winners.
    pub(super) fn hash(&self, winners: &[u32]) -> u128 {
        let cells = self.cells.iter().zip(winners);
        cells.fold(self.fixed_hash, |hash, (cell, &winner)| hash ^ cell.candidates[winner as usize].key)
    }

    /// The image with these winners.
    pub(super) fn whole(&self, winners: &[u32]) -> Vec<Extent> {
        self.merge(self.runs.iter().filter_map(|run| {
            let cell = &self.cells[run.first.cell as usize];
            let change = cell.candidates[winners[run.first.cell as usize] as usize].change?;
            let extent = self.changed(change, run.first.granule)?;
            Some(Extent { length: run.count * self.history.granule, ..extent })
        }))
    }

    /// The image with the candidate that `pick` chooses for each slot, and its hash.
    pub(super) fn image(&self, mut pick: impl FnMut(&Slot) -> u32) -> (Vec<Extent>, u128) {
        let mut hash = self.fixed_hash;
        let extents = self.merge(self.slots.iter().filter_map(|slot| {
            let change = self.cells[slot.cell as usize].candidates[pick(slot) as usize].change?;
            hash ^= self.history.key(change, slot.granule);
            self.changed(change, slot.granule)
        }));
        (extents, hash)
    }

    /// What a change puts there, if the base image has something else.
    fn changed(&self, change: u32, granule: u64) -> Option<Extent> {
        (self.history.key(change, granule) != 0).then(|| self.history.extent(change, granule))
    }

    /// These extents, and those that do not depend on a choice.
    fn merge(&self, chosen: impl Iterator<Item = Extent>) -> Vec<Extent> {
        let mut extents = Vec::with_capacity(self.fixed.len() + 16);
        let mut fixed = self.fixed.iter().peekable();
        for extent in chosen {
            while let Some(before) = fixed.next_if(|fixed| fixed.offset < extent.offset) {
                push(&mut extents, before.clone());
            }
            push(&mut extents, extent);
        }
        fixed.for_each(|rest| push(&mut extents, rest.clone()));
        extents
    }
}

impl Run {
    /// Whether a slot lies right behind, belongs to the same cell, and holds what follows in each candidate.
    fn continues(&self, slot: &Slot, cells: &[Cell], history: &History) -> bool {
        let last = self.first.granule + self.count - 1;
        let follows = |change: u32| {
            (history.key(change, last) == 0) == (history.key(change, slot.granule) == 0)
                && history.extent(change, last).continues(&history.extent(change, slot.granule))
        };
        let mut changes = cells[slot.cell as usize].candidates.iter().filter_map(|candidate| candidate.change);
        slot.granule == last + 1 && slot.cell == self.first.cell && changes.all(follows)
    }
}

/// The versions of a granule that may be on the medium: those that no durable change has overwritten.
fn legal(history: &History, covers: &[u32], end: usize, is_durable: impl Fn(u32) -> bool, candidates: &mut Vec<u32>) {
    candidates.clear();
    let sent = &covers[..covers.partition_point(|&change| history.changes[change as usize].sent < end)];
    let last = sent.iter().copied().rfind(|&change| is_durable(change));
    candidates.extend(last.is_none().then_some(BASE));
    // What precedes any durable change precedes the one that arrived last.
    let is_overwritten = |change: u32| last.is_some_and(|last| history.precedes(change, last));
    candidates.extend(sent.iter().copied().filter(|&change| !is_overwritten(change)));
}

impl Cell {
    fn new(history: &History, changes: &[u32]) -> Cell {
        debug_assert!(changes.iter().all(|&change| change == BASE || (change as usize) < history.changes.len()));
        let candidate =
            |&change: &u32| Candidate { change: (change != BASE).then_some(change), bit: None, raised: None, key: 0 };
        Cell { candidates: changes.iter().map(candidate).collect(), is_raced: false }
    }

    /// What is on top if the changes of these bits, and the durable ones, are on the medium.
    pub(super) fn winner(&self, history: &History, bits: &Bits) -> u32 {
        let is_there = |candidate: &Candidate| candidate.bit.is_none_or(|bit| bits.has(bit));
        let there = || self.candidates.iter().enumerate().rev().filter(|(_, candidate)| is_there(candidate));
        let last = there().next().map_or(0, |(index, _)| index);
        if !self.is_raced {
            return last as u32;
        }
        // Raised, and nothing on the medium came after it for sure.
        let is_top = |candidate: &Candidate| {
            let change = candidate.change.unwrap_or_default();
            there().all(|(_, other)| other.change.is_none_or(|other| !history.precedes(change, other)))
        };
        let is_raised = |candidate: &Candidate| candidate.raised.is_some_and(|bit| bits.has(bit));
        let raised = there().find(|(_, candidate)| is_raised(candidate) && is_top(candidate));
        raised.map_or(last, |(index, _)| index) as u32
    }
}
