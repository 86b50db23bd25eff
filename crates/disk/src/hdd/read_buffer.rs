//! The read buffer: a few segments, each holding one stretch of the disk.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    used: u64,
}

/// Replaced in LRU order.
#[derive(Clone, Debug)]
pub(super) struct ReadBuffer {
    segments: Vec<Segment>,
    /// Bytes of a segment.
    size: u64,
    uses: u64,
}

impl ReadBuffer {
    pub(super) fn new(bytes: u64, segments: u64) -> ReadBuffer {
        ReadBuffer { segments: vec![Segment::default(); segments as usize], size: bytes / segments, uses: 0 }
    }

    /// Bytes of a segment.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn get(&self, index: usize) -> Segment {
        self.segments[index]
    }

    /// The segment that holds `byte` or ends there, so that reading on continues it.
    pub(super) fn find(&self, byte: u64) -> Option<usize> {
        self.segments.iter().position(|segment| segment.used > 0 && segment.from <= byte && byte <= segment.to)
    }

    /// The segment to evict for a new stream.
    pub(super) fn oldest(&self) -> usize {
        let oldest = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.used);
        oldest.map_or(0, |(index, _)| index)
    }

    /// Sets segment `index` to `from`..`to`; if that does not fit, to its last bytes.
    pub(super) fn set(&mut self, index: usize, from: u64, to: u64) {
        self.segments[index].from = from.max(to.saturating_sub(self.size));
        self.segments[index].to = to;
        self.touch(index);
    }

    pub(super) fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].used = self.uses;
    }
}

#[test]
fn the_oldest_segment_goes_and_the_latest_bytes_stay() {
    let mut buffer = ReadBuffer::new(2048, 2);
    buffer.set(0, 0, 4096);
    buffer.set(1, 10_000, 10_512);
    assert_eq!(buffer.find(0), None);
    assert_eq!(buffer.find(3072), Some(0));
    assert_eq!(buffer.find(10_512), Some(1));
    assert_eq!(buffer.oldest(), 0);
    buffer.touch(0);
    assert_eq!(buffer.oldest(), 1);
}
