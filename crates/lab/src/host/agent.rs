//! The process that measures a cell on this machine: another instance of this program.
//!
//! Its mounts are in its own name space: when it ends, for whatever reason, the kernel kills the processes it has
//! started and removes the mounts. Commands inherit none of its open files.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_job::{
    Agent, CorpusData, Device, DeviceTrace, Devices, Hold, Member, Places, Share, Token, Unseen, line_auth,
};
use mountmark_model::{Cell, Event, Identity, Outcome, PROTOCOL, Subject};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde::{Deserialize, Serialize};

use super::device::{DeviceLock, Together};
use super::events::{leave_files, send};
use super::folder;
use super::group::OwnGroup;
use super::guard;
use super::trace::{KernelTrace, unseen};

/// Why nothing is seen of a device without a queue.
const NO_QUEUE: &str = "Requests are seen of whole disks alone, and this is a partition, a volume, an array or a folder; the \
                        figures are the kernel's own counters.";

/// The argument that makes this program the agent; its job comes on standard input.
pub(super) const ARGUMENT: &str = "host-agent";
/// Folders over which the agent can mount its own, visible to itself alone: no cell needs their contents.
const BASES: [&str; 4] = ["/dev/shm", "/mnt", "/media", "/srv"];

/// Folders in it: of the file system under test, and of the second disk.
const TEST: &str = "test";
const SOURCE: &str = "source";
/// The folder in which the protocol's commands run.
const NOWHERE: &str = "nowhere";
/// Folders that the agent has empty where a cell has layers: programs of LVM, cryptsetup and mdadm read there how this machine
/// is set up, and write there.
const OWN: [&str; 2] = ["/run", "/etc/lvm"];

#[derive(Serialize, Deserialize)]
pub(super) struct HostJob {
    /// Authenticates this agent's lines.
    pub token: Token,
    pub cell: Cell,
    pub test: Device,
    /// Further disks below the same file system.
    pub more: Vec<Device>,
    /// The real disks that the agent holds between programs that want them for themselves.
    pub hold: Vec<Identity>,
    /// A folder of a mounted file system, in which tasks work; `None` if the cell makes its own.
    pub folder: Option<PathBuf>,
    pub source: Option<Device>,
    /// A plain tar file.
    pub corpus: Option<PathBuf>,
    /// The operations that age the file system.
    pub history: Option<PathBuf>,
    /// The control group that the agent and all that it starts belong to.
    pub group: Option<OwnGroup>,
}

/// Whether this process is a part of a run of the host lab.
pub fn is_agent() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT || argument == guard::ARGUMENT)
}

/// The main function of an agent, or of an image's guard. Never returns.
pub fn main(agent: Agent) -> ! {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == guard::ARGUMENT) {
        guard::main();
    }
    let result = std::panic::catch_unwind(|| live(agent));
    let failure = match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{error:#}")),
        Err(_) => Some("the agent panicked".to_owned()),
    };
    match failure {
        None => std::process::exit(0),
        Some(reason) => {
            send(&Event::Ended { task: Subject::Cell, outcome: Outcome::Failed { reason, detail: String::new() } });
            std::process::exit(1)
        }
    }
}

fn live(agent: Agent) -> Result<()> {
    leave_files()?;
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).context("cannot read the job")?;
    let job: HostJob = serde_json::from_slice(&text).with_context(|| {
        format!("`mountmark {ARGUMENT}` is started by `mountmark run --lab host` and reads its job from standard input")
    })?;
    line_auth::bear(job.token);
    if let Some(group) = &job.group {
        group.enter()?;
    }
    // Opened now, since a mount may soon hide it.
    let opened = |path: &PathBuf| File::open(path).with_context(|| format!("cannot read {}", path.display()));
    let corpus = job.corpus.as_ref().map(opened).transpose()?;
    let history = job.history.as_ref().map(opened).transpose()?;
    let data = |file: &File| CorpusData::File(format!("/proc/self/fd/{}", file.as_raw_fd()).into());
    let base = separate(job.folder.as_deref())?;
    let is_stacked = !job.cell.configuration.layers.is_empty();
    for folder in OWN.iter().filter(|folder| is_stacked && Path::new(folder).is_dir()) {
        own_folder(Path::new(folder))?;
    }
    // Where nothing is: no word of a command, such as an option of mkfs, finds a file there that it names without a path.
    let nowhere = base.join(NOWHERE);
    std::fs::create_dir(&nowhere).and_then(|()| std::env::set_current_dir(&nowhere)).context("cannot leave /")?;
    let (kernel, memory) = (mountmark_job::machine::kernel_version(), mountmark_job::machine::memory()?);
    send(&Event::Hello { protocol: PROTOCOL, kernel, memory });
    let trace = trace_of(&job.test, &base);
    let more: Vec<Member> =
        job.more.into_iter().map(|device| Member { trace: trace_of(&device, &base), device }).collect();
    // Only now: a copy of this process would hold them too.
    let paths = std::iter::once(&job.test.path).chain(more.iter().map(|member| &member.device.path));
    let locks = job.hold.into_iter().zip(paths).map(|(identity, path)| DeviceLock::in_agent(identity, path));
    let locks: Vec<DeviceLock> = locks.collect();
    let hold = (!locks.is_empty()).then_some(Together { locks, is_stacked });
    if let Some(hold) = &hold {
        hold.take()?;
    }
    let devices = Devices {
        test: job.test,
        more,
        source: job.source,
        corpus: corpus.as_ref().map(data),
        history: history.as_ref().map(data),
        share: Share::Whole,
        measuring: Box::new(|_| {}),
        trace,
        power: None,
        test_folder: job.folder.unwrap_or_else(|| base.join(TEST)),
        source_folder: base.join(SOURCE),
        hold: hold.map(|hold| Box::new(hold) as Box<dyn Hold>),
        exclusive: false,
    };
    if let Err(error) = agent(&job.cell, &devices, &mut |event| send(&event)) {
        // A disk that is gone explains all that comes of it.
        let gone = devices.hold.as_ref().and_then(|hold| hold.check().err());
        return Err(gone.unwrap_or(error));
    }
    send(&Event::Done);
    Ok(())
}

/// Records the requests at a device; `base` is a folder of the agent's own.
fn trace_of(device: &Device, base: &Path) -> Box<dyn DeviceTrace> {
    if !has_queue(&device.name) {
        return Box::new(Unseen(NO_QUEUE.to_owned()));
    }
    match KernelTrace::start(device, &base.join("tracing")) {
        Ok(trace) => Box::new(trace),
        Err(error) => Box::new(Unseen(unseen(&error))),
    }
}

/// Whether the requests at a device are seen: it is a whole disk with a queue of its own, no part and no mapping.
fn has_queue(name: &str) -> bool {
    !name.is_empty() && Path::new("/sys/block").join(name).join("mq").exists()
}

/// Enters a new mount name space. Returns a folder that only this process and its children see; it hides no `used` one.
fn separate(used: Option<&Path>) -> Result<PathBuf> {
    // SAFETY: neither file descriptors nor memory are unshared, and there is one thread.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.context("cannot leave the machine's mounts")?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .context("cannot keep mounts from the machine")?;
    let base = base(used)?;
    own_folder(base)?;
    Ok(base.to_owned())
}

/// Hides what is in a folder from this process and its children, which get an empty one.
fn own_folder(folder: &Path) -> Result<()> {
    mount("mountmark", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")
        .with_context(|| format!("cannot mount on {}", folder.display()))
}

/// The first of [`BASES`] that exists and does not hold a `used` folder.
fn base(used: Option<&Path>) -> Result<&'static Path> {
    let is_free = |folder: &&Path| folder.is_dir() && !used.is_some_and(|used| used.starts_with(folder));
    let base = BASES.iter().map(Path::new).find(is_free);
    base.with_context(|| format!("there is no folder to mount in, none of {}", BASES.join(", ")))
}

pub(super) fn places(cell: &Cell) -> Result<Places> {
    let named = Path::new(&cell.disk.name);
    let base = base(Some(named).filter(|_| cell.is_mounted))?;
    let mut disks = match named.is_absolute() {
        // The `+` of a device's own name joins nothing.
        true if cell.is_mounted || named.exists() => vec![cell.disk.name.clone()],
        true => cell.disk.name.split('+').take(cell.configuration.disks() as usize).map(str::to_owned).collect(),
        false => vec!["/dev/loopN".to_owned()],
    };
    Ok(Places {
        test: disks.remove(0),
        more: disks,
        source: "/dev/loopM".to_owned(),
        test_folder: if cell.is_mounted { named.join(folder::PATTERN) } else { base.join(TEST) },
        source_folder: base.join(SOURCE),
    })
}
