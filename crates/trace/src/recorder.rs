//! The recorder: counts by slice of time and by size, and a map of addresses over time.

use mountmark_model::DeviceRecord;
use mountmark_model::device::{DeviceOperation, Field, IoMap, ROWS, SECTOR, SIZES, SLICES, Slice};

/// Length of the first slices, as a power of two of nanoseconds: about a millisecond.
const FIRST_SHIFT: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completed {
    pub operation: DeviceOperation,
    pub offset: u64,
    pub length: u64,
    /// Of a write: whether it must be durable when it completes.
    pub fua: bool,
    /// Nanoseconds of the recorder's clock.
    pub arrival: u64,
}

/// The moments of a task that a record keeps, in nanoseconds from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub returned: u64,
    /// When the task's data was durable.
    pub durable: u64,
    /// The last sign of work at the device.
    pub settled: u64,
}

/// Sectors read and written in a cell of the map.
type Cell = [u32; 2];

/// Counts between a beginning and an end.
///
/// All fields are integers and zeroes are a valid recorder, so that it can be placed in new shared memory: the process
/// that serves a device counts, another one begins and reads.
#[derive(Clone)]
#[repr(C)]
pub struct Recorder {
    begin: u64,
    size: u64,
    row_bytes: u64,
    /// `queued` and `busy` are counted up to this time after the beginning, in ns.
    counted: u64,
    in_flight: u64,
    shift: u64,
    fua: u64,
    /// Where the last read ended, and how many began where the one before ended.
    read_end: u64,
    followed: u64,
    slices: [Slice; SLICES],
    sizes: [[u64; SIZES]; 3],
    map: [[Cell; ROWS]; SLICES],
}

impl Recorder {
    /// An empty recorder on the heap; it takes some 106 KB.
    pub fn new() -> Box<Recorder> {
        let mut room = Box::<Recorder>::new_uninit();
        // SAFETY: all fields are integers or arrays of integers, for which zeroes are valid.
        unsafe {
            room.as_mut_ptr().write_bytes(0, 1);
            room.assume_init()
        }
    }

    /// Clears all counts and begins at the time `begin`, on a device of `size` bytes.
    pub fn reset(&mut self, begin: u64, size: u64) {
        // SAFETY: as in `new`; the pointer is that of a whole recorder.
        unsafe { std::ptr::from_mut(self).write_bytes(0, 1) };
        self.begin = begin;
        self.size = size;
        self.row_bytes = size.div_ceil(ROWS as u64).next_multiple_of(SECTOR).max(SECTOR);
        self.shift = FIRST_SHIFT.into();
    }

    /// Records a request's arrival at the time `at`. Times never fall from call to call.
    #[inline]
    pub fn arrive(&mut self, at: u64) {
        self.count_until(at);
        self.in_flight += 1;
    }

    /// Records a request's completion at the time `at`. One that arrived before the beginning is not counted.
    #[inline]
    pub fn complete(&mut self, at: u64, request: &Completed) {
        if request.arrival < self.begin {
            return;
        }
        self.count_until(at);
        self.in_flight = self.in_flight.saturating_sub(1);
        let column = (self.counted >> self.shift) as usize;
        let kind = request.operation as usize;
        self.fua += u64::from(request.fua);
        if request.operation == DeviceOperation::Read {
            self.followed += u64::from(request.offset == self.read_end && request.offset > 0);
            self.read_end = request.offset.saturating_add(request.length);
        }
        if let Some(slice) = self.slices.get_mut(column) {
            slice.count[kind] += 1;
            slice.bytes[kind] += request.length;
            slice.wait[kind] += at.saturating_sub(request.arrival);
        }
        if let Some(sizes) = self.sizes.get_mut(kind)
            && request.length > 0
        {
            sizes[(request.length.ilog2() as usize).min(SIZES - 1)] += 1;
        }
        if let Some(place) =
            [DeviceOperation::Read, DeviceOperation::Write].iter().position(|o| *o == request.operation)
        {
            self.draw(column, place, request.offset, request.length);
        }
    }

    /// Counts the requests in flight up to the time `at`, and makes room for it.
    #[inline]
    fn count_until(&mut self, at: u64) {
        let to = at.saturating_sub(self.begin).max(self.counted);
        while (to >> self.shift) as usize >= SLICES {
            self.fold();
        }
        if self.in_flight > 0 {
            let mut from = self.counted;
            while from < to {
                let column = from >> self.shift;
                let end = to.min((column + 1) << self.shift);
                let slice = &mut self.slices[column as usize];
                slice.busy += end - from;
                slice.queued += self.in_flight * (end - from);
                from = end;
            }
        }
        self.counted = to;
    }

    /// Joins neighbouring slices and doubles their length.
    #[cold]
    fn fold(&mut self) {
        for index in 0..SLICES / 2 {
            let other = self.slices[2 * index + 1];
            self.slices[index] = self.slices[2 * index];
            self.slices[index].add(&other);
            let (earlier, later) = (self.map[2 * index], self.map[2 * index + 1]);
            for (sum, (one, other)) in self.map[index].iter_mut().zip(earlier.iter().zip(&later)) {
                *sum = [one[0].saturating_add(other[0]), one[1].saturating_add(other[1])];
            }
        }
        self.slices[SLICES / 2..].fill(Slice::default());
        self.map[SLICES / 2..].fill([[0; 2]; ROWS]);
        self.shift += 1;
    }

    /// Adds a request to the map's rows that it touches.
    #[inline]
    fn draw(&mut self, column: usize, place: usize, offset: u64, length: u64) {
        let Some(rows) = self.map.get_mut(column) else { return };
        let end = offset.saturating_add(length);
        let mut from = offset;
        let mut row = offset / self.row_bytes.max(1);
        while from < end {
            let Some(field) = rows.get_mut(row as usize) else { return };
            row += 1;
            let to = end.min(row * self.row_bytes);
            field[place] = field[place].saturating_add(((to - from) / SECTOR) as u32);
            from = to;
        }
    }

    pub fn record(&self, times: Times) -> DeviceRecord {
        let used = self.slices.iter().rposition(|slice| !slice.is_empty()).map_or(0, |last| last + 1);
        let sizes = self.sizes.map(|sizes| {
            let used = sizes.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
            sizes[..used].to_vec()
        });
        let mut fields = Vec::new();
        for (column, rows) in self.map.iter().enumerate() {
            for (row, [read, written]) in rows.iter().enumerate().filter(|(_, field)| **field != [0; 2]) {
                fields.push(Field { column: column as u32, row: row as u32, read: *read, written: *written });
            }
        }
        DeviceRecord {
            size: self.size,
            returned: times.returned,
            durable: times.durable,
            settled: times.settled,
            lacking: None,
            slice: 1 << self.shift,
            slices: self.slices[..used].to_vec(),
            sizes,
            fua: Some(self.fua),
            followed: Some(self.followed),
            map: Some(IoMap { row_bytes: self.row_bytes, fields }),
            more: Vec::new(),
        }
    }
}
