//! Turns a definition, a scale and a seed into a list of names and sizes: everything except contents.
//!
//! The directory tree grows one directory at a time, under a parent chosen with weight (subdirectories + 2): the model
//! of Agrawal, Bolosky, Douceur and Lorch ("A Five-Year Study of File-System Metadata", FAST 2007), which Impressions
//! (Agrawal, Arpaci-Dusseau and Arpaci-Dusseau, FAST 2009) uses too.
//!
//! Not modelled: that sizes shrink with depth and differ by extension, links, owners, modes and times.

use anyhow::{Context, Result, ensure};
use mountmark_model::{Corpus, CorpusKind, Extension, Scale};

use crate::definition::check;
use crate::names::Names;
use crate::sizes;
use crate::ustar;
use mountmark_random::{Stream, exp, ln};

/// Largest number of files in a directory of the Impressions model. An inverse polynomial of degree 2 has no mean; cut
/// at 600 it gives, with the offset 2.36 and 22.5 % of directories empty, the 10.2 files per directory from which the
/// original program computes its number of directories.
const LARGEST_DIRECTORY: usize = 600;

/// Spread of the numbers of files in directories of a `tree`: standard deviation of their logarithm. A choice, wide
/// enough that some directories hold hundreds of files and some none.
const DIRECTORY_SPREAD: f64 = 1.0;

/// Maximum number of files or directories of one corpus: a plan holds all their names in memory, about 100 bytes each.
const MOST: u64 = 100_000_000;

/// Maximum number of bytes in the files of one corpus, 1 EiB: sums of sizes and of tar's overhead stay within 64 bits.
const MOST_BYTES: u128 = 1 << 60;

/// Time of every file and directory: 2006-01-01 00:00 UTC, in seconds since 1970. An arbitrary fixed time.
pub(crate) const MTIME: i64 = 1_136_073_600;

/// One entry of the tar, in order.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: String,
    /// In bytes; `None` for a directory.
    pub(crate) size: Option<u64>,
}

impl Entry {
    pub(crate) fn header(&self) -> Vec<u8> {
        match self.size {
            Some(size) => ustar::header(self.path.as_bytes(), ustar::Kind::File { size }, 0o644, MTIME),
            None => ustar::header(self.path.as_bytes(), ustar::Kind::Directory, 0o755, MTIME),
        }
    }
}

/// All names and sizes of a corpus, parents before children, a directory's files before its subdirectories.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) entries: Vec<Entry>,
    pub(crate) text: bool,
}

impl Plan {
    /// Draws a plan.
    ///
    /// # Errors
    /// The definition contradicts itself; the sentence names the field.
    pub(crate) fn new(corpus: &Corpus, scale: Scale, seed: u64) -> Result<Plan> {
        check(corpus).with_context(|| format!("the corpus \"{}\" cannot be made", corpus.name))?;
        let mut shape = Stream::new(seed, "directories");
        let mut placing = Stream::new(seed, "placing");
        let mut drawing = Stream::new(seed, "sizes");
        let (tree, files, extensions, text) = match &corpus.kind {
            CorpusKind::Tree { files, directories, total, max_depth, sizes, extensions, text } => {
                let count = counted("files", *files, scale)?;
                let directories = counted("directories", *directories, scale)?;
                // In proportion to the number of files after rounding, so that the mean size stays the same.
                let total = (u128::from(total.0) * u128::from(count) + u128::from(*files) / 2) / u128::from(*files);
                let total = u64::try_from(total).context("at this scale, `total` is more than 64 bits can count")?;
                let (min, max) = sizes::bounds(sizes);
                let drawn: Vec<f64> = (0..count).map(|_| sizes::draw(sizes, &mut drawing)).collect();
                let sizes = sizes::fit(&drawn, total, min, max);
                let tree = Tree::grow(directories, *max_depth, &mut shape);
                let places = spread(&tree, count, &mut placing);
                (tree, places.into_iter().zip(sizes).collect::<Vec<_>>(), extensions, *text)
            }
            CorpusKind::Impressions {
                files,
                body,
                body_share,
                tail,
                max_file,
                files_per_directory,
                empty_directories,
                depths,
                extensions,
            } => {
                let count = counted("files", *files, scale)?;
                let most = max_file.0 as f64;
                let mut size = || {
                    let value = if drawing.unit() < *body_share {
                        sizes::lognormal_within(body[0], body[1], 0.0, most, &mut drawing)
                    } else {
                        drawing.pareto(tail[0], tail[1], most)
                    };
                    value.round() as u64
                };
                let sizes: Vec<u64> = (0..count).map(|_| size()).collect();
                let total: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
                ensure!(total <= MOST_BYTES, "at this scale, the files hold more than 1 EiB");
                let occupancies = occupancies(count, *files_per_directory, *empty_directories, &mut placing);
                let deepest = u32::try_from(depths.len() - 1).context("`depths` is too long")?;
                let tree = Tree::grow(occupancies.len() as u64, deepest, &mut shape);
                let places = by_depth(&tree, occupancies, depths, &mut placing);
                (tree, places.into_iter().zip(sizes).collect(), extensions, false)
            }
        };
        let mut naming = Stream::new(seed, "names");
        Ok(Plan { entries: tree.entries(&corpus.name, files, extensions, text, &mut naming), text })
    }

    /// Size of the tar of this plan, in bytes.
    pub(crate) fn tar_bytes(&self) -> u64 {
        let entries = self.entries.iter().map(|entry| {
            let size = entry.size.unwrap_or(0);
            entry.header().len() as u64 + size + ustar::padding(size) as u64
        });
        entries.sum::<u64>() + ustar::END.len() as u64
    }
}

/// `value` at this scale, at least 1.
fn counted(field: &str, value: u64, scale: Scale) -> Result<u64> {
    let count = scale.apply(value, 1);
    ensure!(count <= MOST, "at this scale, `{field}` is {count}, and at most {MOST} can be made");
    Ok(count)
}

struct Tree {
    /// By directory; the first, the top, is its own parent.
    parents: Vec<usize>,
    /// The top has depth 0.
    depths: Vec<u32>,
}

impl Tree {
    /// `count` directories, none deeper than `deepest`.
    fn grow(count: u64, deepest: u32, stream: &mut Stream) -> Tree {
        let mut tree = Tree { parents: vec![0], depths: vec![0] };
        // Two tickets for being a directory, one more for each child: a fair draw of a ticket is the weighted draw of a
        // parent. Directories at the limit get none.
        let mut tickets = if deepest > 0 { vec![0, 0] } else { Vec::new() };
        for child in 1..count as usize {
            let parent: usize = tickets[stream.below(tickets.len() as u64) as usize];
            let depth = tree.depths[parent] + 1;
            tree.parents.push(parent);
            tree.depths.push(depth);
            tickets.push(parent);
            if depth < deepest {
                tickets.extend([child, child]);
            }
        }
        tree
    }

    /// Names all entries. `files` are pairs of a directory and a size.
    fn entries(
        &self,
        top: &str,
        files: Vec<(usize, u64)>,
        extensions: &[Extension],
        text: bool,
        stream: &mut Stream,
    ) -> Vec<Entry> {
        let mut children = vec![Vec::new(); self.parents.len()];
        for (child, parent) in self.parents.iter().enumerate().skip(1) {
            children[*parent].push(child);
        }
        let mut sizes = vec![Vec::new(); self.parents.len()];
        let mut entries = Vec::with_capacity(files.len() + self.parents.len());
        for (directory, size) in files {
            sizes[directory].push(size);
        }
        let mut waiting = vec![(0, top.to_owned())];
        while let Some((directory, path)) = waiting.pop() {
            let mut names = Names::default();
            entries.push(Entry { path: path.clone(), size: None });
            for size in &sizes[directory] {
                let name = names.file(extensions, text, stream);
                entries.push(Entry { path: format!("{path}/{name}"), size: Some(*size) });
            }
            let named = children[directory].iter().map(|child| (*child, format!("{path}/{}", names.directory(stream))));
            let first = waiting.len();
            waiting.extend(named);
            // The last is processed first: reversing keeps directories in the order in which they were named.
            waiting[first..].reverse();
        }
        entries
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
    fn trees_keep_their_count_and_depth() {
        for (count, deepest) in [(1, 0), (1, 5), (2, 1), (500, 1), (500, 4), (5000, 30)] {
            let tree = Tree::grow(count, deepest, &mut Stream::new(1, "tree"));
            assert_eq!(tree.depths.len() as u64, count);
            assert!(tree.depths.iter().all(|depth| *depth <= deepest));
            assert!(tree.parents.iter().enumerate().skip(1).all(|(child, parent)| *parent < child));
        }
    }

    #[test]
    fn parents_are_chosen_by_children_and_two() {
        // With weight (children + 2), the third directory is under the top with probability 3/5.
        let under_top =
            (0..20_000).filter(|seed| Tree::grow(3, 9, &mut Stream::new(*seed, "tree")).parents[2] == 0).count();
        assert!((under_top as f64 / 20_000.0 - 0.6).abs() < 0.015, "{under_top}");
    }

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
