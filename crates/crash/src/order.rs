//! The order of writes before a power cut, and what of them an image holds.

use serde::{Deserialize, Serialize};

use crate::states::{Contents, Extent};
use crate::trace::{Event, Request, Trace};

/// Most events that are kept.
const MOST: usize = 40;

/// The last events before a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Events before those that are kept.
    pub skipped: usize,
    pub events: Vec<Event>,
    /// Of the writes among them, by number: how many of their bytes the image holds as this write left them.
    pub held: Vec<(u32, u64)>,
}

impl Order {
    /// Of a power cut before the event `end`, and what its image changed since the recording began.
    pub fn new(trace: &Trace, end: usize, image: &[Extent]) -> Order {
        let events = &trace.events[..end.min(trace.events.len())];
        let skipped = events.len().saturating_sub(MOST);
        let events = events[skipped..].to_vec();
        let held = events.iter().filter_map(|event| match *event {
            Event::Sent { number, request: Request::Write { offset, length, data, .. } } => {
                Some((number, held(image, offset, length, data)))
            }
            _ => None,
        });
        let held = held.collect();
        Order { skipped, events, held }
    }

    /// How many bytes of a write the image holds; `None` if it is no write of these.
    pub fn held(&self, number: u32) -> Option<u64> {
        self.held.iter().find(|(write, _)| *write == number).map(|(_, bytes)| *bytes)
    }
}

/// How many bytes of a write an image holds, whose data begin at `data` in the recording.
fn held(image: &[Extent], offset: u64, length: u64, data: u64) -> u64 {
    let inside = |extent: &&Extent| extent.offset < offset + length && offset < extent.end();
    let of = |extent: &Extent| {
        let first = extent.offset.max(offset);
        let is_this = matches!(
            extent.contents, Contents::Logged(at) if at + (first - extent.offset) == data + (first - offset)
        );
        if is_this { extent.end().min(offset + length) - first } else { 0 }
    };
    image.iter().filter(inside).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_holds_all_of_a_write_or_a_part_or_nothing() {
        let write = |number, offset, data| Event::Sent {
            number,
            request: Request::Write { offset, length: 1024, fua: false, data },
        };
        let mut events = vec![Event::Done { number: 9, error: 0 }; 50];
        events.extend([write(0, 0, 0), write(1, 4096, 1024), write(2, 8192, 2048), write(3, 0, 4096)]);
        let trace = Trace { size: 1 << 20, events, data: Vec::new() };
        let extent = |offset, length, at| Extent { offset, length, contents: Contents::Logged(at) };
        let extents = vec![extent(0, 1024, 0), extent(4608, 512, 1536)];
        let order = Order::new(&trace, 53, &extents);
        assert_eq!((order.skipped, order.events.len()), (13, 40));
        assert_eq!(order.held, [(0, 1024), (1, 512), (2, 0)]);
        assert_eq!((order.held(1), order.held(3)), (Some(512), None));
    }
}
