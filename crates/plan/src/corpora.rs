//! The files that a plan's tasks work on: where they come from, and what they are in each repeat.

use std::path::PathBuf;

use mountmark_model::{Corpus, CorpusSource, RealisedCorpus, Source, Suite};

use crate::order::repeat_seed;
use crate::{Catalogue, CorpusRequest, Options, PlanError, Realise, Result, brought};

/// Where the files of a suite come from; `given` is the user's own choice.
pub(crate) fn corpus_source(catalogue: &Catalogue, suite: &Suite, given: Option<&str>) -> Result<Option<CorpusSource>> {
    let name = &suite.name;
    if let Some(bring) = brought::of(suite) {
        return match given {
            None => Ok(Some(CorpusSource::Bring(bring))),
            Some(given) => Err(PlanError::Options(format!(
                "--corpus {given}: the suite {name} brings files of its own; leave --corpus away"
            ))),
        };
    }
    match (suite.source, given, &suite.corpus) {
        (Source::None, None, _) => Ok(None),
        (Source::None, Some(given), _) => Err(PlanError::Options(format!(
            "--corpus {given}: the suite {name} works on no corpus; leave --corpus away"
        ))),
        (_, Some(path), _) if is_path(path) => Ok(Some(CorpusSource::Path(path.into()))),
        (_, given, own) => match given.or(own.as_deref()) {
            Some(known) => Ok(Some(CorpusSource::Catalogue(catalogue.get::<Corpus>(known)?.clone()))),
            None => Err(PlanError::Options(format!(
                "the suite {name} names no corpus; give one, such as --corpus ./my-files.tar"
            ))),
        },
    }
}

fn is_path(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_tar = lower.ends_with(".tar") || lower.contains(".tar.") || lower.ends_with(".tgz");
    text.contains('/') || text == "." || text == ".." || is_tar
}

/// What they are in each repeat; once where they are the same in all.
pub(crate) fn realise_all(
    source: Option<&CorpusSource>,
    options: &Options,
    realise: &mut Realise<'_>,
) -> Result<Vec<(PathBuf, RealisedCorpus)>> {
    let seeds: Vec<Option<u64>> = match source {
        None => Vec::new(),
        Some(CorpusSource::Path(_) | CorpusSource::Bring(_)) => vec![None],
        Some(CorpusSource::Catalogue(_)) => {
            (0..options.repeats).map(|repeat| Some(repeat_seed(options.seed, repeat))).collect()
        }
    };
    let requests = seeds.into_iter().zip(source.into_iter().cycle());
    requests
        .map(|(seed, source)| {
            realise(&CorpusRequest { source: source.clone(), seed, scale: options.scale }).map_err(PlanError::Corpus)
        })
        .collect()
}
