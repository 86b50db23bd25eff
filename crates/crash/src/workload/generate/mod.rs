//! Workloads that are made: every single operation, and samples of sequences.
//!
//! This is the space of ACE (the generator of CrashMonkey, OSDI 2018) and more: files without a name, exchanges,
//! whiteouts, symbolic links, FIFOs and nodes of devices, shared blocks, permissions, direct and synchronous writes, and
//! caches that are dropped, or time that passes, between an operation and what makes it durable.

mod actions;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use actions::Action;
use mountmark_random::Stream;

use super::{Op, Workload, Writing, check};
use stage::staged;

/// The longest sequence.
pub const LONGEST: u8 = 3;
/// Seconds that a part of the sequences idles: the journals commit, and the kernel writes back what is old.
const PAUSE: u32 = 35;
/// How often a sequence is drawn anew before it is given up: most pairs of actions can follow each other.
const ATTEMPTS: usize = 500;

/// What makes the work of an action durable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Syncing {
    Nothing,
    By(Vec<Op>),
}

/// Makes workloads, always the same from the same numbers.
#[derive(Clone, Debug)]
pub struct Generator {
    actions: Vec<Action>,
    single: Vec<Workload>,
}

impl Default for Generator {
    fn default() -> Generator {
        Generator::new()
    }
}

impl Generator {
    pub fn new() -> Generator {
        let actions = actions::all();
        let single = singles(&actions);
        Generator { actions, single }
    }

    /// The number of workloads of one operation.
    pub fn count(&self) -> usize {
        self.single.len()
    }

    /// Workload `index` of the sequences of `length` operations. Those of one operation are all there are, and do not
    /// depend on the seed; of others any index gives a sample. `None` if there is none.
    pub fn workload(&self, length: u8, seed: u64, index: u64) -> Option<Workload> {
        match length {
            1 => self.single.get(usize::try_from(index).ok()?).cloned(),
            2..=LONGEST => self.sample(length, seed, index),
            _ => None,
        }
    }

    fn sample(&self, length: u8, seed: u64, index: u64) -> Option<Workload> {
        let mut stream = Stream::numbered(seed, &format!("crash sequences of {length}"), index);
        let name = format!("seq-{length}-{seed}-{index}");
        (0..ATTEMPTS).find_map(|_| self.draw(length, &name, &mut stream))
    }

    fn draw(&self, length: u8, name: &str, stream: &mut Stream) -> Option<Workload> {
        let mut parts = Vec::new();
        for number in 1..=length {
            let action = &self.actions[stream.below(self.actions.len() as u64) as usize];
            let last = number == length;
            let mut ways = syncings(action);
            ways.retain(|way| !last || *way != Syncing::Nothing);
            let way = ways.swap_remove(stream.below(ways.len() as u64) as usize);
            let between = match stream.below(8) {
                0 | 1 => Some(Op::Evict),
                2 => Some(Op::Idle { seconds: PAUSE }),
                _ => None,
            };
            parts.push((action, way, between));
        }
        made(name.to_owned(), &parts)
    }
}

fn singles(actions: &[Action]) -> Vec<Workload> {
    let mut seen = BTreeSet::new();
    let (mut all, mut of_kind) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for action in actions {
        let of_kind = of_kind.entry(action.ops[0].word()).or_default();
        for way in syncings(action).into_iter().filter(|way| *way != Syncing::Nothing) {
            for between in [None, Some(Op::Evict)] {
                let made = made(String::new(), &[(action, way.clone(), between)]);
                let Some(made) = made.filter(|workload| seen.insert(key(workload))) else { continue };
                all.push((*of_kind, made));
                *of_kind += 1;
            }
        }
    }
    // One of each kind of operation, then a second of each, so that a campaign that ends early has tried all kinds.
    all.sort_by_key(|(rank, _)| *rank);
    let numbered = (0..).zip(all);
    numbered.map(|(number, (_, made))| Workload { name: format!("seq-1-{number}"), ..made }).collect()
}

/// The ways to make an action durable, and to leave it.
fn syncings(action: &Action) -> Vec<Syncing> {
    let mut ways = vec![Syncing::Nothing, Syncing::By(vec![Op::Sync])];
    let by = |op| Syncing::By(vec![op]);
    for path in &action.touched {
        ways.push(by(Op::Fsync { path: path.clone() }));
        ways.push(by(Op::Fdatasync { path: path.clone() }));
    }
    let folder = |path: &String| path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
    let folders: BTreeSet<String> = action.names.iter().map(folder).collect();
    ways.extend(folders.into_iter().map(|path| by(Op::Fsync { path })));
    for op in &action.ops {
        if let Op::Write { path, offset, length, how: Writing::Mmap } = op {
            ways.push(by(Op::Msync { path: path.clone(), offset: *offset, length: *length }));
        }
    }
    ways
}

/// The workload of some actions, each with what makes it durable and what happens before that. `None` if it cannot work.
fn made(name: String, parts: &[(&Action, Syncing, Option<Op>)]) -> Option<Workload> {
    let actions: Vec<&Action> = parts.iter().map(|(action, ..)| *action).collect();
    let stage = staged(&actions)?;
    let mut ops = Vec::new();
    for (number, (action, way, between)) in parts.iter().enumerate() {
        let own = action.ops.iter().cloned().map(|op| numbered(op, number));
        ops.extend(own);
        ops.extend(between.clone());
        if let Syncing::By(by) = way {
            ops.extend(by.iter().cloned().map(|op| numbered(op, number)));
        }
    }
    let workload = Workload::new(name, stage, ops);
    check(&workload).is_ok().then_some(workload)
}

/// Each action has a handle of its own.
fn numbered(mut op: Op, number: usize) -> Op {
    let own = || format!("#{}", number + 1);
    match &mut op {
        Op::Tmpfile { handle, .. } | Op::Open { handle, .. } => *handle = own(),
        Op::Write { path, .. } if path.starts_with('#') => *path = own(),
        Op::Fsync { path } | Op::Fdatasync { path } if path.starts_with('#') => *path = own(),
        Op::Link { from, .. } if from.starts_with('#') => *from = own(),
        _ => {}
    }
    op
}

/// Equal for workloads that differ in which file is called foo and which bar, and which folder A and which B.
fn key(workload: &Workload) -> String {
    let text = workload.to_string();
    let swapped = |one: &str, other: &str, text: &str| {
        let words = text.split_inclusive([' ', '/', ';']).map(|word| {
            let bare = word.trim_end_matches([' ', '/', ';']);
            let end = &word[bare.len()..];
            let bare = if bare == one {
                other
            } else if bare == other {
                one
            } else {
                bare
            };
            format!("{bare}{end}")
        });
        words.collect::<String>()
    };
    let files = swapped("foo", "bar", &text);
    let folders = swapped("A", "B", &text);
    let both = swapped("A", "B", &files);
    [files, folders, both].into_iter().fold(text, |least, other| least.min(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::line::FORMS;

    #[test]
    fn all_single_operations_work_and_differ() {
        let generator = Generator::new();
        // Fewer would mean that a kind of operation was lost. ACE has 328.
        assert!(generator.count() > 900, "{}", generator.count());
        let all: Vec<Workload> = (0..).map_while(|index| generator.workload(1, 0, index)).collect();
        assert_eq!(all.len(), generator.count());
        let texts: BTreeSet<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), all.len());
        for workload in &all {
            let last = workload.ops.last().unwrap();
            assert!(matches!(last.word(), "fsync" | "fdatasync" | "msync" | "sync"), "{workload}");
            let begin = usize::from(workload.recorded);
            assert!(begin == 0 || workload.ops[begin - 1] == Op::Sync, "{workload}");
        }
        let first = |word: &str| all.iter().position(|workload| workload.ops.iter().any(|op| op.word() == word));
        assert!(first("rename") < Some(30) && first("link") < Some(30) && first("clone") < Some(30));
        // Names change places.
        assert!(texts.contains("creat foo; sync"), "{texts:?}");
        assert!(!texts.contains("creat bar; sync"));
    }

    #[test]
    fn samples_depend_on_their_numbers_alone() {
        let (one, other) = (Generator::new(), Generator::new());
        let mut texts = BTreeSet::new();
        for length in 2..=LONGEST {
            for index in 0..200 {
                let workload = one.workload(length, 7, index).unwrap();
                assert_eq!(Some(&workload), other.workload(length, 7, index).as_ref());
                check(&workload).unwrap();
                texts.insert(workload.to_string());
            }
        }
        assert!(texts.len() > 390, "{}", texts.len());
        assert_ne!(one.workload(2, 7, 0), one.workload(2, 8, 0));
        assert_eq!(one.workload(4, 7, 0), None);
    }

    /// Whatever can be written can be generated, with each of its variants; but a loss of the medium, after which nothing
    /// is promised.
    #[test]
    fn all_that_the_language_has_is_generated() {
        let generator = Generator::new();
        let singles = (0..).map_while(|index| generator.workload(1, 0, index));
        let samples = (0..1500).filter_map(|index| generator.workload(2, 1, index));
        let ops: BTreeSet<String> =
            singles.chain(samples).flat_map(|workload| workload.ops).map(|op| op.to_string()).collect();
        let has = |op: &str, variant: Option<&str>| {
            let written = |text: &&String| {
                let mut words = text.split(' ');
                words.next() == Some(op) && variant.is_none_or(|variant| words.any(|word| word == variant))
            };
            ops.iter().any(|text| written(&text))
        };
        for form in FORMS.iter().filter(|form| !form.starts_with("lose ")) {
            let op = form.split(' ').next().unwrap();
            assert!(has(op, None), "{op}");
            let choices = form.split(' ').filter(|word| word.contains('|')).flat_map(|word| word.split('|'));
            for variant in choices.map(|word| word.trim_matches(['[', ']'])) {
                assert!(has(op, Some(variant)), "{op} {variant}");
            }
        }
    }

    #[test]
    fn symmetry_is_seen() {
        let of = |text: &str| key(&text.parse().unwrap());
        assert_eq!(of("creat foo; fsync foo"), of("creat bar; fsync bar"));
        assert_eq!(of("mkdir A; sync | rename A/foo B/bar"), of("mkdir B; sync | rename B/bar A/foo"));
        assert_ne!(of("rename foo bar; fsync foo"), of("rename foo bar; fsync bar"));
    }
}
