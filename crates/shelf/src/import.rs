//! Copies all entries of a shelf to another one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result};
use mountmark_run::pool;

use crate::entry::Entry;
use crate::{Folder, folder, is_full};

/// What became of the entries of a shelf that were copied.
#[derive(Debug, Default)]
pub struct Imported {
    pub copied: usize,
    /// Equal ones were there.
    pub there: usize,
    /// Those that cannot be read, or are damaged or changed, with the reason.
    pub faults: Vec<(PathBuf, anyhow::Error)>,
}

/// Copies the sound entries of a shelf to another one, by as many threads as there are processors.
///
/// # Errors
/// The other shelf cannot be written.
pub fn import(from: &Folder, to: &Folder) -> Result<Imported> {
    let paths: Vec<PathBuf> = from.paths();
    let mut imported = Imported::default();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    // What cannot be read is a fault of that one cell; only what cannot be written ends all.
    let copy = |path: &Path| match read(path) {
        Err(error) => Ok(Err(error)),
        Ok((name, bytes)) => match to.take(name, &bytes).map_err(Error::from) {
            Err(error) if is_full(&error) => {
                Err(error).with_context(|| format!("cannot write to the shelf {}", to.path.display()))
            }
            kept => Ok(kept),
        },
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

/// The name and the bytes of a cell's file, if it is sound.
fn read(path: &Path) -> Result<(&str, Vec<u8>)> {
    let name = path.file_name().and_then(|name| name.to_str()).context("its name is not that of a cell")?;
    let bytes = folder::read(path, folder::MOST)?;
    Entry::unpack(name, &bytes)?;
    Ok((name, bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;

    use super::*;
    use crate::Access;
    use crate::entry::tests::entry;

    fn shelves(root: &Path) -> (Folder, Folder) {
        let [from, to] = ["from", "to"].map(|name| Folder::open(&root.join(name), Access::Write).unwrap());
        for part in ["a", "b"] {
            from.put(&entry(part, 1.0, "n1").pack().unwrap(), &|_| true).unwrap();
        }
        (from, to)
    }

    #[test]
    fn a_cell_that_cannot_be_read_is_named_and_the_others_are_copied() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = shelves(root.path());
        let path = from.paths().swap_remove(0);
        fs::remove_file(&path).unwrap();
        // Nobody may read this file of the kernel, not even root.
        let secret = Path::new("/proc/sys/vm/compact_memory");
        let is_barred = fs::read(secret).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        std::os::unix::fs::symlink(if is_barred { secret } else { &path }, &path).unwrap();
        let imported = import(&from, &to).unwrap();
        assert_eq!((imported.copied, imported.faults.len()), (1, 1));
        assert_eq!(imported.faults[0].0, path);
    }

    /// What `check` calls faulty is not copied.
    #[test]
    fn a_cell_whose_figures_are_none_is_not_copied() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = shelves(root.path());
        let (name, bytes) = crate::entry::tests::without_figures();
        from.take(&name, &bytes).unwrap();
        let imported = import(&from, &to).unwrap();
        assert_eq!((imported.copied, imported.faults.len()), (2, 1));
        assert!(format!("{:#}", imported.faults[0].1).contains("its figures are none"));
    }
}
