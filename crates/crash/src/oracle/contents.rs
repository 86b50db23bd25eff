//! Whether a file holds what it may: data, size, permissions, attributes, target.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, Kept, latest};
use super::history::Contents;
use super::{Class, Evidence, Level, Violation};
use crate::model::Id;
use crate::tree::{Entry, Kind, Source};
use crate::workload::{Fallocation, Op, Writing};

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
        let loose = self.is_loose(id);
        let largest = |state| {
            let versions = self.history.contents(id, state, self.last);
            versions.into_iter().map(|contents| contents.map_or(0, Contents::size)).max().unwrap_or(0)
        };
        let most = largest(whole.state);
        let mut out = Vec::new();
        if entry.size > most && !loose {
            out.push(Violation {
                class: Class::WrongMetadata,
                level: if entry.size > largest(self.first) { Level::L0 } else { whole.level },
                path: entry.path.clone(),
                op: whole.op,
                expected: Evidence::Size { least: 0, most },
                found: Evidence::Size { least: entry.size, most: entry.size },
            });
        }
        let own = self.history.own(id, self.last);
        let plain = self.only_buffered(id, whole.state);
        let shifted = self.shifts(id, whole.state);
        let mut short: Option<(Kept, u64)> = None;
        for (from, to) in self.parts(&found, id, kept) {
            let covers = |kept: &Kept| kept.range.is_none_or(|(start, end)| start <= from && to <= end);
            let Some(kept) = latest(kept.iter().copied().filter(covers)) else { continue };
            let versions = self.history.contents(id, kept.state, self.last);
            let values: BTreeSet<Option<Source>> =
                versions.into_iter().map(|contents| contents.and_then(|contents| contents.at(from))).collect();
            let durable = !values.contains(&None);
            if from >= size {
                if durable && !loose {
                    short = Some((kept, to));
                }
                continue;
            }
            let Some(source) = found.at(from) else { continue };
            // Beyond the largest size the size itself is wrong.
            if values.contains(&Some(source)) || from >= most {
                continue;
            }
            let (class, level) = match source {
                Source::Zero if loose || shifted => continue,
                // It grew, or was cut and grew again.
                Source::Zero if !durable => {
                    let at_end = (from..size).all_zero(&found);
                    let promised = self.has(Level::L6) || (self.promises.ends_in_data && at_end);
                    if !(plain && promised) {
                        continue;
                    }
                    (Class::Zeros, Level::L6)
                }
                Source::Zero => (Class::Zeros, kept.level),
                Source::Op(op) | Source::Moved(op) if own.contains(&op) && (loose || shifted) => continue,
                _ if self.promises.exposes_stale && (values.len() > 1 || !durable || self.was_free(id, kept)) => {
                    continue;
                }
                Source::Op(op) if own.contains(&op) => (Class::Old, if durable { kept.level } else { Level::L0 }),
                Source::Op(_) | Source::Moved(_) if loose => continue,
                Source::Op(_) | Source::Moved(_) => (Class::Mixed, unchanged(&values)),
                Source::Poison | Source::Other => (Class::Garbage, unchanged(&values)),
            };
            wrong.add(class, level, kept.op, (from, to), &values, source);
        }
        if let Some((kept, end)) = short {
            out.push(Violation {
                class: if entry.size == 0 { Class::ZeroLength } else { Class::Prefix },
                level: kept.level,
                path: entry.path.clone(),
                op: kept.op,
                expected: Evidence::Size { least: end, most },
                found: Evidence::Size { least: entry.size, most: entry.size },
            });
        }
        out.extend(wrong.collected.into_values());
        out
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
