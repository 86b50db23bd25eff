//! Kinds of corpora: what each rejects, and how it places files.

mod impressions;
mod tree;

use anyhow::{Result, ensure};
use mountmark_model::{Corpus, CorpusKind, Extension, Scale};
use mountmark_random::Stream;

use crate::tree::Tree;

/// A definition of one kind.
pub(crate) trait Kind {
    /// Rejects definitions that are impossible at any scale, with the name of the field at fault.
    fn check(&self) -> Result<()>;

    /// The directories, and a directory and a size in bytes for each file.
    fn place(&self, scale: Scale, streams: &mut Streams) -> Result<(Tree, Vec<(usize, u64)>)>;

    fn extensions(&self) -> &[Extension];

    /// Whether contents are text-like.
    fn text(&self) -> bool {
        false
    }
}

pub(crate) fn kind(corpus: &Corpus) -> &dyn Kind {
    match &corpus.kind {
        CorpusKind::Tree(tree) => tree,
        CorpusKind::Impressions(impressions) => impressions,
    }
}

/// Random streams, one for each decision: a change of one does not move the others.
pub(crate) struct Streams {
    shape: Stream,
    placing: Stream,
    sizes: Stream,
}

impl Streams {
    pub(crate) fn new(seed: u64) -> Streams {
        let of = |name| Stream::new(seed, name);
        Streams { shape: of("directories"), placing: of("placing"), sizes: of("sizes") }
    }
}

/// Rejects definitions that cannot be generated, with the name of the field at fault.
pub(crate) fn check(corpus: &Corpus) -> Result<()> {
    let name = &corpus.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        !name.is_empty() && name.len() <= 60 && name.chars().all(plain) && !name.starts_with('.'),
        "`name` names its top folder: 1 to 60 letters, digits, dots, dashes or underscores, not {name:?}"
    );
    let kind = kind(corpus);
    kind.check()?;
    let extensions = kind.extensions();
    let sum: f64 = extensions.iter().map(|extension| extension.percent).sum();
    ensure!(
        extensions.iter().all(|extension| extension.percent >= 0.0) && sum <= 100.001,
        "the shares in `extensions` must be at least 0 and add up to at most 100 %, not {sum}"
    );
    ensure!(
        extensions.iter().all(|extension| extension.name.len() <= 20 && extension.name.chars().all(plain)),
        "an extension must be up to 20 letters, digits, dashes or underscores"
    );
    Ok(())
}

/// The exponential of nine deviations from the mean (no draw is further out) must be finite.
fn lognormal(field: &str, mu: f64, sigma: f64) -> Result<()> {
    ensure!(sigma >= 0.0 && mu.abs() + 9.0 * sigma < 690.0, "`{field}` has an impossible mu ({mu}) or sigma ({sigma})");
    Ok(())
}
