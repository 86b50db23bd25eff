//! Checks for definitions of corpora that are impossible at any scale.

use anyhow::{Result, ensure};
use mountmark_model::{Corpus, CorpusKind, Distribution};

use crate::sizes;

/// Rejects definitions that cannot be generated, with the name of the field at fault.
pub(crate) fn check(corpus: &Corpus) -> Result<()> {
    let name = &corpus.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        !name.is_empty() && name.len() <= 60 && name.chars().all(plain) && !name.starts_with('.'),
        "`name` names its top folder: 1 to 60 letters, digits, dots, dashes or underscores, not {name:?}"
    );
    let extensions = match &corpus.kind {
        CorpusKind::Tree { files, directories, total, max_depth, sizes, extensions, .. } => {
            ensure!(*files > 0, "`files` must be at least 1");
            ensure!(*directories > 0, "`directories` must be at least 1, the top folder");
            ensure!(*directories == 1 || *max_depth > 0, "`max_depth` 0 leaves room for one directory only");
            let (min, max) = sizes::bounds(sizes);
            ensure!(min <= max, "`sizes.min` is above `sizes.max`");
            match sizes {
                Distribution::Lognormal { mu, sigma, .. } => lognormal("sizes", *mu, *sigma)?,
                Distribution::LogUniform { min, .. } => {
                    ensure!(min.0 > 0, "`sizes.min` has no logarithm: it is 0")
                }
            }
            let possible = u128::from(min) * u128::from(*files)..=u128::from(max) * u128::from(*files);
            ensure!(
                possible.contains(&u128::from(total.0)),
                "`total` is {total}, but {files} files of {min} to {max} bytes hold {} to {} bytes",
                possible.start(),
                possible.end()
            );
            extensions
        }
        CorpusKind::Impressions {
            files,
            body,
            body_share,
            tail,
            max_file,
            files_per_directory: [degree, offset],
            empty_directories,
            depths,
            extensions,
        } => {
            ensure!(*files > 0, "`files` must be at least 1");
            lognormal("body", body[0], body[1])?;
            ensure!((0.0..=1.0).contains(body_share), "`body_share` is no probability: {body_share}");
            ensure!(tail[0] > 0.01 && tail[0] < 100.0, "the shape in `tail` must be above 0.01 and under 100");
            ensure!(tail[1] >= 1.0 && tail[1] < 1e18, "the least value in `tail` must be at least 1 byte");
            ensure!(max_file.0 > 0, "`max_file` must be at least 1 byte");
            ensure!(
                *degree > 0.0 && *degree < 50.0,
                "the degree in `files_per_directory` must be above 0 and under 50"
            );
            ensure!(*offset >= 0.0 && *offset < 1e6, "the offset in `files_per_directory` must be 0 to a million");
            ensure!((0.0..=0.99).contains(empty_directories), "`empty_directories` must be 0 to 0.99");
            ensure!(
                depths.iter().all(|share| share.is_finite() && *share >= 0.0) && depths.iter().sum::<f64>() > 0.0,
                "`depths` must be frequencies, at least one of them above 0"
            );
            extensions
        }
    };
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
