//! The virtual lab and the KVM lab: one throw-away QEMU guest per cell.
//!
//! This folder boots guests, passes jobs in and events out. It does not know what a cell measures.

mod available;
mod cell;
mod contents;
mod guests;
mod hardware;
mod icount;
mod key;
mod layout;
pub mod options;
pub mod probe;
mod profiler;
pub mod qemu;
mod qmp;
mod snapshot;
mod witness;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_job::{
    Job, Share, Token,
    kernel_log::{read_log, telling_lines},
    kernel_options::For,
};
use mountmark_model::{Bytes, Cell, Configuration, Environment, Event, Lab, Outcome, Program};

use crate::cache::{self, InUse, lock::Scratch};
use crate::cell_key::CellKey;
use crate::event_receiver::{EventReceiver, Expected, Heard};
use crate::image::dkms::Built;
use crate::image::kernel::Kernel;
use crate::image::modules::ModuleTree;
use crate::image::packages::Packages;
use crate::image::{Builder, GuestProgram, Image, Wanted};
use crate::lab::{Ended, OpenLab, Options};
use cell::{driver, image_key, needed_by, wanted};
pub(crate) use guests::Guests;
pub use hardware::Clock;
use hardware::Hardware;
use layout::Layout;
use profiler::PluginArguments;
pub use profiler::Profiler;
use qemu::{Qemu, Ram};
use snapshot::Snapshot;
pub use witness::{Answer, MOST_DISKS, Witness, Witnesses};

/// Upper limit of a guest's memory: above it QEMU's machine has its PCI hole, and more would move the media from
/// `MEDIA_START`.
const RAM_MOST: u64 = 3 << 30;

/// A lab whose QEMU and kernel have been found.
struct Emulator {
    lab: Lab,
    clock: Clock,
    options: Options,
    kernel: Kernel,
    modules: ModuleTree,
    qemu: String,
    /// As [`Wanted::brought`].
    brought: Option<PathBuf>,
    images: Mutex<BTreeMap<String, Arc<Image>>>,
    /// Modules that are no part of the kernel, by the package of their source.
    built: Mutex<BTreeMap<String, Built>>,
    /// Set when a guest has booted under KVM.
    booted: OnceLock<()>,
    _in_use: InUse,
}

impl Emulator {
    /// Finds QEMU and the kernel.
    fn open(lab: Lab, options: Options) -> Result<Emulator> {
        let in_use = cache::open(&options.cache)?;
        let qemu = qemu::version()?;
        let clock = match lab.capabilities().profiled_processor {
            true => Clock::Instructions { shift: options.machine.shift },
            false => Clock::Kvm,
        };
        if clock == Clock::Kvm {
            probe::check_kvm()?; // Before a kernel is fetched in vain.
        }
        let packages = Packages::new(&options.cache);
        let kernel = Kernel::find(&options.kernel, &packages, &options.cache)?;
        kernel.check(&[For::All])?;
        let modules = ModuleTree::open(&kernel)?;
        let (brought, images, built, booted) = (None, Mutex::default(), Mutex::default(), OnceLock::new());
        Ok(Emulator { lab, clock, options, kernel, modules, qemu, brought, images, built, booted, _in_use: in_use })
    }

    fn image(&self, cell: &Cell) -> Result<Arc<Image>> {
        let built = self.built(&cell.configuration.base().filesystem)?;
        let wanted = Wanted { brought: self.brought.clone(), built, ..wanted(cell) };
        let key = format!("{wanted:?}");
        let mut images = self.images.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Another run may have evicted the image since.
        if let Some(image) = images.get(&key).filter(|image| image.path.exists()) {
            image.mark_used();
            return Ok(image.clone());
        }
        let image = Arc::new(Builder::new(&self.options.cache, &self.kernel)?.build(&wanted)?);
        images.insert(key, image.clone());
        Ok(image)
    }

    fn hardware(&self, cell: &Cell, image: &Image, layout: &Layout) -> Result<Hardware> {
        let pmem = layout.pmem(cell);
        // The kernel keeps 64 bytes per page of pmem; these, page tables of disks, and the image do not count as the
        // machine's memory.
        let notes = pmem.iter().map(|region| region.size / 64).sum::<u64>();
        let overhead = image.unpacked_bytes + notes + layout.page_tables(cell);
        let ram = cell.ram.0 + overhead.next_multiple_of(2 << 20);
        if ram > RAM_MOST {
            bail!(
                "the guest of {} would need {} of memory ({} of the machine, {} for its image and for the kernel's notes on \
                 a disk in memory), and {} is the most: choose a machine with less, or a smaller --disk-size",
                cell.configuration.name,
                Bytes(ram),
                cell.ram,
                Bytes(ram - cell.ram.0),
                Bytes(RAM_MOST)
            );
        }
        let mut arguments = hardware::memory_map(layout.total, &pmem);
        if needed_by(cell).contains(&For::Modelled) {
            arguments.extend(self.modules.arguments(&driver(cell)));
        }
        Ok(Hardware {
            clock: self.clock,
            processor: self.options.machine.processor.clone().unwrap_or_default(),
            ram,
            media: layout.total,
            arguments,
            kernel: self.kernel.image.clone(),
            image: image.path.clone(),
        })
    }

    /// Starts the cell's guest, paused. Returns its first lines, and how to recognise the further ones. `None`
    /// if `stop` was set before. With a plugin if there is one.
    fn start(
        &self,
        (cell, share): (&Cell, Share),
        image: &Image,
        (layout, media): (&Layout, &OwnedFd),
        folder: &Path,
        plug: Option<&PluginArguments>,
        stop: &AtomicBool,
    ) -> Result<Option<(Qemu, Vec<String>, Expected)>> {
        let hardware = self.hardware(cell, image, layout)?;
        if let Some(plug) = plug {
            (plug.on_media)(media.try_clone()?, layout.test);
        }
        if let (Some(region), Some(source), true) = (&layout.corpus, &cell.second_disk, share != Share::Contents) {
            qemu::fill(media, region.offset, Path::new(&source.tar))?;
        }
        if let (Some(region), Some(age), true) = (&layout.history, &cell.age, share != Share::Tasks) {
            qemu::fill(media, region.offset, Path::new(&age.path))?;
        }
        let job = folder.join("job.json");
        let token = Token::new()?;
        let expected = Expected {
            token: token.clone(),
            kernel: self.kernel.release.clone(),
            // The kernel subtracts its own share before it counts: much of a small machine.
            memory: hardware.ram / 4..=hardware.ram,
        };
        let text = Job {
            token,
            cell: image_key(cell),
            test: layout.test,
            more: layout.more.clone(),
            source: layout.source,
            corpus: layout.corpus,
            undo: layout.undo,
            history: layout.history,
            share,
            symbols: None,
            crash: None,
        };
        text.write(&job)?;
        let serial = folder.join("kernel.log");
        match self.clock {
            Clock::Instructions { .. } => {
                let Some(snapshot) = self.snapshot(&hardware, image, stop)? else { return Ok(None) };
                let plugin = plug.map(|plug| plug.argument.as_str());
                let guest = snapshot::restore(&hardware, &snapshot, media, &serial, &job, plugin)?;
                Ok(Some((guest, snapshot.lines, expected)))
            }
            Clock::Kvm => {
                let mut guest = Qemu::start(&hardware, &Ram::Anonymous, media, &serial, Some(&job), false, None)?;
                let limit = Duration::from_secs(60);
                let booted = guest.qmp.wait_for("STOP", limit, stop).context("the guest did not boot under KVM")?;
                Ok(booted.then_some((guest, Vec::new(), expected)))
            }
        }
    }

    /// The booted guest from which cells start; `None` if `stop` was set before it had booted.
    fn snapshot(&self, hardware: &Hardware, image: &Image, stop: &AtomicBool) -> Result<Option<Snapshot>> {
        let kernel = format!("{} {}", self.kernel.release, self.kernel.sha256);
        let qemu = format!("{:?}", key::emulator()?);
        let limit = self.options.silence_limit;
        snapshot::get(&self.options.cache, hardware, &image.sha256, &kernel, &qemu, limit, stop)
    }

    /// Runs one cell, with a plugin if there is one.
    fn run_with(
        &self,
        cell: &Cell,
        plug: Option<&PluginArguments>,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Ended> {
        let (image, layout) = (self.image(cell)?, Layout::of(cell)?);
        let (media, mut share) = (qemu::media(layout.total)?, Share::Whole);
        // Two guests with equal agents are one to the run.
        let mut greeted = false;
        let mut once = |event| {
            if !matches!(event, Event::Hello { .. }) || !std::mem::replace(&mut greeted, true) {
                on_event(event);
            }
        };
        if contents::are_apart(cell) {
            match self.contents(cell, stop, &mut once)? {
                Ok(contents) => contents.put(&media, &mut once)?,
                Err(ended) => return Ok(ended),
            }
            share = Share::Tasks;
        }
        self.run_guest((cell, share), &image, (&layout, &media), plug, stop, &mut once)
    }

    /// Runs a share of a cell in a guest with these media.
    fn run_guest(
        &self,
        cell: (&Cell, Share),
        image: &Image,
        media: (&Layout, &OwnedFd),
        plug: Option<&PluginArguments>,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Ended> {
        let folder = Scratch::for_guest()?;
        let serial = folder.path().join("kernel.log");
        let started = self.start(cell, image, media, folder.path(), plug, stop)?;
        let Some((mut guest, first, expected)) = started else { return Ok(Ended::Interrupted) };
        guest.qmp.run("cont", serde_json::json!({}))?;
        let mut watch = EventReceiver::new(expected);
        for line in first {
            watch.take(&line, on_event);
        }
        let end = match watch.listen(&guest.lines, stop, self.options.silence_limit, on_event) {
            Heard::End | Heard::Fault => None,
            Heard::Interrupted => return Ok(Ended::Interrupted),
            Heard::Silent => Some(watch.silence("the guest", self.options.silence_limit)),
        };
        if let Some(reason) = watch.fault {
            guest.end();
            return Ok(Ended::Refused { reason, log: read_log(&serial) });
        }
        let killed = guest.killed();
        let said = guest.end();
        let log = read_log(&serial);
        if watch.done && end.is_none() {
            return Ok(Ended::Outcome { outcome: watch.outcome.unwrap_or(Outcome::Ok), log });
        }
        let reason = match (watch.outcome.as_ref().and_then(|outcome| outcome.reason().map(str::to_owned)), end) {
            (Some(reason), _) => reason,
            (None, Some(hung)) => hung,
            (None, None) if killed.is_some() => format!("{}{}", killed.unwrap_or_default(), watch.stage_text()),
            (None, None) if log.contains("Kernel panic") => {
                format!("the guest's kernel panicked{}", watch.stage_text())
            }
            (None, None) => format!("the guest ended before it was done{}", watch.stage_text()),
        };
        let detail = format!("{}\n{}", telling_lines(&log, 30), qemu::without_warnings(&said)).trim().to_owned();
        Ok(Ended::Outcome { outcome: Outcome::Failed { reason, detail }, log })
    }
}

impl OpenLab for Emulator {
    fn title(&self) -> String {
        format!("{} lab, kernel {}", self.lab.name(), self.kernel.release)
    }

    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.lacks_for(configuration)
    }

    fn make_available(&self, configuration: &Configuration) -> Result<Option<String>> {
        Ok(match self.lacks_for(configuration)? {
            None => self.build_for(configuration)?,
            lacking => lacking,
        })
    }

    fn lacks(&self, program: &Program) -> Result<Option<String>> {
        let package = program.package;
        let packages = Packages::new(&self.options.cache);
        if packages.has(program.component, package)? {
            return Ok(None);
        }
        let mut text =
            format!("Debian's package {package}, which holds {}, is not in this machine's package lists", program.tool);
        if let Some(component) = program.component {
            text += &format!(
                ": it is in {component}, which this machine's mirror does not have, or which is not Debian's own; add a \
                 source with it to /etc/apt/sources.list.d, and run mountmark clean --cache, so that the lists are \
                 fetched again"
            );
        }
        Ok(Some(text + "."))
    }

    fn prepare(&self, cell: &Cell) -> Result<()> {
        // Not earlier: what the user asked for is checked first.
        if self.clock == Clock::Kvm {
            probe::kvm_once(&self.kernel, &self.booted)?;
        }
        // A guest without the driver would wait for its disk in vain.
        self.kernel.check(&needed_by(cell))?;
        self.image(cell).map(drop)
    }

    fn programs(&self, cell: &Cell) -> Result<Option<Vec<String>>> {
        Ok(Some(self.image(cell)?.programs.clone()).filter(|programs| !programs.is_empty()))
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        self.run_with(cell, None, stop, on_event)
    }

    fn key(&self, cell: &Cell) -> Result<Option<CellKey>> {
        if !self.lab.capabilities().exact_clock {
            return Ok(None);
        }
        let (image, layout) = (self.image(cell)?, Layout::of(cell)?);
        let hardware = self.hardware(cell, &image, &layout)?;
        key::of(cell, &hardware, &layout, &image, &self.kernel.sha256).map(Some)
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        let image = self.image(cell)?;
        let mut packages = image.packages.clone();
        if !self.kernel.version.is_empty() {
            packages.insert(format!("linux-image-{}", self.kernel.release), self.kernel.version.clone());
        }
        Ok(Environment {
            kernel: self.kernel.release.clone(),
            emulator: self.qemu.clone(),
            packages,
            image: image.sha256.clone(),
            guest: GuestProgram::get()?.sha256.clone(),
            kernel_image: self.kernel.sha256.clone(),
            clock: match self.clock {
                Clock::Instructions { shift } => format!(
                    "seconds of the machine {}: every instruction takes {} ns, waiting takes the disk model's time (no processor caches, one processor)",
                    self.options.machine.name,
                    1u64 << shift
                ),
                Clock::Kvm => "wall time under KVM".into(),
            },
            ..crate::this::host_environment()
        })
    }
}
