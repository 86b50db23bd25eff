//! What images hold, as far as a witness has seen it: an image that agrees with a seen one in all that was read of that
//! one would be seen the same, and need not be shown.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use mountmark_crash::campaign::Seen;
use mountmark_crash::states::{Device, Extent, Fault, State};
use mountmark_crash::trace::{Event, Request, SECTOR, Trace};

/// What was seen of the images of one recording.
pub struct ObservationCache {
    /// Sectors that the recording writes; images differ nowhere else.
    written: BTreeSet<u64>,
    by_hash: HashMap<u128, usize>,
    /// Reads of the seen images, as a tree: what is read next depends on what was read before.
    root: Node,
    pub seen: Vec<Seen>,
    /// What all images differ in from the base, besides what is theirs.
    below: Vec<Extent>,
}

#[derive(Default)]
struct Node {
    /// What was seen by those who read no further.
    seen: Option<usize>,
    /// Sectors that were read next, and by what they held what came then.
    next: Vec<(Range<u64>, HashMap<u64, Node>)>,
}

/// Hashes of the sectors in which an image differs from the base, in order.
pub struct Differences(Vec<(u64, u64)>);

impl Differences {
    /// `data` is [`Trace::data`].
    pub fn of(state: &State, data: &[u8]) -> Differences {
        let mut all = Vec::new();
        let mut sector = [0; SECTOR as usize];
        for extent in &state.extents {
            let mut at = 0;
            while at < extent.length {
                // A torn sector's other half is the base's.
                let first = extent.offset + at;
                let length = (SECTOR - first % SECTOR).min(extent.length - at);
                let part = &mut sector[..length as usize];
                extent.read(data, at, part);
                let mut hash = DefaultHasher::new();
                (first, &*part).hash(&mut hash);
                all.push((first / SECTOR, hash.finish()));
                at += length;
            }
        }
        Differences(all)
    }

    /// Of the sectors in a range: equal for images that agree there.
    fn key(&self, range: &Range<u64>) -> u64 {
        let start = self.0.partition_point(|(sector, _)| *sector < range.start);
        let mut hash = DefaultHasher::new();
        for entry in self.0[start..].iter().take_while(|(sector, _)| *sector < range.end) {
            entry.hash(&mut hash);
        }
        hash.finish()
    }
}

impl ObservationCache {
    /// Of images that differ from the base in `below`, and from each other in what the recording writes on this device.
    pub fn new(trace: &Trace, device: Device, below: &[Extent]) -> ObservationCache {
        let mut written = BTreeSet::new();
        let elsewhere = if let Some(Fault::Misdirect { to, .. }) = device.fault { Some(to) } else { None };
        for event in &trace.events {
            let Event::Sent { request, .. } = event else { continue };
            let (Request::Write { offset, length, .. }
            | Request::Trim { offset, length }
            | Request::Zero { offset, length, .. }) = *request
            else {
                continue;
            };
            for offset in elsewhere.into_iter().chain([offset]) {
                written.extend(offset / SECTOR..(offset + length).div_ceil(SECTOR));
            }
        }
        let below = below.to_vec();
        ObservationCache { written, by_hash: HashMap::new(), root: Node::default(), seen: Vec::new(), below }
    }

    /// All in which an image differs from the base.
    pub fn whole(&self, state: &State) -> Vec<Extent> {
        self.below.iter().chain(&state.extents).cloned().collect()
    }

    /// What an image holds, if that is known: an index into `seen`.
    pub fn find(&mut self, state: &State, differences: &Differences) -> Option<usize> {
        if let Some(index) = self.by_hash.get(&state.hash) {
            return Some(*index);
        }
        let found = self.root.find(differences)?;
        self.by_hash.insert(state.hash, found);
        Some(found)
    }

    /// Notes what was seen.
    pub fn add(&mut self, state: &State, differences: &Differences, seen: Seen) -> usize {
        let index = self.seen.len();
        self.by_hash.insert(state.hash, index);
        let reads = seen.reads.iter().map(|(offset, length)| offset / SECTOR..(offset + length).div_ceil(SECTOR));
        let reads = reads.filter(|range| self.written.range(range.clone()).next().is_some());
        let mut node = &mut self.root;
        for range in reads {
            let place = node.next.iter().position(|(next, _)| *next == range).unwrap_or_else(|| {
                node.next.push((range.clone(), HashMap::new()));
                node.next.len() - 1
            });
            node = node.next[place].1.entry(differences.key(&range)).or_default();
        }
        node.seen.get_or_insert(index);
        self.seen.push(seen);
        index
    }
}

impl Node {
    fn find(&self, differences: &Differences) -> Option<usize> {
        let further =
            || self.next.iter().find_map(|(range, held)| held.get(&differences.key(range))?.find(differences));
        self.seen.or_else(further)
    }
}

#[cfg(test)]
mod tests {
    use mountmark_crash::states::{Contents, StateId};

    use super::*;

    fn state(hash: u128, extents: &[(u64, u8)]) -> State {
        let extent = |(sector, byte): &(u64, u8)| Extent {
            offset: sector * SECTOR,
            length: SECTOR,
            contents: Contents::Inline(vec![*byte; SECTOR as usize]),
        };
        let id: StateId = "e0.t0.all".parse().unwrap();
        State { id, extents: extents.iter().map(extent).collect(), hash }
    }

    fn written(sectors: Range<u64>) -> Trace {
        let request = Request::Write {
            offset: sectors.start * SECTOR,
            length: (sectors.end - sectors.start) * SECTOR,
            fua: false,
            data: 0,
        };
        Trace { size: 1 << 20, events: vec![Event::Sent { number: 0, request }], ..Trace::default() }
    }

    #[test]
    fn an_image_is_known_if_it_agrees_in_all_that_was_read() {
        let mut known = ObservationCache::new(&written(0..10), "sector".parse().unwrap(), &[]);
        // Sector 1 was read, then 3; sector 100 is the same in all images.
        let reads = vec![(SECTOR, SECTOR), (100 * SECTOR, SECTOR), (3 * SECTOR, 2 * SECTOR)];
        let first = state(1, &[(1, 7), (3, 8), (5, 9)]);
        let differences = Differences::of(&first, &[]);
        assert_eq!(known.find(&first, &differences), None);
        known.add(&first, &differences, Seen { reads, ..Seen::default() });
        let mut found = |hash, extents: &[(u64, u8)]| {
            let state = state(hash, extents);
            known.find(&state, &Differences::of(&state, &[]))
        };
        // Elsewhere it may differ.
        assert_eq!(found(2, &[(1, 7), (3, 8), (5, 1)]), Some(0));
        assert_eq!(found(3, &[(1, 7), (3, 8)]), Some(0));
        assert_eq!(found(4, &[(1, 7), (3, 9), (5, 9)]), None);
        assert_eq!(found(5, &[(1, 7), (3, 8), (4, 1)]), None);
        assert_eq!(found(6, &[(3, 8), (5, 9)]), None);
        // By its hash, which is of the whole image.
        assert_eq!(found(1, &[]), Some(0));
    }

    #[test]
    fn where_a_request_is_misdirected_images_may_differ_too() {
        let reads = vec![(100 * SECTOR, SECTOR)];
        let is_known = |device: &str| {
            let mut known = ObservationCache::new(&written(0..10), device.parse().unwrap(), &[]);
            let (first, other) = (state(1, &[(100, 7)]), state(2, &[]));
            known.add(&first, &Differences::of(&first, &[]), Seen { reads: reads.clone(), ..Seen::default() });
            known.find(&other, &Differences::of(&other, &[])).is_some()
        };
        assert!(!is_known("request+i7:0@51200") && is_known("request"));
    }
}
