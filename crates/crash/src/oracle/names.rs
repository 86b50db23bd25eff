//! Which inode each found name is, and whether the names are those that must be there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, Kept};
use super::{Class, Evidence, Level, Violation};
use crate::model::{Dirent, Id};
use crate::tree::{Entry, Kind, Source};
use crate::workload::{Op, Renaming};

/// What was found of a name.
pub(super) struct Binding<'a> {
    pub path: String,
    pub entry: Option<&'a Entry>,
    /// Of each state from the first to the last, whether the name can be as it was then.
    fits: Vec<bool>,
    first: usize,
}

impl Binding<'_> {
    pub fn fits(&self, state: usize) -> bool {
        self.fits.get(state - self.first).copied().unwrap_or(false)
    }

    /// The states that it can be of.
    pub fn states(&self) -> impl Iterator<Item = usize> {
        self.fits.iter().enumerate().filter(|(_, fits)| **fits).map(|(index, _)| self.first + index)
    }
}

/// Where a folder of the workload is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Found(String),
    /// It may be one of several that were found, or could not be read.
    Unclear,
}

/// The names that were found, each as a name of a folder of the workload.
pub(super) struct Names<'a> {
    pub bindings: BTreeMap<Dirent, Binding<'a>>,
    folders: BTreeMap<Id, Place>,
}

impl Names<'_> {
    /// Whether this folder was found, and read.
    pub fn is_found(&self, folder: Id) -> bool {
        matches!(self.folders.get(&folder), Some(Place::Found(_)))
    }

    pub fn is_unclear(&self, folder: Id) -> bool {
        self.folders.get(&folder) == Some(&Place::Unclear)
    }
}

impl<'a> Case<'a> {
    /// The found tree by the names of the workload, and what is wrong with single names and with what they hold.
    pub(super) fn judge_names(&self) -> (Names<'a>, Vec<Violation>) {
        let mut names = Names { bindings: BTreeMap::new(), folders: BTreeMap::new() };
        let mut wrong = Vec::new();
        self.place(Id::ROOT, "", &mut names, &mut wrong);
        self.new_files(&names, &mut wrong);
        (names, wrong)
    }

    fn place(&self, folder: Id, path: &str, names: &mut Names<'a>, wrong: &mut Vec<Violation>) {
        if self.found.unreadable.iter().any(|(unreadable, _)| unreadable.trim_matches('/') == path) {
            names.folders.insert(folder, Place::Unclear);
            return;
        }
        names.folders.insert(folder, Place::Found(path.to_owned()));
        let children = children(&self.found.entries, path);
        let states = &self.history.states[self.first..=self.last];
        let known = states.iter().filter_map(|state| state.node(folder)).flat_map(|node| node.entries.keys());
        let all: BTreeSet<&str> = known.map(String::as_str).chain(children.keys().copied()).collect();
        for name in all {
            let entry = children.get(name).copied();
            let dirent = Dirent { folder, name: name.to_owned() };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let (candidates, fits) = self.fits(&dirent, entry);
            let binding = Binding { path: path.clone(), entry, fits, first: self.first };
            self.judge_name(&dirent, &binding, wrong);
            names.bindings.insert(dirent, binding);
            if entry.is_none_or(|entry| entry.kind != Kind::Folder) {
                continue;
            }
            match candidates.as_slice() {
                // One folder may be found under two names.
                [id] if !names.folders.contains_key(id) => self.place(*id, &path, names, wrong),
                [_] => {}
                several => names.folders.extend(several.iter().map(|id| (*id, Place::Unclear))),
            }
        }
    }

    /// Which inodes an entry may be, and the states in which the name was one of them, or was none.
    fn fits(&self, dirent: &Dirent, entry: Option<&Entry>) -> (Vec<Id>, Vec<bool>) {
        let values: Vec<Option<Id>> = self.values(dirent, self.first).collect();
        let Some(entry) = entry else {
            return (Vec::new(), values.iter().map(Option::is_none).collect());
        };
        let ever: BTreeSet<Id> = values.iter().flatten().copied().collect();
        let admitted = self.admitted(entry, ever);
        let fits = values.iter().map(|value| value.is_some_and(|id| admitted.contains(&id))).collect();
        (admitted, fits)
    }

    /// Of some inodes those that an entry may be: those that it could be without a fault, else those whose data it has
    /// and no other, else all of its kind.
    pub(super) fn admitted(&self, entry: &Entry, ids: BTreeSet<Id>) -> Vec<Id> {
        let alike: Vec<Id> = ids.into_iter().filter(|id| self.history.kind(*id) == Some(entry.kind)).collect();
        if alike.len() < 2 {
            return alike;
        }
        let faultless = |id: &Id| match entry.kind {
            Kind::Folder => self.may_hold(*id, &entry.path),
            _ => self.judge_entry(entry, *id, &self.kept_data(*id)).is_empty(),
        };
        let own = |id: &Id| {
            let own = self.history.own(*id, self.last);
            entry.runs.iter().all(|run| match run.source {
                Source::Op(op) | Source::Moved(op) => own.contains(&op),
                Source::Zero | Source::Poison | Source::Other => true,
            })
        };
        for rule in [&faultless as &dyn Fn(&Id) -> bool, &own] {
            let chosen: Vec<Id> = alike.iter().copied().filter(rule).collect();
            if !chosen.is_empty() {
                return chosen;
            }
        }
        alike
    }

    /// Whether a folder ever held all names that are found in one.
    fn may_hold(&self, folder: Id, path: &str) -> bool {
        let held = |name: &str| {
            let states = self.history.states[..=self.last].iter().filter_map(|state| state.node(folder));
            states.into_iter().any(|node| node.entries.contains_key(name))
        };
        children(&self.found.entries, path).keys().all(|name| held(name))
    }

    fn judge_name(&self, dirent: &Dirent, binding: &Binding<'_>, wrong: &mut Vec<Violation>) {
        let kept = self.kept_name(dirent);
        let before = self.history.states[kept.state].get(dirent);
        let made = |id: Id| Evidence::Made(self.history.made(id));
        let violation = |class, level, expected, found| Violation {
            class,
            level,
            path: binding.path.clone(),
            op: kept.op,
            expected,
            found,
        };
        let legal: BTreeSet<Id> = (kept.state..=self.last)
            .filter(|state| binding.fits(*state))
            .filter_map(|state| self.history.states[state].get(dirent))
            .collect();
        let Some(entry) = binding.entry else {
            if self.values(dirent, kept.state).all(|value| value.is_some())
                && let Some(id) = before
            {
                wrong.push(violation(Class::Missing, kept.level, made(id), Evidence::Nothing));
            }
            return;
        };
        if !legal.is_empty() {
            wrong.extend(self.least_wrong(dirent, entry, &legal));
            return;
        }
        let ever: Vec<Id> = self.history.states[..=self.last].iter().filter_map(|state| state.get(dirent)).collect();
        let alike = ever.iter().any(|id| self.history.kind(*id) == Some(entry.kind));
        let older = binding.states().last().and_then(|state| self.history.states[state].get(dirent));
        wrong.push(match (self.values(dirent, kept.state).flatten().next(), older) {
            _ if ever.is_empty() => Violation {
                op: None,
                ..violation(Class::ExtraName, Level::L0, Evidence::Nothing, Evidence::Kind(entry.kind))
            },
            (None, Some(id)) => violation(Class::ExtraName, kept.level, Evidence::Nothing, made(id)),
            (None, None) => violation(Class::ExtraName, kept.level, Evidence::Nothing, Evidence::Kind(entry.kind)),
            (Some(id), Some(older)) => violation(Class::Old, kept.level, made(id), made(older)),
            (Some(id), None) if alike => violation(Class::Old, kept.level, made(id), Evidence::Kind(entry.kind)),
            (Some(id), None) => {
                let kind = self.history.kind(id).unwrap_or(Kind::Other);
                violation(Class::WrongMetadata, Level::L0, Evidence::Kind(kind), Evidence::Kind(entry.kind))
            }
        });
    }

    /// What is wrong with an entry that is one of some inodes.
    fn least_wrong(&self, dirent: &Dirent, entry: &Entry, ids: &BTreeSet<Id>) -> Vec<Violation> {
        let judged = ids.iter().map(|id| {
            let kept = self.kept_data(*id).into_iter().chain(self.replaced(dirent, *id));
            self.judge_entry(entry, *id, &kept.collect::<Vec<_>>())
        });
        // Of several explanations that which breaks the farthest-reaching promise: fewer file systems give it.
        let lowest = |wrong: &Vec<Violation>| wrong.iter().map(|violation| violation.level).min();
        judged.min_by_key(|wrong| (lowest(wrong).map(Reverse), wrong.len())).unwrap_or_default()
    }

    /// Where data is durable before a renaming that replaces a file, a file that is found under the name has at least
    /// the data that it had then. This is said of new files alone: blocks that a file had before may be overwritten in
    /// their places at any time.
    fn replaced(&self, dirent: &Dirent, id: Id) -> Option<Kept> {
        if !self.has(Level::L6) {
            return None;
        }
        let op =
            self.ops().rev().find(|op| self.history.changed(*op).contains(dirent) && self.history.moves(*op, id))?;
        let state = &self.history.states[op];
        let plain = matches!(self.history.op(op), Op::Rename { how: Renaming::Plain, .. });
        let replaces = state.get(dirent).is_some();
        let new = self.history.states[self.first].node(id).is_none();
        let unsynced = !self.kept_data(id).iter().any(|kept| kept.state > self.first && kept.state <= op);
        let first = (self.first..=op).all(|state| self.history.states[state].get(dirent) != Some(id));
        let buffered = (self.first..op)
            .filter(|op| self.history.changes_data(*op, id))
            .all(|op| matches!(self.history.op(op), Op::Write { how: crate::workload::Writing::Buffered, .. }));
        (plain && replaces && new && unsynced && first && buffered).then_some(Kept {
            state: op + 1,
            level: Level::L6,
            op: Some(op as u16),
            range: None,
        })
    }

    /// A new file or folder that was synced has a name, as long as nothing takes its last one away.
    fn new_files(&self, names: &Names<'_>, wrong: &mut Vec<Violation>) {
        if !self.has(Level::L2) {
            return;
        }
        for id in self.history.states[self.last].ids() {
            let Some(op) = self.fsyncs(id).find(|op| self.links(id, *op).all(|links| links > 0)) else { continue };
            let old = self.history.states[self.first].node(id).is_some();
            if old || self.may_have_name(names, id) {
                continue;
            }
            let Some(dirent) = self.history.states[op].names(id).into_iter().next() else { continue };
            let path = self.path(&dirent);
            if wrong.iter().any(|known| known.path == path) {
                continue;
            }
            wrong.push(Violation {
                class: Class::Missing,
                level: Level::L2,
                path,
                op: Some(op as u16),
                expected: Evidence::Made(self.history.made(id)),
                found: Evidence::Nothing,
            });
        }
    }

    /// Whether a found name may be one of this inode, or could not be seen.
    pub(super) fn may_have_name(&self, names: &Names<'_>, id: Id) -> bool {
        let states = self.first..=self.last;
        let ever = states.clone().flat_map(|state| self.history.states[state].names(id));
        let unclear = ever.into_iter().any(|dirent| names.is_unclear(dirent.folder));
        let is_it = |dirent: &Dirent, binding: &Binding<'_>| {
            let mut states = binding.states();
            states.any(|state| self.history.states[state].get(dirent) == Some(id))
        };
        unclear || names.bindings.iter().any(|(dirent, binding)| binding.entry.is_some() && is_it(dirent, binding))
    }
}

/// What is found in a folder, by name.
fn children<'t>(entries: &'t [Entry], folder: &str) -> BTreeMap<&'t str, &'t Entry> {
    let within = entries.iter().filter_map(|entry| {
        let (parent, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        (parent == folder).then_some((name, entry))
    });
    within.collect()
}
