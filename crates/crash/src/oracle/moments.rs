//! Whether all that was found is of one moment.

use std::collections::{BTreeMap, BTreeSet};

use super::case::Case;
use super::history::Contents;
use super::names::Names;
use super::{Class, Evidence, Level, Violation};
use crate::model::Id;
use crate::tree::{Entry, Kind, Source};
use crate::workload::{Op, Writing};

/// Something that is not as it was at a moment.
struct Mismatch {
    path: String,
    expected: Evidence,
    found: Evidence,
}

impl Case<'_> {
    /// [`Level::L5`] and [`Level::L7`]: metadata, and data too, is that of a moment not before the last that was made
    /// durable. Sizes count as data, since files grow when data is written back.
    pub(super) fn judge_moment(&self, names: &Names<'_>) -> Option<Violation> {
        if !(self.has(Level::L5) || self.has(Level::L7)) || !self.found.unreadable.is_empty() {
            return None;
        }
        let found: BTreeMap<&str, &Entry> =
            self.found.entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
        let admitted: BTreeMap<&str, Vec<Id>> =
            found.iter().map(|(path, entry)| (*path, self.ids(path, entry))).collect();
        let moments = self.earliest()..=self.last;
        let differ = |state: usize| self.metadata_differs(state, &found, &admitted);
        let fitting: Vec<usize> = moments.clone().filter(|state| differ(*state).is_empty()).collect();
        if fitting.is_empty() {
            return moments.rev().map(differ).min_by_key(Vec::len).and_then(|all| self.out_of_order(names, all));
        }
        if !self.has(Level::L7) {
            return None;
        }
        let all = fitting.into_iter().rev().map(|state| self.data_differs(state, &found));
        let nearest = all.min_by_key(Vec::len)?.into_iter().next()?;
        Some(Violation {
            class: Class::Mixed,
            level: Level::L7,
            path: nearest.path,
            op: None,
            expected: nearest.expected,
            found: nearest.found,
        })
    }

    /// The inodes that an entry may be, of all that ever had its path.
    fn ids(&self, path: &str, entry: &Entry) -> Vec<Id> {
        let ever = self.history.paths[self.first..=self.last].iter().filter_map(|paths| paths.get(path).copied());
        self.admitted(entry, ever.collect())
    }

    /// The first moment that may be found. What is synced is durable with all that came before: a file with what was
    /// done to itself, a folder with what was done to its names. How much further that reaches is disputed.
    fn earliest(&self) -> usize {
        let all = self.ops().filter(|op| self.kept_all(*op));
        let ids = self.history.states[self.last].ids();
        let single = ids.flat_map(|id| {
            let last = self.fsyncs(id).last();
            let own = (self.first..last.unwrap_or(self.first)).rev().find(|op| self.concerns(*op, id));
            own.map(|op| op + 1)
        });
        all.chain(single).max().unwrap_or(self.first).max(self.first)
    }

    /// Whether fsync of an inode makes this operation durable. An earlier link is not among them.
    fn concerns(&self, op: usize, id: Id) -> bool {
        if !self.history.worked(op) {
            return false;
        }
        let own = matches!(
            self.history.op(op),
            Op::Create { .. }
                | Op::Mkdir { .. }
                | Op::Symlink { .. }
                | Op::Mkfifo { .. }
                | Op::Mknod { .. }
                | Op::Chmod { .. }
                | Op::SetXattr { .. }
                | Op::RemoveXattr { .. }
        );
        let names = self.history.changed(op).iter().any(|dirent| dirent.folder == id);
        let moved = self.history.moves(op, id) && self.history.kind(id) == Some(Kind::File);
        names || moved || self.history.ends(op, id) || (own && self.history.subject(op) == Some(id))
    }

    /// What of the metadata is not as it was in a state.
    fn metadata_differs(
        &self,
        state: usize,
        found: &BTreeMap<&str, &Entry>,
        admitted: &BTreeMap<&str, Vec<Id>>,
    ) -> Vec<Mismatch> {
        let wanted = &self.history.paths[state];
        let paths: BTreeSet<&str> = wanted.keys().map(String::as_str).chain(found.keys().copied()).collect();
        let mut all = Vec::new();
        for path in paths {
            let mut differ = |expected, found| all.push(Mismatch { path: path.to_owned(), expected, found });
            let (id, entry) = match (wanted.get(path), found.get(path)) {
                (Some(id), Some(entry)) => (*id, *entry),
                (Some(id), None) => {
                    differ(Evidence::Made(self.history.made(*id)), Evidence::Nothing);
                    continue;
                }
                (None, Some(entry)) => {
                    differ(Evidence::Nothing, Evidence::Kind(entry.kind));
                    continue;
                }
                (None, None) => continue,
            };
            if !admitted.get(path).is_some_and(|ids| ids.contains(&id)) {
                differ(Evidence::Made(self.history.made(id)), Evidence::Kind(entry.kind));
                continue;
            }
            let Some(node) = self.history.states[state].node(id) else { continue };
            if let Some(mode) = node.mode.filter(|mode| *mode != entry.mode) {
                differ(Evidence::Mode(mode), Evidence::Mode(entry.mode));
            }
            let xattrs: BTreeMap<&String, &String> = entry.xattrs.iter().map(|(name, value)| (name, value)).collect();
            let names: BTreeSet<&String> = node.xattrs.keys().chain(xattrs.keys().copied()).collect();
            for name in names.into_iter().filter(|name| node.xattrs.get(*name) != xattrs.get(name).copied()) {
                let of = |value: Option<&String>| Evidence::Xattr { name: name.clone(), value: value.cloned() };
                differ(of(node.xattrs.get(name)), of(xattrs.get(name).copied()));
            }
        }
        all
    }

    fn out_of_order(&self, names: &Names<'_>, differ: Vec<Mismatch>) -> Option<Violation> {
        let violation = |path, op, expected, found| Violation {
            class: Class::WrongMetadata,
            level: Level::L5,
            path,
            op,
            expected,
            found,
        };
        let shown: Vec<(usize, _)> = self.ops().map(|op| (op, self.done(names, op))).collect();
        let later = shown.iter().rev().find(|(_, (done, _))| done.is_some()).map(|(op, _)| *op);
        let earlier = shown.iter().find_map(|(op, (_, undone))| Some((*op, undone.clone()?)));
        if let (Some(later), Some((earlier, path))) = (later, earlier)
            && earlier < later
        {
            let earlier = earlier as u16;
            return Some(violation(path, Some(earlier), Evidence::Done(earlier), Evidence::Done(later as u16)));
        }
        let first = differ.into_iter().next()?;
        Some(violation(first.path, None, first.expected, first.found))
    }

    /// What of the data is neither as it was in a state, nor half-way to the next.
    fn data_differs(&self, state: usize, found: &BTreeMap<&str, &Entry>) -> Vec<Mismatch> {
        let next = (state + 1).min(self.last);
        let mut all = Vec::new();
        for (path, id) in &self.history.paths[state] {
            let Some(entry) = found.get(path.as_str()).filter(|entry| entry.kind == Kind::File) else { continue };
            // What is stored to a mapping is written when the kernel sees fit.
            let mapped = (self.first..self.last).any(|op| {
                let mapped = matches!(self.history.op(op), Op::Write { how: Writing::Mmap, .. });
                mapped && self.history.changes_data(op, *id)
            });
            if mapped || entry.error.is_some() || self.is_loose(*id) {
                continue;
            }
            let contents = Contents::new(entry.runs.iter().copied());
            let versions = self.history.contents(*id, state, next);
            let sizes = || versions.iter().flatten().map(|version| version.size());
            let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
            if !(least..=most).contains(&entry.size) {
                all.push(Mismatch {
                    path: path.clone(),
                    expected: Evidence::Size { least, most },
                    found: Evidence::Size { least: entry.size, most: entry.size },
                });
            }
            let ends = versions.iter().flatten().flat_map(|version| version.ends());
            let borders: BTreeSet<u64> = ends.chain(contents.ends()).chain([0]).collect();
            let borders: Vec<u64> = borders.into_iter().collect();
            for pair in borders.windows(2) {
                let Some(source) = contents.at(pair[0]) else { break };
                let values: BTreeSet<Source> =
                    versions.iter().flatten().filter_map(|version| version.at(pair[0])).collect();
                if !values.contains(&source) && pair[0] < most {
                    let bytes = |sources| Evidence::Bytes { offset: pair[0], length: pair[1] - pair[0], sources };
                    all.push(Mismatch {
                        path: path.clone(),
                        expected: bytes(values.into_iter().collect()),
                        found: bytes(vec![source]),
                    });
                }
            }
        }
        all
    }
}
