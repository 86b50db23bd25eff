//! A kernel's configuration: reads the options it was built with, from all places where they are stored.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Limit of a configuration in bytes; Debian's has 280 KB.
const LONGEST: u64 = 8 << 20;
/// The mark before the packed configuration in an image, and in the module `configs` (kernel/configs.c).
const MARK: &[u8] = b"IKCFG_ST";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    BuiltIn,
    Module,
    No,
}

/// Options by name, without `CONFIG_`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    options: BTreeMap<String, Setting>,
    /// The version in the file's first lines; empty if there is none.
    version: String,
    /// Where it was read, for messages.
    pub from: String,
}

impl Config {
    /// The configuration that `CONFIG_IKCONFIG` embeds in a kernel's ELF image, or in a module.
    pub fn embedded(image: &[u8]) -> Option<Config> {
        // The mark's text may also occur elsewhere.
        memchr::memmem::find_iter(image, MARK).find_map(|at| {
            let mut text = Vec::new();
            let packed = flate2::read::GzDecoder::new(&image[at + MARK.len()..]);
            packed.take(LONGEST).read_to_end(&mut text).ok()?;
            Config::parse(&String::from_utf8_lossy(&text), "the image itself".into())
        })
    }

    pub fn read(path: &Path) -> Option<Config> {
        let data = fs::metadata(path).ok()?;
        if !data.is_file() || data.len() > LONGEST {
            return None;
        }
        Config::parse(&String::from_utf8_lossy(&fs::read(path).ok()?), path.display().to_string())
    }

    /// The first existing file in which builds and distributions store a configuration. If its name does not contain
    /// the release, its version must be the beginning of the release.
    pub fn beside(image: &Path, modules: Option<&Path>, release: &str) -> Option<Config> {
        let folder = super::layout::folder_of(image);
        let mut named = vec![folder.join(format!("config-{release}"))];
        // In a build tree auto.conf is what the last build used; .config may have been edited since.
        let tree = ["include/config/auto.conf", ".config"];
        let mut bare: Vec<PathBuf> = tree.iter().chain(&["config"]).map(|name| folder.join(name)).collect();
        bare.extend(tree.map(|name| folder.join("../../..").join(name)));
        if let Some(modules) = modules {
            let boot = format!("boot/config-{release}");
            // lib/modules/RELEASE and usr/lib/modules/RELEASE are below the folder that has boot/.
            named.extend(modules.ancestors().skip(3).take(2).map(|root| root.join(&boot)));
            bare.extend(["config", tree[0], tree[1], "build/.config"].map(|name| modules.join(name)));
        }
        let read = |paths: &[PathBuf]| paths.iter().filter_map(|path| Config::read(path)).collect::<Vec<_>>();
        let bare = read(&bare).into_iter().filter(|config| config.is_of(release));
        read(&named).into_iter().chain(bare).next()
    }

    fn is_of(&self, release: &str) -> bool {
        let rest = release.strip_prefix(&self.version);
        !self.version.is_empty() && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    }

    fn parse(text: &str, from: String) -> Option<Config> {
        let mut options = BTreeMap::new();
        for line in text.lines() {
            let (name, setting) = match line.strip_prefix("# CONFIG_") {
                Some(rest) => (rest.strip_suffix(" is not set"), Setting::No),
                None => match line.strip_prefix("CONFIG_").and_then(|line| line.split_once('=')) {
                    Some((name, "m")) => (Some(name), Setting::Module),
                    Some((name, "n")) => (Some(name), Setting::No),
                    // Numbers and strings count as set, too.
                    Some((name, _)) => (Some(name), Setting::BuiltIn),
                    None => continue,
                },
            };
            if let Some(name) = name {
                options.insert(name.to_owned(), setting);
            }
        }
        // `# Linux/x86 6.12.117 Kernel Configuration` is in the head of each file that the kernel's build writes.
        let head = text.lines().take(5).find(|line| line.ends_with(" Kernel Configuration"));
        let version = head.and_then(|line| line.split(' ').nth(2)).unwrap_or_default().to_owned();
        (!options.is_empty()).then_some(Config { options, version, from })
    }

    /// An option's setting. `None` if it is not mentioned: its conditions were not met, or this kernel version does not
    /// have it.
    pub fn get(&self, option: &str) -> Option<Setting> {
        self.options.get(option).copied()
    }

    /// Whether an option is off, or its conditions are not met.
    pub(crate) fn is_without(&self, option: &str) -> bool {
        matches!(self.get(option), None | Some(Setting::No))
    }

    /// Whether a module is built into the image; `None` if its option is unknown.
    pub(crate) fn has_builtin(&self, module: &str) -> Option<bool> {
        let option = match module {
            "nbd" => "BLK_DEV_NBD".to_owned(),
            "nd_e820" => "X86_PMEM_LEGACY".to_owned(),
            "nd_pmem" => "BLK_DEV_PMEM".to_owned(),
            "mq_deadline" => "MQ_IOSCHED_DEADLINE".to_owned(),
            // Such as XFS_FS: a file system's module has its name.
            name => format!("{}_FS", name.to_ascii_uppercase()),
        };
        Some(self.get(&option)? == Setting::BuiltIn)
    }
}
