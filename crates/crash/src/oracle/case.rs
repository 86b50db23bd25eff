//! One power cut: what was durable by then, and what was found.

use super::history::{History, Reach};
use super::{Level, Promises};
use crate::model::{Dirent, Id};
use crate::moment::Moment;
use crate::tree::Tree;

/// Something that is durable as it was in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub state: usize,
    pub level: Level,
    /// The operation that made it so; `None` if it was so before the first.
    pub op: Option<u16>,
    /// The bytes that this is about: from, to.
    pub range: Option<(u64, u64)>,
}

/// The later state counts; of two promises of one state the one of the lower level, which more file systems give.
pub(super) fn latest(kept: impl IntoIterator<Item = Kept>) -> Option<Kept> {
    kept.into_iter().reduce(|one, other| {
        let later = other.state > one.state || (other.state == one.state && other.level < one.level);
        if later { other } else { one }
    })
}

pub(super) struct Case<'a> {
    pub history: &'a History<'a>,
    /// The state that is durable before the first power cut.
    pub first: usize,
    /// The state in memory when the power failed, or what it was about to become.
    pub last: usize,
    returned: usize,
    pub promises: &'a Promises,
    pub found: &'a Tree,
}

impl<'a> Case<'a> {
    pub fn new(history: &'a History<'a>, moment: Moment, promises: &'a Promises, found: &'a Tree) -> Case<'a> {
        let most = history.states.len() - 1;
        let first = usize::from(history.workload.recorded).min(most);
        let returned = usize::from(moment.returned).clamp(first, most);
        let last = usize::from(moment.begun).clamp(returned, most);
        Case { history, first, last, returned, promises, found }
    }

    pub fn has(&self, level: Level) -> bool {
        self.promises.has(level)
    }

    /// The recorded operations that may have had an effect.
    pub fn ops(&self) -> std::ops::Range<usize> {
        self.first..self.last
    }

    pub fn base(&self) -> Kept {
        Kept { state: self.first, level: Level::L1, op: self.history.workload.staging(), range: None }
    }

    /// Returned operations that make something durable. After one that failed for an inode, later ones say nothing of
    /// it any more: the kernel may have dropped what it could not write, and reports that once.
    fn synced(&self, concerns: impl Fn(Reach) -> bool) -> impl Iterator<Item = (usize, Reach)> {
        let reaching = (self.first..self.returned).map(|op| (op, self.history.reach(op)));
        reaching.filter(move |(_, reach)| concerns(*reach)).take_while(|(op, _)| self.history.worked(*op))
    }

    /// What is durable of the contents of an inode.
    pub fn kept_data(&self, id: Id) -> Vec<Kept> {
        let concerns = move |reach| match reach {
            Reach::All => true,
            Reach::Inode(other) | Reach::Data(other) | Reach::Range(other, ..) => other == id,
            Reach::Nothing => false,
        };
        let synced = self.synced(concerns).map(|(op, reach)| {
            let range = match reach {
                Reach::Range(_, from, to) => Some((from, to)),
                _ => None,
            };
            // A synchronous write makes itself durable, all others what was before them, and they change nothing.
            Kept { state: op + 1, level: Level::L1, op: Some(op as u16), range }
        });
        std::iter::once(self.base()).chain(synced).collect()
    }

    /// From when on permissions and attributes of an inode are durable.
    pub fn kept_attributes(&self, id: Id) -> Kept {
        let synced = self.synced(move |reach| reach == Reach::All || reach == Reach::Inode(id));
        let kept = synced.map(|(op, _)| Kept { state: op, level: Level::L1, op: Some(op as u16), range: None });
        latest(std::iter::once(self.base()).chain(kept)).unwrap_or_else(|| self.base())
    }

    /// Whether an operation has returned and made all before it durable.
    pub fn kept_all(&self, op: usize) -> bool {
        self.synced(|reach| reach == Reach::All).any(|(synced, _)| synced == op)
    }

    /// The returned fsyncs of this inode.
    pub fn fsyncs(&self, id: Id) -> impl Iterator<Item = usize> {
        self.synced(move |reach| reach == Reach::Inode(id)).map(|(op, _)| op)
    }

    /// From when on a name is durable.
    ///
    /// What fsync of a file says of its names is in [`super::names`] where it is new. Of further hard links it says
    /// nothing, and nothing of names of folders above.
    pub fn kept_name(&self, dirent: &Dirent) -> Kept {
        let all = self.synced(|reach| reach == Reach::All);
        let all = all.map(|(op, _)| Kept { state: op, level: Level::L1, op: Some(op as u16), range: None });
        let folder = self.fsyncs(dirent.folder).filter(|_| self.has(Level::L2));
        let folder = folder.map(|op| Kept { state: op, level: Level::L2, op: Some(op as u16), range: None });
        let kept = std::iter::once(self.base()).chain(all).chain(folder).chain(self.kept_renames(dirent));
        latest(kept).unwrap_or_else(|| self.base())
    }

    /// Where operations on one object keep their order, fsync of a file that was renamed makes the renaming durable: it
    /// has changed the file, which is what is synced. So it is with unlink of the last name of a file that is still open:
    /// xfstests generic/764 asks for it. That order is not known to reach further: not to the names of
    /// folders above, and not to hard links.
    fn kept_renames(&self, dirent: &Dirent) -> Vec<Kept> {
        if !self.has(Level::L4) {
            return Vec::new();
        }
        let renames = self.ops().filter(|op| self.history.changed(*op).contains(dirent));
        let kept = renames.filter_map(|op| {
            let id = self.history.subject(op).filter(|id| self.history.moves(op, *id) || self.history.ends(op, *id))?;
            let file = self.history.kind(id) == Some(crate::tree::Kind::File);
            let synced = self.fsyncs(id).filter(|sync| file && *sync > op).last()?;
            Some(Kept { state: op + 1, level: Level::L4, op: Some(synced as u16), range: None })
        });
        kept.collect()
    }

    /// The inode of a name in each state from `state` to the last.
    pub fn values(&self, dirent: &Dirent, state: usize) -> impl Iterator<Item = Option<Id>> {
        self.history.states[state..=self.last].iter().map(|state| state.get(dirent))
    }

    /// The number of names of an inode in each state from `state` to the last.
    pub fn links(&self, id: Id, state: usize) -> impl Iterator<Item = usize> {
        self.history.states[state..=self.last].iter().map(move |state| state.names(id).len())
    }

    /// How the name of a file is written where it was last.
    pub fn path(&self, dirent: &Dirent) -> String {
        let at = |state: usize| self.history.paths[state].iter().find(|(_, id)| **id == dirent.folder);
        let folder = (self.first..=self.last).rev().find_map(at).map(|(path, _)| format!("{path}/"));
        format!("{}{}", folder.unwrap_or_default(), dirent.name)
    }
}
