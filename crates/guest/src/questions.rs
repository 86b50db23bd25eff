//! What the host asks a witness, and the lines of its answers.

use mountmark_crash::application::{Application, Asked, Verdict};
use mountmark_crash::states::{Device, Extent};
use mountmark_crash::trace::{Policy, Trace};
use mountmark_crash::tree::Tree;
use mountmark_crash::workload::Workload;
use serde::{Deserialize, Serialize};

/// A question; its answer is one line, or one for each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Make the file system; its image is the base of all that follows.
    Make,
    /// Run steps of an application on the base and ask its check of what they leave when nothing is lost.
    Rehearse { application: Application, steps: u16, asked: Asked },
    /// Run a workload on the base, and say what the disk saw.
    Record {
        workload: Workload,
        policy: Policy,
        /// Seconds that pass after the last operation, for what the kernel writes by itself.
        idle: u32,
        /// The disk, which may end a request with an error.
        device: Device,
    },
    /// Look at images, each given by its difference from the base. Each line of the answer is a
    /// [`mountmark_crash::campaign::Seen`].
    Look {
        states: Vec<Vec<Extent>>,
        /// The check of the application that ran.
        asked: Option<Asked>,
        /// The disk that is gone, counted from 0.
        gone: Option<u32>,
    },
    /// Let the file system recover an image, without the disk that is gone if the device has one that is, and say what the
    /// disks saw: [`Recorded`] without results. The data come after those of the last recording.
    Recover { state: Vec<Extent>, policy: Policy, device: Device },
}

/// The answer to [`Question::Make`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Why it failed.
    pub error: Option<String>,
}

/// The answer to [`Question::Rehearse`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rehearsed {
    pub verdict: Result<Verdict, String>,
}

/// The answer to [`Question::Record`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Events; the data are in the log.
    pub trace: Trace,
    /// Result of each operation: 0 or an errno. Of an application there are none.
    pub results: Vec<i32>,
    /// What programs saw after the last operation.
    pub live: Tree,
    /// Why there is no recording.
    pub error: Option<String>,
}
