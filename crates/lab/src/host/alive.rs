//! A run's heartbeat, by which `clean` decides whether a dead run's image holds anything else.
//!
//! Once a second a run writes the time to a file beside its journal. The file is never synced: the measured disk may be
//! the one that holds the cache. A power cut may leave an older heartbeat or none, and then `clean` leaves more alone.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::own::Stamp;

/// Between two heartbeats.
const INTERVAL: Duration = Duration::from_secs(1);
/// A heartbeat is padded to this many bytes, so that one write replaces it.
const LENGTH: usize = 1024;

/// A moment, by two clocks of which one cannot be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub wall: i64,
    /// Nanoseconds since boot, sleep included.
    pub uptime: i64,
    /// The kernel's boot id.
    pub boot: String,
}

impl Moment {
    pub fn now() -> Moment {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let uptime = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Moment {
            wall: i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX),
            uptime: uptime.tv_sec.saturating_mul(1_000_000_000).saturating_add(uptime.tv_nsec),
            boot: boot.trim().to_owned(),
        }
    }
}

/// Contents of an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// A file system is being made in it.
    Changing,
    /// The file system with this [`super::contents::identity`]; `None` if it is not recognised.
    Made(Option<String>),
}

/// The state of a run and its image at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sign {
    pub at: Moment,
    /// The image's stamp when the run had first emptied it.
    pub began: Stamp,
    /// The time of that.
    pub began_at: Moment,
    pub holds: Holds,
}

impl Sign {
    /// The heartbeat's file of a journal's run.
    pub fn path(journal: &Path) -> PathBuf {
        journal.with_extension("alive")
    }

    /// The last heartbeat of a journal's run; `None` if it is missing or damaged.
    pub fn last(journal: &Path) -> Option<Sign> {
        serde_json::from_slice(&std::fs::read(Sign::path(journal)).ok()?).ok()
    }
}

/// Writes heartbeats until it is dropped.
pub struct Alive {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    file: File,
    /// The last heartbeat, and whether no more will follow.
    state: Mutex<(Sign, bool)>,
    ended: Condvar,
}

impl Alive {
    /// Begins when the image has been emptied for the first time.
    pub fn begin(journal: &Path, emptied: Stamp) -> Result<Alive> {
        let path = Sign::path(journal);
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let now = Moment::now();
        let sign = Sign { at: now.clone(), began: emptied, began_at: now, holds: Holds::Changing };
        let shared = Arc::new(Shared { file, state: Mutex::new((sign, false)), ended: Condvar::new() });
        shared.note(&mut shared.lock().0).with_context(|| format!("cannot write {}", path.display()))?;
        let their = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut state = their.lock();
            while !state.1 {
                // If this fails, an older heartbeat stays.
                let _ = their.note(&mut state.0);
                let waited = their.ended.wait_timeout(state, INTERVAL);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        Ok(Alive { shared, thread: Some(thread) })
    }

    /// Sets what the image holds from now on.
    pub fn holds(&self, holds: Holds) {
        let mut state = self.shared.lock();
        state.0.holds = holds;
        let _ = self.shared.note(&mut state.0);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, (Sign, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, sign: &mut Sign) -> std::io::Result<()> {
        sign.at = Moment::now();
        let mut text = serde_json::to_vec(sign)?;
        text.resize(LENGTH.max(text.len()), b' ');
        self.file.write_all_at(&text, 0)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.shared.lock().1 = true;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_given_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("1-0.json");
        assert_eq!(Sign::last(&journal), None);
        let emptied = Stamp { size: 4096, modified: 1, changed: 2 };
        let alive = Alive::begin(&journal, emptied).unwrap();
        let first = Sign::last(&journal).unwrap();
        assert_eq!((first.began, &first.holds), (emptied, &Holds::Changing));
        let made = Holds::Made(Some("x".repeat(300)));
        alive.holds(made.clone());
        thread::sleep(INTERVAL + Duration::from_millis(300));
        let second = Sign::last(&journal).unwrap();
        assert_eq!((second.began, &second.began_at, &second.holds), (emptied, &first.began_at, &made));
        let passed = (second.at.wall - first.at.wall, second.at.uptime - first.at.uptime);
        assert!(passed.0 > 0 && (passed.0 - passed.1).abs() < 1_000_000_000, "{passed:?}");
        alive.holds(Holds::Made(None));
        assert_eq!(Sign::last(&journal).unwrap().holds, Holds::Made(None), "a shorter note leaves nothing of a longer");
        drop(alive);
        let last = Sign::last(&journal);
        thread::sleep(INTERVAL + Duration::from_millis(300));
        assert_eq!(Sign::last(&journal), last);
        std::fs::write(Sign::path(&journal), "{\"at\"").unwrap();
        assert_eq!(Sign::last(&journal), None);
    }
}
