//! A journaling file system in memory, crashed at any moment: what it leaves breaks no promise that it gives, and does
//! when it has a bug.

use crate::journal_fs::{Bug, GENERATOR, Journal, ordered, whole};
use mountmark_crash::moment::Moment;
use mountmark_crash::oracle::{Class, History, Level, Violation};
use mountmark_crash::workload::Workload;
use mountmark_random::Stream;

/// Crashes a workload many times; returns all violations.
fn crashes(workload: &Workload, bug: Bug, seed: u64, times: u64) -> Vec<Violation> {
    let results = vec![0; workload.ops.len()];
    let history = History::new(workload, &results);
    let mut all = Vec::new();
    for time in 0..times {
        let mut stream = Stream::numbered(seed, "crash", time);
        let span = workload.ops.len() as u64 - u64::from(workload.recorded);
        let begun = u64::from(workload.recorded) + stream.below(span + 1);
        let returned = if begun > u64::from(workload.recorded) && stream.below(3) == 0 { begun - 1 } else { begun };
        let moment = Moment { begun: begun as u16, returned: returned as u16 };
        let promises = if bug == Bug::None && stream.below(4) == 0 { whole() } else { ordered() };
        let found = Journal::crash(workload, moment, bug, promises == whole(), &mut stream);
        let wrong = history.judge(moment, &promises, &found);
        if bug == Bug::None {
            assert!(wrong.is_empty(), "{workload}\n{moment:?}\n{found:#?}\n{}", sentences(workload, &wrong));
        }
        for violation in &wrong {
            assert!(!violation.sentence(workload).is_empty() && !violation.signature(workload).is_empty());
        }
        all.extend(wrong);
    }
    all
}

fn sentences(workload: &Workload, wrong: &[Violation]) -> String {
    wrong.iter().map(|one| format!("{} {:?}: {}\n", one.level, one.class, one.sentence(workload))).collect()
}

#[test]
fn a_correct_file_system_breaks_nothing() {
    let generator = &*GENERATOR;
    for index in 0..generator.count() as u64 {
        crashes(&generator.workload(1, 0, index).unwrap(), Bug::None, index, 6);
    }
    for length in [2, 3] {
        for index in 0..1500 {
            crashes(&generator.workload(length, 3, index).unwrap(), Bug::None, index, 10);
        }
    }
    for index in 0..300 {
        crashes(&crate::journal_fs::mixed(9, index), Bug::None, index, 20);
    }
}

/// How many of some workloads show a bug, and at which levels.
fn shown(bug: Bug) -> (usize, Vec<Level>) {
    let generator = &*GENERATOR;
    let (mut workloads, mut levels) = (0, Vec::new());
    for index in 0..150 {
        for workload in [generator.workload(2, 5, index).unwrap(), crate::journal_fs::mixed(4, index)] {
            let wrong = crashes(&workload, bug, index, 20);
            workloads += usize::from(!wrong.is_empty());
            levels.extend(wrong.iter().map(|violation| violation.level));
        }
    }
    levels.sort();
    levels.dedup();
    (workloads, levels)
}

#[test]
fn an_fsync_that_does_nothing_is_seen() {
    let (workloads, levels) = shown(Bug::LazyFsync);
    assert!(workloads > 100, "{workloads}");
    assert!(levels.contains(&Level::L1) && levels.contains(&Level::L2), "{levels:?}");
}

#[test]
fn a_renaming_that_loses_its_target_is_seen() {
    let (workloads, levels) = shown(Bug::HalfRename);
    assert!(workloads > 30, "{workloads}");
    assert!(levels.contains(&Level::L3), "{levels:?}");
}

#[test]
fn sizes_before_data_are_seen() {
    let (workloads, levels) = shown(Bug::SizeFirst);
    assert!(workloads > 20, "{workloads}");
    assert_eq!(levels, [Level::L6]);
}

#[test]
fn metadata_out_of_order_is_seen() {
    let (workloads, levels) = shown(Bug::Reordered);
    assert!(workloads > 30, "{workloads}");
    assert!(levels.contains(&Level::L4) && levels.contains(&Level::L5), "{levels:?}");
}

#[test]
fn what_the_disk_held_before_is_seen() {
    let generator = &*GENERATOR;
    let classes: Vec<Class> = (0..60)
        .flat_map(|index| crashes(&generator.workload(2, 6, index).unwrap(), Bug::Stale, index, 20))
        .map(|violation| violation.class)
        .collect();
    assert!(classes.len() > 20 && classes.iter().all(|class| *class == Class::Garbage), "{classes:?}");
}
