//! Operations on names happen whole or not at all, and on one object in their order.

use std::collections::BTreeSet;

use super::case::Case;
use super::names::{Binding, Names};
use super::{Class, Evidence, Level, Violation};
use crate::model::{Dirent, Id};
use crate::workload::Op;

impl Case<'_> {
    /// Whether a name is certainly as this operation made it, and not as a later one did.
    fn is_done(&self, dirent: &Dirent, binding: &Binding<'_>, op: usize) -> bool {
        let value = |state: usize| self.history.states[state].get(dirent);
        let of_this = |state| state > op && (op + 1..=state).all(|between| value(between) == value(op + 1));
        let mut states = binding.states().peekable();
        states.peek().is_some() && states.all(of_this)
    }

    /// Whether a name is certainly as it was before this operation.
    fn is_undone(&self, binding: &Binding<'_>, op: usize) -> bool {
        let mut states = binding.states().peekable();
        states.peek().is_some() && states.all(|state| state <= op)
    }

    fn changed<'n>(&self, names: &'n Names<'_>, op: usize) -> Vec<(&'n Dirent, &'n Binding<'n>)> {
        self.history.changed(op).iter().filter_map(|dirent| names.bindings.get_key_value(dirent)).collect()
    }

    /// A name that shows this operation, and one that shows that it did not happen.
    pub(super) fn done(&self, names: &Names<'_>, op: usize) -> (Option<String>, Option<String>) {
        let changed = self.changed(names, op);
        let done = changed.iter().find(|(dirent, binding)| self.is_done(dirent, binding, op));
        let undone = changed.iter().find(|(_, binding)| self.is_undone(binding, op));
        (done.map(|(_, binding)| binding.path.clone()), undone.map(|(_, binding)| binding.path.clone()))
    }

    /// [`Level::L3`]: what happened by half.
    pub(super) fn judge_atomicity(&self, names: &Names<'_>) -> Vec<Violation> {
        let mut wrong = Vec::new();
        if !self.has(Level::L3) {
            return wrong;
        }
        let mut told: BTreeSet<Id> = BTreeSet::new();
        for op in self.ops().filter(|op| self.history.worked(*op)) {
            let (Some(_), Some(undone)) = self.done(names, op) else { continue };
            told.extend(self.history.subject(op));
            let there = |name: &str| names.bindings.values().any(|known| known.path == name && known.entry.is_some());
            let all: Vec<String> = self.changed(names, op).iter().map(|(_, known)| known.path.clone()).collect();
            wrong.push(Violation {
                class: if there(&undone) { Class::ExtraName } else { Class::Missing },
                level: Level::L3,
                path: undone,
                op: Some(op as u16),
                expected: Evidence::Names(all.clone()),
                found: Evidence::Names(all.into_iter().filter(|name| there(name)).collect()),
            });
        }
        for id in self.history.states[self.last].ids().filter(|id| !told.contains(id)) {
            wrong.extend(self.judge_number(names, id));
        }
        wrong.extend(self.judge_links());
        wrong
    }

    /// Never more names than an inode had at once, and one as long as it always had one.
    fn judge_number(&self, names: &Names<'_>, id: Id) -> Option<Violation> {
        let (least, most) = self
            .links(id, self.first)
            .fold((usize::MAX, 0), |(least, most), links| (least.min(links), most.max(links)));
        let is_it = |dirent: &Dirent, binding: &Binding<'_>| {
            let mut states = binding.states().peekable();
            states.peek().is_some() && states.all(|state| self.history.states[state].get(dirent) == Some(id))
        };
        let own: Vec<String> = names
            .bindings
            .iter()
            .filter(|(dirent, binding)| binding.entry.is_some() && is_it(dirent, binding))
            .map(|(_, binding)| binding.path.clone())
            .collect();
        let states = &self.history.states[self.first..=self.last];
        let ever: BTreeSet<Dirent> = states.iter().flat_map(|state| state.names(id)).collect();
        let op = self.ops().rev().find(|op| self.history.changed(*op).iter().any(|dirent| ever.contains(dirent)))?;
        if own.len() > most {
            return Some(Violation {
                class: Class::ExtraName,
                level: Level::L3,
                path: own.first().cloned().unwrap_or_default(),
                op: Some(op as u16),
                expected: Evidence::Names(ever.iter().map(|dirent| self.path(dirent)).collect()),
                found: Evidence::Names(own),
            });
        }
        // Where none of its folders was found, the folder is what is missing.
        let seen = ever.iter().any(|dirent| names.is_found(dirent.folder));
        if least == 0 || !seen || self.may_have_name(names, id) {
            return None;
        }
        // A name that was never touched is missing by itself.
        let constant = |dirent: &Dirent| self.values(dirent, self.first).all(|value| value == Some(id));
        if ever.iter().any(constant) {
            return None;
        }
        // Renaming alone loses no name. That another operation did not overtake a renaming is a matter of order.
        let renamed = self.ops().filter(|op| self.history.changed(*op).iter().any(|dirent| ever.contains(dirent)));
        let alone = renamed.into_iter().all(|op| self.history.moves(op, id));
        let level = if alone { Level::L3 } else { Level::L4 };
        self.has(level).then(|| Violation {
            class: Class::Missing,
            level,
            path: ever.first().map(|dirent| self.path(dirent)).unwrap_or_default(),
            op: Some(op as u16),
            expected: Evidence::Names(ever.iter().map(|dirent| self.path(dirent)).collect()),
            found: Evidence::Names(Vec::new()),
        })
    }

    /// A file, FIFO or node has as many names as it says.
    fn judge_links(&self) -> Vec<Violation> {
        // Others may be where nothing could be read.
        if !self.found.unreadable.is_empty() {
            return Vec::new();
        }
        let files = || self.found.entries.iter().filter(|entry| entry.kind.is_counted() && entry.error.is_none());
        let mut told = BTreeSet::new();
        let wrong = files().filter_map(|entry| {
            let names = files().filter(|other| other.inode == entry.inode).count() as u64;
            (entry.links != names && told.insert(entry.inode)).then(|| Violation {
                class: Class::WrongMetadata,
                level: Level::L3,
                path: entry.path.clone(),
                op: None,
                expected: Evidence::Links(names),
                found: Evidence::Links(entry.links),
            })
        });
        wrong.collect()
    }

    /// [`Level::L4`]: of two operations on one object the later is durable and the earlier is not.
    ///
    /// Objects are names, and the names of one inode. A folder is none: of two names in it either may be durable without
    /// the other. Nor is an earlier link bound to what is later synced of its file.
    pub(super) fn judge_order(&self, names: &Names<'_>) -> Vec<Violation> {
        let mut wrong = Vec::new();
        if !self.has(Level::L4) {
            return wrong;
        }
        let ops: Vec<usize> = self.ops().filter(|op| !self.history.changed(*op).is_empty()).collect();
        let shown: Vec<(Option<String>, Option<String>)> = ops.iter().map(|op| self.done(names, *op)).collect();
        for (index, &later) in ops.iter().enumerate() {
            if shown[index].0.is_none() {
                continue;
            }
            for (&earlier, (_, undone)) in ops[..index].iter().zip(&shown) {
                let Some(undone) = undone else { continue };
                if self.are_bound(earlier, later) {
                    wrong.push(Violation {
                        class: Class::Missing,
                        level: Level::L4,
                        path: undone.clone(),
                        op: Some(earlier as u16),
                        expected: Evidence::Done(earlier as u16),
                        found: Evidence::Done(later as u16),
                    });
                }
            }
        }
        wrong.extend(self.judge_attributes(names));
        wrong
    }

    fn are_bound(&self, earlier: usize, later: usize) -> bool {
        let (one, other) = (self.history.changed(earlier), self.history.changed(later));
        if one.iter().any(|dirent| other.contains(dirent)) {
            return true;
        }
        let takes = |op| matches!(self.history.op(op), Op::Unlink { .. } | Op::Rename { .. });
        let first = takes(earlier) || matches!(self.history.op(earlier), Op::Link { .. });
        first && takes(later) && self.history.subject(earlier) == self.history.subject(later)
    }

    /// Permissions and attributes of one inode are of one moment.
    fn judge_attributes(&self, names: &Names<'_>) -> Vec<Violation> {
        let mut wrong = Vec::new();
        for (dirent, binding) in &names.bindings {
            let Some(entry) = binding.entry else { continue };
            let ids: BTreeSet<Id> =
                binding.states().filter_map(|state| self.history.states[state].get(dirent)).collect();
            let [id] = ids.into_iter().collect::<Vec<_>>()[..] else { continue };
            let kept = self.kept_attributes(id);
            let nodes = || (kept.state..=self.last).filter_map(|state| self.history.states[state].node(id));
            let xattrs: Vec<_> = entry.xattrs.iter().map(|(name, value)| (name, value)).collect();
            let mode = |mode: Option<u32>| mode.is_none_or(|mode| mode == entry.mode);
            let together = nodes().any(|node| mode(node.mode) && node.xattrs.iter().collect::<Vec<_>>() == xattrs);
            let each = nodes().any(|node| mode(node.mode))
                && entry.xattrs.iter().all(|(name, value)| nodes().any(|node| node.xattrs.get(name) == Some(value)));
            if each && !together && self.attributes(entry, id).is_empty() {
                let changes = self.ops().filter(|op| {
                    let attribute =
                        matches!(self.history.op(*op), Op::Chmod { .. } | Op::SetXattr { .. } | Op::RemoveXattr { .. });
                    attribute && self.history.subject(*op) == Some(id)
                });
                let changes: Vec<usize> = changes.collect();
                let (Some(first), Some(last)) = (changes.first(), changes.last()) else { continue };
                wrong.push(Violation {
                    class: Class::WrongMetadata,
                    level: Level::L4,
                    path: binding.path.clone(),
                    op: Some(*first as u16),
                    expected: Evidence::Done(*first as u16),
                    found: Evidence::Done(*last as u16),
                });
            }
        }
        wrong
    }
}
