//! A simple journaling file system: metadata in ordered transactions, data before metadata.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mountmark_crash::model::{Id, Model};
use mountmark_crash::moment::Moment;
use mountmark_crash::oracle::{Level, Promises};
use mountmark_crash::tree::{Kind, Run, Source, Tree};
use mountmark_crash::workload::{Generator, Op, Renaming, Workload, Writing, check};
use mountmark_random::Stream;

pub static GENERATOR: LazyLock<Generator> = LazyLock::new(Generator::new);

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    None,
    /// Nothing is written by fsync.
    LazyFsync,
    /// The new name of a renaming is lost.
    HalfRename,
    /// Files grow before their data is written.
    SizeFirst,
    /// A later change of metadata is committed without an earlier one.
    Reordered,
    /// Files grow over blocks that are not written.
    Stale,
}

/// What it promises when it is correct.
pub fn ordered() -> Promises {
    let levels = Level::ALL.into_iter().filter(|level| *level != Level::L7).collect();
    Promises { levels, exposes_stale: false, ends_in_data: true }
}

/// What it promises when data goes through the journal too.
pub fn whole() -> Promises {
    Promises { levels: Level::ALL.into_iter().collect(), ..ordered() }
}

/// The journal is a list of states of the file system as it is on the disk after each transaction.
pub struct Journal {
    memory: Model,
    /// What a commit would make durable. Data of files is as far as it was written back.
    running: BTreeMap<Id, Vec<Run>>,
    /// Metadata, of which names and attributes are used, and the data of each file.
    committed: (Model, BTreeMap<Id, Vec<Run>>),
    /// Whether data goes through the journal.
    data_too: bool,
}

impl Journal {
    /// What is found after a power cut at a moment.
    pub fn crash(workload: &Workload, moment: Moment, bug: Bug, data_too: bool, stream: &mut Stream) -> Tree {
        let model = Model::default();
        let mut own =
            Journal { memory: model.clone(), running: BTreeMap::new(), committed: (model, BTreeMap::new()), data_too };
        let recorded = usize::from(workload.recorded);
        for (index, op) in workload.ops.iter().enumerate().take(usize::from(moment.begun)) {
            let returned = index < usize::from(moment.returned);
            own.step(index as u16, op, if index < recorded { Bug::None } else { bug }, returned);
            if index + 1 == recorded {
                own.sync();
            } else if index >= recorded {
                own.settle(stream);
            }
        }
        own.left(workload, bug, stream)
    }

    fn sync(&mut self) {
        for id in self.memory.ids() {
            self.write_back(id);
        }
        self.commit();
    }

    /// What happens by itself, at any time.
    fn settle(&mut self, stream: &mut Stream) {
        for id in self.memory.ids() {
            if stream.below(4) == 0 {
                self.write_back(id);
            }
        }
        if stream.below(4) == 0 {
            self.commit();
        }
    }

    fn write_back(&mut self, id: Id) {
        let runs = self.memory.node(id).map(|node| node.data.runs()).unwrap_or_default();
        self.running.insert(id, runs);
    }

    fn commit(&mut self) {
        for id in self.memory.ids().filter(|_| self.data_too).collect::<Vec<_>>() {
            self.write_back(id);
        }
        self.committed = (self.memory.clone(), self.running.clone());
    }

    fn step(&mut self, number: u16, op: &Op, bug: Bug, returned: bool) {
        let file = |path: &str, model: &Model| model.find(path);
        // All but writes through the page cache are changes of metadata, before which data is written back.
        let direct = match op {
            Op::Write { path, how, .. } if !matches!(how, Writing::Buffered | Writing::Mmap) => Some(path),
            Op::Empty { path } | Op::Truncate { path, .. } | Op::Fallocate { path, .. } => Some(path),
            Op::Clone { to, from } => {
                self.memory.find(from).into_iter().for_each(|id| self.write_back(id));
                Some(to)
            }
            _ => None,
        };
        if let Op::Rename { from, to, how: Renaming::Plain } = op
            && let (Some(id), Some(_), true) = (file(from, &self.memory), file(to, &self.memory), bug != Bug::SizeFirst)
        {
            self.write_back(id);
        }
        if self.memory.apply(number, op).is_err() {
            return;
        }
        if let Some(id) = direct.and_then(|path| file(path, &self.memory)) {
            self.write_back(id);
        }
        let works = returned && bug != Bug::LazyFsync;
        match op {
            Op::Sync if works => self.sync(),
            Op::Fsync { path } | Op::Fdatasync { path } | Op::Msync { path, .. } if works => {
                file(path, &self.memory).into_iter().for_each(|id| self.write_back(id));
                self.commit();
            }
            Op::Write { how: Writing::Sync | Writing::Dsync, .. } if works => self.commit(),
            _ => {}
        }
    }

    /// The names and attributes of what is committed, or of a moment since, as far as commits may have come by then;
    /// with its data, of which parts that are overwritten in place may be newer.
    fn left(mut self, workload: &Workload, bug: Bug, stream: &mut Stream) -> Tree {
        if bug == Bug::Reordered || bug == Bug::HalfRename {
            self.committed.0 = self.mixed(workload, bug, stream);
        }
        let (model, data) = &self.committed;
        let mut tree = model.tree();
        let ids: BTreeMap<String, Id> = model.paths().into_iter().collect();
        // A file with several names is one file.
        let mut drawn: BTreeMap<Id, Vec<Run>> = BTreeMap::new();
        for entry in tree.entries.iter_mut().filter(|entry| entry.kind == Kind::File) {
            let id = ids[&entry.path];
            let memory = self.memory.node(id).map(|node| node.data.runs()).unwrap_or_default();
            let runs = drawn.entry(id).or_insert_with(|| {
                let committed = data.get(&id).cloned().unwrap_or_default();
                let only_buffered = workload.ops[usize::from(workload.recorded)..].iter().all(|op| {
                    !matches!(op, Op::Empty { .. } | Op::Truncate { .. } | Op::Fallocate { .. } | Op::Clone { .. })
                });
                let mut runs = match self.data_too || !only_buffered {
                    true => committed,
                    false => in_place(&committed, &memory, stream),
                };
                let size = |runs: &[Run]| runs.iter().map(|run| run.length).sum::<u64>();
                let (old, new) = (size(&runs), size(&memory));
                if matches!(bug, Bug::SizeFirst | Bug::Stale) && new > old {
                    let source = if bug == Bug::Stale { Source::Poison } else { Source::Zero };
                    runs.push(Run { length: new - old, source });
                }
                runs
            });
            entry.runs = runs.clone();
            entry.size = entry.runs.iter().map(|run| run.length).sum();
        }
        tree
    }

    /// Names as a file system with a bug leaves them: a change of names by half, or without an earlier one.
    fn mixed(&self, workload: &Workload, bug: Bug, stream: &mut Stream) -> Model {
        let mut model = Model::default();
        let ops = &workload.ops;
        let changes_names = |op: &Op| {
            matches!(op.word(), "creat" | "mkdir" | "symlink" | "link" | "unlink" | "rename" | "chmod" | "setxattr")
        };
        let recorded = usize::from(workload.recorded);
        let chosen: Vec<usize> = (recorded..ops.len())
            .filter(|index| match bug {
                Bug::HalfRename => ops[*index].word() == "rename",
                _ => changes_names(&ops[*index]),
            })
            .collect();
        if chosen.is_empty() || self.memory != self.committed.0 {
            return self.committed.0.clone();
        }
        let victim = chosen[stream.below(chosen.len() as u64) as usize];
        for (index, op) in ops.iter().enumerate() {
            if index != victim {
                let _ = model.apply(index as u16, op);
            } else if let Op::Rename { from, .. } = op
                && bug == Bug::HalfRename
            {
                let _ = model.apply(index as u16, &Op::Unlink { path: from.clone() });
            }
        }
        model
    }
}

/// What is committed, with blocks of what is in memory where both have some.
fn in_place(committed: &[Run], memory: &[Run], stream: &mut Stream) -> Vec<Run> {
    const PART: u64 = 512;
    let size: u64 = committed.iter().map(|run| run.length).sum();
    let mut runs = Vec::new();
    let (mut offset, mut newer) = (0, false);
    while offset < size {
        if offset % PART == 0 {
            newer = stream.below(2) == 0;
        }
        let length = (PART - offset % PART).min(size - offset);
        let at = |runs: &[Run], place: u64| {
            let mut end = 0;
            runs.iter().find_map(|run| {
                end += run.length;
                (place < end).then(|| (run.source, end - place))
            })
        };
        let (old, left) = at(committed, offset).expect("it is within the file");
        let new = at(memory, offset);
        let length = length.min(left).min(new.map_or(length, |(_, left)| left));
        runs.push(Run { length, source: new.filter(|_| newer).map_or(old, |(new, _)| new) });
        offset += length;
    }
    runs
}

/// A workload of a dozen operations of any kind on a few names.
pub fn mixed(seed: u64, index: u64) -> Workload {
    let generator = &*GENERATOR;
    let mut stream = Stream::numbered(seed, "mixed", index);
    let mut workload: Workload = "mkdir A; mkdir B; creat foo; write foo 0+10000; creat A/foo; sync |".parse().unwrap();
    while workload.ops.len() < 18 {
        let other = generator.workload(1 + (stream.below(3) as u8), seed, stream.below(900)).unwrap();
        let op = other.ops[stream.below(other.ops.len() as u64) as usize].clone();
        workload.ops.push(op);
        if check(&workload).is_err() {
            workload.ops.pop();
        }
    }
    workload
}
