//! The host lab: this machine's kernel, as root, under wall time, on files that serve as disks.
//!
//! This folder creates images and loop devices, starts the agent in its own name spaces, passes its events on, and
//! removes everything again. It does not know what a cell measures. Everything it creates vanishes with the processes
//! of the run, if possible; the rest is in the undo journal.

mod agent;
mod alive;
mod clean;
mod contents;
mod disks;
mod image;
mod lock;
mod messages;
mod own;
mod process;
mod tools;
mod trace;
mod undo;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use mountmark_model::{
    Bytes, Cell, Configuration, Disk, DiskModel, Environment, Event, Machine, Outcome, OwnComputer, Program,
};

use crate::loops::Loop;
use crate::watch::{Expected, Heard, Watch};
use crate::{Device, Ended, LabKind, OpenLab, Options, Places, Token};
use agent::HostJob;
use disks::Disks;
use messages::Messages;
use process::Agent;

pub use agent::{is_agent, main};
pub use clean::{Undone, clean};
pub(crate) use own::FileId;

/// Bit of CAP_SYS_ADMIN in the masks of /proc/self/status.
const SYS_ADMIN: u32 = 21;

/// The host lab before it is opened.
pub(crate) struct ThisMachine;

impl LabKind for ThisMachine {
    fn open(&self, options: Options) -> Result<Box<dyn OpenLab>> {
        check_rights()?;
        let disks = Disks::open(&options)?;
        Ok(Box::new(HostLab { options, release: release(), disks }))
    }

    fn places(&self, _: &Cell) -> Result<Places> {
        agent::places()
    }

    fn check_rights(&self) -> Result<()> {
        check_rights()
    }

    fn own_computer(&self) -> Option<OwnComputer> {
        let disk = "loop";
        Some(OwnComputer {
            machine: Machine {
                name: "host".into(),
                about: crate::host_cpu(),
                shift: 0,
                processor: None,
                ram: Bytes(crate::memory::total().unwrap_or(0)),
                disk: disk.into(),
                second_disk: disk.into(),
                sources: Vec::new(),
            },
            disk: Disk {
                name: disk.into(),
                about: "a loop device on a file of this machine".into(),
                sources: Vec::new(),
                model: DiskModel::NO_DRIVE,
            },
            kernel: "host".into(),
        })
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
        let file = image::foresee(options.image.as_deref(), options.force_image, disks::needs(cell))?;
        Ok(Some(format!("a loop device on {file}")))
    }
}

/// The opened host lab with its disks.
struct HostLab {
    options: Options,
    release: String,
    disks: Disks,
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
    fn run_attached(&self, job: &HostJob, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let mut messages = Messages::from_now_on();
        let mut agent = Agent::start(job)?;
        let mut watch = Watch::new(Expected {
            token: job.token.clone(),
            kernel: crate::guest::kernel_version()?,
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
        let parts = [detail.as_str(), said.trim(), &crate::kernel_log::telling_lines(&log, 30)];
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
        if let Some(reason) = tools::suite_unavailable(cell) {
            bail!("{reason}");
        }
        self.disks.has_room(cell)
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        // The source first: if it is unavailable, nothing has been changed yet.
        let source = cell.second_disk.as_ref().map(|medium| self.disks.source(medium.size.0)).transpose()?;
        let test = self.disks.test(cell.disk_size.0)?;
        for text in self.disks.notes(&test, source.as_ref(), cell.disk_size.0) {
            on_event(Event::Note { text });
        }
        let device = |attached: &Loop, size: Bytes| Device {
            path: attached.path(),
            name: attached.name.clone(),
            size: size.0,
            server: None,
            backing: Some(attached.backing()),
        };
        let job = HostJob {
            token: Token::new()?,
            cell: cell.clone(),
            test: device(&test, cell.disk_size),
            source: source.as_ref().zip(cell.second_disk.as_ref()).map(|(source, medium)| device(source, medium.size)),
            corpus: cell.second_disk.as_ref().map(|medium| medium.tar.clone().into()),
        };
        let mut observer = self.disks.observer();
        let ended = self.run_attached(&job, stop, &mut |event| {
            observer.hear(&event);
            on_event(event);
        });
        let mut detached = self.disks.detach(test);
        if let Some(source) = source {
            detached = detached.and(self.disks.detach(source));
        }
        // The agent's own error explains why a device is still in use.
        let ended = ended?;
        detached?;
        Ok(ended)
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let folder = self.disks.folder();
        let below = filesystem_of(&mounts, folder).unwrap_or_else(|| "an unknown file system".into());
        let files =
            if self.disks.is_allocated(cell.disk_size.0) { "files with their room allocated" } else { "sparse files" };
        let mut environment = Environment {
            packages: tools::package_versions(cell),
            clock: format!(
                "wall time of this machine; the disks are loop devices on {files} in {}, on {below}",
                folder.display()
            ),
            ..crate::host_environment()
        };
        environment.name_kernel(&crate::guest::kernel_version()?);
        Ok(environment)
    }
}

/// The type of the file system that holds a folder.
fn filesystem_of(mounts: &str, folder: &Path) -> Option<String> {
    let found = mounts.lines().filter_map(|line| {
        let (head, tail) = line.split_once(" - ")?;
        let point = head.split_whitespace().nth(4)?;
        folder.starts_with(point).then_some((point.len(), tail.split_whitespace().next()?))
    });
    // Of several mounts at one place, the last one is visible.
    found.max_by_key(|(length, _)| *length).map(|(_, kind)| kind.to_owned())
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

    #[test]
    fn a_folders_file_system_is_the_deepest_mount() {
        let mounts = "21 1 254:0 / / rw,noatime - ext4 /dev/vda rw\n\
                      30 21 0:25 / /tmp rw shared:4 - tmpfs tmpfs rw\n\
                      31 21 0:26 / /tmp/deep rw - xfs /dev/sdb rw\n";
        assert_eq!(filesystem_of(mounts, Path::new("/var/tmp")).unwrap(), "ext4");
        assert_eq!(filesystem_of(mounts, Path::new("/tmp/x")).unwrap(), "tmpfs");
        assert_eq!(filesystem_of(mounts, Path::new("/tmp/deep")).unwrap(), "xfs");
        assert_eq!(filesystem_of(mounts, Path::new("/tmpx")).unwrap(), "ext4");
    }
}
