//! The Impressions model.

use anyhow::{Context, Result, ensure};
use mountmark_model::{Extension, Impressions, Scale};
use mountmark_random::{Stream, exp, ln};

use super::{Kind, Streams, lognormal};
use crate::sizes;
use crate::tree::{Tree, counted};

/// Largest number of files in a directory of the Impressions model. An inverse polynomial of degree 2 has no mean; cut
/// at 600 it gives, with the offset 2.36 and 22.5 % of directories empty, the 10.2 files per directory from which the
/// original program computes its number of directories.
const LARGEST_DIRECTORY: usize = 600;

/// Maximum number of bytes in the files of one corpus, 1 EiB: sums of sizes and of tar's overhead stay within 64 bits.
const MOST_BYTES: u128 = 1 << 60;

impl Kind for Impressions {
    fn check(&self) -> Result<()> {
        let Impressions { files, body, body_share, tail, max_file, empty_directories, depths, .. } = self;
        let [degree, offset] = self.files_per_directory;
        ensure!(*files > 0, "`files` must be at least 1");
        lognormal("body", body[0], body[1])?;
        ensure!((0.0..=1.0).contains(body_share), "`body_share` is no probability: {body_share}");
        ensure!(tail[0] > 0.01 && tail[0] < 100.0, "the shape in `tail` must be above 0.01 and under 100");
        ensure!(tail[1] >= 1.0 && tail[1] < 1e18, "the least value in `tail` must be at least 1 byte");
        ensure!(max_file.0 > 0, "`max_file` must be at least 1 byte");
        ensure!(degree > 0.0 && degree < 50.0, "the degree in `files_per_directory` must be above 0 and under 50");
        ensure!((0.0..1e6).contains(&offset), "the offset in `files_per_directory` must be 0 to a million");
        ensure!((0.0..=0.99).contains(empty_directories), "`empty_directories` must be 0 to 0.99");
        ensure!(
            depths.iter().all(|share| share.is_finite() && *share >= 0.0) && depths.iter().sum::<f64>() > 0.0,
            "`depths` must be frequencies, at least one of them above 0"
        );
        Ok(())
    }

    fn place(&self, scale: Scale, streams: &mut Streams) -> Result<(Tree, Vec<(usize, u64)>)> {
        let count = counted("files", self.files, scale)?;
        let most = self.max_file.0 as f64;
        let mut size = || {
            let value = if streams.sizes.unit() < self.body_share {
                sizes::lognormal_within(self.body[0], self.body[1], 0.0, most, &mut streams.sizes)
            } else {
                streams.sizes.pareto(self.tail[0], self.tail[1], most)
            };
            value.round() as u64
        };
        let sizes: Vec<u64> = (0..count).map(|_| size()).collect();
        let total: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
        ensure!(total <= MOST_BYTES, "at this scale, the files hold more than 1 EiB");
        let occupancies = occupancies(count, self.files_per_directory, self.empty_directories, &mut streams.placing);
        let deepest = u32::try_from(self.depths.len() - 1).context("`depths` is too long")?;
        let tree = Tree::grow(occupancies.len() as u64, deepest, &mut streams.shape);
        let places = by_depth(&tree, occupancies, &self.depths, &mut streams.placing);
        Ok((tree, places.into_iter().zip(sizes).collect()))
    }

    fn extensions(&self) -> &[Extension] {
        &self.extensions
    }
}

/// Numbers of files in directories, enough directories for `files`; the last one is cut to fit.
fn occupancies(files: u64, [degree, offset]: [f64; 2], empty: f64, stream: &mut Stream) -> Vec<u64> {
    // P(n) in proportion to (n + offset)^-degree.
    let mut sum = 0.0;
    let ends: Vec<f64> = (1..=LARGEST_DIRECTORY)
        .map(|n| {
            sum += exp(-degree * ln(n as f64 + offset));
            sum
        })
        .collect();
    let mut rest = files;
    let mut out = Vec::new();
    while rest > 0 {
        let has_none = stream.unit() < empty;
        let at = stream.unit() * sum;
        let drawn = ends.partition_point(|end| *end <= at).min(LARGEST_DIRECTORY - 1) as u64 + 1;
        let held = if has_none { 0 } else { drawn.min(rest) };
        rest -= held;
        out.push(held);
    }
    out
}

/// A directory for each file, so that every directory holds one of the drawn numbers of files and the files' depths
/// follow `shares` as closely as the tree allows: the fullest directories are assigned, one by one, to a depth drawn by
/// how many files are still missing there.
fn by_depth(tree: &Tree, mut occupancies: Vec<u64>, shares: &[f64], stream: &mut Stream) -> Vec<usize> {
    let files: u64 = occupancies.iter().sum();
    let whole: f64 = shares.iter().sum();
    let mut missing: Vec<f64> = shares.iter().map(|share| share / whole * files as f64).collect();
    let mut free = vec![Vec::new(); shares.len()];
    for (directory, depth) in tree.depths.iter().enumerate() {
        free[*depth as usize].push(directory);
    }
    occupancies.sort_unstable_by(|a, b| b.cmp(a));
    let mut places = Vec::with_capacity(files as usize);
    for held in occupancies.into_iter().filter(|held| *held > 0) {
        let mut weights: Vec<f64> =
            missing.iter().zip(&free).map(|(files, free)| if free.is_empty() { 0.0 } else { files.max(0.0) }).collect();
        if weights.iter().sum::<f64>() <= 0.0 {
            weights = free.iter().map(|free| free.len() as f64).collect();
        }
        let mut at = stream.unit() * weights.iter().sum::<f64>();
        let mut depth = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
        for (index, weight) in weights.iter().enumerate() {
            if at < *weight {
                depth = index;
                break;
            }
            at -= weight;
        }
        let chosen = stream.below(free[depth].len() as u64) as usize;
        let directory = free[depth].swap_remove(chosen);
        missing[depth] -= held as f64;
        places.extend((0..held).map(|_| directory));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_directories_follow_the_inverse_polynomial() {
        let counts = occupancies(300_000, [2.0, 2.36], 0.225, &mut Stream::new(6, "occupancies"));
        assert_eq!(counts.iter().sum::<u64>(), 300_000);
        let share = |n: u64| counts.iter().filter(|count| **count == n).count() as f64 / counts.len() as f64;
        assert!((share(0) - 0.225).abs() < 0.01);
        // P(1) and P(2) among non-empty directories: (n + 2.36)^-2 over its sum from 1 to 600, 0.3447.
        assert!((share(1) / 0.775 - 0.2570).abs() < 0.01, "{}", share(1));
        assert!((share(2) / 0.775 - 0.1526).abs() < 0.01, "{}", share(2));
        let mean = 300_000.0 / counts.len() as f64;
        assert!((mean - 10.2).abs() < 0.6, "{mean}");
    }
}
