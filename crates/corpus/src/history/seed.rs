//! A made-up history of a source tree.

use mountmark_random::{Stream, ln};

use super::{Builder, Change, Content};

/// Files of the first tree.
const FILES: u64 = 2000;
/// Files of a folder of the first tree: in the mean of a kernel's.
const IN_ONE: u64 = 14;
/// Median and mean size of source files in bytes: those of Linux 6.
const MEDIAN: f64 = 4600.0;
const MEAN: f64 = 14_000.0;
const LARGEST: u64 = 1 << 20;
/// Most files that a commit changes; it changes 1 to that, in folders of their own kind.
const CHANGED: u64 = 60;
/// Of 100 changes: files that are replaced, that grow at the end, that are new. The rest is removed.
const REPLACED: u64 = 70;
const GROWN: u64 = 10;
const NEW: u64 = 12;

/// Records the first tree and `commits` commits.
pub(super) fn record(seed: u64, commits: u32, builder: &mut Builder) {
    let mut maker = Maker { draw: Stream::new(seed, "history"), files: Vec::new(), made: 0 };
    let first: Vec<Change> = (0..FILES).map(|at| maker.new_file(at / IN_ONE)).collect();
    builder.commit(&first);
    for _ in 0..commits {
        let count = 1 + maker.draw.below(CHANGED);
        let mut changes: Vec<Change> = Vec::new();
        for _ in 0..count {
            let change = maker.change();
            if !changes.iter().any(|other| other.path == change.path) {
                maker.keep(&change);
                changes.push(change);
            }
        }
        builder.commit(&changes);
    }
}

struct Maker {
    draw: Stream,
    /// Paths and sizes, in the order in which they were made.
    files: Vec<(String, u64)>,
    made: u64,
}

impl Maker {
    fn size(&mut self) -> u64 {
        let sigma = (2.0 * ln(MEAN / MEDIAN)).sqrt();
        (self.draw.lognormal(ln(MEDIAN), sigma) as u64).clamp(1, LARGEST)
    }

    fn path(&mut self, folder: u64) -> String {
        self.made += 1;
        format!("part{}/unit{folder}/file{}.c", folder / IN_ONE, self.made)
    }

    fn new_file(&mut self, folder: u64) -> Change {
        let (path, size) = (self.path(folder), self.size());
        self.files.push((path.clone(), size));
        Change { path, to: Some(Content { size, appended: false }) }
    }

    /// The next change, which `keep` carries out.
    fn change(&mut self) -> Change {
        let at = self.draw.below(self.files.len() as u64) as usize;
        let (path, size) = self.files[at].clone();
        let kind = self.draw.below(100);
        if kind < REPLACED {
            // A tenth smaller to a seventh larger: source grows.
            let size = (size * (90 + self.draw.below(25)) / 100).max(1);
            Change { path, to: Some(Content { size, appended: false }) }
        } else if kind < REPLACED + GROWN {
            let size = size + 1 + self.draw.below(2000);
            Change { path, to: Some(Content { size, appended: true }) }
        } else if kind < REPLACED + GROWN + NEW {
            let folder = self.draw.below(FILES / IN_ONE);
            let (path, size) = (self.path(folder), self.size());
            Change { path, to: Some(Content { size, appended: false }) }
        } else {
            Change { path, to: None }
        }
    }

    fn keep(&mut self, change: &Change) {
        let at = self.files.iter().position(|(path, _)| *path == change.path);
        match (at, &change.to) {
            (Some(at), Some(to)) => self.files[at].1 = to.size,
            (Some(at), None) => _ = self.files.remove(at),
            (None, Some(to)) => self.files.push((change.path.clone(), to.size)),
            (None, None) => {}
        }
    }
}
