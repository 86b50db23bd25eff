//! Debian's package lists: where they are, how old they may be, how they are fetched.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};

use super::Packages;
use super::ask::{FETCHING, last_lines, said};
use crate::{cache, child};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Fetched into the cache.
    Cache,
    /// This machine's own, because the fetch failed.
    System,
    /// Not fetched yet; they will be fetched into the cache when needed.
    Nowhere,
}

/// Versions in older lists may be gone from the mirrors. Packages already in the cache are not affected.
const LISTS_KEEP: Duration = Duration::from_secs(24 * 3600);
/// Time until a failed fetch of lists is repeated.
pub(super) const RETRY: Duration = Duration::from_secs(3600);
/// Bytes that apt-get needs for the lists of a Debian release with its updates: 26 MB in the end, more meanwhile.
const LISTS_ROOM: u64 = 40 << 20;
/// The contents of [`Packages::fetched`] after a complete fetch.
pub(super) const RENEWED: &str = "cache";

impl Packages {
    /// The source of Debian's package lists. The machine's own may be of any age, so they are used only if the fetch
    /// fails.
    pub fn lists(&self) -> Lists {
        match fs::read_to_string(self.fetched()).as_deref() {
            Ok("system") => Lists::System,
            Ok(_) => Lists::Cache,
            Err(_) => Lists::Nowhere,
        }
    }

    /// The file whose age is that of the lists and whose contents are the result of the fetch.
    pub(super) fn fetched(&self) -> PathBuf {
        self.apt_folder().join("fetched")
    }

    /// Fetches the lists if they are missing or too old.
    pub(super) fn fetch_lists(&self) -> Result<()> {
        let is_young = || {
            let age = fs::metadata(self.fetched()).ok()?.modified().ok()?.elapsed().ok()?;
            let is_renewed = fs::read_to_string(self.fetched()).ok()? == RENEWED;
            Some(age < if is_renewed { LISTS_KEEP } else { RETRY })
        };
        if is_young() == Some(true) {
            return Ok(());
        }
        let _lock = cache::Lock::take(&self.fetched())?;
        if is_young() == Some(true) {
            return Ok(());
        }
        let is_there = |lists: &Path| {
            let mut entries = fs::read_dir(lists).into_iter().flatten().flatten();
            entries.any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
        };
        let lists = self.apt_folder().join("lists");
        if is_there(&lists) && cache::room(&self.cache).is_err() {
            // Of any age, but the cache cannot be written.
            return Ok(());
        }
        let said = match self.update() {
            Ok(None) => return self.note_fetch(RENEWED),
            Ok(Some(said)) => said,
            Err(error) if is_there(&lists) && !child::is_interrupted() => format!("{error:#}"),
            Err(error) => return Err(error),
        };
        if is_there(&lists) {
            // If there is no room even for this, the next call fetches again.
            let _ = self.note_fetch("cache, not renewed");
            return Ok(());
        }
        // This machine's lists are of other suites.
        if self.suite.is_some() || !is_there(Path::new("/var/lib/apt/lists")) {
            bail!("cannot fetch Debian's package lists: {said}");
        }
        self.note_fetch("system")
    }

    /// Notes the result of a fetch, and that it was now: the same result again is a new age.
    pub(super) fn note_fetch(&self, result: &str) -> Result<()> {
        cache::note(&self.fetched(), result.as_bytes())
    }

    /// Fetches the package lists; returns apt-get's complaint if some are missing.
    pub(super) fn update(&self) -> Result<Option<String>> {
        let what = "Debian's package lists";
        cache::need_room(&self.cache, LISTS_ROOM, what)?;
        let output = said(self.command("apt-get", Lists::Cache).args(["update", "-q"]), FETCHING);
        let is_full = cache::is_full(&self.cache);
        let failed = match &output {
            Ok(output) => !output.status.success(),
            // apt-get waits for ever when its disk is full.
            Err(error) => error.is::<child::Ended>() && !child::is_interrupted(),
        };
        if is_full && failed {
            return Err(cache::no_space(&self.cache, Some(LISTS_ROOM), what));
        }
        match output {
            Err(error) => Err(error),
            Ok(output) => match output.status.signal() {
                Some(signal) => bail!("signal {signal} ended apt-get while it fetched {what}"),
                None => Ok((!output.status.success()).then(|| last_lines(&output.stderr, 3))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn lists_that_are_fetched_again_are_young() {
        let cache = tempfile::tempdir().unwrap();
        let packages = Packages::new(cache.path());
        for result in [RENEWED, RENEWED, "system", "system"] {
            packages.note_fetch(result).unwrap();
            let file = fs::File::options().write(true).open(packages.fetched()).unwrap();
            file.set_modified(SystemTime::now() - LISTS_KEEP * 2).unwrap();
            packages.note_fetch(result).unwrap();
            let age = fs::metadata(packages.fetched()).unwrap().modified().unwrap().elapsed().unwrap();
            assert!(age < RETRY, "{result}: {age:?}");
        }
    }
}
