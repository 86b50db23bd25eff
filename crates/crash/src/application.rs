//! Applications: shell commands that work on a file system, of which each may be the last that returns, and a check that
//! says whether what a power cut left is sound.
//!
//! What an application writes does not say where it comes from, so the model of files and folders says nothing about it:
//! its own check does.

use std::fmt;

use mountmark_random::Stream;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// The least and the most seconds of a pause between steps: the kernel commits every 5 s or so, and writes back what is 30 s
/// old.
const SHORTEST: u32 = 5;
const LONGEST: u32 = 35;

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
    /// Packages of which all is there, with what they depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whole_packages: Vec<String>,
    /// How a command line said all this; `None` if a file does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Box<Said>>,
    /// The seed of the pauses between steps; `None` if each follows the one before at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<u64>,
}

/// A command line that is an application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Said {
    /// The first step.
    pub words: Vec<String>,
    /// Further ones.
    pub then: Vec<String>,
    /// How often all steps are run.
    pub times: u16,
    /// The user's own preparation.
    pub prepare: Option<String>,
    /// Files of the user's, as `--with` takes them.
    pub with: Vec<String>,
    /// Variables that steps, preparation and check see, each `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// These files in a tar, which guests have below [`Said::BROUGHT`], with the hash of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tar: Option<(String, String)>,
}

impl Said {
    /// Where guests have what a user brings, before it is copied to where steps run.
    pub const BROUGHT: &'static str = "/with";

    /// The start of a script, which sets the parameters; empty if there are none.
    pub fn exports(&self) -> String {
        if self.parameters.is_empty() { String::new() } else { format!("export {}\n", self.parameters.join(" ")) }
    }
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

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Status(status) => write!(f, "ends with {status}"),
            End::Signal(signal) => write!(f, "is killed by signal {signal}"),
            End::Limit(seconds) => write!(f, "has not ended after {seconds} s of the guest's clock"),
        }
    }
}

impl Application {
    /// Seconds that pass before the step with this number, counted from 0; none before the first.
    pub fn pause(&self, number: u16) -> Option<u32> {
        let seed = self.pauses.filter(|_| number > 0)?;
        let mut stream = Stream::numbered(seed, "pauses between steps", number.into());
        Some(SHORTEST + stream.below(u64::from(LONGEST - SHORTEST) + 1) as u32)
    }

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
    fn pauses_are_drawn_by_their_seed_alone() {
        let application = |pauses| Application { pauses, ..Application::default() };
        let of = |seed| -> Vec<u32> { (0..40).filter_map(|step| application(Some(seed)).pause(step)).collect() };
        assert_eq!((of(7).len(), of(7)), (39, of(7)), "there is none before the first step");
        assert_ne!(of(7), of(8));
        assert!(of(7).iter().all(|pause| (SHORTEST..=LONGEST).contains(pause)));
        assert!(of(7).iter().any(|pause| *pause > 30) && of(7).iter().any(|pause| *pause < 10));
        assert_eq!(application(None).pause(1), None);
    }
}
