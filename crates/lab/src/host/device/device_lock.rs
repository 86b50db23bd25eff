//! Holds a device while a run uses it.
//!
//! The kernel gives a block device to one holder at a time: a file opened with O_EXCL, a mount, swap, an array. So mkfs
//! and mount, which want it for themselves, would be refused while another has it. A run therefore holds it in turns:
//!
//! * by O_EXCL from the moment it is looked at, between cells, and in a cell whenever no program has it;
//! * by the program's own O_EXCL while mkfs or fsck works, and by the mount while it is mounted;
//! * by an exclusive flock(2) on the whole disk all the time, which udev, and programs that partition disks, respect;
//! * by O_EXCL all the time on what else reaches its sectors (`claims`).
//!
//! In the milliseconds in which it is handed on, nothing but the flock holds it. So before each mkfs it is checked to be
//! the very device that was looked at (number, size, serial, world-wide name, the kernel's count of media), and after
//! each time it was handed on, it is taken again or the cell fails. One that could not be taken again is lost for the run, which
//! neither writes nor empties it any more: nobody has looked at what it holds now.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::Hold;
use mountmark_model::{Health, Identity, Precondition, Preconditioned};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::gather::{exclusive, identity};
use super::{Examined, Opened, claims, erase, health, mounts, precondition, relatives};

/// How long a device may be busy after what used it has ended: the kernel unmounts late, and udev looks at what is new.
const BUSY_LIMIT: Duration = Duration::from_secs(20);

/// How the agent says that others have a device, behind its path.
const TAKEN: &str = "was taken by another program, or something on it is still mounted";

/// What a run made of a device, for the journal: written before it is changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    pub device: Identity,
    /// What is known of the file system that was made last; `None` while one is being made.
    pub holds: Option<String>,
}

/// Whether a device is this program's alone.
#[derive(Debug, Default)]
enum Claim {
    Held(File),
    /// A program of a cell has it, or nobody.
    #[default]
    LetGo,
    /// It could not be taken back, for this reason: whoever had it may have left something on it.
    Lost(String),
}

/// A device that is this run's.
#[derive(Debug)]
pub struct DeviceLock {
    identity: Identity,
    /// Its node, with links resolved: a link may lead elsewhere tomorrow.
    node: PathBuf,
    held: Mutex<Claim>,
    /// The whole disk, under an exclusive lock, and what else reaches its sectors, which no program of a cell wants for
    /// itself; none in the agent, whose run has them.
    _locks: Vec<File>,
}

impl DeviceLock {
    /// Takes over a device that was looked at and may be used.
    pub fn of(examined: Examined) -> Result<DeviceLock> {
        let (identity, path) = (examined.facts.identity, examined.facts.path);
        let Some(held) = examined.claim else {
            match examined.facts.opened {
                Opened::Denied => bail!("{path} cannot be opened: this user may not; run it as root"),
                _ => bail!("{path} cannot be held against other programs"),
            }
        };
        let node = std::fs::canonicalize(&path).with_context(|| format!("cannot look at {path}"))?;
        // A node under another name is as good: the lock is the device's.
        let mut locks = vec![(disk_of(&identity.name), locked(&identity.name, &node)?)];
        for (name, _) in &examined.also {
            let disk = disk_of(name);
            if locks.iter().all(|(known, _)| *known != disk) {
                locks.push((disk, locked(name, &claims::node(name))?));
            }
        }
        let locks = locks.into_iter().map(|(_, lock)| lock).chain(examined.also.into_iter().map(|(_, file)| file));
        Ok(DeviceLock { identity, node, held: Mutex::new(Claim::Held(held)), _locks: locks.collect() })
    }

    /// The same device, for the agent of a run that has it.
    pub fn in_agent(identity: Identity, node: &str) -> DeviceLock {
        DeviceLock { identity, node: node.into(), held: Mutex::default(), _locks: Vec::new() }
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn node(&self) -> &Path {
        &self.node
    }

    fn claim(&self) -> MutexGuard<'_, Claim> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a cell on it failed: the agent could not take it back either, and whoever had it may be gone meanwhile.
    pub fn hear(&self, reason: &str) {
        let taken = format!("{} {TAKEN}", self.identity.path);
        if reason.contains(&taken) {
            *self.claim() = Claim::Lost(taken);
        }
    }

    /// It, held against all others once who has it lets it go.
    fn taken(&self) -> Result<File> {
        let path = &self.identity.path;
        let begin = Instant::now();
        let file = loop {
            match exclusive(&self.node) {
                Ok(file) => break file,
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && begin.elapsed() < BUSY_LIMIT => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    bail!("{path} {TAKEN}; end that first")
                }
                Err(error) => {
                    self.check()?;
                    return Err(error).with_context(|| format!("{path} cannot be opened any more"));
                }
            }
        };
        self.check()?;
        self.is_of(&file)?;
        Ok(file)
    }

    /// An error if an open file is another device: a path may lead elsewhere between a look and an opening.
    fn is_of(&self, file: &File) -> Result<()> {
        let (path, number) = (&self.identity.path, mounts::as_number(file.metadata()?.rdev()));
        if number != self.identity.number {
            bail!("{path} leads to another device ({number}) than was looked at; that was not touched; start again");
        }
        Ok(())
    }

    /// It, open for writing: checked when it is open.
    fn opened(&self) -> Result<File> {
        let path = &self.identity.path;
        match &*self.claim() {
            Claim::Held(held) => self.is_of(held)?,
            _ => bail!("{path} is not held against other programs; it was not touched"),
        }
        let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&self.node);
        let file = opened.with_context(|| format!("{path} cannot be opened any more"))?;
        self.is_of(&file)?;
        self.check()?;
        Ok(file)
    }

    /// Empties it; what was on it is lost. Returns whether it was discarded, which is left out if it `keeps` what was
    /// written to all of it.
    pub fn empty(&self, keeps: bool) -> Result<bool> {
        let emptied = erase::empty(&self.opened()?, self.identity.size.0, keeps);
        emptied.with_context(|| format!("cannot empty {}", self.identity.path))
    }

    /// Takes away the mark of a disk for tests.
    pub fn unmark(&self) -> Result<()> {
        erase::unmark(&self.opened()?).with_context(|| format!("cannot write {}", self.identity.path))
    }

    /// Brings it into steady state; what was on it is lost. `tell` gets lines about how far it is.
    pub fn precondition(
        &self,
        how: Precondition,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Preconditioned> {
        precondition::precondition(&self.opened()?, &self.identity.path, self.identity.size.0, how, stop, tell)
    }

    /// What its drive says about itself.
    pub fn health(&self) -> Option<Health> {
        health::ask(&self.identity.name, &self.identity.model)
    }

    /// Bytes that it was told to forget since the machine was started.
    pub fn discarded(&self) -> u64 {
        relatives::discarded(&self.identity.name)
    }
}

fn disk_of(name: &str) -> String {
    relatives::whole(name).unwrap_or_else(|| name.to_owned())
}

/// The whole disk of a device, under an exclusive lock. `node`: the device's own, if the disk has none.
fn locked(name: &str, node: &Path) -> Result<File> {
    let disk = claims::node(&disk_of(name));
    let disk = if disk.exists() { disk } else { node.to_owned() };
    let lock = File::open(&disk).with_context(|| format!("cannot open {}", disk.display()))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => bail!(
            "{} is locked by another program (a run, one that makes partitions); end that first; nothing was changed",
            disk.display()
        ),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", disk.display())),
    }
}

/// The devices of one cell, of which its file system has several, or layers have them.
pub struct Together {
    pub locks: Vec<DeviceLock>,
    /// Whether layers are made of them. The kernel then holds them for these, and the flock alone between the two.
    pub is_stacked: bool,
}

impl Hold for Together {
    fn check(&self) -> Result<()> {
        self.locks.iter().try_for_each(DeviceLock::check)
    }

    fn let_go(&self) {
        self.locks.iter().for_each(DeviceLock::let_go);
    }

    fn take(&self) -> Result<()> {
        if self.is_stacked {
            return self.check();
        }
        self.locks.iter().try_for_each(DeviceLock::take)
    }
}

impl Hold for DeviceLock {
    fn check(&self) -> Result<()> {
        let path = &self.identity.path;
        let Some(name) = mounts::number(&self.node).and_then(|number| relatives::name_of(&number)) else {
            bail!("{path} is gone: it was unplugged or taken down; what is left of the run goes on without it");
        };
        match self.identity.difference(&identity(&self.node, &name)) {
            None => Ok(()),
            Some(difference) => bail!(
                "{path} is not the device that was looked at: {difference}; it was not touched; look at it and start again"
            ),
        }
    }

    fn let_go(&self) {
        let mut claim = self.claim();
        if matches!(*claim, Claim::Held(_)) {
            *claim = Claim::LetGo;
        }
    }

    fn take(&self) -> Result<()> {
        let mut claim = self.claim();
        match &*claim {
            Claim::Held(_) => return Ok(()),
            Claim::Lost(reason) => bail!("{reason}; so this run does not write to it any more"),
            Claim::LetGo => {}
        }
        match self.taken() {
            Ok(file) => *claim = Claim::Held(file),
            Err(error) => {
                *claim = Claim::Lost(format!("{error:#}"));
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_taken_back_is_not_taken_later() {
        let folder = tempfile::tempdir().unwrap();
        let node = folder.path().join("disk");
        let identity = Identity { path: "/dev/sdx".into(), number: "8:368".into(), ..Identity::default() };
        let lock = DeviceLock::in_agent(identity, &node.display().to_string());
        let text = |result: Result<()>| format!("{:#}", result.unwrap_err());
        assert!(text(lock.empty(false).map(drop)).contains("not held against other programs"));
        assert!(text(lock.take()).contains("/dev/sdx is gone"));
        // Whatever is there now.
        std::fs::write(&node, "mine").unwrap();
        for _ in 0..2 {
            let text = text(lock.take());
            assert!(text.contains("/dev/sdx is gone") && text.ends_with("does not write to it any more"), "{text}");
            lock.let_go();
        }
        for error in [lock.empty(false).map(drop), lock.unmark()] {
            assert!(text(error).contains("not held against other programs"));
        }
        assert_eq!(std::fs::read(&node).unwrap(), b"mine");
    }

    #[test]
    fn what_an_agent_could_not_take_back_is_lost_too() {
        let identity = Identity { path: "/dev/sdx".into(), ..Identity::default() };
        let lock = DeviceLock::in_agent(identity, "/dev/sdx");
        lock.hear("the command failed");
        lock.hear(&format!("/dev/sdxa {TAKEN}; end that first"));
        assert!(matches!(*lock.claim(), Claim::LetGo));
        lock.hear(&format!("between cells: /dev/sdx {TAKEN}; end that first"));
        let text = format!("{:#}", lock.take().unwrap_err());
        assert_eq!(text, format!("/dev/sdx {TAKEN}; so this run does not write to it any more"));
    }
}
