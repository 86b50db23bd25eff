//! A disk whose requests are recorded, and whose contents can be set back or patched: the disk of the crash lab.
//!
//! A thread of process 1 serves it. This folder does not know what writes to the disk, nor what a recording is for.

mod layer;
mod reads;
mod server;

use std::fs;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use mountmark_job::{CrashRegions, Device, MEDIA_START, Region};
use mountmark_trace::recording::{self, Contents, Event, Extent, Fault, Mark, Policy, Request, SECTOR, Trace};

use super::media::Medium;
use super::{nbd, setup};
use layer::Layer;
use reads::Reads;

/// The disk that process 1 serves, or several of one size, which lie one behind the other on one medium and are recorded
/// together.
pub struct RecordedDisk {
    pub devices: Vec<Device>,
    disk: Arc<Mutex<Disk>>,
}

/// What the servers and the agent share.
struct Disk {
    layer: Layer,
    /// How many there are.
    count: u32,
    /// Where written data are kept for the host, and how many bytes of it are used.
    room: Medium,
    used: u64,
    capacity: u64,
    /// While requests are recorded.
    recording: Option<Vec<Event>>,
    /// Number of the next recorded request.
    number: u32,
    /// Whether data or events did not fit.
    overflow: bool,
    policy: Policy,
    /// The recorded request that ends with an error, by its number.
    fails: Option<u32>,
    /// Since [`RecordedDisk::set_back`].
    reads: Reads,
}

/// Most events of one recording.
const MOST_EVENTS: usize = 200_000;

impl RecordedDisk {
    /// Creates the disks with these numbers on `region`; what is written to them while they are recorded is copied to the
    /// log's region.
    pub(super) fn start(region: &Region, numbers: &[usize], regions: &CrashRegions) -> Result<RecordedDisk> {
        let CrashRegions { log, device, .. } = *regions;
        let disk = Arc::new(Mutex::new(Disk {
            layer: Layer::new(Medium::map(MEDIA_START + region.offset, region.size)?, region.size),
            count: numbers.len() as u32,
            room: Medium::map(MEDIA_START + log.offset, log.size)?,
            used: 0,
            capacity: log.size,
            recording: None,
            number: 0,
            overflow: false,
            policy: Policy::Fifo,
            fails: None,
            reads: Reads::default(),
        }));
        let size = region.size / numbers.len() as u64;
        let starts = (0..).step_by(size as usize);
        let devices =
            numbers.iter().zip(starts).map(|(&number, start)| serve(&disk, number, start..start + size, device));
        Ok(RecordedDisk { devices: devices.collect::<Result<_>>()?, disk })
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the present contents the base to which the disk is set back.
    pub fn keep(&self) {
        self.lock().layer.keep();
    }

    /// Brings the base back and forgets what was read. Nothing may have the disk open.
    pub fn set_back(&self) {
        let mut disk = self.lock();
        disk.layer.set_back();
        disk.reads = Reads::default();
    }

    /// Brings the base back and changes it, and goes on noting what is read. Nothing may have the disk open.
    pub fn again(&self, patches: &[Extent]) -> Result<()> {
        self.lock().layer.set_back();
        self.apply(patches)
    }

    /// Changes the contents behind the kernel's back. Nothing may have the disk open.
    pub fn apply(&self, patches: &[Extent]) -> Result<()> {
        let mut disk = self.lock();
        let Disk { layer, room, .. } = &mut *disk;
        for Extent { offset, length, contents } in patches {
            if let Contents::Poison = contents {
                layer.poison(*offset, *length);
                continue;
            }
            let target = layer.write(*offset, *length);
            let target = target.with_context(|| format!("a patch of {length} bytes at {offset}, beyond the end"))?;
            match contents {
                Contents::Logged(at) => {
                    target.copy_from_slice(room.slice(*at, *length).context("a patch of data that are not there")?);
                }
                Contents::Inline(bytes) if bytes.len() == target.len() => target.copy_from_slice(bytes),
                Contents::Inline(bytes) => bail!("a patch of {length} bytes that holds {}", bytes.len()),
                Contents::Zero | Contents::Poison => target.fill(0),
            }
        }
        Ok(())
    }

    /// Loses what the medium holds in the sectors that have one of these texts and differ from the base: they are zeros
    /// from now on. Their number. Nothing may have the disk open.
    pub fn lose(&self, texts: &[Vec<u8>]) -> usize {
        let mut disk = self.lock();
        let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        let changes = disk.layer.changes();
        let lost: Vec<u64> = changes
            .filter(|(_, bytes)| texts.iter().any(|text| has(bytes, text)))
            .map(|(sector, _)| sector * SECTOR)
            .collect();
        for &offset in &lost {
            if let Some(target) = disk.layer.write(offset, SECTOR) {
                target.fill(0);
            }
            // Nothing that comes before it can undo it.
            if let Some(number) = disk.sent(Request::Zero { offset, length: SECTOR, fua: true }) {
                disk.note(Event::Done { number, error: 0 });
            }
        }
        lost.len()
    }

    /// Records requests from now on, of which the device may end one with an error. The data of earlier recordings are
    /// gone, unless `append` keeps them.
    pub fn record(&self, policy: Policy, device: recording::Device, append: bool) {
        let mut disk = self.lock();
        disk.fails = if let Some(Fault::Fail { request }) = device.fault { request } else { None };
        disk.recording = Some(Vec::new());
        disk.policy = policy;
        disk.number = 0;
        disk.overflow = false;
        if !append {
            disk.used = 0;
        }
    }

    /// Notes a moment in the recording.
    pub fn mark(&self, mark: Mark) {
        self.lock().note(Event::Mark(mark));
    }

    /// Ends the recording. Its data lie in the log's region.
    pub fn recorded(&self) -> Result<Trace> {
        let mut disk = self.lock();
        disk.policy = Policy::Fifo;
        let events = disk.recording.take().unwrap_or_default();
        if disk.overflow {
            bail!(
                "the recording took more than {} bytes or {MOST_EVENTS} events: a smaller workload fits",
                disk.capacity
            );
        }
        Ok(Trace { size: disk.layer.size(), disks: disk.count, events, data: Vec::new() })
    }

    /// The parts that were read since the disk was set back, in the order of their first reads.
    pub fn reads(&self) -> Vec<(u64, u64)> {
        self.lock().reads.all()
    }

    /// What an act leads to, and all that is read while it lasts.
    pub fn reading<T>(&self, act: impl FnOnce() -> T) -> (T, Vec<(u64, u64)>) {
        let before = self.lock().reads.begin();
        let done = act();
        (done, self.lock().reads.go_on(before))
    }

    /// Notes parts as read.
    pub fn note_reads(&self, parts: &[(u64, u64)]) {
        let mut disk = self.lock();
        parts.iter().for_each(|part| disk.reads.add(*part));
    }

    /// A hash of what differs from the base.
    pub fn digest(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        for (sector, bytes) in self.lock().layer.changes() {
            mix(sector);
            bytes.chunks_exact(8).for_each(|word| mix(u64::from_le_bytes(word.try_into().expect("eight bytes"))));
        }
        hash
    }
}

/// Creates the disk with this number, which is a part of all.
fn serve(disk: &Arc<Mutex<Disk>>, number: usize, part: Range<u64>, device: recording::Device) -> Result<Device> {
    let name = format!("nbd{number}");
    setup::check_modelled(&name)?;
    let size = part.end - part.start;
    let offer =
        nbd::Offer { flushes: device.fault != Some(Fault::WriteThrough), trims: device.trims, zeros: device.trims };
    let socket = nbd::attach(number as u32, size, offer)?;
    let shared = Arc::clone(disk);
    thread::spawn(move || {
        // It stands for hardware: nothing delays it.
        let result = setup::favour_thread().and_then(|()| server::serve(socket, &shared, part));
        if let Err(error) = result {
            eprintln!("mountmark disk server: {error:#}");
        }
    });
    setup::wait_for(&format!("/dev/{name} to appear"), || {
        let sectors = fs::read_to_string(format!("/sys/block/{name}/size")).ok()?;
        (sectors.trim().parse() == Ok(size / 512)).then_some(())
    })?;
    setup::tune_queue(&name, false)?;
    Ok(Device { path: format!("/dev/{name}"), name, size, server: None, backing: None })
}

impl Disk {
    fn note(&mut self, event: Event) {
        let Some(events) = &mut self.recording else { return };
        if events.len() < MOST_EVENTS {
            events.push(event);
        } else {
            self.overflow = true;
        }
    }

    /// Notes a request; its number, if it is recorded.
    fn sent(&mut self, request: Request) -> Option<u32> {
        self.recording.as_ref()?;
        let number = self.number;
        self.number += 1;
        self.note(Event::Sent { number, request });
        Some(number)
    }

    /// Copies what was just written into the log; its place there.
    fn log(&mut self, offset: u64, length: u64) -> u64 {
        let at = self.used;
        if self.recording.is_none() {
            return at;
        }
        match self.room.slice_mut(at, length) {
            Some(room) => {
                room.copy_from_slice(self.layer.read(offset, length));
                self.used += length;
            }
            None => self.overflow = true,
        }
        at
    }

    fn read(&mut self, offset: u64, length: u64) {
        self.reads.add((offset, length));
    }
}
