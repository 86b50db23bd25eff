//! The host lab: this machine's kernel, as root, under wall time, on files that stand for disks.
//!
//! This folder makes images and loop devices, starts the agent in name spaces of its own, passes on what it says, and
//! takes everything away again. It does not know what a cell measures. Whatever it makes is made so that it vanishes
//! with the processes of the run; what cannot be is in the undo journal.

mod agent;
mod image;
mod loops;
mod messages;
mod tools;
mod trace;
mod undo;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_model::{
    Bytes, Cell, Configuration, Disk, DiskModel, Environment, Event, Machine, Outcome, Plan, Program,
};

use crate::watch::{Heard, Watch};
use crate::{Device, Ended, Lab};
use agent::HostJob;
use image::Place;
use loops::Loop;
use messages::Messages;
use undo::Journal;

pub use agent::{is_agent, main};
pub use undo::clean;

/// How long a killed agent may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(60);
/// Bit of CAP_SYS_ADMIN in the masks of /proc/self/status.
const SYS_ADMIN: u32 = 21;

/// How cells are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cache folder.
    pub cache: PathBuf,
    /// What the user wrote after `--image`.
    pub image: Option<PathBuf>,
    /// Whether data in the image may be overwritten.
    pub force_image: bool,
    /// How long an agent may say nothing before it counts as hung.
    pub silence_limit: Duration,
}

/// A lab of this machine.
pub struct HostLab {
    options: Options,
    release: String,
    place: Place,
    journal: Journal,
}

/// An error if this user may not mount, with what to do.
pub fn check_rights() -> Result<()> {
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

/// Whether /proc/self/status grants a capability.
fn may(status: &str, capability: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << capability) != 0)
}

/// Says in a plan that its computer and disks are this machine's: profiles mean nothing here.
pub fn describe(plan: &mut Plan) {
    let ram = Bytes(crate::guest::memory().unwrap_or(0));
    plan.machine = Machine {
        name: "host".into(),
        about: crate::host_environment().host_cpu,
        ram,
        disk: "loop".into(),
        second_disk: "loop".into(),
        sources: Vec::new(),
        ..plan.machine.clone()
    };
    plan.kernel = "host".into();
    let disk = Disk {
        name: "loop".into(),
        about: "a loop device on a file of this machine".into(),
        sources: Vec::new(),
        model: DiskModel::Ram,
    };
    for cell in &mut plan.cells {
        cell.ram = ram;
        cell.disk = disk.clone();
        if let Some(second) = &mut cell.second_disk {
            second.disk = disk.clone();
        }
    }
}

impl HostLab {
    /// Checks rights, loop devices and the image.
    pub fn open(options: Options) -> Result<HostLab> {
        check_rights()?;
        let place = Place::find(options.image.as_deref(), options.force_image)?;
        let journal = Journal::open(&options.cache)?;
        if let Place::Own { image, .. } = &place {
            journal.add_image(image.clone())?;
        }
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        Ok(HostLab { options, release, place, journal })
    }

    fn attach(&self, image: &std::fs::File) -> Result<Loop> {
        let attached = Loop::attach(image)?;
        self.journal.add_loop(&attached.name, &attached.file)?;
        Ok(attached)
    }

    fn detach(&self, attached: Loop) -> Result<()> {
        let path = attached.path();
        let name = attached.name.clone();
        if !attached.detach() {
            bail!(
                "{path} is still in use, by a process that hangs in the kernel or one that is not ours; when it has ended, `mountmark clean` detaches it"
            );
        }
        self.journal.remove_loop(&name)
    }

    fn run_attached(&self, job: &HostJob, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let mut messages = Messages::from_now_on();
        let mut agent = Agent::start(job)?;
        let mut watch = Watch::default();
        let heard = watch.listen(&agent.lines, stop, self.options.silence_limit, on_event);
        let said = agent.end(heard != Heard::End)?;
        let log = messages.read();
        let reason = match heard {
            Heard::Interrupted => return Ok(Ended::Interrupted),
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

impl Lab for HostLab {
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
        self.place.has_room(cell.disk_size.0 + cell.second_disk.as_ref().map_or(0, |medium| medium.size.0))
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let test = self.attach(&self.place.test_image(cell.disk_size.0)?)?;
        let source = match &cell.second_disk {
            Some(medium) => {
                match self.place.source_image(medium.size.0).and_then(|image| self.attach(&image)) {
                    Ok(source) => Some(source),
                    Err(error) => {
                        // Dropping it would leave it in the journal, and what lies on it in the user's file.
                        self.detach(test)?;
                        return Err(error);
                    }
                }
            }
            None => None,
        };
        for (attached, what) in [(Some(&test), "disk under test"), (source.as_ref(), "second disk")] {
            if attached.is_some_and(|attached| !attached.direct) {
                let folder = self.place.parent().display();
                let text = format!(
                    "the {what} is buffered in this machine's page cache: the file system of {folder} refuses direct I/O"
                );
                on_event(Event::Note { text });
            }
        }
        let device = |attached: &Loop, size: Bytes| Device {
            path: attached.path(),
            name: attached.name.clone(),
            size: size.0,
            server: None,
        };
        let job = HostJob {
            cell: cell.clone(),
            test: device(&test, cell.disk_size),
            source: source.as_ref().zip(cell.second_disk.as_ref()).map(|(source, medium)| device(source, medium.size)),
            corpus: cell.second_disk.as_ref().map(|medium| medium.tar.clone().into()),
        };
        let ended = self.run_attached(&job, stop, on_event);
        let mut detached = self.detach(test);
        if let Some(source) = source {
            detached = detached.and(self.detach(source));
        }
        // What the agent could not do explains why a device is still in use.
        let ended = ended?;
        detached?;
        Ok(ended)
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let folder = self.place.parent();
        let below = filesystem_of(&mounts, folder).unwrap_or_else(|| "an unknown file system".into());
        Ok(Environment {
            kernel: crate::guest::kernel_version()?,
            packages: tools::package_versions(cell),
            clock: format!(
                "wall time of this machine; the disks are loop devices on files in {}, on {below}",
                folder.display()
            ),
            ..crate::host_environment()
        })
    }
}

/// The type of the file system that holds a folder.
fn filesystem_of(mounts: &str, folder: &Path) -> Option<String> {
    let found = mounts.lines().filter_map(|line| {
        let (head, tail) = line.split_once(" - ")?;
        let point = head.split_whitespace().nth(4)?;
        folder.starts_with(point).then_some((point.len(), tail.split_whitespace().next()?))
    });
    // Of several at one place, the last one is what is seen.
    found.max_by_key(|(length, _)| *length).map(|(_, kind)| kind.to_owned())
}

/// A running agent.
struct Agent {
    child: Child,
    lines: Receiver<String>,
    errors: Arc<Mutex<String>>,
}

impl Agent {
    fn start(job: &HostJob) -> Result<Agent> {
        let parent = std::process::id();
        let mut command = Command::new("/proc/self/exe");
        command.arg0("mountmark").arg(agent::ARGUMENT).env("PATH", tools::PATH).env("LC_ALL", "C").current_dir("/");
        // A group of its own: Ctrl-C is this process's to answer.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: the closure makes two system calls and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
                // The parent may have died before that.
                if libc::getppid() as u32 != parent {
                    return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                }
                Ok(())
            })
        };
        let mut child = command.spawn().context("cannot start this program once more, as the agent")?;
        let text = serde_json::to_vec(job)?;
        let mut stdin = child.stdin.take().expect("piped");
        // An agent that has ended already says why itself.
        let _ = stdin.write_all(&text);
        drop(stdin);
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        thread::spawn(move || {
            for line in stdout.lines().map_while(|line| line.ok()) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let errors = Arc::new(Mutex::new(String::new()));
        let mut stderr = child.stderr.take().expect("piped");
        let kept = Arc::clone(&errors);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < 1 << 16 {
                    kept.push_str(&String::from_utf8_lossy(&buffer[..length]));
                }
            }
        });
        Ok(Agent { child, lines, errors })
    }

    /// Waits for its end, or brings it about. Answers what it said on standard error.
    fn end(&mut self, kill: bool) -> Result<String> {
        if kill {
            let _ = self.child.kill();
        }
        let begin = Instant::now();
        while self.child.try_wait().context("cannot wait for the agent")?.is_none() {
            if begin.elapsed() > KILL_LIMIT {
                bail!("the agent (process {}) hangs in the kernel and cannot be ended", self.child.id());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // After an error: what is not waited for elsewhere must not stay.
        let _ = self.child.kill();
        let _ = self.child.try_wait();
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
