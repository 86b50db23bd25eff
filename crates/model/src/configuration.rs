//! A file system as the catalogue defines it, and one way of making and mounting it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// One file of `catalog/filesystems/`. Commands are argument lists; `{device}` stands for the block device,
/// `{options}` (an argument of its own) for the options of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    /// The name in `--fs`, the file's own name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// The type given to mount(8).
    pub mount_type: String,
    /// Kernel modules that must load before it can be mounted, without their dependencies; `?` before one that is
    /// loaded where the kernel has it: character sets that are modules in some kernels only. `crypto-NAME` stands for
    /// all implementations of a checksum, hash or cipher (`crypto-crc32c`), of which the kernel uses the one that suits
    /// the processor best.
    pub modules: Vec<String>,
    /// Debian packages that hold its tools.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The command that makes it.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options that it cannot do without.
    #[serde(default)]
    pub mount_options: Vec<String>,
    /// Further programs that its commands start.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The read-only check after unmounting; none where no such tool exists.
    #[serde(default)]
    pub fsck: Option<Fsck>,
    /// Why `fsck` is missing.
    #[serde(default)]
    pub no_fsck: Option<String>,
    /// The smallest device that mkfs accepts and that can be mounted.
    pub min_size: Bytes,
    /// The largest device, where it has one worth knowing.
    #[serde(default)]
    pub max_size: Option<Bytes>,
    /// Why the room of removed files is not given back while it is mounted here, where that is so: a plan then
    /// counts everything that a suite writes.
    #[serde(default)]
    pub keeps_deleted: Option<String>,
    /// Whether file names may differ in case alone, files may have modes and links: what a suite may ask for.
    #[serde(default = "yes")]
    pub posix: bool,
    /// The most directories one directory may hold, where that is less than suites may ask for.
    // Stores and catalogues have it by its older name too.
    #[serde(default, alias = "max_directory_links", skip_serializing_if = "Option::is_none")]
    pub max_subdirectories: Option<u64>,
    /// The most files and directories one directory may hold, where that is less than suites may ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_directory_entries: Option<u64>,
    /// Why it cannot run anywhere, in a sentence; then nothing else is tried.
    #[serde(default)]
    pub unavailable: Option<String>,
    /// Whether no distribution's kernel has it: it runs where the user gives a kernel that has.
    // Not written where it is false: a job of other text would take other figures to read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_kernel: bool,
    /// Named ways of making or mounting it.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
}

fn yes() -> bool {
    true
}

/// A read-only check and what its exit codes say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fsck {
    /// The command.
    pub command: Vec<String>,
    /// Exit codes that mean "nothing wrong was found".
    pub clean: Vec<i32>,
    /// What the other exit codes mean, by code.
    #[serde(default)]
    pub meaning: BTreeMap<String, String>,
}

/// Options that a name such as `data=journal` stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// One line for lists.
    pub about: String,
    /// Further arguments of mkfs.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Further mount options.
    #[serde(default)]
    pub mount: Vec<String>,
}

/// A file system with its mkfs and mount options: what is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// As the user wrote it: `ext3:data=journal`.
    pub name: String,
    /// The file system.
    pub filesystem: FileSystem,
    /// Arguments for mkfs beyond the file system's own.
    pub mkfs_options: Vec<String>,
    /// All mount options, the file system's own first.
    pub mount_options: Vec<String>,
}

impl Configuration {
    /// The mkfs command for `device`.
    pub fn mkfs_command(&self, device: &str) -> Vec<String> {
        expand(&self.filesystem.mkfs, device, &self.mkfs_options)
    }

    /// The mount command; `-i` keeps mount(8) from handing over to a helper of the file system.
    pub fn mount_command(&self, device: &str, directory: &str) -> Vec<String> {
        let mut command = vec!["mount".into(), "-i".into(), "-t".into(), self.filesystem.mount_type.clone()];
        if !self.mount_options.is_empty() {
            command.extend(["-o".into(), self.mount_options.join(",")]);
        }
        command.extend([device.into(), directory.into()]);
        command
    }

    /// The fsck command for `device`, where the file system has one.
    pub fn fsck_command(&self, device: &str) -> Option<Vec<String>> {
        self.filesystem.fsck.as_ref().map(|fsck| expand(&fsck.command, device, &[]))
    }
}

fn expand(command: &[String], device: &str, options: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for argument in command {
        if argument == "{options}" {
            out.extend(options.iter().cloned());
        } else {
            out.push(argument.replace("{device}", device));
        }
    }
    out
}
