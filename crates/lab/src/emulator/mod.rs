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
mod run;
mod snapshot;
mod witness;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Result, bail};
use mountmark_job::kernel_log::read_log;
use mountmark_job::kernel_options::For;
use mountmark_model::{Bytes, Cell, Configuration, Environment, Event, Lab, Program};

use crate::cache::{self, InUse};
use crate::cell_key::CellKey;
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
pub use profiler::Profiler;
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

    /// The booted guest from which cells start; `None` if `stop` was set before it had booted.
    fn snapshot(&self, hardware: &Hardware, image: &Image, stop: &AtomicBool) -> Result<Option<Snapshot>> {
        let kernel = format!("{} {}", self.kernel.release, self.kernel.sha256);
        let qemu = format!("{:?}", key::emulator()?);
        let limit = self.options.silence_limit;
        snapshot::get(&self.options.cache, hardware, &image.sha256, &kernel, &qemu, limit, stop)
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
                 source with it to /etc/apt/sources.list.d, and remove {}, so that the lists are fetched again",
                self.options.cache.join("apt").display()
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
