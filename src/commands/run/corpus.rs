//! The files that a plan works on: generated or packed in the cache, or foreseen.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mountmark_model::{CorpusSource, RealisedCorpus, Scale};
use mountmark_plan::CorpusRequest;

use crate::common::WrongUse;

/// Generates a corpus.
pub type Make = fn(
    &CorpusSource,
    Scale,
    u64,
    &Path,
    &mut dyn FnMut(mountmark_corpus::Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)>;

/// Generates in the cache the corpora that plans ask for.
pub fn corpora(
    make: Make,
) -> impl FnMut(&CorpusRequest) -> Result<(PathBuf, RealisedCorpus), Box<dyn Error + Send + Sync>> {
    let folder = mountmark_lab::cache::default_folder().join("corpora");
    move |request| realise(request, &folder, make).map_err(Into::into)
}

fn realise(request: &CorpusRequest, cache: &Path, make: Make) -> Result<(PathBuf, RealisedCorpus)> {
    let source = match &request.source {
        CorpusSource::Path(path) => CorpusSource::Path(
            fs::canonicalize(path)
                .with_context(|| WrongUse(format!("--corpus {}: there is no such file or folder", path.display())))?,
        ),
        known => known.clone(),
    };
    let seed = request.seed.unwrap_or(0);
    make(&source, request.scale, seed, cache, &mut |progress| {
        if let mountmark_corpus::Progress::Skipped(path) = progress {
            say!("mountmark: {} is no file, folder or link and is left out of the corpus", path.display());
        }
    })
}
