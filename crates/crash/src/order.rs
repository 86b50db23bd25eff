//! The order of writes before a power cut, and what of them an image holds.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::states::{Base, Extent};
use crate::trace::{Event, Request, SECTOR, Trace};

/// Most events that are kept.
const MOST: usize = 40;

/// The last events before a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Events before those that are kept.
    pub skipped: usize,
    pub events: Vec<Event>,
    /// Of the writes among them, by number: how many of their bytes the image holds, or had before a later write of
    /// which it holds them. A byte that was the same before counts as held.
    pub held: Vec<(u32, u64)>,
}

impl Order {
    /// Of a power cut before the event `end`. `image` is what its image changes in `base`, which the disk held when the
    /// recording began.
    pub fn new(trace: &Trace, end: usize, image: &[Extent], base: &(impl Base + ?Sized)) -> Order {
        let events = &trace.events[..end.min(trace.events.len())];
        let skipped = events.len().saturating_sub(MOST);
        let events = events[skipped..].to_vec();
        // What a sector of the image holds, and whether it is that of a write seen so far: the last writes come first.
        let mut sectors: HashMap<u64, (Vec<u8>, bool)> = HashMap::new();
        let mut held = Vec::new();
        for event in events.iter().rev() {
            let Event::Sent { number, request: Request::Write { offset, length, data, .. } } = *event else { continue };
            let mut bytes = 0;
            for sector in offset / SECTOR..(offset + length).div_ceil(SECTOR) {
                let (contents, is_later) =
                    sectors.entry(sector).or_insert_with(|| (contents(sector, image, &trace.data, base), false));
                let (first, last) = (offset.max(sector * SECTOR), (offset + length).min((sector + 1) * SECTOR));
                let at = (data + (first - offset)) as usize;
                let written = trace.data.get(at..at + (last - first) as usize);
                let own = &contents[(first % SECTOR) as usize..][..(last - first) as usize];
                *is_later |= written == Some(own);
                if *is_later {
                    bytes += last - first;
                }
            }
            held.push((number, bytes));
        }
        held.reverse();
        Order { skipped, events, held }
    }

    /// How many bytes of a write the image holds; `None` if it is no write of these.
    pub fn held(&self, number: u32) -> Option<u64> {
        self.held.iter().find(|(write, _)| *write == number).map(|(_, bytes)| *bytes)
    }
}

/// What a sector of an image holds.
fn contents(sector: u64, image: &[Extent], data: &[u8], base: &(impl Base + ?Sized)) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR as usize];
    let (start, end) = (sector * SECTOR, (sector + 1) * SECTOR);
    base.read(start, &mut bytes);
    for extent in image.iter().filter(|extent| extent.offset < end && start < extent.end()) {
        let (first, last) = (extent.offset.max(start), extent.end().min(end));
        extent.read(data, first - extent.offset, &mut bytes[(first - start) as usize..(last - start) as usize]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::Contents;

    #[test]
    fn an_image_holds_all_of_a_write_or_a_part_or_nothing() {
        let write = |number, offset, data| Event::Sent {
            number,
            request: Request::Write { offset, length: 1024, fua: false, data },
        };
        let mut events = vec![Event::Done { number: 9, error: 0 }; 50];
        let writes =
            [write(0, 0, 0), write(1, 4096, 1024), write(2, 8192, 2048), write(3, 0, 4096), write(4, 16384, 3072)];
        events.extend(writes);
        // Each kilobyte of data is of one byte; the fourth is as the disk was before.
        let data: Vec<u8> = [1, 2, 3, 0, 5].iter().flat_map(|byte| [*byte; 1024]).collect();
        let trace = Trace { size: 1 << 20, events, data, ..Trace::default() };
        let extent = |offset, length, at| Extent { offset, length, contents: Contents::Logged(at) };
        let base = vec![0; 1 << 20];
        let order = |end, extents: &[Extent]| Order::new(&trace, end, extents, base.as_slice());
        let first = order(53, &[extent(0, 1024, 0), extent(4608, 512, 1536)]);
        assert_eq!((first.skipped, first.events.len()), (13, 40));
        assert_eq!(first.held, [(0, 1024), (1, 512), (2, 0)]);
        assert_eq!((first.held(1), first.held(3)), (Some(512), None));
        // The fourth write has replaced the first one, and the fifth changes nothing.
        let last = order(55, &[extent(0, 1024, 4096)]);
        assert_eq!(last.held, [(0, 1024), (1, 0), (2, 0), (3, 1024), (4, 1024)]);
    }
}
