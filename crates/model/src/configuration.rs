//! File systems as the catalogue defines them, and configurations: ways of making and mounting one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::promises::{Documented, Levels, Promises, SyncedLost};
use crate::{Bytes, Recovery, Stack, StackedLayer, TuningOption, Variant};

/// One file of `catalog/filesystems/`. Commands are argument lists; `{device}` stands for the block device, in mkfs as an
/// argument of its own for all devices of a variant that takes several,
/// `{options}` (an argument of its own) for the options of the configuration. In mkfs and in the lists of commands
/// `{devices}` (an argument of its own) stands for all devices, `{name}` for a name that nothing else in the guest has,
/// `{folder}` for where it is mounted, and `{below}` for the folder that it lies on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    /// The name in `--fs`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// The type given to mount(8).
    pub mount_type: String,
    /// Kernel modules to load before mounting, without their dependencies. A leading `?` marks a module that is loaded
    /// only if the kernel has it, such as character sets that are built in elsewhere. `crypto-NAME` stands for all
    /// implementations of a checksum, hash or cipher (`crypto-crc32c`), of which the kernel uses the one that suits the
    /// processor best.
    pub modules: Vec<String>,
    /// Debian packages with its tools.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The mkfs command.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Commands that follow mkfs as part of it, such as one that takes away what mkfs has mounted.
    // Omitted if empty, as all that follow: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_mkfs: Vec<Vec<String>>,
    /// Commands that must run before it is made or mounted, such as one that starts a server; part of no figure. Programs
    /// that they leave running stay until `detach`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attach: Vec<Vec<String>>,
    /// Commands that mount it, if mount(8) with its type and device does not. `{options}` (an argument of its own) is `-o`
    /// with the mount options, or nothing. Programs that they leave running stay until it is unmounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount: Vec<Vec<String>>,
    /// Commands that take away what `mount` mounted; umount(8) if there is no `mount`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmount: Vec<Vec<String>>,
    /// Commands that undo `attach`, when it is not mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detach: Vec<Vec<String>>,
    /// It lies on a folder of another file system: the name of the one that is made there if `--fs` names none behind `@`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// Arguments that keep mkfs from discarding the device; empty if it does not, or has none.
    // Configurations leave it out: a changed job text would change figures. What is used is among their options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodiscard: Vec<String>,
    /// Mount options that it requires.
    #[serde(default)]
    pub mount_options: Vec<String>,
    /// Further programs that its commands start.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The read-only check after unmounting; `None` if there is no such tool.
    #[serde(default)]
    pub fsck: Option<Fsck>,
    /// Why `fsck` is missing.
    #[serde(default)]
    pub no_fsck: Option<String>,
    /// The smallest device that mkfs accepts and that can be mounted.
    pub min_size: Bytes,
    /// On smaller devices it is slower for want of room alone; the catalogue says beside it how that was seen.
    // Omitted if absent: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roomy_size: Option<Bytes>,
    /// The largest device, if it has a relevant limit.
    #[serde(default)]
    pub max_size: Option<Bytes>,
    /// Why space of removed files is not freed while it is mounted, if so: a plan then counts everything that a suite
    /// writes.
    #[serde(default)]
    pub keeps_deleted: Option<String>,
    /// Whether file names may differ in case alone, and files may have modes and links; suites may require this.
    #[serde(default = "yes")]
    pub posix: bool,
    /// Maximum number of directories in one directory, if suites may exceed it.
    // Older stores and catalogues use the alias.
    #[serde(default, alias = "max_directory_links", skip_serializing_if = "Option::is_none")]
    pub max_subdirectories: Option<u64>,
    /// Maximum number of files and directories in one directory, if suites may exceed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_directory_entries: Option<u64>,
    /// Why it cannot run anywhere, as a sentence; it is then never tried.
    #[serde(default)]
    pub unavailable: Option<String>,
    /// Whether no distribution's kernel includes it: it needs a kernel from the user.
    // Omitted if false: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_kernel: bool,
    /// Options that its kernel must have been built with beyond its module, without `CONFIG_`, such as one to write it.
    // Omitted if empty: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_options: Vec<String>,
    /// The component of Debian's archive that has its packages; main if there is none.
    // Omitted if absent: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// The Debian package of a module's source, a `-dkms`, from which the lab builds the module for its guests' kernel, if no
    /// kernel has it: from the signed lists of Debian's own archive, of this machine's release with its backports, in
    /// `component`. Then `packages` are of the same lists. Only file systems of the catalogue may have one.
    // Omitted if absent: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module_source: Option<String>,
    /// What it promises of power cuts.
    // Omitted if absent: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<Documented>,
    /// What a power cut took of synced files, by kernel: `scripts/measure-safety` writes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synced_lost: Vec<SyncedLost>,
    /// What decides a choice and is no measurement, by topic.
    // Configurations leave it out, as runs have nothing of it.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
    /// Whether a distribution makes this one unless it is told otherwise: Debian's installer. A search takes it where nothing is
    /// better.
    // Configurations leave it out, as facts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usual: bool,
    /// Options that are worth trying, with what they risk.
    // Configurations leave it out, as facts.
    #[serde(default, rename = "option", skip_serializing_if = "Vec::is_empty")]
    pub tuning: Vec<TuningOption>,
    /// What it needs after a power cut; `None` if the catalogue does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Named variants of making or mounting it.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
}

fn yes() -> bool {
    true
}

/// A read-only check and the meaning of its exit codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fsck {
    /// The command, with `{device}`.
    pub command: Vec<String>,
    /// Exit codes that mean that no damage was found.
    pub clean: Vec<i32>,
    /// What it says when it could not look, beyond [`UNABLE_SAYS`]: exit codes do not tell that from damage, as a check that
    /// finds no file system ends as one that gets no device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unable_says: Vec<String>,
    /// Meaning of the other exit codes, by code.
    #[serde(default)]
    pub meaning: BTreeMap<String, String>,
}

/// What any check says that could not look: errno(3), and getopt(3).
const UNABLE_SAYS: [&str; 5] =
    ["Device or resource busy", "Permission denied", "Cannot allocate memory", "invalid option", "unrecognized option"];

impl Fsck {
    /// The line in which a check says that it could not look, if it does. `None` also for one that found nothing.
    pub fn inability<'s>(&self, code: Option<i32>, said: &'s str) -> Option<&'s str> {
        code.filter(|code| !self.clean.contains(code))?;
        let own = self.unable_says.iter().map(String::as_str);
        let words: Vec<&str> = own.chain(UNABLE_SAYS).collect();
        said.lines().find(|line| words.iter().any(|words| line.contains(words))).map(str::trim)
    }
}

/// A file system with its mkfs and mount options: the unit of comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// As the user wrote it: `ext3:data=journal`.
    pub name: String,
    pub filesystem: FileSystem,
    /// mkfs arguments in addition to the file system's own.
    pub mkfs_options: Vec<String>,
    /// All mount options, the file system's own first.
    pub mount_options: Vec<String>,
    /// What lies between it and its disks, the uppermost first.
    // Omitted if empty: a changed job text would change figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<StackedLayer>,
    /// How many disks mkfs gets, if several; it has no layers then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_disks: Option<u32>,
    /// The file system on whose folder it lies; layers and disks are that one's then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Box<Configuration>>,
}

impl Configuration {
    /// Its short name for people: [`crate::heading`].
    pub fn heading(&self) -> std::borrow::Cow<'_, str> {
        crate::heading(&self.name)
    }

    /// The one that is made on disks: itself, or the file system below.
    pub fn base(&self) -> &Configuration {
        self.below.as_deref().map_or(self, Configuration::base)
    }

    /// Its layers on these disks.
    pub fn stack(&self, disks: Vec<String>) -> Stack<'_> {
        Stack::new(&self.base().layers, disks)
    }

    /// Whether its commands name the second disk, which is then no part of an array.
    pub fn names_second_disk(&self) -> bool {
        let words = self.filesystem.mkfs.iter().chain(&self.mkfs_options);
        words.into_iter().any(|word| word.contains(Variant::SECOND))
    }

    /// How many disks it takes.
    pub fn disks(&self) -> u32 {
        let base = self.base();
        base.layers.last().map(|lowest| lowest.disks).or(base.own_disks).unwrap_or(1)
    }

    pub fn mkfs_command(&self, device: &str) -> Vec<String> {
        expand(&self.filesystem.mkfs, device, &self.mkfs_options)
    }

    /// The mount command; `-i` keeps mount(8) from calling a helper of the file system.
    pub fn mount_command(&self, device: &str, directory: &str) -> Vec<String> {
        let mut command = vec!["mount".into(), "-i".into(), "-t".into(), self.filesystem.mount_type.clone()];
        if !self.mount_options.is_empty() {
            command.extend(["-o".into(), self.mount_options.join(",")]);
        }
        command.extend([device.into(), directory.into()]);
        command
    }

    /// What it promises of power cuts, and why that is the least that any file system owes, if so.
    pub fn promises(&self) -> (Promises, Option<String>) {
        let (own, reason) = self.own_promises();
        // What lies on a folder keeps no more than the file system that has the folder.
        let Some((below, lacking)) = self.below.as_deref().map(Configuration::promises) else { return (own, reason) };
        (own.within(&below), reason.or(lacking))
    }

    fn own_promises(&self) -> (Promises, Option<String>) {
        if self.layers.iter().any(|layer| layer.gives_up) {
            return (Promises { levels: Levels::default(), ..Promises::least() }, None);
        }
        let Some(documented) = &self.filesystem.crash else {
            return (Promises::least(), Some(format!("the catalogue has no promises of {}", self.filesystem.name)));
        };
        match documented.with(self.words()) {
            Ok(promises) => (promises, None),
            Err(option) => (Promises::least(), Some(format!("what {option} does to its promises is not documented"))),
        }
    }

    /// What a power cut took of synced files on kernels of this release's series, as the catalogue knows; `None` where nobody
    /// measured it, or an option or another file system below may change it.
    pub fn synced_lost(&self, release: &str) -> Option<&SyncedLost> {
        let crash = self.filesystem.crash.as_ref();
        let is_harmless = |word: &str| crash.is_some_and(|documented| documented.is_harmless(word));
        let options: Vec<&str> = self.words().filter(|word| !is_harmless(word)).collect();
        let is_usual = self.below.as_deref().is_none_or(|below| Some(&below.name) == self.filesystem.below.as_ref());
        let is_it = |lost: &&SyncedLost| lost.is_of(release) && lost.option.as_deref().as_slice() == options;
        self.filesystem.synced_lost.iter().find(is_it).filter(|_| is_usual)
    }

    /// Single options beside the file system's own: words of mkfs arguments, and mount options. Where a part of it lies is
    /// none of them.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let own = &self.filesystem.mount_options;
        let mount = self.mount_options.iter().filter(|option| !own.contains(option));
        let words = self.mkfs_options.iter().filter(|argument| !is_flag(argument)).chain(mount);
        words.flat_map(|words| words.split(',')).filter(|word| !word.contains(Variant::SECOND))
    }

    /// The fsck command for `device`, if the file system has one.
    pub fn fsck_command(&self, device: &str) -> Option<Vec<String>> {
        self.filesystem.fsck.as_ref().map(|fsck| expand(&fsck.command, device, &[]))
    }

    /// The fsck command for an image of a power cut on `device`, if the file system has one.
    pub fn image_check_command(&self, device: &str) -> Option<Vec<String>> {
        match &self.filesystem.crash {
            Some(documented) if !documented.check.is_empty() => Some(expand(&documented.check, device, &[])),
            _ => self.fsck_command(device),
        }
    }

    /// What must run on `device` after a power cut before it is mounted, if anything must.
    pub fn before_mount_command(&self, device: &str) -> Option<Vec<String>> {
        let recovery = self.filesystem.recovery.as_ref()?;
        (!recovery.before_mount.is_empty()).then(|| expand(&recovery.before_mount, device, &[]))
    }

    /// The full check of `device` with repairs, if the file system has one.
    pub fn repair_command(&self, device: &str) -> Option<Vec<String>> {
        let recovery = self.filesystem.recovery.as_ref()?;
        (!recovery.repair.is_empty()).then(|| expand(&recovery.repair, device, &[]))
    }
}

/// Whether an argument of mkfs only says what the next one is, such as `-O`.
fn is_flag(argument: &str) -> bool {
    argument.len() == 2 && argument.starts_with('-')
}

pub(crate) fn expand(command: &[String], device: &str, options: &[String]) -> Vec<String> {
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
