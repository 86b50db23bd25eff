//! Copies all entries of a shelf to another one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_run::pool;

use crate::{Folder, is_full};

/// What became of the entries of a shelf that were copied.
#[derive(Debug, Default)]
pub struct Imported {
    pub copied: usize,
    /// Equal ones were there.
    pub there: usize,
    /// Those that are damaged or changed, with the reason.
    pub faults: Vec<(PathBuf, anyhow::Error)>,
}

/// Copies the sound entries of a shelf to another one, by as many threads as there are processors.
///
/// # Errors
/// The other shelf cannot be written.
pub fn import(from: &Folder, to: &Folder) -> Result<Imported> {
    let paths: Vec<PathBuf> = from.list().into_iter().map(|listed| listed.path).collect();
    let mut imported = Imported::default();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let copy = |path: &Path| match to.import(path) {
        Err(error) if is_full(&error) => {
            Err(error).with_context(|| format!("cannot write to the shelf {}", to.path.display()))
        }
        copied => Ok(copied),
    };
    let hand = |queue: &pool::Queue, say: &std::sync::mpsc::SyncSender<(usize, Result<bool>)>| {
        while let Some(at) = queue.take() {
            let _ = say.send((at, copy(&paths[at])?));
        }
        Ok(())
    };
    pool::work(paths.len(), jobs, hand, |(at, copied)| {
        match copied {
            Ok(true) => imported.copied += 1,
            Ok(false) => imported.there += 1,
            Err(error) => imported.faults.push((paths[at].clone(), error)),
        }
        Ok(())
    })?;
    to.sync()?;
    Ok(imported)
}
