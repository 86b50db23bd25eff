//! `mountmark calibrate`: measures this machine and a disk, and writes profiles of both for the virtual lab.
//!
//! Two suites run on this machine and in a guest: one is the kernel's work, the other a disk's requests. What differs is
//! the machine's speed and the disk. `text.rs` has the files' words, `costs.rs` what a disk's requests took.

mod costs;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};
use mountmark_analyse::calibrate::Speed;
use mountmark_disk::flash::fit::{Costs, nearest};
use mountmark_model::processor::FEATURES;
use mountmark_model::{Bytes, Disk, Machine, ParseQuantityError, Processor, Scale, heading};
use mountmark_plan::{Catalogue, Entry, Origin};
use mountmark_record::RunRecord;

use super::run;
use crate::common::{self, StoreOptions, WrongUse};
use costs::Wanted;

/// Work of the processor, and of a disk.
const SUITES: [&str; 2] = ["kernel-costs", "disk-costs"];
const FILE_SYSTEM: &str = "ext4";
/// Size of the file system that the work of the processor is measured on.
const ROOM: &str = "768MiB";
/// The guest that this machine is set beside: its instructions take 1 ns.
const GUEST: &str = "modern";
/// A disk that takes little time of its own.
const QUICK: &str = "nvme";
/// The most memory that a guest can have, and its unit.
const MEMORY: (u64, u64) = (2944 << 20, 128 << 20);
/// Bytes of the modelled drive: more than a guest's disks, which are in memory, can hold.
const CAPACITY: u64 = 1 << 40;

/// Measure this machine and a disk, and write profiles of both for the virtual lab
#[derive(Args)]
#[command(
    after_help = "Measured are processor time of the kernel (copies, clearing, names, processes, system calls, a checksum) and, with\n--image or --device, what the disk takes for single requests, by fio's method: 1 MiB in order and 4 KiB at random,\nread and written past the page cache, and flushes. The same work runs in a guest. Both take five minutes or more; a\nbusy machine gives other figures than an idle one.\n\nThe profiles are ~/.config/mountmark/catalog/machines/NAME.toml and disks/NAME.toml. Their comments say what was\nmeasured, and how well the model fits. Seconds of such a model are longer than the machine's by a factor that stands\nthere too. All runs stay in the store.\n\nExamples:\n  sudo mountmark calibrate server-7 --image /data          this machine, and the disk that /data is on\n  sudo mountmark calibrate server-7 --device /dev/sdb      all that /dev/sdb holds is lost; one in use is refused\n  sudo mountmark calibrate server-7                        the processor alone\n  mountmark run --machine server-7 --disk server-7 --suite varmail --fs ext4,xfs,btrfs"
)]
pub struct Arguments {
    /// Name of the profiles: lower-case letters, digits and -
    #[arg(value_name = "NAME", value_parser = super::agree::name)]
    name: String,
    /// Measure the disk that this file or folder is on, through a loop device; as in `mountmark run --lab host`
    #[arg(long, value_name = "PATH")]
    image: Option<PathBuf>,
    /// Measure this disk, partition, volume or array. All that it holds is lost; one that is in use is refused
    #[arg(long, value_name = "DEVICE", conflicts_with = "image")]
    device: Option<PathBuf>,
    /// Give up what the device holds, by its serial number or a UUID on it; a refusal shows these names
    #[arg(long, value_name = "NAME", requires = "device")]
    wipe: Option<String>,
    /// How often this machine is measured; medians count
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Shrinks the work: less time, and rougher figures; 1 is the suites' own size
    #[arg(long, value_name = "SCALE", default_value = "1", value_parser = scale)]
    scale: String,
    /// Write over profiles of this name
    #[arg(long)]
    force: bool,
    /// Print every command that would run as root, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreOptions,
}

/// A command line of `mountmark run`.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    run: run::Arguments,
}

/// The user ended a run, with this exit code.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Ended(u8);

fn scale(text: &str) -> Result<String, ParseQuantityError> {
    text.parse::<Scale>().map(|_| text.to_owned())
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let places = arguments.places()?;
    if arguments.dry_run {
        return arguments.dry_run(&places);
    }
    match calibrate(&arguments, &places) {
        Ok(()) => Ok(common::DONE),
        Err(error) => error.downcast_ref().map(|Ended(code)| *code).ok_or(error),
    }
}

/// Measures, fits and writes.
fn calibrate(arguments: &Arguments, [machine_path, disk_path]: &[PathBuf; 2]) -> Result<()> {
    let [processor, disk] = SUITES;
    // A device that must not be touched is refused before anything is measured.
    let own_disk = arguments.target().map(|target| measured(&arguments.on_this_machine(disk, &target))).transpose()?;
    let own = measured(&arguments.on_this_machine(processor, &[]))?;
    let guest = measured(&arguments.in_guest(processor, GUEST, QUICK))?;
    let speed = Speed::of(&own, &guest).context("no task of the two runs can be compared")?;
    let catalogue = Catalogue::load(None)?;
    let machine = this_machine(&arguments.name, &own, &speed);
    let Some(own_disk) = own_disk else {
        let usual = catalogue.get::<Machine>(GUEST)?;
        let machine = Machine { disk: usual.disk.clone(), second_disk: usual.second_disk.clone(), ..machine };
        written(machine_path, &text::machine(&machine, &speed, &own)?)?;
        common::print(&text::speed(&speed))?;
        say!("mountmark: wrote {}; its disk is that of {GUEST}", machine_path.display());
        return Ok(());
    };
    let guest_disk = measured(&arguments.in_guest(disk, GUEST, QUICK))?;
    let quick = &catalogue.get::<Disk>(QUICK)?.model;
    let quick = Costs::of(&|| quick.start().expect("the disk has a drive"));
    let wanted = Wanted::new(&costs::of(&own_disk)?, &costs::of(&guest_disk)?, &quick, speed.pace);
    let about = format!("{} as a model; it belongs to the machine of that name", arguments.measured_disk());
    let (name, sources) = (arguments.name.clone(), vec![text::source(&own_disk)]);
    let modelled = Disk { name, about, sources, model: nearest(&wanted.guest, &wanted.way, CAPACITY) };
    // Written before they are tried, as a run finds them in the catalogue.
    written(machine_path, &text::machine(&machine, &speed, &own)?)?;
    written(disk_path, &text::disk(&modelled, &wanted, None)?)?;
    let tried = costs::of(&measured(&arguments.in_guest(disk, &arguments.name, &arguments.name))?)?;
    written(disk_path, &text::disk(&modelled, &wanted, Some(&tried))?)?;
    common::print(&format!("{}\n{}", text::speed(&speed), text::costs(&wanted, Some(&tried))))?;
    say!("mountmark: wrote {} and {}", machine_path.display(), disk_path.display());
    Ok(())
}

/// A run whose cells have all gone well.
fn measured(line: &run::Arguments) -> Result<RunRecord> {
    let run = run::collect(line)?.map_err(Ended)?;
    if let Some(failed) = run.cells.iter().find(|cell| cell.has_failure()) {
        bail!("{} #{} failed: `mountmark show {}` says why", heading(&failed.configuration), failed.repeat + 1, run.id);
    }
    Ok(run)
}

fn written(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("the catalogue is a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    common::write_whole(path, text)
}

/// A guest that stands for this machine.
fn this_machine(name: &str, run: &RunRecord, speed: &Speed) -> Machine {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let has = |name: &str| flags.split_whitespace().any(|flag| flag == name);
    let features = FEATURES.iter().map(|feature| feature.name).filter(|name| has(name));
    let (most, unit) = MEMORY;
    let ram = mountmark_lab::memory::total().unwrap_or(most).min(most) / unit * unit;
    let cpu = &run.environment.host_cpu;
    Machine {
        name: name.to_owned(),
        about: format!("{cpu} as a model: {:.2} s of it are 1 s of the machine", speed.pace),
        shift: speed.shift,
        processor: Some(Processor(features.map(str::to_owned).collect())),
        ram: Bytes(ram.max(unit)),
        disk: name.to_owned(),
        second_disk: name.to_owned(),
        sources: vec![text::source(run)],
    }
}

impl Arguments {
    /// The files of the two profiles, which are not there yet unless they may be written over.
    fn places(&self) -> Result<[PathBuf; 2]> {
        let catalogue = Catalogue::load(None)?;
        let folder = Catalogue::own_folder().context("no home folder is known: set XDG_CONFIG_HOME")?;
        let name = &self.name;
        let is_built_in = |origin: Option<&Origin>| matches!(origin, Some(Origin::BuiltIn));
        if is_built_in(catalogue.origin::<Machine>(name)) || is_built_in(catalogue.origin::<Disk>(name)) {
            bail!(WrongUse(format!("{name}: Mountmark comes with a profile of that name: choose another")));
        }
        let places = [Machine::KIND, Disk::KIND].map(|kind| folder.join(kind.folder()).join(format!("{name}.toml")));
        let wanted = if self.target().is_some() { &places[..] } else { &places[..1] };
        if let Some(there) = wanted.iter().find(|path| path.exists() && !self.force) {
            bail!(WrongUse(format!("{} is there already: choose another name, or give --force", there.display())));
        }
        Ok(places)
    }

    /// What was measured as the disk.
    fn measured_disk(&self) -> String {
        let path = self.device.as_ref().or(self.image.as_ref());
        path.map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// The options of the disk's run; `None` if no disk is measured.
    fn target(&self) -> Option<Vec<String>> {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let image = self.image.as_ref().map(|image| vec!["--image".to_owned(), path(image)]);
        image.or_else(|| {
            let mut words = vec!["--device".to_owned(), path(self.device.as_ref()?)];
            words.extend(self.wipe.iter().flat_map(|name| ["--wipe".to_owned(), name.clone()]));
            Some(words)
        })
    }

    fn line(&self, suite: &str, more: &[String]) -> run::Arguments {
        let mut words: Vec<String> =
            ["run", "--fs", FILE_SYSTEM, "--scale", &self.scale, "--conditions", "fixed", "--suite", suite]
                .map(str::to_owned)
                .to_vec();
        if suite == SUITES[0] {
            words.extend(["--disk-size", ROOM].map(str::to_owned));
        }
        if let Some(out) = &self.store.out {
            words.extend(["--out".to_owned(), out.to_string_lossy().into_owned()]);
        }
        words.extend_from_slice(more);
        Line::parse_from(words).run
    }

    fn on_this_machine(&self, suite: &str, target: &[String]) -> run::Arguments {
        let repeat = self.repeat.to_string();
        let words = ["--lab", "host", "--no-control", "--repeat", &repeat].map(str::to_owned);
        let dry = self.dry_run.then(|| "--dry-run".to_owned());
        self.line(suite, &words.into_iter().chain(target.iter().cloned()).chain(dry).collect::<Vec<_>>())
    }

    /// A guest's figures repeat exactly, so once is enough.
    fn in_guest(&self, suite: &str, machine: &str, disk: &str) -> run::Arguments {
        let words = ["--repeat", "1", "--machine", machine, "--disk", disk].map(str::to_owned);
        self.line(suite, &words)
    }

    fn dry_run(&self, places: &[PathBuf; 2]) -> Result<u8> {
        let target = self.target();
        let disk = target.iter().map(|target| self.on_this_machine(SUITES[1], target));
        for line in disk.chain([self.on_this_machine(SUITES[0], &[])]) {
            let code = run::run(line)?;
            if code != common::DONE {
                return Ok(code);
            }
        }
        let count = if target.is_some() { 2 } else { 1 };
        let files = places[..count].iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        common::print(&format!("# then the same suites in a guest, and in the end: write {}\n", files.join(" and ")))?;
        Ok(common::DONE)
    }
}
