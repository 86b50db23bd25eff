//! What must be there before a sequence of actions, so that each can work.

use super::super::{Op, Writing};
use super::actions::{ATTRIBUTE, Action, Need, SIZE};
use crate::model::{Id, Model};
use crate::tree::Kind;

/// The operations that set the stage for some actions, without a sync at their end. `None` if one of the actions needs
/// what an earlier one has undone, or what another needs the opposite of.
pub(super) fn staged(actions: &[&Action]) -> Option<Vec<Op>> {
    let mut stage = Stage::default();
    // What an action lacks is added to the stage, and all are played again: what is there now may be in the way of
    // others.
    for _ in 0..MOST_ROUNDS {
        match stage.play(actions) {
            Played::Whole => return Some(stage.ops),
            Played::Lacks(need) => stage.add(&need)?,
            Played::Fails => return None,
        }
    }
    None
}

/// More than the needs of all actions of a sequence.
const MOST_ROUNDS: usize = 40;

#[derive(Default)]
struct Stage {
    ops: Vec<Op>,
    model: Model,
}

enum Played {
    Whole,
    Lacks(Need),
    Fails,
}

impl Stage {
    fn play(&self, actions: &[&Action]) -> Played {
        let mut model = self.model.clone();
        for action in actions {
            for need in &action.needs {
                match (meets(&model, need), meets(&self.model, need)) {
                    (true, _) => {}
                    // It was there, or not there, and an earlier action changed that.
                    (false, true) => return Played::Fails,
                    (false, false) => return Played::Lacks(need.clone()),
                }
            }
            for op in &action.ops {
                // A handle of an earlier action is numbered anew in the workload.
                let known =
                    matches!(op, Op::Tmpfile { handle, .. } | Op::Open { handle, .. } if model.find(handle).is_some());
                if !known && model.apply(0, op).is_err() {
                    return match lacking(&model, op) {
                        Some(folder) if self.model.find(&folder).is_none() => Played::Lacks(Need::Folder(folder)),
                        _ => Played::Fails,
                    };
                }
            }
        }
        Played::Whole
    }

    fn add(&mut self, need: &Need) -> Option<()> {
        match need {
            // What is in the way was put there for another action.
            Need::Absent(_) => None,
            Need::Folder(path) => {
                self.parents(path)?;
                self.push(Op::Mkdir { path: path.clone() })
            }
            Need::File(path) => {
                self.parents(path)?;
                self.push(Op::Create { path: path.clone() })?;
                self.push(Op::Write { path: path.clone(), offset: 0, length: SIZE, how: Writing::Buffered })
            }
            Need::Special(path, made) => {
                self.parents(path)?;
                self.push(made.clone())
            }
            Need::Attribute(path) => {
                let (name, value) = (ATTRIBUTE.to_owned(), "old".to_owned());
                self.push(Op::SetXattr { path: path.clone(), name, value })
            }
        }
    }

    fn parents(&mut self, path: &str) -> Option<()> {
        let Some((folder, _)) = path.rsplit_once('/') else { return Some(()) };
        if self.model.find(folder).is_some() {
            return Some(());
        }
        self.parents(folder)?;
        self.push(Op::Mkdir { path: folder.to_owned() })
    }

    fn push(&mut self, op: Op) -> Option<()> {
        self.model.apply(0, &op).ok()?;
        self.ops.push(op);
        Some(())
    }
}

fn meets(model: &Model, need: &Need) -> bool {
    let is =
        |path: &str, kind| model.find(path).and_then(|id: Id| model.node(id)).is_some_and(|node| node.kind == kind);
    match need {
        Need::File(path) => is(path, Kind::File),
        Need::Folder(path) => is(path, Kind::Folder),
        Need::Absent(path) => model.find(path).is_none(),
        Need::Special(path, made) => is(
            path,
            match made {
                Op::Symlink { .. } => Kind::Symlink,
                Op::Mkfifo { .. } => Kind::Fifo,
                _ => Kind::DeviceNode,
            },
        ),
        Need::Attribute(path) => {
            let node = model.find(path).and_then(|id| model.node(id));
            node.is_some_and(|node| node.xattrs.contains_key(ATTRIBUTE))
        }
    }
}

/// The folder that a new name lacks.
fn lacking(model: &Model, op: &Op) -> Option<String> {
    let path = match op {
        Op::Create { path }
        | Op::Mkdir { path }
        | Op::Symlink { path, .. }
        | Op::Mkfifo { path }
        | Op::Mknod { path, .. } => path,
        Op::Link { to, .. } | Op::Rename { to, .. } => to,
        _ => return None,
    };
    let (folder, _) = path.rsplit_once('/')?;
    model.find(folder).is_none().then(|| folder.to_owned())
}
