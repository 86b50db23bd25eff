//! Trees that keep a promise, and trees that break it.

use mountmark_crash::model::Model;
use mountmark_crash::moment::Moment;
use mountmark_crash::oracle::{Class, Level, Promises, Violation, judge};
use mountmark_crash::tree::{Entry, Run, Source, Tree};
use mountmark_crash::workload::{Workload, check};

/// A workload, all of whose operations have returned, and what a disk holds afterwards.
pub struct Case {
    pub workload: Workload,
    pub found: Tree,
    pub begun: u16,
    pub returned: u16,
    pub results: Vec<i32>,
}

/// The tree is that of the state before operation `state`.
pub fn case(text: &str, state: usize) -> Case {
    let workload: Workload = text.parse().unwrap();
    check(&workload).unwrap();
    let mut model = Model::default();
    for (number, op) in workload.ops.iter().enumerate().take(state) {
        model.apply(number as u16, op).unwrap();
    }
    let all = workload.ops.len() as u16;
    Case { found: model.tree(), begun: all, returned: all, results: vec![0; all.into()], workload }
}

impl Case {
    pub fn edit(mut self, path: &str, change: impl FnOnce(&mut Entry)) -> Case {
        change(self.found.entries.iter_mut().find(|entry| entry.path == path).unwrap());
        self
    }

    pub fn without(mut self, path: &str) -> Case {
        let before = self.found.entries.len();
        self.found.entries.retain(|entry| entry.path != path);
        assert!(self.found.entries.len() < before);
        self
    }

    /// Another name of the same inode.
    pub fn also(mut self, path: &str, other: &str) -> Case {
        let mut entry = self.found.entries.iter().find(|entry| entry.path == path).unwrap().clone();
        entry.path = other.to_owned();
        self.found.entries.push(entry);
        self
    }

    /// The power fails before this operation begins.
    pub fn before(mut self, op: u16) -> Case {
        (self.begun, self.returned) = (op, op);
        self
    }

    pub fn wrong(&self, promises: &Promises) -> Vec<Violation> {
        let moment = Moment { begun: self.begun, returned: self.returned };
        judge(&self.workload, &self.results, moment, promises, &self.found)
    }

    /// It is wrong for those who promise this level, and legal for those who promise all others alone.
    pub fn breaks(&self, level: Level, class: Class, sentence: &str) {
        let wrong = self.wrong(&up_to(level));
        let told: Vec<String> = wrong.iter().map(|one| one.sentence(&self.workload)).collect();
        assert_eq!(wrong.iter().map(|one| (one.level, one.class)).collect::<Vec<_>>(), [(level, class)], "{told:?}");
        assert_eq!(told, [sentence]);
        if level > Level::L1 {
            let without = Promises { levels: up_to(level).levels.without(level), ..up_to(level) };
            assert!(self.wrong(&without).is_empty(), "{:?}", self.wrong(&without));
        }
    }

    pub fn keeps(&self, level: Level) {
        let wrong = self.wrong(&up_to(level));
        assert!(wrong.is_empty(), "{:?}", wrong.iter().map(|one| one.sentence(&self.workload)).collect::<Vec<_>>());
    }
}

pub fn up_to(level: Level) -> Promises {
    let levels = Level::ALL.into_iter().filter(|other| *other <= level).collect();
    Promises { levels, exposes_stale: false, ends_in_data: false }
}

pub fn runs(all: &[(u64, Source)]) -> impl FnOnce(&mut Entry) {
    let runs: Vec<Run> = all.iter().map(|(length, source)| Run { length: *length, source: *source }).collect();
    move |entry| {
        entry.size = runs.iter().map(|run| run.length).sum();
        entry.runs = runs;
    }
}
