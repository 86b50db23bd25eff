//! Settings of the kernel, of disks and of mounts, on which figures and findings depend. A command finds them read-only; those
//! that it can change all the same, by a mount of its own or by ioctl(2), are read before and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mountmark_job::mountinfo;

/// Types of file systems that hold settings.
const KINDS: [&str; 16] = [
    "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "efivarfs", "fusectl", "nfsd", "proc", "pstore",
    "resctrl", "securityfs", "selinuxfs", "sysfs", "tracefs",
];
/// Where a command finds its own processes. Its settings are protected one by one.
const PROC: &str = "/proc";

/// Settings of the kernel that figures depend on and that a command might set. The list is short: each file that is read takes
/// memory of the guest, which is then not free for its page cache.
const KERNEL: [&str; 16] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/proc/sys/vm/laptop_mode",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/fs/xfs/xfssyncd_centisecs",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];
/// Settings of a disk, below its folder in /sys/block.
const DISK: [&str; 15] = [
    "bdi/max_ratio",
    "bdi/min_ratio",
    "bdi/strict_limit",
    "queue/add_random",
    "queue/discard_max_bytes",
    "queue/iostats",
    "queue/max_sectors_kb",
    "queue/nomerges",
    "queue/nr_requests",
    "queue/read_ahead_kb",
    "queue/rotational",
    "queue/rq_affinity",
    "queue/scheduler",
    "queue/wbt_lat_usec",
    "queue/write_cache",
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
        for file in KERNEL {
            settings.file(Path::new(file));
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
                let options: BTreeSet<_> =
                    options.chain(full.lines()).filter(|option| !FATES.contains(option)).collect();
                let options: Vec<_> = options.into_iter().collect();
                self.0.insert(name_at(&mount.point), options.join(","));
            }
        }
    }

    /// Takes over the options of one mount.
    pub fn adopt(&mut self, other: &Settings, point: &Path) {
        let name = name_at(&point.to_string_lossy());
        match other.0.get(&name) {
            Some(options) => drop(self.0.insert(name, options.clone())),
            None => drop(self.0.remove(&name)),
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
        for file in DISK {
            self.file(&whole.join(file));
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

/// What the options of a mount are called.
fn name_at(point: &str) -> String {
    format!("the mount option at {point}")
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
        assert_eq!(read().since(&before), None);
    }
}
