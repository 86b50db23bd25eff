//! Checks before a workload starts: room, files, memory, and features of the file system and kernel.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use mountmark_model::workload::{Engine, Operation, Pattern};
use mountmark_model::{format_bytes, format_count};

use super::buffer::Aligned;
use super::error::EngineError;
use super::io::uring_unavailable;
use super::resolve::{End, Work};
use super::set::Set;
use super::sys::{self, Name};

/// Descriptors reserved for other open files of the process.
const SPARE_DESCRIPTORS: u64 = 64;
/// Sizes of at most so many files are added up; if there are more, these stand for all.
const SIZES_ADDED: u64 = 200_000;

/// The limit of open files of one thread of each phase, for phases that run at the same time on sets of so many files.
pub(super) fn capacities(group: &[(&Work, u64)]) -> Vec<u64> {
    allotted(group, sys::descriptor_limit().saturating_sub(SPARE_DESCRIPTORS).max(1))
}

/// No limit if `limit` is enough for all; else an equal share of it for each thread.
fn allotted(group: &[(&Work, u64)], limit: u64) -> Vec<u64> {
    let threads = |work: &Work| if work.processes { 1 } else { u64::from(work.threads) };
    // A stream has a second descriptor.
    let each = |work: &Work| if work.engine == Engine::Stdio { 2 } else { 1 };
    let wanted = |(work, count): &(&Work, u64)| {
        let files =
            if work.shared || work.processes { slots(work, *count).saturating_mul(threads(work)) } else { *count };
        if work.on_blocks() && work.engine != Engine::Null { files.saturating_mul(each(work)) } else { 0 }
    };
    if group.iter().map(wanted).fold(0, u64::saturating_add) <= limit {
        return vec![u64::MAX; group.len()];
    }
    let all: u64 = group.iter().map(|(work, _)| threads(work)).sum();
    group.iter().map(|(work, _)| (limit / each(work) / all).max(1)).collect()
}

/// Limit of the files that one thread of a phase works on.
fn slots(work: &Work, count: u64) -> u64 {
    if work.shared { count } else { count.div_ceil(u64::from(work.threads)) }
}

/// Refuses a workload that would fail for lack of something.
///
/// # Errors
/// The first phase that cannot run here, with a sentence on what it needs and what is available.
pub(super) fn check(works: &[Work], folder: &Path, seed: u64) -> Result<(), EngineError> {
    let mut need = Need::default();
    for (index, work) in works.iter().enumerate() {
        let cannot = |reason: String| Err(EngineError::cannot_run(&work.name, reason));
        if work.engine == Engine::Uring
            && let Some(reason) = uring_unavailable()
        {
            return cannot(reason);
        }
        if work.direct && work.engine != Engine::Null {
            direct(work, folder)?;
        }
        let set = match Set::open(folder, &work.files, seed) {
            // An earlier phase may create these files; their needs cannot be known yet.
            Err(_) if work.files.existing && index > 0 => continue,
            set => set?,
        };
        if let Some(reason) = descriptors(work, &set).or_else(|| memory(work, &set)) {
            return cannot(reason);
        }
        need.add(work, &set);
        if let Some(reason) = need.missing(folder)? {
            return cannot(reason);
        }
    }
    Ok(())
}

/// Needs on the file system, summed over the phases so far.
#[derive(Default)]
struct Need {
    bytes: u64,
    files: u64,
    /// Sets whose data and names are already counted: folder and prefix.
    data: BTreeSet<(String, String)>,
    names: BTreeSet<(String, String)>,
    /// Bytes that already exist of those that will be written.
    there: u64,
    files_there: u64,
}

impl Need {
    fn add(&mut self, work: &Work, set: &Set) {
        let key = |prefix: &str| (work.files.folder.clone(), prefix.to_owned());
        let own = key(&work.files.prefix);
        let copies = work.has(|o| o == Operation::CopyFile);
        let grows = work.pattern == Pattern::Append;
        let writes = work.writes() && work.engine != Engine::Null && !grows;
        let mut writes_data = Vec::new();
        if writes && !copies && !work.files.existing {
            writes_data.push(own.clone());
        }
        if copies {
            writes_data.push(key(&work.target));
        }
        for (folder, prefix) in writes_data {
            if self.data.insert((folder, prefix.clone())) {
                self.bytes = self.bytes.saturating_add(total(set));
                self.there = self.there.saturating_add(there(set, &prefix).1);
            }
        }
        self.bytes = self.bytes.saturating_add(appended(work, set));
        let makes = |o| matches!(o, Operation::Create | Operation::Mkdir | Operation::WriteFile | Operation::Write);
        let makes_targets = |o| matches!(o, Operation::Symlink | Operation::CopyFile | Operation::ReflinkFile);
        let mut made = Vec::new();
        if work.has(makes) && work.engine != Engine::Null {
            made.push(own);
        }
        if work.has(makes_targets) {
            made.push(key(&work.target));
        }
        for (folder, prefix) in made {
            if self.names.insert((folder, prefix.clone())) {
                self.files = self.files.saturating_add(set.count() + set.directories());
                self.files_there = self.files_there.saturating_add(there(set, &prefix).0);
            }
        }
    }

    fn missing(&self, folder: &Path) -> Result<Option<String>, EngineError> {
        let room = rustix::fs::statvfs(folder)
            .map_err(|error| EngineError::io("cannot ask for the space of", folder)(error.into()))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        let needed = self.bytes.saturating_sub(self.there);
        if needed > free {
            return Ok(Some(format!(
                "the files up to here need {} more, and {} has {} free: use a smaller --scale, or a larger disk",
                format_bytes(needed),
                folder.display(),
                format_bytes(free)
            )));
        }
        // File systems without a fixed number of inodes report 0.
        let files = self.files.saturating_sub(self.files_there);
        if room.f_files > 0 && files > room.f_favail {
            return Ok(Some(format!(
                "it makes {} files, and {} has inodes for {}: use a smaller --scale, or more inodes at mkfs",
                format_count(files as f64),
                folder.display(),
                format_count(room.f_favail as f64)
            )));
        }
        Ok(None)
    }
}

/// Bytes that a phase appends to files, if that can be known before, that is, unless it runs for a time.
fn appended(work: &Work, set: &Set) -> u64 {
    if work.pattern == Pattern::Append && work.engine != Engine::Null {
        return match work.end {
            End::Passes(passes) => total(set).saturating_mul(passes),
            End::Operations(operations) => operations.saturating_mul(work.block),
            End::Time(_) | End::Beside => 0,
        };
    }
    let End::Operations(operations) = work.end else { return 0 };
    let weight = |of: &dyn Fn(Operation) -> bool| -> u128 {
        work.mix.iter().filter(|(operation, _)| of(*operation)).map(|(_, weight)| u128::from(*weight)).sum()
    };
    let appends =
        u128::from(operations) * weight(&|operation| operation == Operation::AppendFile) / weight(&|_| true).max(1);
    u64::try_from(appends.saturating_mul(u128::from(work.block))).unwrap_or(u64::MAX)
}

/// Bytes of all files of a set.
fn total(set: &Set) -> u64 {
    if let Some(size) = set.fixed_size() {
        return size.saturating_mul(set.count());
    }
    let added = set.count().min(SIZES_ADDED);
    let sum: u128 = (0..added).map(|file| u128::from(set.size(file))).sum();
    u64::try_from(sum * u128::from(set.count()) / u128::from(added.max(1))).unwrap_or(u64::MAX)
}

/// Existing files with this prefix, and their bytes up to the sizes of the set: excess bytes of one leave no room to
/// others. Of large sets only the first files are read: if those do not exist, none do.
fn there(set: &Set, prefix: &str) -> (u64, u64) {
    let mut name = Name::new();
    let (mut files, mut bytes) = (0, 0);
    for file in 0..set.count() {
        set.name(prefix.as_bytes(), file, &mut name);
        match sys::stat(set.folder(), &name) {
            size if size >= 0 => (files, bytes) = (files + 1, bytes + (size as u64).min(set.size(file))),
            _ if file >= 16 && files == 0 => break,
            _ => {}
        }
    }
    (files, bytes)
}

fn descriptors(work: &Work, set: &Set) -> Option<String> {
    let keeps_all = work.on_blocks() && matches!(work.engine, Engine::Uring | Engine::Mmap | Engine::Stdio);
    let each = slots(work, set.count());
    let capacity = capacities(&[(work, set.count())]).first().copied().unwrap_or(1);
    (keeps_all && each > capacity).then(|| {
        format!(
            "the engine {} keeps all files open, {} in each thread, and there are descriptors for {}: raise ulimit -n, \
             use fewer files, or psync",
            work.engine.name(),
            format_count(each as f64),
            format_count(capacity as f64)
        )
    })
}

fn memory(work: &Work, set: &Set) -> Option<String> {
    let threads = u64::from(work.threads);
    let buffers = work.block.next_multiple_of(4096) * (u64::from(work.depth) + 2) + (1 << 18) + (1 << 16);
    let files = if work.shared { set.count() * threads } else { set.count() };
    // A descriptor and its place in the order of opening; if sizes differ, also a block number and a length.
    let each = if work.on_blocks() { if set.fixed_size().is_some() { 8 } else { 20 } } else { 0 };
    let needed = (buffers * threads).saturating_add(files.saturating_mul(each));
    let available = mountmark_job::machine::available_memory()?;
    (needed > available).then(|| {
        format!(
            "its buffers and tables need {} of memory, and {} are free: use smaller blocks, less depth or fewer threads",
            format_bytes(needed),
            format_bytes(available)
        )
    })
}

/// Tries direct I/O with one block of a temporary file.
fn direct(work: &Work, folder: &Path) -> Result<(), EngineError> {
    let path = folder.join(format!(".mountmark-direct-{}", std::process::id()));
    let cannot = |reason: String| Err(EngineError::cannot_run(&work.name, reason));
    let opened = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc::O_DIRECT)
        .open(&path);
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            // The name exists even if the flag is refused.
            let _ = fs::remove_file(&path);
            if error.raw_os_error() == Some(libc::EINVAL) {
                return cannot(format!(
                    "the file system at {} refuses direct I/O (O_DIRECT): leave out direct, or use another one",
                    folder.display()
                ));
            }
            return Err(EngineError::io("cannot make the file", path)(error));
        }
    };
    let block = Aligned::new(work.block as usize);
    let answer = sys::pwrite(std::os::fd::AsRawFd::as_raw_fd(&file), &block[..work.block as usize], 0);
    let _ = fs::remove_file(&path);
    if answer == -i64::from(libc::EINVAL) {
        return cannot(format!(
            "direct I/O at {} does not take blocks of {} bytes: use a multiple of the disk's sector, such as 4 KiB",
            folder.display(),
            work.block
        ));
    }
    if answer < 0 {
        return Err(EngineError::io("cannot write to", path)(sys::error(answer)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::resolve::resolve;

    fn needed(folder: &Path, text: &str) -> u64 {
        let mut need = Need::default();
        for work in &resolve(&toml::from_str(text).unwrap(), &BTreeMap::new()).unwrap() {
            need.add(work, &Set::open(folder, &work.files, 1).unwrap());
        }
        need.bytes - need.there
    }

    #[test]
    fn what_lies_there_makes_room_for_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f00000000"), vec![0; 100_000]).unwrap();
        let text = "files = { count = 2, size = 8192 }\n[[phases]]\nname = \"a\"\nwhat = \"write\"\n\
                    [[phases]]\nname = \"b\"\nwhat = \"write\"\nfiles = { prefix = \"g\", size = 50_000 }\n";
        assert_eq!(needed(folder.path(), text), 8192 + 50_000);
    }

    #[test]
    fn appends_need_as_much_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let text = |more: &str| {
            format!(
                "files = {{ count = 2, size = 8192 }}\n[[phases]]\nname = \"a\"\nwhat = \"write\"\n\
                 [[phases]]\nname = \"b\"\n{more}\n"
            )
        };
        for (more, appended) in [
            ("what = { append-file = 1, read-file = 3 }\nblock = 1000\nrun = { operations = 400 }", 100_000),
            ("what = \"write\"\npattern = \"append\"\nrun = { passes = 3 }", 3 * 16_384),
            ("what = \"write\"\npattern = \"append\"\nrun = { operations = 5 }", 5 * 4096),
            ("what = \"write\"\npattern = \"append\"\nrun = { seconds = 1 }", 0),
        ] {
            assert_eq!(needed(folder.path(), &text(more)), 16_384 + appended, "{more}");
        }
    }

    #[test]
    fn files_are_only_closed_where_not_all_can_be_open() {
        let text = "files = { count = 10, size = 8192 }\n[[phases]]\nname = \"readers\"\nwhat = \"read\"\nthreads = 200\n\
                    shared = true\n[[phases]]\nname = \"writers\"\nbeside = true\nwhat = \"write\"\nthreads = 10\n\
                    engine = \"stdio\"\nfiles = { prefix = \"w\", count = 20, size = 8192 }\n";
        let works = resolve(&toml::from_str(text).unwrap(), &BTreeMap::new()).unwrap();
        let group = [(&works[0], 10), (&works[1], 20)];
        // Each reader has all files, each writer two; the latter's streams have two descriptors.
        assert_eq!(allotted(&group, 2040), [u64::MAX; 2]);
        assert_eq!(allotted(&group, 2039), [9, 4]);
    }
}
