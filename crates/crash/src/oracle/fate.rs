//! What became of each file, beside what it was before the operations that a power cut may interrupt and what they make
//! of it. Nothing is judged here: this is what a reader asks who knows no promises.

use mountmark_model::{FileOutcome, When};
use serde::{Deserialize, Serialize};

use super::history::{Contents, History};
use crate::model::ROOT;
use crate::moment::Moment;
use crate::tree::{Entry, Kind, Source, Tree};

/// Images in which a file has one fate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fates {
    pub path: String,
    pub when: When,
    /// Whether they were repaired before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    pub fate: FileOutcome,
    pub images: usize,
}

/// Counts one image more.
pub fn count(all: &mut Vec<Fates>, repaired: bool, found: Vec<(String, When, FileOutcome)>) {
    for (path, when, fate) in found {
        let alike =
            |known: &&mut Fates| (&known.path, known.when, known.repaired, known.fate) == (&path, when, repaired, fate);
        match all.iter_mut().find(alike) {
            Some(known) => known.images += 1,
            None => all.push(Fates { path, when, repaired, fate, images: 1 }),
        }
    }
}

impl History<'_> {
    /// What became of each file that is there before the operations or after them, and of the file system itself
    /// ([`ROOT`]), which the caller knows: `whole`. `found` is `None` if the image cannot be mounted. Empty if nobody
    /// knows what files must hold.
    pub fn fates(&self, moment: Moment, found: Option<&Tree>, whole: FileOutcome) -> Vec<(String, When, FileOutcome)> {
        if !self.has_model() || self.strange.is_some() {
            return Vec::new();
        }
        let first = usize::from(self.workload.recorded);
        let last = self.states.len() - 1;
        let when = match (usize::from(moment.begun), usize::from(moment.returned)) {
            (begun, _) if begun <= first => When::Before,
            (_, returned) if returned >= last => When::After,
            _ => When::During,
        };
        let ends = [first, last].into_iter().flat_map(|state| self.paths[state].iter());
        let mut paths: Vec<&String> =
            ends.filter(|(_, id)| self.kind(**id) == Some(Kind::File)).map(|(path, _)| path).collect();
        paths.sort();
        paths.dedup();
        let fate = |path: &str| match found {
            None => FileOutcome::NotMounted,
            Some(found) => self.fate(path, first, found),
        };
        let files = paths.into_iter().map(|path| (path.clone(), when, fate(path)));
        files.chain([(ROOT.to_owned(), when, whole)]).collect()
    }

    fn fate(&self, path: &str, first: usize, found: &Tree) -> FileOutcome {
        let versions: Vec<Option<Contents>> = (first..self.states.len()).map(|state| self.held(path, state)).collect();
        let (old, new) = (&versions[0], &versions[versions.len() - 1]);
        let entry = found.entries.iter().find(|entry| entry.path == path);
        if entry.is_some_and(|entry| entry.kind != Kind::File || entry.error.is_some()) {
            return FileOutcome::Broken;
        }
        let held = entry.map(|entry: &Entry| Contents::new(entry.runs.iter().copied()));
        if held == *new {
            return FileOutcome::New;
        }
        if held == *old {
            return FileOutcome::Old;
        }
        let Some(held) = held else { return FileOutcome::Missing };
        if held.size() == 0 {
            return FileOutcome::Empty;
        }
        if versions.iter().any(|version| version.as_ref() == Some(&held)) {
            return FileOutcome::Between;
        }
        let knows = |version: &Option<Contents>, source: Source| {
            version.as_ref().is_some_and(|contents| contents.sources().any(|own| own == source))
        };
        let sources: Vec<Source> = held.sources().collect();
        let unknown = |source: &Source| !versions.iter().any(|version| knows(version, *source));
        if sources.iter().any(|source| *source != Source::Zero && unknown(source)) {
            return FileOutcome::Stale;
        }
        if sources.iter().any(unknown) {
            return FileOutcome::Zeros;
        }
        let own = |one: &Option<Contents>, other: &Option<Contents>| {
            sources.iter().any(|source| knows(one, *source) && !knows(other, *source))
        };
        if own(new, old) && own(old, new) { FileOutcome::Mixed } else { FileOutcome::Part }
    }

    /// What a file holds in a state; `None` if it is not there.
    fn held(&self, path: &str, state: usize) -> Option<Contents> {
        let id = *self.paths[state].get(path)?;
        let node = self.states[state].node(id)?;
        Some(Contents::new(node.data.runs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Run;
    use crate::workload::Workload;

    fn found(path: &str, runs: &[(u64, Source)]) -> Tree {
        let entry = Entry {
            path: path.into(),
            inode: 12,
            kind: Kind::File,
            mode: 0o644,
            links: 1,
            size: runs.iter().map(|(length, _)| length).sum(),
            xattrs: Vec::new(),
            target: None,
            runs: runs.iter().map(|&(length, source)| Run { length, source }).collect(),
            error: None,
        };
        Tree { entries: vec![entry], unreadable: Vec::new() }
    }

    #[test]
    fn each_fate_is_told_from_the_others() {
        let workload: Workload = "creat doc; write doc 0+8192; sync | write doc 0+8192; fsync doc".parse().unwrap();
        let history = History::new(&workload, &[0; 5]);
        let (old, new) = (Source::Op(1), Source::Op(3));
        let during = Moment { begun: 4, returned: 3 };
        let fate = |runs: &[(u64, Source)]| history.fates(during, Some(&found("doc", runs)), FileOutcome::New);
        let one = |fate| vec![("doc".to_owned(), When::During, fate), (".".to_owned(), When::During, FileOutcome::New)];
        let half = 4096;
        for (runs, expected) in [
            (&[(8192, new)][..], FileOutcome::New),
            (&[(8192, old)], FileOutcome::Old),
            (&[(half, old), (half, new)], FileOutcome::Mixed),
            (&[(half, new)], FileOutcome::Part),
            (&[], FileOutcome::Empty),
            (&[(half, new), (half, Source::Zero)], FileOutcome::Zeros),
            (&[(half, new), (half, Source::Poison)], FileOutcome::Stale),
            (&[(half, Source::Moved(3)), (half, Source::Zero)], FileOutcome::Stale),
        ] {
            assert_eq!(fate(runs), one(expected), "{runs:?}");
        }
        assert_eq!(history.fates(during, Some(&Tree::default()), FileOutcome::New), one(FileOutcome::Missing));
        assert_eq!(
            history.fates(during, None, FileOutcome::NotMounted).iter().map(|told| told.2).collect::<Vec<_>>(),
            [FileOutcome::NotMounted; 2]
        );
        let when = |begun, returned| history.fates(Moment { begun, returned }, None, FileOutcome::NotMounted)[0].1;
        assert_eq!((when(3, 3), when(5, 4), when(5, 5)), (When::Before, When::During, When::After));
    }

    #[test]
    fn a_replaced_file_is_old_or_new_and_a_truncated_one_may_be_between() {
        let line = "creat doc; write doc 0+4096; sync | creat tmp; write tmp 0+8192; rename tmp doc";
        let workload: Workload = line.parse().unwrap();
        let history = History::new(&workload, &[0; 6]);
        let moment = Moment { begun: 6, returned: 6 };
        let fate = |tree: &Tree| history.fates(moment, Some(tree), FileOutcome::New)[0].2;
        assert_eq!(fate(&found("doc", &[(8192, Source::Op(4))])), FileOutcome::New);
        assert_eq!(fate(&found("doc", &[(4096, Source::Op(1))])), FileOutcome::Old);
        assert_eq!(fate(&found("doc", &[])), FileOutcome::Empty);
        let workload: Workload =
            "creat doc; write doc 0+4096; sync | truncate doc 2048; write doc 2048+8".parse().unwrap();
        let history = History::new(&workload, &[0; 5]);
        assert_eq!(
            history.fates(moment, Some(&found("doc", &[(2048, Source::Op(1))])), FileOutcome::New)[0].2,
            FileOutcome::Between
        );
    }

    #[test]
    fn images_are_counted_by_file_moment_and_fate() {
        let mut all = Vec::new();
        let one = |fate| vec![("doc".to_owned(), When::After, fate)];
        for (repaired, fate) in
            [(false, FileOutcome::New), (false, FileOutcome::Old), (false, FileOutcome::New), (true, FileOutcome::New)]
        {
            count(&mut all, repaired, one(fate));
        }
        let told: Vec<_> = all.iter().map(|fates| (fates.repaired, fates.fate, fates.images)).collect();
        assert_eq!(told, [(false, FileOutcome::New, 2), (false, FileOutcome::Old, 1), (true, FileOutcome::New, 1)]);
    }
}
