//! Measures one cell, from mkfs to fsck, on the disks that a lab provides.
//!
//! The agent sends its measurements as events and stores nothing. It does not know whether it runs in a guest, which
//! clock it reads, or how its events are used.

mod age;
mod cause;
mod cold;
pub mod command;
mod conditions;
mod contents;
mod device;
pub mod engine;
mod events;
mod figures;
mod fill;
mod ground;
mod measure;
mod outside;
mod perform;
mod printed;
mod probes;
pub mod programs;
pub mod protocol;
mod restart;
mod sandbox;
pub mod scratch;
mod served;
mod settings;
mod settle;
mod shell;
mod steps;
mod task;
#[cfg(test)]
mod tests;
mod tree;
mod unchanged;
pub mod workload;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use mountmark_job::{Devices, Places, Share};
use mountmark_model::{Cell, Event, Stage};

use crate::protocol::{Protocol, TaskSteps};
use crate::settings::Settings;
use conditions::Taken;
pub use figures::MOST_OUTPUT;
use ground::{Ground, This};
use scratch::Scratch;
use served::Served;
use tree::Tree;

/// Limit of mkfs, mount, umount and fsck, in seconds of the lab's clock.
const STEP_LIMIT: f64 = 7200.0;

/// Becomes a worker of the engine, or the child that runs a workload, if this process was started as one by an agent, which
/// starts its own program for that; returns otherwise.
pub fn become_child() {
    if engine::is_worker() {
        engine::worker_main();
    }
    if workload::is_child() {
        workload::main();
    }
}

/// Measures `cell` on `devices`. A step that fails is an event; an error means that the agent cannot go on.
pub fn run_cell(cell: &Cell, devices: &Devices, emit: &mut dyn FnMut(Event)) -> Result<()> {
    guard();
    let scratch = Scratch::new(base_folder())?;
    Agent::new(cell, devices, &This, scratch, emit).run()
}

impl<'a> Agent<'a> {
    fn new(
        cell: &'a Cell,
        devices: &'a Devices,
        ground: &'a dyn Ground,
        scratch: Scratch,
        emit: &'a mut dyn FnMut(Event),
    ) -> Agent<'a> {
        let more = devices.more.iter().map(|member| &member.device);
        let served = std::iter::once(&devices.test).chain(more).chain(&devices.source);
        let servers = served.filter_map(|device| device.server);
        let servers: Vec<u32> = servers.chain(devices.trace.watcher()).collect();
        Agent {
            cell,
            devices,
            ground,
            scratch,
            fio_folder: base_folder().join(format!("mountmark-fio-{}", std::process::id())),
            servers,
            top: cell.configuration.stack(places(devices).disks()).device(),
            below: cell.configuration.below.as_ref().map(|_| places(devices).below_folder()),
            served: Vec::new(),
            stuck: false,
            rest: None,
            ended_parts: BTreeSet::new(),
            noted: BTreeSet::new(),
            printed: 0,
            mounted: false,
            generation: 1,
            taken: None,
            settings: None,
            tree: None,
            spoilt: false,
            emit,
        }
    }
}

/// Closes the agent's memory and open files to all other processes.
fn guard() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // A failure is ignored: permissions alone keep commands from the agent too.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Where the agent may create folders: in memory if possible.
pub fn base_folder() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new("/tmp") }
}

struct Agent<'a> {
    cell: &'a Cell,
    devices: &'a Devices,
    ground: &'a dyn Ground,
    scratch: Scratch,
    /// fio's own files, new for each job.
    fio_folder: PathBuf,
    servers: Vec<u32>,
    /// The device that the file system under test is made on: the disk itself, or the uppermost layer's.
    top: String,
    /// Where the file system below is mounted, if there is one.
    below: Option<PathBuf>,
    /// Programs that stay.
    served: Served,
    /// Whether what the file system stood on could not be taken away.
    stuck: bool,
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
    /// Memory that the repeat's conditions take.
    taken: Option<Taken>,
    /// As they were before the tasks.
    settings: Option<Settings>,
    /// In which tree commands of the suite find programs, if not in the machine's.
    tree: Option<Tree>,
    /// Whether a command left another setting, which has ended the cell.
    spoilt: bool,
    emit: &'a mut dyn FnMut(Event),
}

impl Agent<'_> {
    fn run(&mut self) -> Result<()> {
        let protocol = Protocol::of(self.cell, &places(self.devices));
        self.stage(Stage::Source);
        fs::create_dir_all(&self.devices.test_folder)?;
        fs::create_dir_all(&self.devices.source_folder)?;
        self.below.as_deref().map_or(Ok(()), fs::create_dir_all)?;
        self.remember_settings();
        let share = self.devices.share;
        if share != Share::Contents {
            self.take_all(&protocol.source)?;
        }
        if self.is_spoilt("source_prepare") || share != Share::Tasks && !self.lay(&protocol.layers)? {
            return Ok(());
        }
        (self.devices.measuring)(true);
        // What somebody else has mounted is taken as it is.
        self.mounted = self.cell.is_mounted;
        let holds = share == Share::Tasks || self.lay(&protocol.contents)?;
        if share == Share::Contents {
            return Ok(());
        }
        let mut tasks = None;
        if holds && self.take_all(&protocol.begin)? {
            self.lay_tree()?;
            // What the file system's own programs set is its own.
            self.remember_settings();
            let begin = outside::time();
            for steps in protocol.tasks.iter().filter(|steps| steps.task.part_of.is_none()) {
                self.repeats(steps)?;
            }
            tasks = Some((begin, outside::time()));
            if self.spoilt {
                self.leave(&protocol.end);
            } else if self.mounted {
                self.take_all(&protocol.end)?;
            }
        }
        self.stuck = !self.mounted && !self.take_away(&protocol.leave);
        if tasks.is_some() && !self.spoilt {
            self.take_all(&protocol.check)?;
        }
        if !self.mounted {
            self.take_away(&protocol.detach);
        }
        self.take_all(&protocol.close)?;
        (self.devices.measuring)(false);
        // Not earlier: looking takes time.
        if let Some((begin, end)) = tasks.filter(|_| self.devices.exclusive)
            && let Some(note) = outside::note(begin, end)
        {
            self.note(note);
        }
        Ok(())
    }

    /// Runs a task as often as it is repeated, as long as it does not fail and nothing else has ended the cell.
    fn repeats(&mut self, steps: &TaskSteps) -> Result<()> {
        for iteration in 0..steps.task.repeat {
            let goes_on = !self.spoilt && self.task(steps, iteration)?;
            // What is not mounted has ended the cell already.
            let is_spoilt = self.mounted && self.is_spoilt(&format!("task {}", steps.task.id));
            if is_spoilt || !goes_on {
                break;
            }
        }
        Ok(())
    }
}

/// Where the disks are.
fn places(devices: &Devices) -> Places {
    Places {
        test: devices.test.path.clone(),
        more: devices.more.iter().map(|member| member.device.path.clone()).collect(),
        source: devices.source.as_ref().map(|source| source.path.clone()).unwrap_or_default(),
        test_folder: devices.test_folder.clone(),
        source_folder: devices.source_folder.clone(),
    }
}
