//! Where and with what a cell was measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that may change a figure, kept beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// This program's version.
    pub mountmark: String,
    /// Kernel release and version that ran the file system.
    pub kernel: String,
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
    /// SHA-256 of the guest's kernel; empty in the host lab, and where an older version of this program measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel_image: String,
    /// What the clock is, in a sentence.
    pub clock: String,
}
