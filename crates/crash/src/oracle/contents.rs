//! Whether a file holds what it may: data, size, permissions, attributes, target.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, Kept, latest};
use super::history::Contents;
use super::{Class, Evidence, Level, Violation};
use crate::model::Id;
use crate::tree::{Entry, Kind, Source};
use crate::workload::{Fallocation, Op, Writing};

/// A file that was found, and what is known of the inode that it is.
struct File<'a> {
    id: Id,
    found: &'a Contents,
    size: u64,
    /// Operations that wrote its data.
    own: BTreeSet<u16>,
    /// As [`Case::is_loose`].
    is_loose: bool,
    /// As [`Case::only_buffered`].
    is_plain: bool,
    /// As [`Case::shifts`].
    is_shifted: bool,
}

impl Case<'_> {
    /// What is wrong with an entry if it is this inode, whatever its name; `kept` is what is durable of its data.
    pub(super) fn judge_entry(&self, entry: &Entry, id: Id, kept: &[Kept]) -> Vec<Violation> {
        let mut wrong = self.attributes(entry, id);
        match entry.kind {
            _ if entry.error.is_some() => {}
            Kind::File => wrong.extend(self.data(entry, id, kept)),
            Kind::Symlink | Kind::DeviceNode => wrong.extend(self.target(entry, id)),
            Kind::Folder | Kind::Fifo | Kind::Other => {}
        }
        wrong
    }

    fn data(&self, entry: &Entry, id: Id, kept: &[Kept]) -> Vec<Violation> {
        let found = Contents::new(entry.runs.iter().copied());
        let size = entry.size;
        let mut wrong = Wrong { path: &entry.path, collected: BTreeMap::new() };
        let whole = latest(kept.iter().copied().filter(|kept| kept.range.is_none()));
        let Some(whole) = whole else { return Vec::new() };
        let largest = |state| {
            let versions = self.history.contents(id, state, self.last);
            versions.into_iter().map(|contents| contents.map_or(0, Contents::size)).max().unwrap_or(0)
        };
        let most = largest(whole.state);
        let file = File {
            id,
            found: &found,
            size,
            own: self.history.own(id, self.last),
            is_loose: self.is_loose(id),
            is_plain: self.only_buffered(id, whole.state),
            is_shifted: self.shifts(id, whole.state),
        };
        let wrong_size = |class, level, op, least| Violation {
            class,
            level,
            path: entry.path.clone(),
            op,
            expected: Evidence::Size { least, most },
            found: Evidence::Size { least: size, most: size },
        };
        let mut out = Vec::new();
        if size > most && !file.is_loose {
            let level = if size > largest(self.first) { Level::L0 } else { whole.level };
            out.push(wrong_size(Class::WrongMetadata, level, whole.op, 0));
        }
        let mut short: Option<(Kept, u64)> = None;
        for (from, to) in self.parts(&found, id, kept) {
            let covers = |kept: &Kept| kept.range.is_none_or(|(start, end)| start <= from && to <= end);
            let Some(kept) = latest(kept.iter().copied().filter(covers)) else { continue };
            let values = self.sources_at(id, kept.state, from);
            if from >= size {
                if !values.contains(&None) && !file.is_loose {
                    short = Some((kept, to));
                }
                continue;
            }
            let Some(source) = found.at(from) else { continue };
            // Beyond the largest size the size itself is wrong.
            if values.contains(&Some(source)) || from >= most {
                continue;
            }
            if let Some((class, level)) = self.wrong_source(&file, from, source, kept, &values) {
                wrong.add(class, level, kept.op, (from, to), &values, source);
            }
        }
        if let Some((kept, end)) = short {
            let class = if size == 0 { Class::ZeroLength } else { Class::Prefix };
            out.push(wrong_size(class, kept.level, kept.op, end));
        }
        out.extend(wrong.collected.into_values());
        out
    }

    /// What is wrong with a part of a file, from this byte on, that holds none of `values` but what `source` wrote; `None` if
    /// that is not promised.
    fn wrong_source(
        &self,
        file: &File,
        from: u64,
        source: Source,
        kept: Kept,
        values: &BTreeSet<Option<Source>>,
    ) -> Option<(Class, Level)> {
        let durable = !values.contains(&None);
        let is_own = |op: &u16| file.own.contains(op);
        let wrong = match source {
            Source::Zero if file.is_loose || file.is_shifted => return None,
            // It grew, or was cut and grew again.
            Source::Zero if !durable => {
                let at_end = (from..file.size).all_zero(file.found);
                let promised = self.has(Level::L6) || (self.promises.ends_in_data && at_end);
                return (file.is_plain && promised).then_some((Class::Zeros, Level::L6));
            }
            Source::Zero => (Class::Zeros, kept.level),
            Source::Op(op) | Source::Moved(op) if is_own(&op) && (file.is_loose || file.is_shifted) => return None,
            _ if self.promises.exposes_stale && (values.len() > 1 || !durable || self.was_free(file.id, kept)) => {
                return None;
            }
            Source::Op(op) if is_own(&op) => (Class::Old, if durable { kept.level } else { Level::L0 }),
            Source::Op(_) | Source::Moved(_) if file.is_loose => return None,
            Source::Op(_) | Source::Moved(_) => (Class::Mixed, unchanged(values)),
            Source::Poison | Source::Other => (Class::Garbage, unchanged(values)),
        };
        Some(wrong)
    }

    /// What may be at this byte of it since a state; `None` where it may end before.
    fn sources_at(&self, id: Id, state: usize, at: u64) -> BTreeSet<Option<Source>> {
        let versions = self.history.contents(id, state, self.last);
        versions.into_iter().map(|contents| contents.and_then(|contents| contents.at(at))).collect()
    }

    /// Whether an operation on its data has failed. It may have done a part of its work: then all of its own data is
    /// legal.
    pub(super) fn is_loose(&self, id: Id) -> bool {
        (0..self.last).any(|op| !self.history.worked(op) && self.history.changes_data(op, id))
    }

    /// Ranges in which nothing changes, neither in what was found nor in what may be there.
    fn parts(&self, found: &Contents, id: Id, kept: &[Kept]) -> Vec<(u64, u64)> {
        let versions = self.history.contents(id, self.first, self.last);
        let mut borders: BTreeSet<u64> = versions.into_iter().flatten().flat_map(|contents| contents.ends()).collect();
        borders.extend(found.ends());
        borders.extend(kept.iter().filter_map(|kept| kept.range).flat_map(|(from, to)| [from, to]));
        borders.insert(0);
        let borders: Vec<u64> = borders.into_iter().collect();
        borders.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// Whether all changes of its data since a state are writes through the page cache. Others (direct ones, synced
    /// ranges, mappings, sizes that are set) have an order of their own, of which nothing is promised: the end of a
    /// file may become durable with one of them while data before it waits in memory.
    fn only_buffered(&self, id: Id, state: usize) -> bool {
        (state..self.last)
            .filter(|op| self.history.changes_data(*op, id))
            .all(|op| matches!(self.history.op(op), Op::Write { how: Writing::Buffered, .. }))
    }

    /// Whether data has been moved about in it. Half-way any of its data may be at any place.
    fn shifts(&self, id: Id, state: usize) -> bool {
        (state..self.last).filter(|op| self.history.changes_data(*op, id)).any(|op| {
            matches!(self.history.op(op), Op::Fallocate { mode: Fallocation::Collapse | Fallocation::Insert, .. })
        })
    }

    /// Whether its blocks may have been given to others.
    fn was_free(&self, id: Id, kept: Kept) -> bool {
        self.links(id, kept.state).any(|links| links == 0)
    }

    fn target(&self, entry: &Entry, id: Id) -> Option<Violation> {
        let wanted = self.history.states[self.last].node(id)?.target.clone();
        if entry.target == wanted {
            return None;
        }
        let empty = entry.target.as_deref().unwrap_or_default().is_empty();
        let before = self.history.states[self.first].node(id).is_some();
        let evidence = if entry.kind == Kind::DeviceNode { Evidence::Device } else { Evidence::Target };
        let (class, level) = match empty {
            false => (Class::Garbage, Level::L0),
            true if before => (Class::ZeroLength, Level::L1),
            // Made whole or not at all.
            true if self.has(Level::L3) => (Class::ZeroLength, Level::L3),
            true => return None,
        };
        Some(Violation {
            class,
            level,
            path: entry.path.clone(),
            op: if before { self.base().op } else { Some(self.history.made(id)) },
            expected: evidence(wanted),
            found: evidence(entry.target.clone()),
        })
    }

    pub(super) fn attributes(&self, entry: &Entry, id: Id) -> Vec<Violation> {
        let kept = self.kept_attributes(id);
        let states = &self.history.states[kept.state..=self.last];
        let nodes = || states.iter().filter_map(|state| state.node(id));
        let violation = |level, expected, found| Violation {
            class: Class::WrongMetadata,
            level,
            path: entry.path.clone(),
            op: kept.op,
            expected,
            found,
        };
        let mut wrong = Vec::new();
        // File systems that promise little may have no permissions, but make them up until some are set.
        let made = usize::from(self.history.made(id)) + 1;
        let first = self.history.states[made.min(self.last)].node(id).and_then(|node| node.mode);
        let legal =
            |mode: Option<u32>| mode == Some(entry.mode) || mode.is_none() || (mode == first && !self.has(Level::L3));
        if !nodes().any(|node| legal(node.mode)) {
            let expected = nodes().find_map(|node| node.mode).unwrap_or_default();
            wrong.push(violation(Level::L1, Evidence::Mode(expected), Evidence::Mode(entry.mode)));
        }
        let all = self.history.states[..=self.last].iter().filter_map(|state| state.node(id));
        let ever: BTreeSet<(&String, &String)> = all.flat_map(|node| &node.xattrs).collect();
        let found: BTreeMap<&String, &String> = entry.xattrs.iter().map(|(name, value)| (name, value)).collect();
        let names: BTreeSet<&String> = ever.iter().map(|(name, _)| *name).chain(found.keys().copied()).collect();
        for name in names {
            let value = found.get(name).copied();
            // An inode that is not made yet has none.
            let unborn = states.iter().any(|state| state.node(id).is_none());
            if nodes().any(|node| node.xattrs.get(name) == value) || (unborn && value.is_none()) {
                continue;
            }
            let known = value.is_none_or(|value| ever.contains(&(name, value)));
            let expected = nodes().next().and_then(|node| node.xattrs.get(name)).cloned();
            wrong.push(violation(
                if known { Level::L1 } else { Level::L0 },
                Evidence::Xattr { name: name.clone(), value: expected },
                Evidence::Xattr { name: name.clone(), value: value.cloned() },
            ));
        }
        wrong
    }
}

/// Foreign bytes where nothing has changed break the promise that what is synced is intact; elsewhere, the one that
/// nobody finds what nobody put there.
fn unchanged(values: &BTreeSet<Option<Source>>) -> Level {
    if values.len() == 1 && !values.contains(&None) { Level::L1 } else { Level::L0 }
}

trait Zeros {
    fn all_zero(self, contents: &Contents) -> bool;
}

impl Zeros for std::ops::Range<u64> {
    fn all_zero(self, contents: &Contents) -> bool {
        let starts = std::iter::once(self.start).chain(contents.ends().filter(|end| self.contains(end)));
        starts.into_iter().all(|at| contents.at(at) == Some(Source::Zero))
    }
}

/// One violation of each kind, for all places in which the same is wrong.
struct Wrong<'a> {
    path: &'a str,
    collected: BTreeMap<(Class, Level, Option<u16>), Violation>,
}

impl Wrong<'_> {
    fn add(
        &mut self,
        class: Class,
        level: Level,
        op: Option<u16>,
        (from, to): (u64, u64),
        values: &BTreeSet<Option<Source>>,
        source: Source,
    ) {
        let wanted = values.iter().flatten().copied();
        let violation = self.collected.entry((class, level, op)).or_insert_with(|| Violation {
            class,
            level,
            path: self.path.to_owned(),
            op,
            expected: Evidence::Bytes { offset: from, length: 0, sources: Vec::new() },
            found: Evidence::Bytes { offset: from, length: 0, sources: Vec::new() },
        });
        for (evidence, sources) in
            [(&mut violation.expected, wanted.collect::<Vec<_>>()), (&mut violation.found, vec![source])]
        {
            if let Evidence::Bytes { length, sources: known, .. } = evidence {
                *length += to - from;
                let more: BTreeSet<Source> = known.iter().copied().chain(sources).collect();
                *known = more.into_iter().collect();
            }
        }
    }
}
