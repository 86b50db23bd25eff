//! A corpus and a seed in, a tar file and what it holds out.
//!
//! Whatever a suite works on becomes one plain tar in a cache folder of the host: a tree of the catalogue, drawn from
//! a seed; or the user's own archive or folder, used whole. [`realise`] is the only way in. What a corpus turned out
//! to be is counted from the tar's own bytes as they are written ([`RealisedCorpus`]), never taken from its definition.
//!
//! Generated corpora are the same to the byte for the same definition, scale, seed and [`STREAM_VERSION`], on every
//! host: crates/random uses nothing that differs between processors or libraries.
//!
//! | module | holds |
//! |---|---|
//! | `sizes`, `tree`, `names`, `contents` | the generated corpora, step by step |
//! | `ustar` | tar headers |
//! | `input` | the user's archives and folders |
//! | `survey` | counts what is in a tar |
//! | `cache` | finished tars and their use again |
//!
//! This crate does not know where the cache folder or the catalogue lies, what a guest is, how a tar gets into one, or
//! what a suite does with it.

mod cache;
mod contents;
mod input;
mod names;
mod sizes;
mod survey;
mod tree;
mod ustar;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context, Result, anyhow};
use mountmark_model::{Corpus, RealisedCorpus, Scale};
use mountmark_random::STREAM_VERSION;
use sha2::{Digest, Sha256};

pub use cache::is_kept;
pub use mountmark_model::CorpusSource;

/// Raise it when the same stream is turned into other names, trees or bytes.
const GENERATOR_VERSION: u32 = 1;

/// Bytes handed from the thread that makes a tar to the one that counts and writes it, at a time.
const HANDOVER: usize = 1 << 18;

/// What [`realise`] reports while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Bytes of the tar written so far, and all there will be where that is known. A tar out of the cache reports none.
    Written {
        /// So far.
        bytes: u64,
        /// In the end; unknown for compressed archives.
        total: Option<u64>,
    },
    /// A socket, pipe or device in the user's folder, which is left out of the corpus; reported once for each, whether
    /// the tar is made or comes out of the cache.
    Skipped(&'a Path),
}

/// What is in the tar that `reader` gives; for tests with archives that nobody packed.
#[doc(hidden)]
pub fn count(reader: impl Read) -> Result<RealisedCorpus> {
    survey::survey(reader).map_err(|fault| anyhow!("{fault}"))
}

/// Refuses a definition that cannot be made at any scale.
///
/// # Errors
/// A sentence that names the corpus and the field at fault.
pub fn check(corpus: &Corpus) -> Result<()> {
    tree::check(corpus).with_context(|| format!("the corpus \"{}\" cannot be made", corpus.name))
}

/// The plain tar of `source` in the folder `cache`, and what is in it. Made if it is not there yet, whole and unchanged;
/// a tar appears under its final name only when all of it is written.
///
/// At scale s a generated corpus has s times the files, directories and bytes; the sizes of single files stay alike. A
/// total is scaled by the files there are after rounding, so that the mean size stays the same.
///
/// # Errors
/// Sentences that name the file or folder at fault: a definition that contradicts itself; no space, with how much is
/// needed; an archive that is none, is damaged (after which entry), is empty or has a name that would leave the folder
/// it is unpacked in; a file that cannot be read or changed while it was. Nothing half-written is left.
pub fn realise(
    source: &CorpusSource,
    scale: Scale,
    seed: u64,
    cache: &Path,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)> {
    find(source, scale, seed, cache, Keep::Yes, watch)
}

/// What [`realise`] would answer, and its errors, but for those of a cache without room: everything is made or read and
/// counted, which takes as long, and nothing is written.
///
/// # Errors
/// As [`realise`].
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
        // Made early, so that it can be told from the user's files when it lies among them.
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
                // To the reader, who knows how many entries were sound.
                Err(error) => return out.fail(error).map_err(Into::into),
            }
        }
    })
}

/// What a survey cannot know.
struct Label {
    name: String,
    seed: Option<u64>,
}

impl Label {
    fn on(&self, corpus: RealisedCorpus) -> RealisedCorpus {
        RealisedCorpus { name: self.name.clone(), seed: self.seed, ..corpus }
    }
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

/// Runs `produce` in a thread of its own, while this one counts, hashes and writes what it makes.
fn make(
    place: &cache::Place,
    total: Option<u64>,
    label: Label,
    watch: &mut dyn FnMut(Progress<'_>),
    produce: impl FnOnce(&mut Sender) -> Result<()> + Send,
) -> Result<(PathBuf, RealisedCorpus)> {
    let mut partial = if place.keep == Keep::Yes { Some(place.start(total)?) } else { None };
    let (sender, receiver) = sync_channel(4);
    let mut hash = Sha256::new();
    let (produced, surveyed, unwritten) = std::thread::scope(|scope| {
        let producer = scope.spawn(move || {
            let mut sender = Sender { sender, held: Vec::with_capacity(HANDOVER) };
            produce(&mut sender)?;
            sender.flush().map_err(anyhow::Error::from)
        });
        let mut tee = Tee {
            receiver,
            block: Vec::new(),
            used: 0,
            written: 0,
            partial: partial.as_mut(),
            hash: &mut hash,
            unwritten: None,
            progress: &mut |bytes| watch(Progress::Written { bytes, total }),
        };
        let surveyed = survey::survey(&mut tee);
        let unwritten = tee.unwritten.take();
        // The producer may be waiting for room: without a receiver it gives up.
        drop(tee);
        let produced = producer.join().unwrap_or_else(|_| Err(anyhow!("the thread that made the corpus panicked")));
        (produced, surveyed, unwritten)
    });
    if let (Some(error), Some(partial)) = (unwritten, &partial) {
        return Err(partial.explain(error));
    }
    // A producer that was hung up on did not fail: the survey did.
    let hung_up = |error: &anyhow::Error| {
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if let Err(error) = produced
        && !(surveyed.is_err() && hung_up(&error))
    {
        return Err(error);
    }
    let surveyed = surveyed.map_err(|fault| anyhow!("{fault}"))?;
    let corpus = label.on(RealisedCorpus { sha256: input::hex(&hash.finalize()), ..surveyed });
    if let Some(partial) = partial {
        place.finish(partial, &corpus)?;
    }
    Ok((place.tar(), corpus))
}

/// The producer's end: collects small writes, of which a tar has many.
struct Sender {
    sender: SyncSender<io::Result<Vec<u8>>>,
    held: Vec<u8>,
}

impl Sender {
    /// Lets the other end's reading fail with `error`, after all that was written before.
    fn fail(&mut self, error: io::Error) -> io::Result<()> {
        self.flush()?;
        self.sender.send(Err(error)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= HANDOVER {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.held, Vec::with_capacity(HANDOVER + (HANDOVER >> 1)));
        self.sender.send(Ok(full)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// The counter's end: hashes and writes each block before it is read.
struct Tee<'a> {
    receiver: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    used: usize,
    written: u64,
    /// Where it is written, if it is kept.
    partial: Option<&'a mut cache::Partial>,
    hash: &'a mut Sha256,
    /// Why the cache could not be written, which the survey would take for a damaged archive.
    unwritten: Option<io::Error>,
    progress: &'a mut dyn FnMut(u64),
}

impl Read for Tee<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.block.len() {
            let Ok(block) = self.receiver.recv() else {
                return Ok(0);
            };
            self.block = block?;
            self.used = 0;
            self.hash.update(&self.block);
            if let Some(partial) = &mut self.partial
                && let Err(error) = partial.write_all(&self.block)
            {
                let kind = error.kind();
                self.unwritten = Some(error);
                return Err(kind.into());
            }
            self.written += self.block.len() as u64;
            (self.progress)(self.written);
        }
        let length = out.len().min(self.block.len() - self.used);
        out[..length].copy_from_slice(&self.block[self.used..self.used + length]);
        self.used += length;
        Ok(length)
    }
}
