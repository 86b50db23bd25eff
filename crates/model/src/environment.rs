//! The environment of a measured cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DriveHealth, Preconditioned};

/// Everything that may change a figure, stored with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of Mountmark.
    pub mountmark: String,
    /// SHA-256 of the program's own file; empty if an older version measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    /// SHA-256 of the program in the guest; empty in the host lab, and if an older version measured, whose guests ran `build`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guest: String,
    /// Release of the kernel that ran the file system, from `uname -r`.
    pub kernel: String,
    /// Build of that kernel, from `uname -v`; empty until it has run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel_build: String,
    /// Kernel of the machine that ran the lab.
    pub host_kernel: String,
    /// Processor of the machine that ran the lab.
    pub host_cpu: String,
    /// Version of the emulator; empty in the host lab.
    pub emulator: String,
    /// Versions of the packages that tools came from, by package.
    pub packages: BTreeMap<String, String>,
    /// SHA-256 of the guest image; empty in the host lab.
    pub image: String,
    /// SHA-256 of the guest's kernel; empty in the host lab, and if an older version of this program measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel_image: String,
    /// The key of the cell: a hash of all that determines its figures; empty under wall time, and if an older version measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Which host measured the cell, if this run did not; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// Description of the clock, as a sentence.
    pub clock: String,
    /// Under wall time, when and where it was measured; `None` under an exact clock, and if an older version measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitting: Option<Sitting>,
    /// How the cell's disk was brought into steady state; `None` if nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconditioned: Option<Preconditioned>,
    /// What the drive of the cell's disk said about itself; `None` if it is none that could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<DriveHealth>,
}

/// Where and when a cell was measured that a run took from a shelf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The name of the machine.
    pub host: String,
    /// When it had ended, in milliseconds since 1970, by that machine's clock.
    pub at: i64,
}

/// A stretch of a run under wall time: what one process measured in one go. Figures of two sittings differ by more than
/// what is compared, so they are blocks of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sitting {
    /// From 1, in the order of time.
    pub number: u32,
    /// The kernel's id of this boot.
    pub boot: String,
    /// A name of the machine that no other program uses; empty if the machine has none that outlives a boot.
    pub machine: String,
}

impl Environment {
    /// Sets the kernel's name from the agent's text: `uname -r`, a space, and `uname -v`, which may be missing.
    pub fn name_kernel(&mut self, said: &str) {
        let (release, build) = said.split_once(' ').unwrap_or((said, ""));
        self.kernel = release.to_owned();
        self.kernel_build = build.to_owned();
    }

    /// SHA-256 of the program whose instructions were measured: that of the guest, where there is one.
    pub fn measuring_program(&self) -> &str {
        if self.guest.is_empty() { &self.build } else { &self.guest }
    }

    /// Release and build of the kernel, for people.
    pub fn kernel_text(&self) -> String {
        format!("{} {}", self.kernel, self.kernel_build).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_a_release_and_a_build() {
        let mut environment = Environment::default();
        for (said, release, build) in [
            (
                "6.12.117+deb12-amd64 #1 SMP PREEMPT_DYNAMIC Debian",
                "6.12.117+deb12-amd64",
                "#1 SMP PREEMPT_DYNAMIC Debian",
            ),
            ("6.12.117+deb12-amd64", "6.12.117+deb12-amd64", ""),
            ("", "", ""),
        ] {
            environment.name_kernel(said);
            assert_eq!((environment.kernel.as_str(), environment.kernel_build.as_str()), (release, build));
            assert_eq!(environment.kernel_text(), said);
        }
    }
}
