//! Settings of the kernel, of disks and of mounts, on which figures and findings depend. A command finds them read-only; those
//! that it can change all the same, by a mount of its own or by ioctl(2), are read before and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mountmark_lab::mountinfo;

/// Types of file systems that hold settings.
const KINDS: [&str; 16] = [
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "efivarfs",
    "fusectl",
    "nfsd",
    "proc",
    "pstore",
    "resctrl",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];
/// Where a command finds its own processes. Its settings are protected one by one.
const PROC: &str = "/proc";

/// Folders whose files are settings of the kernel's.
const KERNEL: [&str; 11] = [
    "/proc/sys/vm",
    "/proc/sys/kernel",
    "/proc/sys/fs",
    "/proc/sys/fs/xfs",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/transparent_hugepage/khugepaged",
    "/sys/kernel/mm/ksm",
    "/sys/kernel/mm/lru_gen",
    "/sys/kernel/mm/swap",
    "/sys/module/nbd/parameters",
    "/sys/module/zswap/parameters",
];
/// Files among those folders' that the kernel writes itself, or does something when they are read.
const NO_SETTINGS: [&str; 14] = [
    "cad_pid",
    "drop_caches",
    "hung_task_warnings",
    "max_bytes",
    "min_bytes",
    "msg_next_id",
    "ns_last_pid",
    "perf_cpu_time_max_percent",
    "perf_event_max_sample_rate",
    "sem_next_id",
    "shm_next_id",
    "stat_refresh",
    "stats_clear",
    "tainted",
];
/// Words among a mount's options that say what became of it, and that nobody can set.
const FATES: [&str; 2] = ["emergency_ro", "shutdown"];
/// How many changes a sentence names.
const NAMED: usize = 3;

/// Mount points of the file systems that hold settings.
pub fn mount_points() -> Vec<String> {
    let mounts = mountinfo::of("self").into_iter();
    mounts.filter(|mount| mount.point != PROC && KINDS.contains(&&*mount.filesystem)).map(|mount| mount.point).collect()
}

/// Settings at one time, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

/// Which mounts' options are settings.
pub enum Mounts {
    All,
    At(Vec<PathBuf>),
}

impl Settings {
    /// The settings of the kernel, of `disks` (paths or names of devices, which need not exist) and of mounts, now.
    pub fn read(disks: &[&str], mounts: &Mounts) -> Settings {
        let mut settings = Settings::default();
        for folder in KERNEL {
            settings.folder(Path::new(folder), 0);
        }
        settings.swaps();
        let mut seen = BTreeSet::new();
        for disk in disks.iter().filter(|disk| !disk.is_empty()) {
            let path = Path::new("/dev").join(disk);
            settings.disk(&path.canonicalize().unwrap_or(path), &mut seen);
        }
        settings.mounts(mounts);
        settings
    }

    /// The options of mounts alone.
    pub fn of_mounts(mounts: &Mounts) -> Settings {
        let mut settings = Settings::default();
        settings.mounts(mounts);
        settings
    }

    fn mounts(&mut self, mounts: &Mounts) {
        for mount in mountinfo::of("self") {
            let is_asked = match mounts {
                Mounts::All => true,
                Mounts::At(points) => points.iter().any(|point| point == Path::new(&mount.point)),
            };
            if is_asked {
                // mountinfo leaves out what an ext4 stores as its own defaults.
                let name = Path::new(&mount.source).file_name().unwrap_or_default();
                let full =
                    fs::read_to_string(Path::new("/proc/fs/ext4").join(name).join("options")).unwrap_or_default();
                let options = [&*mount.options, &*mount.own_options].into_iter().flat_map(|list| list.split(','));
                let options: Vec<_> = options.chain(full.lines()).filter(|option| !FATES.contains(option)).collect();
                self.0.insert(format!("the mount option at {}", mount.point), options.join(","));
            }
        }
    }

    /// A disk's and those of the disks below it.
    fn disk(&mut self, path: &Path, seen: &mut BTreeSet<PathBuf>) {
        let Some(name) = path.file_name() else { return };
        // Of a partition the disk has them.
        let Ok(own) = Path::new("/sys/class/block").join(name).canonicalize() else { return };
        if !seen.insert(own.clone()) {
            return;
        }
        let whole = if own.join("queue").exists() { &own } else { own.parent().unwrap_or(&own) };
        for file in ["ro", "size"] {
            self.file(&own.join(file));
        }
        self.folder(&whole.join("queue"), 1);
        self.folder(&whole.join("bdi"), 0);
        for file in ["autoclear", "backing_file", "dio", "offset", "sizelimit"] {
            self.file(&own.join("loop").join(file));
        }
        for below in fs::read_dir(whole.join("slaves")).into_iter().flatten().flatten() {
            self.disk(&below.path(), seen);
        }
    }

    /// Swap without what is used of it.
    fn swaps(&mut self) {
        let listed = fs::read_to_string("/proc/swaps").unwrap_or_default();
        let line = |line: &str| {
            let words: Vec<_> = line.split_whitespace().collect();
            [&words[..words.len().min(3)], &words[words.len().min(4)..]].concat().join(" ")
        };
        self.0.insert("swap".into(), listed.lines().skip(1).map(line).collect::<Vec<_>>().join("; "));
    }

    /// The files of a folder that can be both read and written.
    fn folder(&mut self, folder: &Path, depth: u32) {
        let is_setting =
            |data: &Metadata| data.permissions().mode() & 0o222 != 0 && data.permissions().mode() & 0o444 != 0;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() && depth > 0 {
                self.folder(&entry.path(), depth - 1);
            } else if data.is_file() && is_setting(&data) && !NO_SETTINGS.iter().any(|name| entry.file_name() == *name)
            {
                self.file(&entry.path());
            }
        }
    }

    fn file(&mut self, path: &Path) {
        if let Ok(text) = fs::read_to_string(path) {
            self.0.insert(path.display().to_string(), text.trim().to_owned());
        }
    }

    /// What is not as it was at `before`, as a sentence without its full stop. What was not there at both times is left out.
    pub fn since(&self, before: &Settings) -> Option<String> {
        let then = |(name, now): (&String, &String)| {
            let then = before.0.get(name).filter(|then| *then != now)?;
            let [then, now] = [apart(then, now), apart(now, then)];
            let [then, now] =
                [then, now].map(|value| if value.is_empty() { "nothing".into() } else { format!("`{value}`") });
            Some(format!("{name} was {then} and is {now}"))
        };
        let changed: Vec<_> = self.0.iter().filter_map(then).collect();
        let more = changed.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("{more} more changed"));
        let told: Vec<_> = changed.into_iter().take(NAMED).chain(more).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// What a list has that another lacks; of what is no list, all.
fn apart(one: &str, other: &str) -> String {
    if !one.contains(',') || !other.contains(',') {
        return one.to_owned();
    }
    let lacks = |word: &&str| !other.split(',').any(|found| found == *word);
    one.split(',').filter(lacks).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Settings {
        Settings(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn what_changed_is_told_with_before_and_after() {
        let before = of(&[("a", "1"), ("b", "x"), ("gone", "1")]);
        assert_eq!(before.since(&before), None);
        let now = of(&[("a", "2"), ("b", ""), ("new", "1")]);
        assert_eq!(now.since(&before).unwrap(), "a was `1` and is `2`; b was `x` and is nothing");
        let many: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| (name, "1")).into();
        let other: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| (name, "2")).into();
        let [before, now] = ["rw,relatime", "rw,relatime,nobarrier"].map(|options| of(&[("the option", options)]));
        assert_eq!(now.since(&before).unwrap(), "the option was nothing and is `nobarrier`");
        assert!(of(&other).since(&of(&many)).unwrap().ends_with("c was `1` and is `2`; 2 more changed"));
    }

    #[test]
    fn a_machine_at_rest_changes_none() {
        let read = || Settings::read(&[], &Mounts::At(vec!["/".into()]));
        let before = read();
        assert!(before.0.contains_key("the mount option at /") && before.0.contains_key("/proc/sys/vm/dirty_ratio"));
        assert!(!before.0.contains_key("/proc/sys/vm/drop_caches"));
        assert!(before.0.len() > 100, "{}", before.0.len());
    }
}
