//! Conditions of repeats, in guests: drawn anew in each, the same for one seed, and left alone if they are fixed.

use std::collections::BTreeSet;

use crate::lab::{Lab, Results};

/// Fails, since a cell keeps what a failed task printed: the date, the free memory in KiB, the machine's age in
/// seconds, and the number of a new folder, whose high bits are its allocation group.
const SHOW: &str = r#"
[[task]]
id = "show"
title = "show"
run = "exec >&2; date +%s; sed -n 's/MemFree: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; cut -d. -f1 /proc/uptime; mkdir a; stat -c %i a; exit 1"
[[task]]
id = "write"
title = "write"
run = "for i in $(seq 50); do echo $i > f$i; done"
"#;

/// The numbers that each cell printed, in order.
fn shown(results: &Results) -> Vec<Vec<u64>> {
    let of = |cell: &serde_json::Value| {
        let tasks = cell["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["task"] == "show").unwrap();
        let detail = task["detail"].as_str().unwrap();
        detail.lines().take(4).map(|line| line.trim().parse().unwrap_or_else(|_| panic!("{detail}"))).collect()
    };
    results.cells().iter().map(of).collect()
}

#[test]
fn each_repeat_draws_its_own_conditions_and_a_seed_draws_the_same() {
    let Some(lab) = Lab::with_guests("each_repeat_draws_its_own_conditions_and_a_seed_draws_the_same", 2) else {
        return;
    };
    let suite = lab.suite("show", SHOW);
    let run = |conditions: &str, repeats: &str| {
        let plan = ["--fs", "xfs", "--suite", &suite, "--repeat", repeats, "--disk", "hdd", "--conditions", conditions];
        lab.run(&plan).results()
    };
    let varied = run("varied", "3");
    let cells = shown(&varied);
    let different = |at: usize| cells.iter().map(|cell| cell[at]).collect::<BTreeSet<_>>().len();
    assert_eq!([0, 1, 2].map(different), [3; 3], "{cells:?}");
    assert!(different(3) > 1, "all folders are in one allocation group: {cells:?}");
    assert!(cells.iter().all(|cell| cell[0] > 1_893_456_000), "{cells:?}");
    assert_eq!(shown(&run("varied", "1")), cells[..1]);

    let fixed = shown(&run("fixed", "2"));
    let range = |at: usize| {
        let of = || fixed.iter().map(|cell| cell[at]);
        of().max().unwrap() - of().min().unwrap()
    };
    // Only the seed differs: names and hash seeds move neither clock, nor timers, nor much memory.
    assert!(range(0) <= 1 && range(1) < 512 && range(2) <= 1 && range(3) == 0, "{fixed:?}");
    let age = |cells: &[Vec<u64>]| cells.iter().map(|cell| cell[2]).max().unwrap();
    assert!(age(&cells) > age(&fixed) + 20, "{cells:?} {fixed:?}");
}

#[test]
fn conditions_are_named_and_refused_by_name() {
    let lab = Lab::without_guests();
    let suite = lab.suite("show", SHOW);
    let refused = lab.run(&["--fs", "ext4", "--suite", &suite, "--conditions", "free"]);
    let said = "invalid value 'free' for '--conditions <CONDITIONS>'";
    refused.ended_with(2).says(&[said, "varied, fixed"]);
}
