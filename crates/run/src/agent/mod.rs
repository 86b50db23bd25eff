//! One cell, from mkfs to fsck, on the disks of whatever lab this is.
//!
//! The agent says what it measures as events and keeps nothing. It does not know whether it runs in a guest, which
//! clock it reads, or what becomes of its events.

mod command;
mod device;
mod events;
mod figures;
mod measure;
mod probes;
mod settle;
mod shell;
mod source;
mod steps;
mod task;
pub mod workload;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mountmark_lab::Devices;
use mountmark_model::{Cell, Event, Metric};

/// The longest time for mkfs, mount, umount and fsck, in seconds of the lab's clock.
const STEP_LIMIT: f64 = 7200.0;

/// Measures `cell` on `devices`. A step that fails is an event; an error is an agent that cannot go on.
pub fn run_cell(cell: &Cell, devices: &Devices, emit: &mut dyn FnMut(Event)) -> Result<()> {
    let scratch = scratch_folder()?;
    let servers = [Some(&devices.test), devices.source.as_ref()];
    let servers = servers.into_iter().flatten().filter_map(|device| device.server);
    let servers: Vec<u32> = servers.chain(devices.trace.watcher()).collect();
    let result = Agent {
        cell,
        devices,
        scratch: scratch.clone(),
        servers,
        ended_parts: BTreeSet::new(),
        noted: BTreeSet::new(),
        mounted: false,
        generation: 1,
        emit,
    }
    .run();
    let _ = fs::remove_dir_all(scratch);
    result
}

/// In memory where there is such a folder, so that what a task prints does not touch a disk.
fn scratch_folder() -> Result<std::path::PathBuf> {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory } else { Path::new("/tmp") };
    let folder = base.join(format!("mountmark-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

struct Agent<'a> {
    cell: &'a Cell,
    devices: &'a Devices,
    scratch: std::path::PathBuf,
    servers: Vec<u32>,
    ended_parts: BTreeSet<String>,
    noted: BTreeSet<String>,
    /// Whether the file system under test is.
    mounted: bool,
    /// What the next phase of a workload marks its data with.
    generation: u32,
    emit: &'a mut dyn FnMut(Event),
}

impl Agent<'_> {
    fn run(&mut self) -> Result<()> {
        self.stage("source");
        fs::create_dir_all(&self.devices.test_folder)?;
        fs::create_dir_all(&self.devices.source_folder)?;
        if let Some(source) = &self.devices.source {
            let layout = self.cell.second_disk.as_ref().map(|medium| medium.layout).unwrap_or_default();
            source::lay_out(self.devices, source, layout)?;
            if let Some(script) = &self.cell.source_prepare {
                self.untimed(script, &self.devices.source_folder).context("source_prepare failed")?;
            }
            rustix::fs::sync();
            source::unmount(&self.devices.source_folder)?;
        }
        (self.devices.measuring)(true);
        if let Some(source) = &self.devices.source {
            // Mounted again, so that nothing of it is cached.
            source::mount(source, &self.devices.source_folder)?;
        }
        let made = self.mkfs()? && self.mount()?;
        if made {
            self.capacity(&[Metric::CAPACITY, Metric::CAPACITY_BYTES, Metric::CAPACITY_DEVICE])?;
            for task in self.cell.tasks.iter().filter(|task| task.part_of.is_none()) {
                for iteration in 0..task.repeat {
                    if !self.task(task, iteration)? {
                        break;
                    }
                }
            }
            if self.mounted {
                self.stage("capacity");
                self.remove_all()?;
                self.capacity(&[Metric::CAPACITY_RESIDUAL])?;
                self.umount()?;
            }
            self.fsck()?;
        }
        if let Some(_source) = &self.devices.source {
            source::unmount(&self.devices.source_folder)?;
        }
        (self.devices.measuring)(false);
        Ok(())
    }
}
