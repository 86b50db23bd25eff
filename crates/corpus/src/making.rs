//! One thread produces a tar; another counts, hashes and writes it.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Result, anyhow};
use mountmark_model::RealisedCorpus;
use sha2::{Digest, Sha256};

use crate::{Keep, Progress, cache, input, survey};

/// Bytes passed at a time from the producing thread to the one that counts and writes.
pub(crate) const HANDOVER: usize = 1 << 18;

/// Properties that a survey cannot find.
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) seed: Option<u64>,
}

impl Label {
    pub(crate) fn on(&self, corpus: RealisedCorpus) -> RealisedCorpus {
        RealisedCorpus { name: self.name.clone(), seed: self.seed, ..corpus }
    }
}

/// Runs `produce` in a separate thread, and counts, hashes and writes its output in this one.
pub(crate) fn make(
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
        // The producer may be waiting for space in the channel: without a receiver it ends.
        drop(tee);
        let produced = producer.join().unwrap_or_else(|_| Err(anyhow!("the thread that made the corpus panicked")));
        (produced, surveyed, unwritten)
    });
    if let (Some(error), Some(partial)) = (unwritten, &partial) {
        return Err(partial.explain(error));
    }
    // If the receiver is gone, the survey failed and not the producer.
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

/// The producer's end: buffers small writes, of which a tar has many.
pub(crate) struct Sender {
    sender: SyncSender<io::Result<Vec<u8>>>,
    held: Vec<u8>,
}

impl Sender {
    /// Makes the other end's read fail with `error`, after all earlier data.
    pub(crate) fn fail(&mut self, error: io::Error) -> io::Result<()> {
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
    /// Set if the tar is kept.
    partial: Option<&'a mut cache::Partial>,
    hash: &'a mut Sha256,
    /// An error of the cache, which the survey would report as a damaged archive.
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
