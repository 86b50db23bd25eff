//! Which process works on a run, and whether it still does.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A process, named so that no later one is taken for it: pids come again, starts do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Process {
    /// Name of the machine.
    host: String,
    /// The kernel's id of this boot.
    boot: String,
    /// The pid namespace: pids mean nothing outside theirs.
    namespace: String,
    pid: u32,
    /// Clock ticks from boot to its start, field 22 of proc_pid_stat(5).
    start: String,
}

impl Process {
    /// This one.
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
        }
    }

    /// Whether it is certain that the process is gone, seen from process `now`. A process of another machine or
    /// of another container may well be alive: it is not gone.
    pub(crate) fn is_gone(&self, now: &Process) -> bool {
        if self.host != now.host || self.boot.is_empty() || now.boot.is_empty() {
            return false;
        }
        if self.boot != now.boot {
            return true;
        }
        self.namespace == now.namespace && start_of(self.pid).is_none_or(|start| start != self.start)
    }

    /// A process that ended before this one began, for tests.
    #[cfg(test)]
    pub(crate) fn dead() -> Process {
        Process { start: "1".into(), ..Process::this() }
    }
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The start of a living process; none when it is gone or a zombie.
fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The second field is the name in brackets and may hold spaces and brackets itself.
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
        assert!(!this.is_gone(&this));
        assert!(Process::dead().is_gone(&this));
        let before_boot = Process { boot: "another".into(), ..this.clone() };
        assert!(before_boot.is_gone(&this));
    }

    #[test]
    fn elsewhere_is_not_gone() {
        let this = Process::this();
        let elsewhere = Process { host: "elsewhere".into(), ..Process::dead() };
        assert!(!elsewhere.is_gone(&this));
        let contained = Process { namespace: "pid:[1]".into(), ..Process::dead() };
        assert!(!contained.is_gone(&this));
    }

    #[test]
    fn a_killed_child_is_gone_even_before_it_is_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let this = Process::this();
        let process = Process { pid: child.id(), start: start_of(child.id()).unwrap(), ..this.clone() };
        assert!(!process.is_gone(&this));
        child.kill().unwrap();
        // The zombie shows a moment after the signal.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !process.is_gone(&this) && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(process.is_gone(&this));
        child.wait().unwrap();
    }
}
