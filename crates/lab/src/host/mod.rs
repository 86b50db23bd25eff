//! The host lab: this machine's kernel, as root, under wall time, on files that serve as disks.
//!
//! This folder creates images and loop devices, starts the agent in its own name spaces, passes its events on, and
//! removes everything again. It does not know what a cell measures. Everything it creates vanishes with the processes
//! of the run, if possible; the rest is in the undo journal.

mod agent;
mod clean;
mod contents;
pub(crate) mod device;
mod disks;
mod events;
mod folder;
mod group;
mod guard;
mod image;
mod lock;
mod messages;
mod noise;
pub mod options;
mod own;
mod process;
mod signatures;
mod stack;
mod target_set;
mod targets;
pub(crate) mod tools;
mod trace;
mod undo;

use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use mountmark_job::{Places, Token};
use mountmark_model::{
    Bytes, Cell, Configuration, Environment, Event, Machine, Outcome, OwnComputer, Program, Target, words,
};

use crate::event_receiver::{EventReceiver, Expected, Heard};
use crate::lab::{Ended, LabKind, OpenLab, Options, Place};
use crate::options::{Given, LabOption};
use agent::HostJob;
use group::OwnGroup;
use messages::Messages;
use noise::Noise;
use process::Agent;
use stack::OwnStack;
use target_set::TargetSet;

pub use agent::{is_agent, main};
pub use clean::{Undone, clean};

/// Bit of CAP_SYS_ADMIN in the masks of /proc/self/status.
const SYS_ADMIN: u32 = 21;

/// The host lab before it is opened.
pub(crate) struct ThisMachine;

impl LabKind for ThisMachine {
    fn open(&self, options: Options) -> Result<Box<dyn OpenLab>> {
        check_rights()?;
        check_limit(&options)?;
        let ground = TargetSet::open(&options)?;
        Ok(Box::new(HostLab { options, release: release(), ground }))
    }

    fn options(&self) -> &'static [&'static LabOption] {
        &options::ALL
    }

    fn check(&self, given: &Given) -> Result<(), String> {
        options::check(given)
    }

    fn places(&self, cell: &Cell) -> Result<Places> {
        agent::places(cell)
    }

    fn shown(&self, mut cell: Cell) -> Cell {
        OwnStack::shown().name(&mut cell);
        cell
    }

    fn check_rights(&self) -> Result<()> {
        check_rights()
    }

    fn own_computer(&self, place: &Place) -> Result<Option<OwnComputer>> {
        let disk = Target::Image { path: String::new(), filesystem: String::new(), source: String::new() }.disk();
        Ok(Some(OwnComputer {
            machine: Machine {
                name: "host".into(),
                about: crate::this::host_cpu(),
                shift: 0,
                processor: None,
                ram: Bytes(mountmark_job::machine::memory().unwrap_or(0)),
                disk: disk.name.clone(),
                second_disk: disk.name.clone(),
                sources: Vec::new(),
            },
            disk,
            kernel: "host".into(),
            targets: targets::targets(place)?,
        }))
    }

    fn about(&self, place: &Place) -> Vec<String> {
        targets::about(place)
    }

    fn unavailable(&self, configuration: &Configuration) -> Option<String> {
        tools::unavailable(configuration, &release())
    }

    fn lacks(&self, program: &Program) -> Option<String> {
        tools::lacks(program)
    }

    fn foresee(&self, options: &Options, cell: &Cell) -> Result<Option<String>> {
        if let Some(reason) = tools::suite_unavailable(cell) {
            bail!("{reason}");
        }
        check_limit(options)?;
        let Place::Image { path, force } = &options.place else { return Ok(Some(cell.disk.about.clone())) };
        let file = image::foresee(path.as_deref(), *force, disks::needs(cell))?;
        Ok(Some(format!("a loop device on {file}")))
    }
}

/// The opened host lab with what it works on.
struct HostLab {
    options: Options,
    release: String,
    ground: TargetSet,
}

/// Why a cell failed; empty if it did not.
fn failure(ended: &Result<Ended>) -> &str {
    match ended {
        Ok(Ended::Outcome { outcome: Outcome::Failed { reason, .. }, .. }) => reason,
        _ => "",
    }
}

/// An error if this user may not mount, with the remedy.
fn check_rights() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!(
            "the host lab mounts file systems on this machine, which only root may do; run it as root (sudo mountmark run --lab host ...), or use --lab virtual, which needs no rights"
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !may(&status, SYS_ADMIN) {
        bail!(
            "the host lab mounts file systems, which root may not do here (no CAP_SYS_ADMIN: a container?); give the container that right and the loop devices, or use --lab virtual, which needs no rights"
        );
    }
    Ok(())
}

/// Refuses a limit of memory that cannot be kept.
fn check_limit(options: &Options) -> Result<()> {
    let Some(limit) = options.memory else { return Ok(()) };
    if targets::is_in_memory(&options.place) {
        bail!("--memory: the image would lie in memory itself and count too; name a place on a disk with --image");
    }
    group::check(limit)
}

fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Whether /proc/self/status grants a capability.
fn may(status: &str, capability: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << capability) != 0)
}

impl HostLab {
    /// The control group that limits a cell's memory, if the user wants one.
    fn limited(&self, cell: &Cell) -> Result<Option<OwnGroup>> {
        let Some(limit) = self.options.memory else { return Ok(None) };
        let group = OwnGroup::new(cell.index)?;
        self.ground.journal().add_group(group.clone())?;
        group.make(limit)?;
        Ok(Some(group))
    }

    /// After the agent's end.
    fn unlimited(&self, group: &OwnGroup, on_event: &mut dyn FnMut(Event)) -> Result<()> {
        let killed = group.killed();
        if killed > 0 {
            let text = format!(
                "the kernel killed {} of this cell, which needed more than --memory gives",
                mountmark_model::counted(killed as usize, "process")
            );
            on_event(Event::Note { text });
        }
        group.remove()?;
        self.ground.journal().remove_group(group)
    }

    fn run_attached(&self, job: &HostJob, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let mut messages = Messages::from_now_on();
        let mut agent = Agent::start(job)?;
        let mut watch = EventReceiver::new(Expected {
            token: job.token.clone(),
            kernel: mountmark_job::machine::kernel_version(),
            memory: 0..=u64::MAX,
        });
        let heard = watch.listen(&agent.lines, stop, self.options.silence_limit, on_event);
        let said = agent.end(heard != Heard::End)?;
        let log = messages.read();
        let reason = match heard {
            Heard::Interrupted => return Ok(Ended::Interrupted),
            Heard::Fault => return Ok(Ended::Refused { reason: watch.fault.unwrap_or_default(), log }),
            Heard::Silent => watch.silence("the agent", self.options.silence_limit),
            Heard::End if watch.done => {
                return Ok(Ended::Outcome { outcome: watch.outcome.unwrap_or(Outcome::Ok), log });
            }
            Heard::End => format!("the agent ended before it was done{}", watch.stage_text()),
        };
        let (reason, detail) = match watch.outcome {
            Some(Outcome::Failed { reason, detail }) => (reason, detail),
            _ => (reason, String::new()),
        };
        let parts = [detail.as_str(), said.trim(), &mountmark_job::kernel_log::telling_lines(&log, 30)];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Ended::Outcome { outcome: Outcome::Failed { reason, detail: parts.join("\n") }, log })
    }
}

impl OpenLab for HostLab {
    fn title(&self) -> String {
        format!("host lab, kernel {}", self.release)
    }

    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>> {
        Ok(tools::unavailable(configuration, &self.release))
    }

    fn lacks(&self, program: &Program) -> Result<Option<String>> {
        Ok(tools::lacks(program))
    }

    fn prepare(&self, cell: &Cell) -> Result<()> {
        if let Some(reason) = words::foreign(&cell.configuration) {
            bail!("{}: {reason}", cell.configuration.name);
        }
        if let Some(reason) = tools::suite_unavailable(cell) {
            bail!("{reason}");
        }
        self.ground.has_room(cell)
    }

    fn precondition(&self, stop: &AtomicBool, tell: &mut dyn FnMut(&str)) -> Result<()> {
        self.ground.precondition(stop, tell)
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        // The source first: if it is unavailable, nothing has been changed yet.
        let source = cell.second_disk.as_ref().map(|medium| self.ground.source(medium.size.0)).transpose()?;
        let entered = match self.ground.enter(cell) {
            Ok(entered) => entered,
            // One of several disks may be gone; the cells of the others can be run.
            Err(error) if cell.target.is_some() && self.ground.is_real() => {
                source.map(|source| self.ground.detach(source)).transpose()?;
                let outcome = Outcome::Failed { reason: format!("{error:#}"), detail: String::new() };
                return Ok(Ended::Outcome { outcome, log: String::new() });
            }
            Err(error) => return Err(error),
        };
        for text in entered.notes.iter().cloned().chain(source.iter().flat_map(|source| self.ground.notes(source))) {
            on_event(Event::Note { text });
        }
        let medium = source.as_ref().zip(cell.second_disk.as_ref());
        let mut job = HostJob {
            token: Token::new()?,
            cell: cell.clone(),
            test: entered.device.clone(),
            more: entered.more.clone(),
            hold: entered.hold.clone(),
            folder: entered.folder.clone(),
            source: medium.map(|(source, medium)| disks::device(source, medium.size.0)),
            corpus: cell.second_disk.as_ref().map(|medium| medium.tar.clone().into()),
            history: cell.age.as_ref().map(|age| age.path.clone().into()),
            group: self.limited(cell)?,
        };
        let stack = OwnStack::begin(&mut job, self.ground.journal())?;
        let mut observer = disks::Observer::default();
        let noise = Noise::now();
        let ended = self.run_attached(&job, stop, &mut |event| {
            self.ground.heard(&entered, &event, &mut observer);
            on_event(event);
        });
        let disturbance = noise.since();
        for text in disturbance.remark().into_iter().chain(self.ground.undone(&entered)) {
            on_event(Event::Note { text });
        }
        // What a dead agent left of it holds the disks.
        let unstacked = stack.map_or(Ok(None), |stack| stack.end(self.ground.journal()));
        let mut left = unstacked.map(|note| note.into_iter().for_each(|text| on_event(Event::Note { text })));
        let mut remark = |text| on_event(Event::Note { text });
        left = left.and(self.ground.leave(cell, entered, failure(&ended), &mut remark));
        if let Some(group) = &job.group {
            left = left.and(self.unlimited(group, on_event));
        }
        if let Some(source) = source {
            left = left.and(self.ground.detach(source));
        }
        // The agent's own error explains why a device is still in use.
        let mut ended = ended?;
        left?;
        if let Ended::Outcome { log, .. } = &mut ended {
            log.insert_str(0, &format!("{}\n", disturbance.text()));
        }
        Ok(ended)
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        let limit = self.options.memory.map(|limit| format!("; {}", group::about(limit))).unwrap_or_default();
        let mut environment = Environment {
            packages: tools::package_versions(cell),
            clock: format!("wall time of this machine; {}{limit}", self.ground.about(cell)),
            preconditioned: self.ground.preconditioned(cell),
            health: self.ground.health_of(cell),
            ..crate::this::host_environment()
        };
        environment.name_kernel(&mountmark_job::machine::kernel_version());
        Ok(environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_from_the_mask() {
        assert!(may("Name:\tx\nCapEff:\t000001ffffffffff\n", SYS_ADMIN));
        assert!(!may("CapEff:\t00000000a80425fb\n", SYS_ADMIN));
        assert!(may("", SYS_ADMIN), "what cannot be read is left to the kernel");
    }
}
