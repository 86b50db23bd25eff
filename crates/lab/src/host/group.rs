//! A limit on the memory of a cell: a control group that its programs, and the pages that they cache, are charged to.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst. Version 1 of control groups is not used: it ties no write-back to a group.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::mountinfo;
use mountmark_model::Bytes;
use serde::{Deserialize, Serialize};

use super::own;

/// The beginning of names of groups.
const NAME: &str = "mountmark-";
/// The least limit: this program and a shell take some MiB.
const LEAST: u64 = 16 << 20;
/// How long killed processes and the kernel may take to leave a group.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// A run's own group, for the journal: written before it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnGroup {
    pub path: PathBuf,
}

/// Why no cell can work within this limit, whatever the machine; `None` if one may.
pub fn too_little(limit: Bytes) -> Option<String> {
    let least = Bytes(LEAST);
    (limit < least).then(|| format!("--memory {limit}: programs need some memory of their own; give at least {least}"))
}

/// Refuses a limit that cannot be kept, or that would limit nothing.
///
/// # Errors
/// This machine has no cgroup v2 with a memory controller, or the limit is too small or too large.
pub fn check(limit: Bytes) -> Result<()> {
    let total = mountmark_job::machine::memory().unwrap_or(u64::MAX);
    if let Some(reason) = too_little(limit) {
        bail!(reason);
    }
    if limit.0 >= total {
        bail!("--memory {limit}: this machine has {}, so that would limit nothing; leave it away", Bytes(total));
    }
    root().map(drop)
}

/// The top of the control groups, below which groups with a limit can be made.
fn root() -> Result<PathBuf> {
    let mounts = mountinfo::of("self");
    let Some(root) = mounts.iter().find(|mount| mount.filesystem == "cgroup2").map(|mount| PathBuf::from(&mount.point))
    else {
        bail!(
            "--memory needs control groups of version 2, and none are mounted here: mount -t cgroup2 none /sys/fs/cgroup"
        );
    };
    let shown = root.display().to_string();
    let has = |file: &str| {
        let listed = fs::read_to_string(root.join(file)).unwrap_or_default();
        listed.split_whitespace().any(|name| name == "memory")
    };
    if !has("cgroup.controllers") {
        bail!(
            "--memory needs the memory controller of cgroup v2, and {shown} has none: version 1 has it on this machine; boot \
             with cgroup_no_v1=memory, or systemd.unified_cgroup_hierarchy=1"
        );
    }
    if !has("cgroup.subtree_control") {
        bail!(
            "--memory: {shown} gives groups below it no limit of memory; echo +memory > {shown}/cgroup.subtree_control"
        );
    }
    Ok(root)
}

/// What a limit holds and what it does not, in a sentence.
pub fn about(limit: Bytes) -> String {
    format!(
        "a cell's programs and the pages they cache have at most {limit} and no swap (cgroup v2); memory of kernel threads is \
         not limited"
    )
}

impl OwnGroup {
    /// A group for a cell, which no other run has; it is not made yet.
    pub fn new(cell: u32) -> Result<OwnGroup> {
        let name = format!("{NAME}{}-{cell}-{:x}", std::process::id(), own::wall_clock());
        Ok(OwnGroup { path: root()?.join(name) })
    }

    /// Makes it, with room for `limit`.
    pub fn make(&self, limit: Bytes) -> Result<()> {
        let set = |file: &str, text: &str| {
            let path = self.path.join(file);
            fs::write(&path, text).with_context(|| format!("cannot write {text} to {}", path.display()))
        };
        fs::create_dir(&self.path).with_context(|| format!("cannot make the control group {}", self.path.display()))?;
        set("memory.max", &limit.0.to_string())?;
        // A kernel without swap has no such file.
        if self.path.join("memory.swap.max").exists() {
            set("memory.swap.max", "0")?;
        }
        Ok(())
    }

    /// Moves this process into it; what it starts is born there.
    pub fn enter(&self) -> Result<()> {
        let path = self.path.join("cgroup.procs");
        fs::write(&path, "0").with_context(|| format!("cannot enter the control group {}", self.path.display()))
    }

    /// Number of processes that the kernel has killed as they would not fit.
    pub fn killed(&self) -> u64 {
        events(&fs::read_to_string(self.path.join("memory.events")).unwrap_or_default())
    }

    /// Removes it with the processes in it; false if it was not there.
    pub fn remove(&self) -> Result<bool> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        if self.path.exists() && !(name.starts_with(NAME) && self.path.join("cgroup.procs").exists()) {
            bail!("{} is no control group of a run; it was left as it is", self.path.display());
        }
        let begin = Instant::now();
        loop {
            match fs::remove_dir(&self.path) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) if error.kind() == ErrorKind::ResourceBusy && begin.elapsed() < LEAVE_LIMIT => {
                    let _ = fs::write(self.path.join("cgroup.kill"), "1");
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot remove the control group {}", self.path.display()));
                }
            }
        }
    }
}

/// The number of kills of memory.events.
fn events(text: &str) -> u64 {
    let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    kills.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_read_and_others_are_not() {
        assert_eq!(events("low 0\nhigh 0\nmax 512\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
        assert_eq!(events(""), 0);
    }

    #[test]
    fn a_folder_that_is_no_group_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let mine = OwnGroup { path: folder.path().join("mountmark-1-0-aa") };
        assert!(!mine.remove().unwrap());
        fs::create_dir(&mine.path).unwrap();
        assert!(mine.remove().unwrap_err().to_string().contains("left as it is"));
    }

    #[test]
    fn a_limit_beyond_this_machine_is_refused() {
        for (limit, word) in [(1 << 20, "at least"), (u64::MAX, "leave it away")] {
            let error = check(Bytes(limit)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
