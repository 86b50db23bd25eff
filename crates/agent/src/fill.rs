//! Fills the file system under test to a share of its space, before the tasks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_model::{Fill, Outcome, Stage};
use mountmark_random::{Stream, ln};

use super::Agent;
use super::contents::Contents;

/// Space is taken in blocks of this size.
const BLOCK: u64 = 4096;
/// Files of one folder.
const IN_ONE: u64 = 256;
/// A file system that delays its bookkeeping tells its space only after a sync, so what lacks is written in some rounds.
const ROUNDS: usize = 16;
/// What may lack at the end: a part of the space.
const LACKING: u64 = 1000;
/// After so many files the host is told that the agent still works.
const TOLD: u64 = 2000;

/// Space of a file system as df counts it, in bytes.
pub(super) struct Space {
    /// Of all, also what is kept for root.
    size: u64,
    used: u64,
    pub(super) available: u64,
}

impl Space {
    pub(super) fn of(folder: &Path) -> Result<Space> {
        let data =
            rustix::fs::statvfs(folder).with_context(|| format!("cannot ask {} for its space", folder.display()))?;
        let bytes = |blocks: u64| blocks.saturating_mul(data.f_frsize);
        let used = bytes(data.f_blocks.saturating_sub(data.f_bfree));
        Ok(Space { size: bytes(data.f_blocks), used, available: bytes(data.f_bavail) })
    }

    fn all(&self) -> u64 {
        self.used + self.available
    }

    /// Bytes that lack to a share.
    fn short_of(&self, percent: u32) -> u64 {
        ((u128::from(self.all()) * u128::from(percent) / 100) as u64).saturating_sub(self.used)
    }

    /// As df has it under `Use%`.
    pub(super) fn percent(&self) -> f64 {
        100.0 * self.used as f64 / self.all().max(1) as f64
    }

    /// What is available of all.
    pub(super) fn available_percent(&self) -> f64 {
        100.0 * self.available as f64 / self.size.max(1) as f64
    }
}

impl Agent<'_> {
    /// Fills the file system; false if it cannot be filled that far, which ends the cell.
    pub(super) fn fill(&mut self, fill: &Fill) -> Result<bool> {
        let folder = self.devices.test_folder.clone();
        let mut files = Files::new(self.cell.seed, fill, folder.join(Fill::FOLDER));
        let mut failed = None;
        for _ in 0..ROUNDS {
            self.stage(Stage::Fill);
            self.ground.sync();
            let space = Space::of(&folder)?;
            let mut short = space.short_of(fill.percent);
            if failed.is_some() || short <= space.all() / LACKING {
                break;
            }
            while short > 0 && failed.is_none() {
                match files.make(short) {
                    Ok(length) => short = short.saturating_sub(length.next_multiple_of(BLOCK)),
                    Err(error) => failed = Some(error),
                }
                if files.count.is_multiple_of(TOLD) {
                    self.stage(Stage::Fill);
                }
            }
        }
        let space = Space::of(&folder)?;
        if failed.is_none() && space.short_of(fill.percent) <= space.all() / LACKING {
            return Ok(true);
        }
        let cause = failed.map_or_else(|| "it took no more".to_owned(), |error| format!("{error:#}"));
        let reason = format!(
            "the file system cannot be filled to {}%: after {} files it is {:.1}% full, and {cause}; give a smaller --fill or a \
             larger --disk-size",
            fill.percent,
            files.count,
            space.percent()
        );
        let outcome = Outcome::Failed { reason, detail: self.detail("") };
        self.cell_ended(outcome);
        Ok(false)
    }
}

/// The files of a fill, one after the other: the same for every file system, until one is full enough.
struct Files {
    folder: PathBuf,
    count: u64,
    sizes: Stream,
    /// Of the logarithm of sizes.
    mu: f64,
    sigma: f64,
    most: u64,
    contents: Contents,
}

impl Files {
    fn new(seed: u64, fill: &Fill, folder: PathBuf) -> Files {
        let mu = ln(fill.size_median.0.max(1) as f64);
        let mean = ln(fill.size_mean.0.max(1) as f64);
        Files {
            folder,
            count: 0,
            sizes: Stream::new(seed, "fill/sizes"),
            mu,
            // The mean of a lognormal distribution is exp(mu + sigma^2 / 2).
            sigma: (2.0 * (mean - mu)).max(0.0).sqrt(),
            most: fill.size_max.0,
            contents: Contents::new(fill.text, &mut Stream::new(seed, "fill/contents")),
        }
    }

    /// Makes the next file, of at most `room` bytes, and returns its length.
    fn make(&mut self, room: u64) -> Result<u64> {
        let length = (self.sizes.lognormal(self.mu, self.sigma) as u64).clamp(1, self.most).min(room.max(1));
        let folder = self.folder.join((self.count / IN_ONE).to_string());
        if self.count.is_multiple_of(IN_ONE) {
            fs::create_dir_all(&folder).context("a folder cannot be made")?;
        }
        let path = folder.join((self.count % IN_ONE).to_string());
        let mut file = File::create(&path).context("a file cannot be made")?;
        self.count += 1;
        self.contents.write(&mut file, length).context("a file cannot be written")?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_told_in_bytes() {
        let space = Space { size: 1100, used: 300, available: 700 };
        assert_eq!((space.short_of(80), space.short_of(30), space.short_of(10)), (500, 0, 0));
        assert_eq!(space.percent(), 30.0);
    }

    #[test]
    fn files_have_the_sizes_of_their_kind_and_end_at_the_room() {
        let folder = tempfile::tempdir().unwrap();
        let fill = Fill::with_sizes(50, [20_000, 70_000, 200_000], true);
        let mut files = Files::new(7, &fill, folder.path().join("fill"));
        let mut lengths: Vec<u64> = (0..600).map(|_| files.make(u64::MAX).unwrap()).collect();
        assert_eq!(files.make(5).unwrap(), 5);
        lengths.sort_unstable();
        assert!((15_000..25_000).contains(&lengths[300]), "{}", lengths[300]);
        assert!(*lengths.last().unwrap() == 200_000);
        assert!(folder.path().join("fill/2/88").metadata().unwrap().len() == 5);
    }
}
