//! What a workload did, operation by operation.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Dirent, Id, Model};
use crate::moment::Moment;
use crate::tree::{Kind, Source};
use crate::workload::{Op, Renaming, Workload, Writing};

/// The contents of a file in a form that is quick to ask: the end of each run, and its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents(Vec<(u64, Source)>);

impl Contents {
    pub fn new(runs: impl IntoIterator<Item = crate::tree::Run>) -> Contents {
        let mut end = 0;
        let ends = runs.into_iter().map(|run| {
            end += run.length;
            (end, run.source)
        });
        Contents(ends.collect())
    }

    pub fn size(&self) -> u64 {
        self.0.last().map_or(0, |(end, _)| *end)
    }

    /// `None` beyond the end.
    pub fn at(&self, offset: u64) -> Option<Source> {
        let index = self.0.partition_point(|(end, _)| *end <= offset);
        self.0.get(index).map(|(_, source)| *source)
    }

    pub fn ends(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(end, _)| *end)
    }

    pub fn sources(&self) -> impl Iterator<Item = Source> {
        self.0.iter().map(|(_, source)| *source)
    }
}

/// A workload with its results, replayed in memory. State `n` is the one before operation `n`: the operations before it
/// have worked or failed, and it has not begun.
#[derive(Clone, Debug)]
pub struct History<'a> {
    pub(super) workload: &'a Workload,
    results: &'a [i32],
    pub(super) states: Vec<Model>,
    /// Of each state, everything by path.
    pub(super) paths: Vec<BTreeMap<String, Id>>,
    /// Of each inode, its contents and the state from which on it has them.
    contents: BTreeMap<Id, Vec<(usize, Contents)>>,
    /// The operation that made each inode.
    made: BTreeMap<Id, u16>,
    /// Names that each operation changed.
    changed: Vec<Vec<Dirent>>,
    /// The first operation that worked although it cannot, as far as this program knows.
    pub(super) strange: Option<usize>,
}

impl<'a> History<'a> {
    /// `results` has 0 or an errno of each operation that has returned in the end; the others may have worked.
    pub fn new(workload: &'a Workload, results: &'a [i32]) -> History<'a> {
        let mut model = Model::default();
        let mut history = History {
            workload,
            results,
            states: vec![model.clone()],
            paths: vec![BTreeMap::new()],
            contents: BTreeMap::new(),
            made: BTreeMap::new(),
            changed: Vec::new(),
            strange: None,
        };
        history.look(&model, 0);
        for (index, op) in workload.ops.iter().enumerate() {
            if history.worked(index) && model.apply(index as u16, op).is_err() && index < results.len() {
                history.strange = history.strange.or(Some(index));
            }
            history.look(&model, index + 1);
            let dirents = paths(op).into_iter().filter_map(|path| history.states[index].dirent(path));
            let changed = dirents.filter(|dirent| history.states[index].get(dirent) != model.get(dirent));
            let changed = changed.collect::<BTreeSet<_>>().into_iter().collect();
            history.changed.push(changed);
            history.paths.push(model.paths().into_iter().collect());
            history.states.push(model.clone());
        }
        history
    }

    fn look(&mut self, model: &Model, state: usize) {
        for id in model.ids() {
            self.made.entry(id).or_insert(state.saturating_sub(1) as u16);
            let contents = Contents::new(model.node(id).map(|node| node.data.runs()).unwrap_or_default());
            let versions = self.contents.entry(id).or_default();
            if versions.last().is_none_or(|(_, last)| *last != contents) {
                versions.push((state, contents));
            }
        }
    }

    /// Whether the workload says what files must hold.
    pub fn has_model(&self) -> bool {
        self.workload.has_model()
    }

    /// Whether what a step of the application does must be durable once it has returned; so it is with all operations.
    pub fn is_durable(&self) -> bool {
        self.workload.application.as_ref().is_none_or(|application| application.durable)
    }

    /// Whether the medium may have lost what was durable.
    pub fn has_lost(&self, moment: Moment) -> bool {
        self.workload.ops.iter().take(moment.begun.into()).any(|op| matches!(op, Op::Lose { .. }))
    }

    /// Operations that failed, each with its errno: of what hangs on them nothing is promised.
    pub fn failed(&self) -> Vec<(u16, i32)> {
        (0..).zip(self.results.iter().copied()).filter(|(_, errno)| *errno != 0).collect()
    }

    /// The first operation that worked although it cannot: from there on nothing is judged but that all can be read.
    pub fn strange(&self) -> Option<u16> {
        self.strange.map(|op| op as u16)
    }

    /// Whether it returned 0, or may yet.
    pub(super) fn worked(&self, op: usize) -> bool {
        self.results.get(op).is_none_or(|result| *result == 0)
    }

    pub(super) fn op(&self, op: usize) -> &'a Op {
        &self.workload.ops[op]
    }

    /// The contents of an inode in the states from `first` to `last`; `None` while it is not made.
    pub(super) fn contents(&self, id: Id, first: usize, last: usize) -> Vec<Option<&Contents>> {
        let versions = self.contents.get(&id).map(Vec::as_slice).unwrap_or_default();
        let begin = versions.partition_point(|(from, _)| *from <= first);
        let end = versions.partition_point(|(from, _)| *from <= last);
        let before = if begin == 0 { None } else { Some(&versions[begin - 1].1) };
        std::iter::once(before).chain(versions[begin..end].iter().map(|(_, contents)| Some(contents))).collect()
    }

    /// The operation that made an inode.
    pub(super) fn made(&self, id: Id) -> u16 {
        self.made.get(&id).copied().unwrap_or_default()
    }

    /// The names that an operation changed.
    pub(super) fn changed(&self, op: usize) -> &[Dirent] {
        self.changed.get(op).map(Vec::as_slice).unwrap_or_default()
    }

    /// The inode that an operation is about: of a rename the one that moves.
    pub(super) fn subject(&self, op: usize) -> Option<Id> {
        let state = &self.states[op];
        match self.op(op) {
            Op::Create { path }
            | Op::Mkdir { path }
            | Op::Symlink { path, .. }
            | Op::Mkfifo { path }
            | Op::Mknod { path, .. } => self.states[op + 1].find(path),
            Op::Tmpfile { handle, .. } => self.states[op + 1].find(handle),
            Op::Link { from, .. } | Op::Rename { from, .. } => state.find(from),
            Op::Clone { to, .. } => state.find(to),
            Op::Unlink { path }
            | Op::Rmdir { path }
            | Op::Open { path, .. }
            | Op::Write { path, .. }
            | Op::Empty { path }
            | Op::Truncate { path, .. }
            | Op::Fallocate { path, .. }
            | Op::SetXattr { path, .. }
            | Op::RemoveXattr { path, .. }
            | Op::Chmod { path, .. }
            | Op::Fsync { path }
            | Op::Fdatasync { path }
            | Op::Msync { path, .. } => state.find(path),
            Op::Sync | Op::Evict | Op::Idle { .. } | Op::Lose { .. } => None,
        }
    }

    /// Whether an operation changes the contents of this inode, or would if it had worked.
    pub(super) fn changes_data(&self, op: usize, id: Id) -> bool {
        let is_data = matches!(
            self.op(op),
            Op::Write { .. } | Op::Empty { .. } | Op::Truncate { .. } | Op::Fallocate { .. } | Op::Clone { .. }
        );
        is_data && self.subject(op) == Some(id)
    }

    /// Whether an operation takes one name away and gives another, of what `id` is.
    pub(super) fn moves(&self, op: usize, id: Id) -> bool {
        let plain = matches!(self.op(op), Op::Rename { how: Renaming::Plain | Renaming::NoReplace, .. });
        plain && self.worked(op) && self.changed(op).len() == 2 && self.subject(op) == Some(id)
    }

    /// Whether an operation takes the last name of a file away.
    pub(super) fn ends(&self, op: usize, id: Id) -> bool {
        let unlinks = matches!(self.op(op), Op::Unlink { .. }) && self.worked(op) && self.subject(op) == Some(id);
        unlinks && self.states[op + 1].names(id).is_empty() && self.kind(id) == Some(Kind::File)
    }

    pub(super) fn kind(&self, id: Id) -> Option<Kind> {
        self.states.last().and_then(|state| state.node(id)).map(|node| node.kind)
    }

    /// The operations whose data was ever in a file up to `last`, or may have been.
    pub(super) fn own(&self, id: Id, last: usize) -> BTreeSet<u16> {
        let versions = self.contents(id, 0, last);
        let sources = versions.into_iter().flatten().flat_map(|contents| contents.sources());
        let written = sources.filter_map(|source| match source {
            Source::Op(op) | Source::Moved(op) => Some(op),
            Source::Zero | Source::Poison | Source::Other => None,
        });
        // A write that failed may have written a part.
        let failed = (0..last).filter(|op| !self.worked(*op) && self.changes_data(*op, id)).map(|op| op as u16);
        written.chain(failed).collect()
    }

    /// What is durable at the latest when an operation has returned without an error.
    pub(super) fn reach(&self, op: usize) -> Reach {
        let subject = || self.subject(op).map_or(Reach::Nothing, Reach::Inode);
        match self.op(op) {
            Op::Sync => Reach::All,
            Op::Fsync { .. } => subject(),
            Op::Fdatasync { .. } => self.subject(op).map_or(Reach::Nothing, Reach::Data),
            Op::Msync { offset, length, .. }
            | Op::Write { offset, length, how: Writing::Sync | Writing::Dsync, .. } => {
                self.subject(op).map_or(Reach::Nothing, |id| Reach::Range(id, *offset, offset + length))
            }
            _ => Reach::Nothing,
        }
    }
}

/// What an operation makes durable. O_TRUNC with O_SYNC makes nothing durable, and a synchronous write its own bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Nothing,
    All,
    Inode(Id),
    /// The contents and the size, but no other metadata.
    Data(Id),
    /// These bytes: from, to.
    Range(Id, u64, u64),
}

/// The names in an operation that it may change.
fn paths(op: &Op) -> Vec<&str> {
    match op {
        Op::Create { path }
        | Op::Mkdir { path }
        | Op::Symlink { path, .. }
        | Op::Mkfifo { path }
        | Op::Mknod { path, .. }
        | Op::Unlink { path }
        | Op::Rmdir { path } => vec![path],
        Op::Link { to, .. } => vec![to],
        Op::Rename { from, to, .. } => vec![from, to],
        _ => Vec::new(),
    }
}
