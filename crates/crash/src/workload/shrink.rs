//! Smaller workloads, to find the smallest that still shows something.

use super::{Op, Renaming, Workload, Writing, check};
use crate::tree::words::WORD;

/// Workloads that are smaller than this one and can work, those that leave most out first. Whoever looks for the
/// smallest tries them in turn, goes on from the first that still shows what is looked for, and is done when none does.
pub fn smaller(workload: &Workload) -> impl Iterator<Item = Workload> + use<> {
    let mut all = halves(workload);
    all.extend((0..workload.ops.len()).rev().map(|index| without(workload, index..index + 1)));
    for (index, op) in workload.ops.iter().enumerate() {
        for op in simpler(op) {
            let mut smaller = workload.clone();
            smaller.ops[index] = op;
            all.push(smaller);
        }
    }
    // The sync that ends the stage comes back where it alone was left out.
    all.retain(|smaller| smaller != workload && check(smaller).is_ok());
    all.into_iter()
}

fn without(workload: &Workload, range: std::ops::Range<usize>) -> Workload {
    let (stage, recorded) = workload.ops.split_at(usize::from(workload.recorded).min(workload.ops.len()));
    let left = |ops: &[Op], from: usize| -> Vec<Op> {
        let kept = ops.iter().zip(from..).filter(|(_, index)| !range.contains(index));
        kept.map(|(op, _)| op.clone()).collect()
    };
    let mut setup = left(stage, 0);
    // A sync of nothing sets no stage.
    if setup.iter().all(|op| *op == Op::Sync) {
        setup.clear();
    }
    Workload::new(workload.name.clone(), setup, left(recorded, stage.len()))
}

/// Without the stage, without the first and without the last half of what is recorded: what is likely not needed of a
/// long workload.
fn halves(workload: &Workload) -> Vec<Workload> {
    let (begin, end) = (usize::from(workload.recorded).min(workload.ops.len()), workload.ops.len());
    let middle = usize::midpoint(begin, end);
    let ranges = [0..begin, begin..middle, middle..end];
    ranges.into_iter().filter(|range| range.len() > 1).map(|range| without(workload, range)).collect()
}

/// The same operation with less: fewer bytes, without what is not usual. None of them leads back.
fn simpler(op: &Op) -> Vec<Op> {
    const BLOCK: u64 = 4096;
    let mut all = Vec::new();
    let shorter = |length: u64| {
        let lengths = [BLOCK, length / 2 / WORD * WORD];
        lengths.into_iter().filter(move |shorter| *shorter > 0 && *shorter < length)
    };
    match op {
        Op::Write { path, offset, length, how } => {
            let with = |offset, length, how| Op::Write { path: path.clone(), offset, length, how };
            all.extend(shorter(*length).map(|length| with(*offset, length, *how)));
            all.extend((*how != Writing::Buffered).then(|| with(*offset, *length, Writing::Buffered)));
            all.extend((*offset > 0).then(|| with(0, *length, *how)));
        }
        Op::Msync { path, offset, length } => {
            all.extend(shorter(*length).map(|length| Op::Msync { path: path.clone(), offset: *offset, length }));
        }
        Op::Fallocate { path, mode, offset, length } => {
            let (path, mode, offset) = (path.clone(), *mode, *offset);
            all.extend(shorter(*length).map(|length| Op::Fallocate { path: path.clone(), mode, offset, length }));
        }
        Op::Truncate { path, size } if *size > 0 => {
            let sizes = [0, BLOCK, size / 2 / WORD * WORD];
            let smaller = sizes.into_iter().filter(|smaller| smaller < size);
            all.extend(smaller.map(|size| Op::Truncate { path: path.clone(), size }));
        }
        Op::Rename { from, to, how } if *how != Renaming::Plain => {
            all.push(Op::Rename { from: from.clone(), to: to.clone(), how: Renaming::Plain });
        }
        Op::Idle { seconds } if *seconds > 1 => all.push(Op::Idle { seconds: seconds / 2 }),
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Generator;

    /// The smallest workload that shows something.
    fn smallest(mut workload: Workload, shows: impl Fn(&Workload) -> bool) -> Workload {
        while let Some(next) = smaller(&workload).find(&shows) {
            workload = next;
        }
        workload
    }

    #[test]
    fn only_what_matters_remains() {
        let text = "mkdir A; creat A/foo; write A/foo 0+8192; creat bar; sync | write A/foo 0+8192 direct; evict; \
                    rename A/foo bar exchange; creat g; fsync g";
        let workload: Workload = text.parse().unwrap();
        check(&workload).unwrap();
        let renames = |workload: &Workload| workload.ops.iter().any(|op| op.word() == "rename");
        assert_eq!(smallest(workload, renames).to_string(), "mkdir A; creat A/foo; sync | rename A/foo bar");
    }

    #[test]
    fn the_sync_of_the_stage_stays_as_long_as_there_is_a_stage() {
        let workload: Workload = "creat bar; mkdir B; sync | rename bar B/foo; fsync B".parse().unwrap();
        let texts: Vec<String> = smaller(&workload).map(|smaller| smaller.to_string()).collect();
        assert!(texts.iter().any(|text| text == "creat bar; mkdir B; sync | rename bar B/foo"), "{texts:?}");
        assert!(texts.iter().all(|text| text.contains("sync |") || !text.contains('|')), "{texts:?}");
        let one: Workload = "creat bar; sync | creat foo".parse().unwrap();
        let texts: Vec<String> = smaller(&one).map(|smaller| smaller.to_string()).collect();
        assert!(!texts.is_empty() && texts.iter().all(|text| text == "creat foo"), "{texts:?}");
    }

    #[test]
    fn all_of_them_are_smaller_and_work() {
        fn weight(workload: &Workload) -> u64 {
            let of = |op: &Op| match op {
                Op::Write { offset, length, how, .. } => {
                    length + u64::from(*offset > 0) + u64::from(*how != Writing::Buffered)
                }
                Op::Fallocate { length, .. } | Op::Msync { length, .. } => *length,
                Op::Truncate { size, .. } => *size,
                Op::Rename { how, .. } => u64::from(*how != Renaming::Plain),
                Op::Idle { seconds } => u64::from(*seconds),
                _ => 0,
            };
            workload.ops.iter().map(|op| 1 + of(op)).sum()
        }
        let generator = Generator::new();
        for index in 0..100 {
            let workload = generator.workload(3, 1, index).unwrap();
            for smaller in smaller(&workload) {
                check(&smaller).unwrap();
                assert!(weight(&smaller) < weight(&workload), "{smaller} of {workload}");
            }
        }
    }
}
