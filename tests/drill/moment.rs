//! When a program is killed: phases, and how each is detected from outside.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::cache::{PACKAGE, entries};
use super::chance::Chance;
use super::program::Program;

/// Maximum wait for a phase: a first boot on a busy machine is the longest.
const LIMIT: Duration = Duration::from_secs(300);
/// Polling interval for events that last some milliseconds.
const CLOSELY: Duration = Duration::from_micros(200);

/// Activity of a program when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// apt-get downloads a package.
    Fetch,
    /// A package is being unpacked.
    Unpack,
    /// An entry of the cache's `images` is being made.
    Image,
    /// A guest boots for its snapshot.
    Boot,
    /// The run is being written to the store, or resumed.
    Begin,
    /// An agent is at a step.
    Stage(&'static str),
    /// A cell is being written to the store.
    Store,
    /// The last cell has ended.
    End,
    /// The result is being printed.
    Render,
    /// At a random time.
    Any,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Fetch => "fetching packages",
            Phase::Unpack => "unpacking packages",
            Phase::Image => "making an image",
            Phase::Boot => "booting a snapshot",
            Phase::Begin => "beginning the run",
            Phase::Stage(name) => name,
            Phase::Store => "storing a cell",
            Phase::End => "ending the run",
            Phase::Render => "rendering",
            Phase::Any => "any time",
        })
    }
}

/// The steps of a cell of the drill's suite in the virtual lab, in order.
pub const STAGES: [&str; 11] =
    ["source", "mkfs", "mount", "prepare", "write", "settle", "cleanup", "remount", "capacity", "umount", "fsck"];

/// The places to which a program writes.
pub struct Places<'a> {
    pub cache: &'a Path,
    pub store: &'a Path,
    /// Number of cells to run.
    pub cells: u64,
    /// Duration of an undisturbed run.
    pub usual: Duration,
}

/// Waits until `program` is in `phase`, and slightly longer; false if it ended before.
pub fn meet(phase: Phase, program: &mut Program, places: &Places, chance: &mut Chance) -> Result<bool, String> {
    let begin = Instant::now();
    let wal = places.store.with_extension("sqlite-wal");
    let (at, late) = match phase {
        Phase::Any => (chance.time(places.usual), Duration::ZERO),
        // Half of the kills come as soon as a phase is detected.
        _ if chance.percent(50) => (Duration::ZERO, Duration::ZERO),
        Phase::Fetch | Phase::Unpack | Phase::Image => (Duration::ZERO, chance.time(Duration::from_millis(400))),
        Phase::Boot => (Duration::ZERO, chance.time(Duration::from_secs(4))),
        Phase::Stage(_) => (Duration::ZERO, chance.time(Duration::from_millis(60))),
        Phase::Begin | Phase::Store | Phase::End | Phase::Render => {
            (Duration::ZERO, chance.time(Duration::from_millis(12)))
        }
    };
    let nth = 1 + chance.below(places.cells.min(2)) as usize;
    let mut before = None;
    let mut seen = |program: &Program| match phase {
        Phase::Any => program.ran() >= at,
        Phase::Fetch => has_child(program.process(), &["apt-get", "download"]),
        Phase::Unpack => is_unpacking(&places.cache.join("packages")),
        Phase::Image => being_made(&places.cache.join("images"), "image.json"),
        Phase::Boot => being_made(&places.cache.join("snapshots"), "snapshot.json"),
        // Opening the store may write too, but before this message.
        Phase::Begin => {
            let prepares = |line: &String| line.contains("preparing the lab");
            let (is_new, is_at_it) = program.with_lines(|lines| (lines.iter().any(prepares), lines.is_empty()));
            (is_new || is_at_it) && changed(&wal, &mut before)
        }
        Phase::Stage(name) => program.with_lines(|lines| {
            let is_stage = |line: &&String| line.rsplit_once(": ").is_some_and(|(_, stage)| stage == name);
            lines.iter().filter(is_stage).count() >= nth
        }),
        Phase::Store => {
            let is_near = program.with_lines(|lines| lines.iter().any(|line| line.ends_with(": fsck")));
            is_near && changed(&wal, &mut before)
        }
        Phase::End => program.with_lines(|lines| lines.iter().filter_map(|line| ended(line)).any(|(k, n)| k == n)),
        Phase::Render => program.prints(),
    };
    loop {
        if seen(program) {
            thread::sleep(late);
            return Ok(!program.has_ended());
        }
        if program.has_ended() {
            return Ok(false);
        }
        if begin.elapsed() > LIMIT {
            return Err(format!("it never came to {phase}, and has not ended within {} s", LIMIT.as_secs()));
        }
        thread::sleep(CLOSELY);
    }
}

/// `[2/4] ext4 #1 done`: number of cells that have ended, and of all cells.
pub fn ended(line: &str) -> Option<(u32, u32)> {
    let (k, n) = line.strip_prefix('[')?.split_once(']')?.0.split_once('/')?;
    Some((k.parse().ok()?, n.parse().ok()?))
}

/// Whether a file differs from the one at the first call.
fn changed(path: &Path, before: &mut Option<(u64, i64, i64)>) -> bool {
    // Even a reader creates an empty one.
    let now = fs::metadata(path).ok().filter(|data| data.len() > 0);
    let now = now.map_or((0, 0, 0), |data| (data.len(), data.mtime(), data.mtime_nsec()));
    *before.get_or_insert(now) != now
}

/// Whether a folder of the cache has a lock on a missing or incomplete entry.
fn being_made(folder: &Path, last: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut locks = entries.filter(|path| path.extension().is_some_and(|extension| extension == "lock"));
    locks.any(|lock| !lock.with_extension("").join(last).exists())
}

/// Whether the drill's package is being unpacked, or was and has not been moved to its place.
fn is_unpacking(packages: &Path) -> bool {
    let scratch = |name: &String| name.starts_with(".tmp") && packages.join(name).join(PACKAGE).is_dir();
    entries(packages).iter().any(scratch)
}

/// Whether a process has a child or grandchild with these words in its command line.
fn has_child(process: libc::pid_t, words: &[&str]) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<libc::pid_t> = children
        .flat_map(|text| text.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.into_iter().any(|child| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        words.iter().all(|word| line.split('\0').any(|part| part == *word)) || has_child(child, words)
    })
}
