//! Conditions of a repeat: what is drawn although no question asks for it.
//!
//! Nothing here is measured, and no failure here is one of the cell: it is noted.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mountmark_model::Conditions;
use mountmark_random::Stream;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::Agent;

const PAGE: usize = 4096;
/// A piece that is read from the disk has at most so many pages.
const MOST_PAGES: u64 = 64;

/// Memory that is taken until it is dropped.
pub(super) struct Taken {
    start: *mut std::ffi::c_void,
    length: usize,
}

impl Agent<'_> {
    /// Takes memory, and leaves the disk's arm and caches somewhere.
    pub(super) fn vary_machine(&mut self) -> Option<Taken> {
        let conditions = self.cell.conditions.as_ref()?;
        if self.cell.is_mounted {
            // Its disk is not this run's to read.
        } else if let Err(error) = self.read_somewhere(conditions.reads) {
            self.note(format!("conditions: {error:#}"));
        }
        self.forget(&self.devices.test);
        if conditions.memory.0 == 0 {
            return None;
        }
        let taken = take(conditions, &mut self.stream("memory"));
        taken.map_err(|error| self.note(format!("conditions: {error:#}"))).ok()
    }

    /// Makes folders and removes them, so that the file system's choice for the next one is another.
    pub(super) fn turn_groups(&mut self) {
        let Some(conditions) = &self.cell.conditions else { return };
        let mut names = self.stream("folders");
        let folders = (0..conditions.folders).map(|_| self.devices.test_folder.join(format!("{:x}", names.next_u64())));
        let folders: Vec<_> = folders.collect();
        let made =
            folders.iter().try_for_each(fs::create_dir).and_then(|()| folders.iter().try_for_each(fs::remove_dir));
        if let Err(error) = made {
            self.note(format!("conditions: folders to turn the groups: {error}"));
        }
        rustix::fs::sync();
    }

    /// Idles before `what` is measured.
    pub(super) fn idle(&self, what: &str, iteration: u32) {
        let Some(conditions) = &self.cell.conditions else { return };
        if conditions.idle_seconds > 0.0 {
            let mut stream = Stream::numbered(self.cell.seed, &format!("conditions/idle/{what}"), u64::from(iteration));
            thread::sleep(Duration::from_secs_f64(stream.unit() * conditions.idle_seconds));
        }
    }

    fn stream(&self, what: &str) -> Stream {
        Stream::new(self.cell.seed, &format!("conditions/{what}"))
    }

    fn read_somewhere(&self, pieces: u32) -> Result<()> {
        let device = &self.devices.test;
        let mut draw = self.stream("reads");
        let file = File::open(&device.path).with_context(|| format!("cannot open {}", device.path))?;
        let mut buffer = vec![0; MOST_PAGES as usize * PAGE];
        for _ in 0..pieces {
            let length = (1 + draw.below(MOST_PAGES)) as usize * PAGE;
            let start = draw.below((device.size / PAGE as u64).max(1)) * PAGE as u64;
            file.read_at(&mut buffer[..length], start).with_context(|| format!("cannot read {}", device.path))?;
        }
        Ok(())
    }
}

/// Takes twice the memory and gives one page of each pair back, so that free memory is scattered too.
fn take(conditions: &Conditions, draw: &mut Stream) -> Result<Taken> {
    let pairs = conditions.memory.0 as usize / PAGE;
    let length = 2 * pairs * PAGE;
    ensure!(length > 0, "less than a page of memory");
    // SAFETY: a new private mapping at an address that the kernel chooses.
    let start = unsafe {
        mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
            .context("no memory to take")?
    };
    let taken = Taken { start, length };
    // Huge pages would not be scattered; and children, which would copy the page tables, do not need it.
    for advice in [Advice::LinuxNoHugepage, Advice::LinuxDontFork] {
        // A kernel without huge pages refuses the first.
        // SAFETY: the range is this mapping.
        let _ = unsafe { madvise(start, length, advice) };
    }
    for page in 0..2 * pairs {
        // SAFETY: within the mapping, which nothing else knows of.
        unsafe { start.cast::<u8>().add(page * PAGE).write_volatile(1) };
    }
    for pair in 0..pairs {
        let page = 2 * pair + draw.below(2) as usize;
        // SAFETY: as above; the page is zero afterwards, and nothing reads it.
        unsafe { madvise(start.cast::<u8>().add(page * PAGE).cast(), PAGE, Advice::LinuxDontNeed) }
            .context("memory cannot be given back")?;
    }
    Ok(taken)
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing refers into it.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}
