//! Turns a corpus and a seed into a tar file and its description.
//!
//! The corpus of a suite becomes one plain tar in a cache folder of the host: a tree of the catalogue, drawn from a
//! seed; or the user's own archive or folder, used whole. [`realise`] is the only way in. The properties of a corpus
//! ([`RealisedCorpus`]) are counted from the tar's own bytes as they are written, never taken from its definition.
//!
//! Generated corpora are the same to the byte for the same definition, scale, seed and [`STREAM_VERSION`], on every
//! host: crates/random uses nothing that differs between processors or libraries.
//!
//! | module | holds |
//! |---|---|
//! | `kind` | kinds of corpora: checks of definitions, places of files |
//! | `sizes`, `tree`, `names`, `contents` | the generated corpora, step by step |
//! | `ustar` | tar headers |
//! | `input` | the user's archives and folders |
//! | `bring` | the user's own programs and trees, with what they need |
//! | `making` | the two threads that generate a tar and count it |
//! | `survey`, `entries`, `places` | counting the contents of a tar |
//! | `cache` | finished tars and their reuse |
//! | `history` | file operations that age a file system |
//!
//! This crate does not know where the cache folder or the catalogue is, what a guest is, how a tar gets into one, or
//! what a suite does with it.

pub mod bring;
mod cache;
mod contents;
mod entries;
mod history;
mod input;
mod kind;
mod making;
mod names;
mod places;
mod sizes;
mod survey;
mod tree;
mod ustar;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use mountmark_model::{Corpus, RealisedCorpus, Scale};
use mountmark_random::STREAM_VERSION;

pub use cache::is_kept;
pub use history::{AskedHistory, WrongHistory, history_is_kept};
pub use mountmark_model::CorpusSource;

use making::{HANDOVER, Label, make};

/// Increase it when the same stream gives other names, trees or bytes.
const GENERATOR_VERSION: u32 = 1;

/// Reports of [`realise`] during its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Bytes of the tar written so far, and the total if known. Not reported for a tar from the cache.
    Written {
        bytes: u64,
        /// Unknown for compressed archives.
        total: Option<u64>,
    },
    /// A socket, pipe or device in the user's folder, which is omitted from the corpus; reported once for each, also
    /// for a tar from the cache.
    Skipped(&'a Path),
}

/// Counts the contents of a tar; for tests with synthetic archives.
#[doc(hidden)]
pub fn count(reader: impl Read) -> Result<RealisedCorpus> {
    survey::survey(reader).map_err(|fault| anyhow!("{fault}"))
}

/// Rejects a definition that is impossible at any scale.
///
/// # Errors
/// A sentence that names the corpus and the field at fault.
pub fn check(corpus: &Corpus) -> Result<()> {
    kind::check(corpus).with_context(|| format!("the corpus \"{}\" cannot be made", corpus.name))
}

/// Returns the plain tar of `source` in the folder `cache`, and its contents. Generates it unless it exists, whole and
/// unchanged; a tar gets its final name only when it is complete.
///
/// At scale s a generated corpus has s times the files, directories and bytes; the sizes of single files stay the same.
/// A total is scaled by the number of files after rounding, so that the mean size stays the same.
///
/// # Errors
/// Sentences that name the file or folder at fault: a contradictory definition; too little space, with the space
/// needed; an archive that is not one, is damaged (after which entry), is empty or has a name that would leave the
/// folder it is unpacked in; a file that cannot be read or changed meanwhile. No partial file remains.
pub fn realise(
    source: &CorpusSource,
    scale: Scale,
    seed: u64,
    cache: &Path,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)> {
    find(source, scale, seed, cache, Keep::Yes, watch)
}

/// The result of [`realise`] and its errors, except those of a full cache: everything is generated or read and counted,
/// which takes as long, but nothing is written.
///
/// # Errors
/// Like [`realise`].
pub fn foresee(
    source: &CorpusSource,
    scale: Scale,
    seed: u64,
    cache: &Path,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)> {
    find(source, scale, seed, cache, Keep::No, watch)
}

/// Whether a tar is kept in the cache, or only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Yes,
    No,
}

fn find(
    source: &CorpusSource,
    scale: Scale,
    seed: u64,
    cache: &Path,
    keep: Keep,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)> {
    match source {
        CorpusSource::Catalogue(corpus) => {
            check(corpus)?;
            let kind = serde_json::to_string(&corpus.kind)?;
            let identity = format!(
                "generator {GENERATOR_VERSION} stream {STREAM_VERSION} seed {seed} scale {scale} {} {kind}",
                corpus.name
            );
            let place = cache::Place::new(cache, &corpus.name, &identity, keep);
            let label = Label { name: corpus.name.clone(), seed: Some(seed) };
            if let Some(found) = place.look_up() {
                return Ok((place.tar(), label.on(found)));
            }
            let plan = tree::Plan::new(corpus, scale, seed)?;
            let total = plan.tar_bytes();
            let made = make(&place, Some(total), label, watch, |out| generate(&plan, seed, out).map_err(Into::into));
            made.with_context(|| format!("cannot make the corpus \"{}\"", corpus.name))
        }
        CorpusSource::Bring(bring) => bring::realise(bring, cache, keep, watch),
        CorpusSource::Path(path) => {
            let failed = || format!("cannot use {} as a corpus", path.display());
            own(path, cache, keep, watch).with_context(failed)
        }
    }
}

fn own(
    path: &Path,
    cache: &Path,
    keep: Keep,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)> {
    let whole = path.canonicalize()?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let label = Label { name: path.display().to_string(), seed: None };
    if whole.is_dir() {
        // Created early, so that it can be recognised if it is in the user's folder.
        if keep == Keep::Yes {
            std::fs::create_dir_all(cache)
                .with_context(|| format!("cannot make the corpus cache {}", cache.display()))?;
        }
        let folder = input::Folder::walk(&whole, &cache.canonicalize().unwrap_or_else(|_| cache.to_owned()))?;
        for skipped in &folder.skipped {
            watch(Progress::Skipped(skipped));
        }
        let place = cache::Place::new(cache, &name, &format!("folder {}", folder.fingerprint()), keep);
        if let Some(found) = place.look_up() {
            return Ok((place.tar(), label.on(found)));
        }
        return make(&place, Some(folder.tar_bytes()), label, watch, |out| folder.pack(out));
    }
    let archive = input::Archive::open(&whole)?;
    let place = cache::Place::new(cache, &name, &format!("archive {}", archive.fingerprint()), keep);
    if let Some(found) = place.look_up() {
        return Ok((place.tar(), label.on(found)));
    }
    make(&place, archive.tar_bytes(), label, watch, |out| {
        let mut unpacked = archive.unpacked()?;
        let mut buffer = vec![0; HANDOVER];
        loop {
            match unpacked.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => out.write_all(&buffer[..length])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Passed to the reader, which knows how many entries were sound.
                Err(error) => return out.fail(error).map_err(Into::into),
            }
        }
    })
}

fn generate(plan: &tree::Plan, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let mut contents = contents::Contents::new(seed, plan.text);
    for (index, entry) in plan.entries.iter().enumerate() {
        out.write_all(&entry.header())?;
        if let Some(size) = entry.size {
            contents.write(index as u64, size, out)?;
            out.write_all(&ustar::END[..ustar::padding(size)])?;
        }
    }
    out.write_all(&ustar::END)
}
