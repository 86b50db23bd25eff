//! What a power cut takes back from a medium.
//!
//! While this is in use, a write reaches the medium when it is replied to, so that the medium holds what was
//! acknowledged and nothing else. What it held before is kept in layers: the first begins where everything was durable,
//! each further one where a flush arrived. A flush that completes makes durable what had been replied to when it
//! arrived, so all layers before its own go; a FUA write makes its own bytes durable, so they go into what is kept.
//!
//! Kept pages lie in memory that the kernel does not know of: the guest's own would run short just when the most is
//! dirty.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::super::media::Medium;

/// The old contents are kept in pieces of this size, in bytes.
const PAGE: u64 = 4096;

/// A mark that a flush left when it arrived.
pub(super) type Mark = u64;

/// Old pages of a medium.
pub(super) struct Volatile {
    /// Where they are kept, in slots of a page.
    room: Medium,
    /// By the time of their beginning, oldest first: a mark, and the slot of each page that was written since.
    layers: Vec<(Mark, BTreeMap<u64, u64>)>,
    free: Vec<u64>,
    used: u64,
    next: Mark,
    /// The layer that began with the power cut.
    cut: Option<Mark>,
}

impl Volatile {
    /// Everything on the medium is durable now.
    pub fn new(room: Medium) -> Volatile {
        let mut volatile = Volatile { room, layers: Vec::new(), free: Vec::new(), used: 0, next: 0, cut: None };
        volatile.begin();
        volatile
    }

    fn begin(&mut self) -> Mark {
        self.next += 1;
        self.layers.push((self.next, BTreeMap::new()));
        self.next
    }

    /// Whether the power is cut.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// A write is replied to. `fua`: it is durable then.
    pub fn write(&mut self, medium: &mut Medium, offset: u64, data: &[u8], fua: bool) -> Result<()> {
        let durable = fua && self.cut.is_none();
        let end = offset + data.len() as u64;
        for page in offset / PAGE..end.div_ceil(PAGE) {
            if durable {
                self.patch(page, offset, data);
            } else {
                self.keep(medium, page)?;
            }
        }
        let target = medium.slice_mut(offset, data.len() as u64);
        target.context("a write beyond the end of the medium")?.copy_from_slice(data);
        Ok(())
    }

    /// Keeps a page's contents in the newest layer, unless it has them.
    fn keep(&mut self, medium: &Medium, page: u64) -> Result<()> {
        let Some((_, newest)) = self.layers.last_mut() else { return Ok(()) };
        if newest.contains_key(&page) {
            return Ok(());
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        newest.insert(page, slot);
        let old = medium.slice(page * PAGE, PAGE).context("a disk that is no whole number of pages")?;
        let room = self.room.slice_mut(slot * PAGE, PAGE).context("no room for what a power cut takes back")?;
        room.copy_from_slice(old);
        Ok(())
    }

    /// Puts durable bytes into every kept copy of a page.
    fn patch(&mut self, page: u64, offset: u64, data: &[u8]) {
        let (from, to) = (offset.max(page * PAGE), (offset + data.len() as u64).min((page + 1) * PAGE));
        let part = &data[(from - offset) as usize..(to - offset) as usize];
        for (_, kept) in &self.layers {
            let slot = kept.get(&page);
            if let Some(target) = slot.and_then(|slot| self.room.slice_mut(slot * PAGE + from % PAGE, to - from)) {
                target.copy_from_slice(part);
            }
        }
    }

    /// A flush arrives. After the cut nothing becomes durable any more, so it leaves no layer.
    pub fn flush_arrives(&mut self) -> Mark {
        if self.cut.is_some() { self.next } else { self.begin() }
    }

    /// The flush that left this mark is replied to.
    pub fn flush_completes(&mut self, mark: Mark) {
        if self.cut.is_some() {
            return;
        }
        let durable = self.layers.iter().take_while(|(begun, _)| *begun < mark).count();
        for (_, kept) in self.layers.drain(..durable) {
            self.free.extend(kept.into_values());
        }
    }

    /// The power fails.
    pub fn cut(&mut self) {
        let mark = self.begin();
        self.cut.get_or_insert(mark);
    }

    /// Brings back what the medium held at the cut, or, if the cache is lost, what was durable then.
    pub fn restore(self, medium: &mut Medium, cache_lost: bool) -> Result<()> {
        let until = self.cut.filter(|_| !cache_lost).unwrap_or(0);
        for (_, kept) in self.layers.iter().rev().take_while(|(begun, _)| *begun >= until) {
            for (page, slot) in kept {
                let old = self.room.slice(slot * PAGE, PAGE).context("a page that was not kept")?;
                let target = medium.slice_mut(page * PAGE, PAGE).context("a page beyond the end of the medium")?;
                target.copy_from_slice(old);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGES: u64 = 4;
    const SIZE: u64 = PAGES * PAGE;

    /// A medium in this process's memory, for one test.
    fn medium() -> Medium {
        Medium::in_memory(SIZE)
    }

    fn contents(medium: &Medium) -> Vec<u8> {
        medium.slice(0, SIZE).unwrap().to_vec()
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// Sector, sectors, FUA.
        Write(u64, u64, bool),
        Arrive,
        /// The oldest flush under way.
        Complete,
    }

    fn step() -> impl Strategy<Value = Step> {
        let sectors = SIZE / 512;
        prop_oneof![
            5 => (0..sectors, 1u64..12, prop::bool::weighted(0.2))
                .prop_map(move |(from, count, fua)| Step::Write(from, count.min(sectors - from), fua)),
            1 => Just(Step::Arrive),
            1 => Just(Step::Complete),
        ]
    }

    /// The plain rule, sector by sector: the number of the last durable write and of the last write.
    #[derive(Clone, Default)]
    struct Model {
        last: Vec<u8>,
        durable: Vec<u8>,
        /// What had been written when each flush arrived.
        flushes: Vec<(Mark, Vec<u8>)>,
    }

    proptest! {
        #[test]
        fn a_cut_leaves_what_was_acknowledged_or_what_was_durable(
            steps in prop::collection::vec(step(), 1..60), after in prop::collection::vec(step(), 0..20), lost: bool,
        ) {
            let mut disk = medium();
            // Flushes under way may each need all pages.
            let mut volatile = Volatile::new(Medium::in_memory(64 * SIZE));
            let sectors = (SIZE / 512) as usize;
            let mut model = Model { last: vec![0; sectors], durable: vec![0; sectors], flushes: Vec::new() };
            let mut number = 0;
            for step in &steps {
                match *step {
                    Step::Write(from, count, fua) => {
                        number += 1;
                        volatile.write(&mut disk, from * 512, &vec![number; (count * 512) as usize], fua).unwrap();
                        for sector in from as usize..(from + count) as usize {
                            model.last[sector] = number;
                            if fua {
                                model.durable[sector] = number;
                                // A flush under way cannot make an older version durable.
                                model.flushes.iter_mut().for_each(|(_, held)| held[sector] = number);
                            }
                        }
                    }
                    Step::Arrive => model.flushes.push((volatile.flush_arrives(), model.last.clone())),
                    Step::Complete if !model.flushes.is_empty() => {
                        let (mark, held) = model.flushes.remove(0);
                        volatile.flush_completes(mark);
                        model.durable = held;
                    }
                    Step::Complete => {}
                }
            }
            volatile.cut();
            prop_assert!(volatile.is_cut());
            for step in &after {
                match *step {
                    Step::Write(from, count, fua) => {
                        volatile.write(&mut disk, from * 512, &vec![255; (count * 512) as usize], fua).unwrap();
                    }
                    Step::Arrive => drop(volatile.flush_arrives()),
                    Step::Complete => volatile.flush_completes(u64::MAX),
                }
            }
            volatile.restore(&mut disk, lost).unwrap();
            let expected = if lost { &model.durable } else { &model.last };
            let found: Vec<u8> = contents(&disk).chunks(512).map(|sector| sector[0]).collect();
            prop_assert_eq!(&found, expected);
            prop_assert!(contents(&disk).chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        }
    }

    #[test]
    fn what_was_durable_needs_no_room_any_more() {
        let (mut disk, mut volatile) = (medium(), Volatile::new(medium()));
        for round in 0..100 {
            for page in 0..PAGES {
                volatile.write(&mut disk, page * PAGE, &[round; PAGE as usize], false).unwrap();
            }
            let mark = volatile.flush_arrives();
            volatile.flush_completes(mark);
        }
        assert!(volatile.used <= PAGES, "{} pages are kept of {PAGES}", volatile.used);
    }
}
