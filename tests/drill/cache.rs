//! The drill's own cache: what it shares with the user's, and how entries are removed from it.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::chance::Chance;
use super::field::Field;
use super::moment::Phase;

/// Needed by every guest of the drill beyond the base, and fetched again; small.
pub const PACKAGE: &str = "diffutils";
/// Parts of a cache that can be shared with another one, and whether they must be copied.
const PARTS: [(&str, bool); 6] = [
    ("apt", true),
    ("closures", true),
    ("kernels", false),
    ("packages", false),
    ("images", false),
    ("snapshots", false),
];
/// Parts that a kill may corrupt, with the last file written in an entry.
const MADE: [(&str, &str); 2] = [("images", "image.json"), ("snapshots", "snapshot.json")];

impl Field {
    /// Shares the entries of the user's cache that are missing here.
    pub fn share_users_cache(&self) {
        for (part, is_copied) in PARTS {
            share(&mountmark_lab::cache::default_folder().join(part), &self.cache().join(part), is_copied);
        }
    }

    /// Removes everything not used since then: the user's cache has entries of other builds and plans, too.
    pub fn keep_used_since(&self, begin: SystemTime) {
        for (part, last) in MADE {
            let made = self.cache().join(part);
            for entry in entries(&made).into_iter().map(|entry| made.join(entry)) {
                let used = fs::metadata(entry.join(last)).and_then(|data| data.modified());
                if !used.is_ok_and(|used| used >= begin) {
                    let _ = fs::remove_dir_all(entry);
                }
            }
        }
    }

    /// Removes entries so that a program will reach `phase`.
    pub fn arrange(&self, phase: Phase, chance: &mut Chance) {
        match phase {
            Phase::Fetch | Phase::Unpack => self.forget_package(),
            Phase::Image | Phase::Boot => {
                let (part, _) = MADE[usize::from(phase == Phase::Boot)];
                let folder = self.cache().join(part);
                let all = entries(&folder);
                if !all.is_empty() {
                    let name = &all[chance.below(all.len() as u64) as usize];
                    let aside = self.path("warm").join(part);
                    let _ = fs::create_dir_all(&aside);
                    let _ = fs::remove_dir_all(aside.join(name));
                    let _ = fs::rename(folder.join(name), aside.join(name));
                    // Created again when a process starts to make the entry.
                    let _ = fs::remove_file(folder.join(name).with_extension("lock"));
                }
            }
            _ => {}
        }
    }

    /// Restores removed entries, unless they were made anew. Entries are moved, not copied or linked: their recorded
    /// file times must stay valid.
    pub fn refill(&self) {
        for (part, last) in MADE {
            for name in entries(&self.path("warm").join(part)) {
                let (aside, there) = (self.path("warm").join(part).join(&name), self.cache().join(part).join(&name));
                if !there.join(last).exists() {
                    let _ = fs::remove_dir_all(&there);
                    let _ = fs::rename(&aside, &there);
                }
            }
        }
    }

    /// Removes a package, so that it must be fetched.
    pub fn forget_package(&self) {
        let closures = self.cache().join("closures");
        for name in fs::read_dir(&closures).into_iter().flatten().flatten() {
            if fs::read_to_string(name.path()).is_ok_and(|text| text.contains(&format!("{PACKAGE}_"))) {
                let _ = fs::remove_file(name.path());
            }
        }
        let packages = self.cache().join("packages");
        for name in entries(&packages).into_iter().filter(|name| name.starts_with(PACKAGE)) {
            let _ = fs::remove_dir_all(packages.join(name));
        }
    }
}

/// The folders in a folder, sorted.
pub fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Shares a folder of the user's cache by links to its entries, or by copies. Skips locks, unfinished entries and
/// existing ones.
fn share(from: &Path, to: &Path, is_copied: bool) {
    let is_shared = |name: &str| !name.ends_with(".lock") && !name.starts_with(".tmp") && !name.starts_with(".partial");
    let _ = fs::create_dir_all(to);
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if !is_shared(&name.to_string_lossy()) || to.join(&name).exists() {
            continue;
        }
        if !is_copied {
            let _ = std::os::unix::fs::symlink(&path, to.join(&name));
        } else if path.is_dir() {
            share(&path, &to.join(&name), is_copied);
        } else {
            let _ = fs::copy(&path, to.join(&name));
        }
    }
}
