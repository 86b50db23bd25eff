//! A given number of files and directories, and a total.

use anyhow::{Context, Result, ensure};
use mountmark_model::{Distribution, Extension, FileTree, Scale};
use mountmark_random::Stream;

use super::{Kind, Streams, lognormal};
use crate::sizes;
use crate::tree::{Tree, counted};

/// Spread of the numbers of files in directories of a `tree`: standard deviation of their logarithm. A choice, wide
/// enough that some directories hold hundreds of files and some none.
const DIRECTORY_SPREAD: f64 = 1.0;

impl Kind for FileTree {
    fn check(&self) -> Result<()> {
        let FileTree { files, directories, total, max_depth, sizes, .. } = self;
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
        Ok(())
    }

    fn place(&self, scale: Scale, streams: &mut Streams) -> Result<(Tree, Vec<(usize, u64)>)> {
        let count = counted("files", self.files, scale)?;
        let directories = counted("directories", self.directories, scale)?;
        // In proportion to the number of files after rounding, so that the mean size stays the same.
        let files = u128::from(self.files);
        let total = (u128::from(self.total.0) * u128::from(count) + files / 2) / files;
        let total = u64::try_from(total).context("at this scale, `total` is more than 64 bits can count")?;
        let (min, max) = sizes::bounds(&self.sizes);
        let drawn: Vec<f64> = (0..count).map(|_| sizes::draw(&self.sizes, &mut streams.sizes)).collect();
        let sizes = sizes::fit(&drawn, total, min, max);
        let tree = Tree::grow(directories, self.max_depth, &mut streams.shape);
        let places = spread(&tree, count, &mut streams.placing);
        Ok((tree, places.into_iter().zip(sizes).collect()))
    }

    fn extensions(&self) -> &[Extension] {
        &self.extensions
    }

    fn text(&self) -> bool {
        self.text
    }
}

/// A directory for each of `count` files; directories attract files with lognormal weights.
fn spread(tree: &Tree, count: u64, stream: &mut Stream) -> Vec<usize> {
    let mut sum = 0.0;
    let ends: Vec<f64> = tree
        .depths
        .iter()
        .map(|_| {
            sum += stream.lognormal(0.0, DIRECTORY_SPREAD);
            sum
        })
        .collect();
    (0..count)
        .map(|_| {
            let at = stream.unit() * sum;
            ends.partition_point(|end| *end <= at).min(ends.len() - 1)
        })
        .collect()
}
