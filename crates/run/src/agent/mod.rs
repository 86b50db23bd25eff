//! Measures one cell, from mkfs to fsck, on the disks that a lab provides.
//!
//! The agent sends its measurements as events and stores nothing. It does not know whether it runs in a guest, which
//! clock it reads, or how its events are used.

mod cold;
pub(crate) mod command;
mod conditions;
mod device;
mod events;
mod figures;
mod measure;
mod outline;
mod probes;
mod restart;
pub(crate) mod scratch;
mod settle;
pub(crate) mod shell;
mod source;
mod steps;
mod task;
mod warden;
pub mod workload;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_lab::Devices;
use mountmark_model::{Cell, Event, Metric, Stage};

pub use figures::MOST_OUTPUT;
pub use outline::{Line, outline};
use scratch::Scratch;

/// Limit of mkfs, mount, umount and fsck, in seconds of the lab's clock.
const STEP_LIMIT: f64 = 7200.0;

/// Measures `cell` on `devices`. A step that fails is an event; an error means that the agent cannot go on.
pub fn run_cell(cell: &Cell, devices: &Devices, emit: &mut dyn FnMut(Event)) -> Result<()> {
    guard();
    let base = base_folder();
    let scratch = Scratch::new(base)?;
    let servers = [Some(&devices.test), devices.source.as_ref()];
    let servers = servers.into_iter().flatten().filter_map(|device| device.server);
    let servers: Vec<u32> = servers.chain(devices.trace.watcher()).collect();
    Agent {
        cell,
        devices,
        scratch,
        fio_folder: base.join(format!("mountmark-fio-{}", std::process::id())),
        servers,
        rest: None,
        ended_parts: BTreeSet::new(),
        noted: BTreeSet::new(),
        printed: 0,
        mounted: false,
        generation: 1,
        emit,
    }
    .run()
}

/// Closes the agent's memory and open files to all other processes.
fn guard() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // A failure is ignored: permissions alone keep commands from the agent too.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Where the agent may create folders: in memory if possible.
pub(crate) fn base_folder() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new("/tmp") }
}

struct Agent<'a> {
    cell: &'a Cell,
    devices: &'a Devices,
    scratch: Scratch,
    /// fio's own files, new for each job.
    fio_folder: PathBuf,
    servers: Vec<u32>,
    /// What the disks had done when the machine last had settled, if that is known.
    rest: Option<Vec<[u64; 4]>>,
    ended_parts: BTreeSet<String>,
    noted: BTreeSet<String>,
    /// Bytes of outputs sent so far.
    printed: usize,
    /// Whether the file system under test is mounted.
    mounted: bool,
    /// The generation of the next workload phase's data.
    generation: u32,
    emit: &'a mut dyn FnMut(Event),
}

impl Agent<'_> {
    fn run(&mut self) -> Result<()> {
        self.stage(Stage::Source);
        fs::create_dir_all(&self.devices.test_folder)?;
        fs::create_dir_all(&self.devices.source_folder)?;
        if let Some(source) = &self.devices.source {
            let layout = self.cell.second_disk.as_ref().map(|medium| medium.layout).unwrap_or_default();
            source::lay_out(self.devices, source, layout, self.scratch.path())?;
            if let Some(script) = &self.cell.source_prepare {
                self.untimed("source_prepare", script, &self.devices.source_folder).context("source_prepare failed")?;
            }
            rustix::fs::sync();
            source::unmount(&self.devices.source_folder, self.scratch.path())?;
            self.forget(source);
        }
        (self.devices.measuring)(true);
        if let Some(source) = &self.devices.source {
            source::mount(source, &self.devices.source_folder, self.scratch.path())?;
        }
        let _taken = self.vary_machine();
        // What somebody else has mounted is taken as it is.
        let is_own = !self.cell.is_mounted;
        self.mounted = !is_own || (self.mkfs()? && self.mount()?);
        if self.mounted {
            self.turn_groups();
            if is_own {
                self.capacity(&[Metric::CAPACITY, Metric::CAPACITY_BYTES, Metric::CAPACITY_DEVICE])?;
            }
            for task in self.cell.tasks.iter().filter(|task| task.part_of.is_none()) {
                for iteration in 0..task.repeat {
                    if !self.task(task, iteration)? {
                        break;
                    }
                }
            }
            if self.mounted && is_own {
                self.stage(Stage::Capacity);
                self.remove_all()?;
                self.capacity(&[Metric::CAPACITY_RESIDUAL])?;
                self.umount()?;
            }
            if is_own {
                self.fsck()?;
            }
        }
        if let Some(_source) = &self.devices.source {
            source::unmount(&self.devices.source_folder, self.scratch.path())?;
        }
        (self.devices.measuring)(false);
        Ok(())
    }
}
