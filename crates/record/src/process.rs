//! Identifies the process that works on a run, and checks whether it is alive.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A process, identified uniquely: pids are reused, start times are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Process {
    host: String,
    /// The kernel's id of this boot.
    boot: String,
    /// The pid namespace, in which the pid is valid.
    namespace: String,
    pid: u32,
    /// Clock ticks from boot to its start, field 22 of proc_pid_stat(5).
    start: String,
    /// Whether it holds the lock on its run while it lives; older programs did not.
    has_lock: bool,
}

impl Process {
    /// The current process.
    pub(crate) fn this() -> Process {
        let pid = std::process::id();
        Process {
            host: line("/proc/sys/kernel/hostname"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            namespace: fs::read_link("/proc/self/ns/pid")
                .map(|link| link.to_string_lossy().into_owned())
                .unwrap_or_default(),
            pid,
            start: start_of(pid).unwrap_or_default(),
            has_lock: false,
        }
    }

    /// The same process, with or without the lock on its run.
    pub(crate) fn with_lock(self, has_lock: bool) -> Process {
        Process { has_lock, ..self }
    }

    /// Whether the process is certainly gone, seen from process `now`. `is_locked`: whether some process holds the lock
    /// on its run, if known. A process of another machine may be alive, so it is not gone.
    pub(crate) fn is_gone(&self, now: &Process, is_locked: Option<bool>) -> bool {
        if is_locked == Some(true) || self.boot.is_empty() || now.boot.is_empty() {
            return false;
        }
        if self.boot != now.boot {
            // This machine has been rebooted since, or it is another one.
            return self.host == now.host;
        }
        if self.namespace == now.namespace {
            return start_of(self.pid).is_none_or(|start| start != self.start);
        }
        // In another container of this machine.
        self.has_lock && is_locked == Some(false)
    }

    /// Whether both are the same process. A machine's name may change while it runs.
    pub(crate) fn is_same(&self, other: &Process) -> bool {
        let identity = |process: &Process| (process.boot.clone(), process.namespace.clone(), process.start.clone());
        self.pid == other.pid && identity(self) == identity(other)
    }

    /// Describes it, as seen from process `now`.
    pub(crate) fn about(&self, now: &Process) -> String {
        if self.boot != now.boot {
            format!("process {} of the machine {}", self.pid, self.host)
        } else if self.namespace != now.namespace {
            "a process in another container".into()
        } else {
            format!("process {}", self.pid)
        }
    }

    /// A process that ended before this one began, for tests.
    #[cfg(test)]
    pub(crate) fn dead() -> Process {
        Process { start: "1".into(), ..Process::this() }
    }

    /// A process of another machine.
    #[cfg(test)]
    pub(crate) fn elsewhere() -> Process {
        Process { host: "far-away".into(), boot: "another".into(), ..Process::this() }
    }

    /// A process in another container of this machine.
    #[cfg(test)]
    pub(crate) fn contained() -> Process {
        Process { host: "contained".into(), namespace: "pid:[1]".into(), ..Process::dead() }
    }
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The start time of a living process; `None` if it is gone or a zombie.
fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The second field is the name in parentheses and may contain spaces and parentheses.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_others_do_not() {
        let this = Process::this();
        assert!(!this.is_gone(&this, None));
        assert!(Process::dead().is_gone(&this, None));
        let before_boot = Process { boot: "another".into(), ..this.clone() };
        assert!(before_boot.is_gone(&this, None));
    }

    #[test]
    fn a_process_stays_itself_when_its_machine_gets_another_name() {
        let this = Process::this();
        let renamed = Process { host: "renamed".into(), ..Process::this() }.with_lock(true);
        assert!(renamed.is_same(&this) && !renamed.is_gone(&this, None));
        assert!(!Process::dead().is_same(&this) && !Process::contained().is_same(&this));
    }

    #[test]
    fn elsewhere_is_not_gone() {
        let this = Process::this();
        let elsewhere = Process::elsewhere();
        for is_locked in [None, Some(false), Some(true)] {
            assert!(!elsewhere.is_gone(&this, is_locked));
        }
        let contained = Process::contained();
        for is_locked in [None, Some(false), Some(true)] {
            assert!(!contained.is_gone(&this, is_locked), "it never had a lock");
        }
    }

    #[test]
    fn a_lock_tells_of_other_containers() {
        let this = Process::this();
        let contained = Process { has_lock: true, ..Process::contained() };
        assert!(contained.is_gone(&this, Some(false)));
        assert!(!contained.is_gone(&this, Some(true)));
        assert!(!contained.is_gone(&this, None), "the lock cannot be seen");
        // The pid is more reliable than a lock: the lock file may have been left behind when the store moved.
        let here = Process { has_lock: true, ..Process::this() };
        assert!(!here.is_gone(&this, Some(false)));
    }

    #[test]
    fn a_killed_child_is_gone_even_before_it_is_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let this = Process::this();
        let process = Process { pid: child.id(), start: start_of(child.id()).unwrap(), ..this.clone() };
        assert!(!process.is_gone(&this, None));
        child.kill().unwrap();
        // The zombie appears shortly after the signal.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !process.is_gone(&this, None) && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(process.is_gone(&this, None));
        child.wait().unwrap();
    }
}
