//! Commands with which a file system is made, mounted and taken away: its own ones, or those that all others have.

use std::collections::BTreeMap;
use std::path::Path;

use crate::layer::on_devices;
use crate::{Configuration, FileSystem};

/// Where a file system is made and mounted: what its commands get for their words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// None on a folder.
    pub devices: Vec<String>,
    /// Its mount point.
    pub folder: String,
    /// The folder that it lies on; empty on devices.
    pub below: String,
    /// No other file system of the guest has it.
    pub name: &'static str,
}

impl Site {
    /// On devices.
    pub fn on(devices: Vec<String>, folder: &Path) -> Site {
        Site { devices, folder: folder.display().to_string(), below: String::new(), name: "test" }
    }

    /// The first device, which is the only one of most; empty on a folder.
    pub fn device(&self) -> &str {
        self.devices.first().map_or("", String::as_str)
    }

    fn fill(&self, command: &[String], options: &str) -> Vec<String> {
        let words = [("name", self.name), ("folder", &self.folder), ("below", &self.below), ("options", options)];
        let words: BTreeMap<String, String> =
            words.iter().map(|(word, text)| (format!("{{{word}}}"), (*text).to_owned())).collect();
        on_devices(command, &self.devices, words)
    }
}

impl FileSystem {
    /// Words of its lists of commands, without their braces.
    pub const WORDS: [&str; 6] = ["device", "devices", "name", "folder", "below", "options"];

    /// Its lists of commands, by field.
    pub fn own_commands(&self) -> [(&'static str, &[Vec<String>]); 5] {
        [
            ("after_mkfs", &self.after_mkfs),
            ("attach", &self.attach),
            ("mount", &self.mount),
            ("unmount", &self.unmount),
            ("detach", &self.detach),
        ]
    }

    /// Whether it has commands of its own beside mkfs and checks.
    pub fn has_own_commands(&self) -> bool {
        self.own_commands().iter().any(|(_, commands)| !commands.is_empty())
    }
}

impl Configuration {
    /// Commands that make it.
    pub fn make(&self, site: &Site) -> Vec<Vec<String>> {
        let filesystem = &self.filesystem;
        let mut mkfs = Vec::new();
        for word in &filesystem.mkfs {
            match word.as_str() {
                "{options}" => mkfs.extend(self.mkfs_options.iter().cloned()),
                "{device}" if self.names_second_disk() => mkfs.push(site.device().to_owned()),
                // Of its own array all.
                "{device}" => mkfs.extend(site.devices.iter().cloned()),
                _ => mkfs.extend(site.fill(std::slice::from_ref(word), "")),
            }
        }
        let after = filesystem.after_mkfs.iter().map(|command| site.fill(command, ""));
        std::iter::once(mkfs).chain(after).collect()
    }

    /// Commands after which it can be made and mounted.
    pub fn attach(&self, site: &Site) -> Vec<Vec<String>> {
        self.filesystem.attach.iter().map(|command| site.fill(command, "")).collect()
    }

    /// Commands that mount it.
    pub fn mount(&self, site: &Site) -> Vec<Vec<String>> {
        if self.filesystem.mount.is_empty() {
            return vec![self.mount_command(site.device(), &site.folder)];
        }
        let options = self.mount_options.join(",");
        let options = if options.is_empty() { options } else { format!("-o {options}") };
        self.filesystem.mount.iter().map(|command| site.fill(command, &options)).collect()
    }

    /// Commands that unmount it.
    pub fn unmount(&self, site: &Site) -> Vec<Vec<String>> {
        if self.filesystem.unmount.is_empty() {
            return vec![vec!["umount".to_owned(), site.folder.clone()]];
        }
        self.filesystem.unmount.iter().map(|command| site.fill(command, "")).collect()
    }

    /// Commands that undo [`Configuration::attach`].
    pub fn detach(&self, site: &Site) -> Vec<Vec<String>> {
        self.filesystem.detach.iter().map(|command| site.fill(command, "")).collect()
    }
}
