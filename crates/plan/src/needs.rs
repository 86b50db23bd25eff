//! Requirements of tasks for a file system and a machine, as far as definitions show.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::workload::{Operation, Sizes};
use mountmark_model::{Bytes, FileSystem, Quantity, QuantityError, Suite, Workload};

use crate::{PlanError, Result};

/// The largest space in bytes that one task's workload needs; an error if a number has no value.
pub(crate) fn room(suite: &Suite, parameters: &BTreeMap<String, u64>) -> Result<u64> {
    let mut largest = 0;
    for task in &suite.tasks {
        let Some(workload) = &task.workload else { continue };
        let need =
            need(workload, parameters).map_err(|error| PlanError::Options(format!("task {}: {error}", task.id)))?;
        largest = largest.max(need.room());
    }
    Ok(largest)
}

/// Bytes written by workloads that are repeated for a minimum time, at any scale.
pub(crate) fn written_again(suite: &Suite) -> f64 {
    /// Bytes per second that no file system of the lab exceeds: a disk in memory on the fastest machine.
    const FASTEST: f64 = (1u64 << 30) as f64;
    let writes = |workload: &Workload| {
        let writing = [Operation::Write, Operation::Rewrite, Operation::WriteFile, Operation::AppendFile];
        workload.phases.iter().any(|phase| phase.what.0.keys().any(|operation| writing.contains(operation)))
    };
    let again = suite.tasks.iter().filter(|task| task.workload.as_ref().is_some_and(writes));
    again.map(|task| task.least_seconds * FASTEST).sum()
}

/// Requirements of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes of its files.
    pub bytes: u64,
    /// Files and directories.
    pub files: u64,
    /// Files and directories in the fullest directory.
    pub in_one: u64,
    /// Maximum number of directories in one directory.
    pub folders_in_one: u64,
    /// Bytes of memory for its buffers.
    pub memory: u64,
}

impl Need {
    /// A block and an entry per file, or a file system's inodes if these take more: ext4 creates one per 16 KiB of a
    /// device (mke2fs.conf, inode_ratio).
    pub fn room(&self) -> u64 {
        const PER_FILE: u64 = 4096;
        const PER_INODE: u64 = 16 << 10;
        let data = self.bytes.saturating_add(self.files.saturating_mul(PER_FILE));
        data.max(self.files.saturating_mul(PER_INODE))
    }
}

/// The requirements of `workload` with these parameters.
pub(crate) fn need(workload: &Workload, parameters: &BTreeMap<String, u64>) -> Result<Need, QuantityError> {
    let mut need = Need::default();
    let mut seen = BTreeSet::new();
    for phase in &workload.phases {
        let files = phase.files.as_ref().unwrap_or(&workload.files);
        let value = |quantity: &Quantity| quantity.value(parameters);
        let block = value(&phase.block)?;
        let depth = value(&phase.queue_depth)?.saturating_mul(value(&phase.threads)?);
        need.memory = need.memory.max(block.saturating_mul(depth));
        if files.existing {
            continue;
        }
        let (count, directories) = (value(&files.count)?, value(&files.directories)?);
        let in_one = count.div_ceil(directories.max(1));
        let folders = if phase.what.0.contains_key(&Operation::Mkdir) { in_one } else { directories };
        need.in_one = need.in_one.max(in_one).max(directories);
        need.folders_in_one = need.folders_in_one.max(folders);
        // Another size of the same files replaces the first; other names are additional files.
        if !seen.insert((&files.folder, &files.prefix)) {
            continue;
        }
        let each = match &files.sizes {
            None => value(&files.size)?,
            Some(Sizes::Uniform { min, max }) => value(min)?.saturating_add(value(max)?) / 2,
            // The mean of the distribution; limiting it makes the mean smaller.
            Some(Sizes::Gamma { mean, .. }) => value(mean)?,
            Some(Sizes::Lognormal { mu, sigma, max, .. }) => ((mu + sigma * sigma / 2.0).exp() as u64).min(max.0),
        };
        need.bytes = need.bytes.saturating_add(count.saturating_mul(each));
        need.files = need.files.saturating_add(count).saturating_add(directories);
    }
    Ok(need)
}

/// Rejects workloads whose buffers the machine has too little memory for.
pub(crate) fn enough_memory(suite: &Suite, parameters: &BTreeMap<String, u64>, ram: Bytes) -> Result<()> {
    let too_much = suite.tasks.iter().find_map(|task| {
        let need = need(task.workload.as_ref()?, parameters).ok()?;
        // The kernel and the page cache need the rest.
        (need.memory > ram.0 / 2).then(|| {
            format!(
                "task {}: its buffers (block times threads times queue depth) take {}, more than half of the machine's {ram}; \
                 make them smaller, or choose a --machine with more memory",
                task.id,
                Bytes(need.memory)
            )
        })
    });
    too_much.map_or(Ok(()), |reason| Err(PlanError::Options(reason)))
}

/// Why directories of `filesystem` cannot hold the entries that the tasks create in one.
pub(crate) fn too_full(suite: &Suite, parameters: &BTreeMap<String, u64>, filesystem: &FileSystem) -> Option<String> {
    let needs = suite.tasks.iter().filter_map(|task| {
        let need = need(task.workload.as_ref()?, parameters).ok()?;
        Some((format!("task {}", task.id), need.in_one, need.folders_in_one))
    });
    let commands = suite.subdirectories.as_ref().and_then(|name| parameters.get(name));
    let commands = commands.map(|folders| (format!("the suite {}", suite.name), *folders, *folders));
    needs.chain(commands).find_map(|(who, entries, folders)| {
        let limits = [
            (entries, filesystem.max_directory_entries, "files and subdirectories"),
            (folders, filesystem.max_subdirectories, "subdirectories"),
        ];
        limits.into_iter().find_map(|(wanted, most, what)| {
            let most = most.filter(|most| *most < wanted)?;
            Some(format!("Its directories hold at most {most} {what}, and {who} makes up to {wanted} in one."))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    const SUITE: &str = "name = \"mine\"\nabout = \"a test\"\nroom = \"1 MiB\"\nsubdirectories = \"FOLDERS\"\n\
        [parameters.FILES]\nvalue = 1000\n[parameters.FOLDERS]\nvalue = 20\n\
        [[task]]\nid = \"w\"\ntitle = \"w\"\n\
        [task.workload]\nfiles = { count = \"$FILES\", directories = 10, size = \"8 KiB\" }\n\
        [[task.workload.phases]]\nname = \"a\"\nwhat = \"write-file\"\n\
        [[task.workload.phases]]\nname = \"b\"\nwhat = \"read-file\"\nblock = \"1 MiB\"\nthreads = 4\n\
        [[task]]\nid = \"m\"\ntitle = \"m\"\n\
        [task.workload]\nfiles = { folder = \"m\", count = 50 }\n\
        [[task.workload.phases]]\nname = \"a\"\nwhat = \"mkdir\"\n";

    fn parameters(files: u64, folders: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("FILES".to_owned(), files), ("FOLDERS".to_owned(), folders)])
    }

    #[test]
    fn needs_are_counted() {
        let suite: Suite = toml::from_str(SUITE).unwrap();
        let parameters = parameters(1000, 20);
        let of = |task: usize| need(suite.tasks[task].workload.as_ref().unwrap(), &parameters).unwrap();
        let files = Need { bytes: 8_192_000, files: 1010, in_one: 100, folders_in_one: 10, memory: 4 << 20 };
        assert_eq!(of(0), files);
        assert_eq!((of(1).in_one, of(1).folders_in_one), (50, 50));
        // More inodes than blocks.
        assert_eq!(room(&suite, &parameters).unwrap(), 1010 << 14);
        let refused = enough_memory(&suite, &parameters, Bytes(4 << 20)).unwrap_err().to_string();
        assert!(refused.contains("take 4.00 MiB"), "{refused}");
        enough_memory(&suite, &parameters, Bytes(8 << 20)).unwrap();
    }

    #[test]
    fn files_and_folders_have_limits_of_their_own() {
        let suite: Suite = toml::from_str(SUITE).unwrap();
        let full = |parameters: &BTreeMap<String, u64>, entries: Option<u64>, folders: Option<u64>| {
            let ext4 = Catalogue::built_in().unwrap().get::<FileSystem>("ext4").unwrap().clone();
            let limited = FileSystem { max_directory_entries: entries, max_subdirectories: folders, ..ext4 };
            too_full(&suite, parameters, &limited).unwrap_or_default()
        };
        let few = parameters(1000, 20);
        assert!(full(&few, Some(99), None).contains("99 files and subdirectories, and task w makes up to 100 in one"));
        assert!(full(&few, None, Some(49)).contains("49 subdirectories, and task m makes up to 50 in one"));
        // Files do not count as subdirectories.
        assert_eq!(full(&few, Some(100), Some(50)), "");
        let many = parameters(1000, 200);
        assert!(full(&many, None, Some(199)).contains("and the suite mine makes up to 200 in one"));
        assert!(full(&many, Some(199), None).contains("and the suite mine makes up to 200 in one"));
    }
}
