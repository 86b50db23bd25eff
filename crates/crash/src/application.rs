//! Applications: shell commands that work on a file system, of which each may be the last that returns, and a check that
//! says whether what a power cut left is sound.
//!
//! What an application writes does not say where it comes from, so the model of files and folders says nothing about it:
//! its own check does.

use serde::{Deserialize, Serialize};

use crate::campaign::{Fault, Seen};
use crate::oracle::{Moment, unreadable};

/// What runs instead of a workload's operations. Commands run under `sh -c` in the root of the file system under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Application {
    /// Debian packages with its programs, and the programs.
    pub packages: Vec<String>,
    pub tools: Vec<String>,
    /// Runs before the first step; a sync follows it.
    pub prepare: Option<String>,
    /// In their order. Once a step has returned, what it said to be done must be durable, if `durable` says so.
    pub steps: Vec<String>,
    /// Runs in the mounted image; its exit status is 0 if the image is sound.
    pub check: String,
    pub durable: bool,
    /// Most seconds of the guest's clock that the check may take.
    pub limit: u32,
}

/// The check of one application in images of one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub check: String,
    /// Steps that had begun, and steps that the check may count on.
    pub begun: u16,
    pub returned: u16,
    pub limit: u32,
}

/// What an application's check said of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub end: End,
    /// The end of what it said; empty if the image is sound.
    pub said: String,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Status(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It was ended after so many seconds of the guest's clock.
    Limit(u32),
}

impl Application {
    /// The step with this number, in a line.
    pub fn step(&self, number: u16) -> String {
        let lines = self.steps.get(usize::from(number)).map(|step| step.trim().lines().map(str::trim));
        lines.into_iter().flatten().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The check in images of this moment.
    pub fn asked(&self, moment: Moment) -> Asked {
        let returned = if self.durable { moment.returned } else { 0 };
        Asked { check: self.check.clone(), begun: moment.begun, returned, limit: self.limit }
    }

    /// What is wrong with an image that could be mounted, beyond what the file system's own check says.
    pub fn judge(seen: &Seen) -> Vec<Fault> {
        let files = seen.tree.iter().flat_map(unreadable).map(Fault::Broken);
        let own = seen.application.iter().filter(|verdict| verdict.end != End::Status(0));
        files.chain(own.cloned().map(Fault::Application)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_counts_on_what_is_promised() {
        let moment = Moment { begun: 3, returned: 2 };
        let strict = Application { check: "true".into(), durable: true, limit: 5, ..Application::default() };
        assert_eq!(strict.asked(moment), Asked { check: "true".into(), begun: 3, returned: 2, limit: 5 });
        let lax = Application { durable: false, ..strict };
        assert_eq!(lax.asked(moment).returned, 0);
    }

    #[test]
    fn only_status_0_is_sound() {
        let faults = |end| {
            let verdict = Verdict { end, said: "no".into() };
            Application::judge(&Seen { application: Some(verdict), ..Seen::default() }).len()
        };
        assert_eq!([End::Status(0), End::Status(1), End::Signal(11), End::Limit(5)].map(faults), [0, 1, 1, 1]);
        assert_eq!(Application::judge(&Seen::default()), []);
    }
}
