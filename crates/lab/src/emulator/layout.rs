//! Placement of a cell's media in its guest's physical memory.

use anyhow::{Result, bail};
use mountmark_job::{CrashRegions, Region, carrier_room};
use mountmark_model::Cell;
use mountmark_trace::recording::Device;

use super::cell::disks;

/// Alignment of the media in bytes; pmem requires it.
pub(super) const ALIGNMENT: u64 = 128 << 20;
/// The media's least room in guest-physical memory, in bytes. It is sparse: only written pages take host memory.
pub(super) const MEDIA_ROOM: u64 = 64 << 30;

pub(super) struct Layout {
    pub test: Region,
    /// Further disks under test.
    pub more: Vec<Region>,
    pub source: Option<Region>,
    pub corpus: Option<Region>,
    /// What a power cut takes back, for a cell that has one.
    pub undo: Option<Region>,
    /// The operations that age the file system.
    pub history: Option<Region>,
    pub total: u64,
}

impl Layout {
    pub fn of(cell: &Cell) -> Result<Layout> {
        let mut at = 0;
        let mut take = |size: u64| {
            let region = Region { offset: at, size };
            at += size.next_multiple_of(ALIGNMENT);
            region
        };
        let size = cell.disk_size.0;
        let test = take(if cell.on_loop { carrier_room(size).next_multiple_of(ALIGNMENT) } else { size });
        let more = (1..cell.configuration.disks()).map(|_| take(size)).collect();
        let source = cell.second_disk.as_ref().map(|medium| take(medium.size.0));
        let corpus = cell.second_disk.as_ref().map(|medium| take(medium.corpus.tar_bytes));
        let undo = needs_undo(cell).then(|| take(size));
        let history = cell.age.as_ref().map(|age| take(age.length.0));
        let total = at.max(MEDIA_ROOM);
        // 40 bits of physical addresses, minus what is below the media.
        if total > (1 << 40) - mountmark_job::MEDIA_START {
            bail!(
                "the disks of this plan need {total} bytes, more than the guest can address; choose a smaller --scale or --disk-size"
            );
        }
        Ok(Layout { test, more, source, corpus, undo, history, total })
    }

    /// Where the disks under test end: they lie before all else, in every layout of them.
    pub fn disks_end(&self) -> u64 {
        let last = self.more.last().unwrap_or(&self.test);
        last.offset + last.size
    }

    /// For a witness of power cuts: its disks one behind the other, and behind them its memory.
    pub fn for_crash(&self, log: u64, exchange: u64, device: Device) -> (Region, CrashRegions) {
        let test = Region { size: self.test.size * (1 + self.more.len() as u64), ..self.test };
        let log = Region { offset: (test.offset + test.size).next_multiple_of(ALIGNMENT), size: log };
        let exchange = Region { offset: log.offset + log.size, size: exchange };
        (test, CrashRegions { log, exchange, device })
    }

    /// The regions that the kernel treats as persistent memory.
    pub fn pmem(&self, cell: &Cell) -> Vec<Region> {
        let alone = self.disks(cell, false);
        alone.map(|region| Region { size: region.size.next_multiple_of(ALIGNMENT), ..region }).collect()
    }

    /// Bytes of page tables by which the servers of modelled disks map them, in whole steps: the guest's memory grows by
    /// them, and each size of it needs a snapshot of its own.
    pub fn page_tables(&self, cell: &Cell) -> u64 {
        const STEP: u64 = 32 << 20;
        // 8 bytes for each page of 4096.
        let mapped = self.disks(cell, true).chain(self.undo);
        let tables = mapped.map(|region| region.size / 512).sum::<u64>();
        tables / STEP * STEP
    }

    fn disks<'a>(&self, cell: &'a Cell, modelled: bool) -> impl Iterator<Item = Region> + use<'a> {
        let under_test = std::iter::once(self.test).chain(self.more.iter().copied());
        let regions: Vec<_> = disks(cell).zip(under_test.chain(self.source)).collect();
        regions.into_iter().filter(move |(disk, _)| disk.has_drive() == modelled).map(|(_, region)| region)
    }
}

/// Whether a task cuts the power of the cell's disk.
fn needs_undo(cell: &Cell) -> bool {
    let mut restarts = cell.tasks.iter().filter(|task| task.skip.is_none()).filter_map(|task| task.restart);
    restarts.any(|restart| restart.after.is_cut())
}
