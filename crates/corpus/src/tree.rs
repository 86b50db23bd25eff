//! Turns a definition, a scale and a seed into a list of names and sizes: everything except contents.
//!
//! The directory tree grows one directory at a time, under a parent chosen with weight (subdirectories + 2): the model
//! of Agrawal, Bolosky, Douceur and Lorch ("A Five-Year Study of File-System Metadata", FAST 2007), which Impressions
//! (Agrawal, Arpaci-Dusseau and Arpaci-Dusseau, FAST 2009) uses too.
//!
//! Not modelled: that sizes shrink with depth and differ by extension, links, owners, modes and times.

use anyhow::{Context, Result, ensure};
use mountmark_model::{Corpus, Extension, Scale};
use mountmark_random::Stream;

use crate::kind::{Streams, check, kind};
use crate::names::Names;
use crate::ustar;

/// Maximum number of files or directories of one corpus: a plan holds all their names in memory, about 100 bytes each.
const MOST: u64 = 100_000_000;

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
        let kind = kind(corpus);
        let (tree, files) = kind.place(scale, &mut Streams::new(seed))?;
        let mut naming = Stream::new(seed, "names");
        let entries = tree.entries(&corpus.name, files, kind.extensions(), kind.text(), &mut naming);
        Ok(Plan { entries, text: kind.text() })
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
pub(crate) fn counted(field: &str, value: u64, scale: Scale) -> Result<u64> {
    let count = scale.apply(value, 1);
    ensure!(count <= MOST, "at this scale, `{field}` is {count}, and at most {MOST} can be made");
    Ok(count)
}

pub(crate) struct Tree {
    /// By directory; the first, the top, is its own parent.
    parents: Vec<usize>,
    /// The top has depth 0.
    pub(crate) depths: Vec<u32>,
}

impl Tree {
    /// `count` directories, none deeper than `deepest`.
    pub(crate) fn grow(count: u64, deepest: u32, stream: &mut Stream) -> Tree {
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
}
