//! Compares benchmark programs with Mountmark's engine, phase by phase. Both sides run in one guest, on one file system,
//! with the same sizes, blocks, order, counts and syncs.
//!
//! A phase passes if its rates are within 10 % of each other, or if there is a stated reason for the difference that fits
//! its size. There is one file per program, with the suite that measures both sides.

mod judge;
mod pairs;
mod table;

use std::collections::BTreeMap;

use crate::lab::{Lab, Results, outcome, skip};
use judge::{Kind, Verdict};
use pairs::{Check, PROGRAMS};

/// Figures of one cell: values by task and metric, and reasons for missing ones.
#[derive(Default)]
struct Figures {
    values: BTreeMap<(String, String), f64>,
    missing: BTreeMap<String, Missing>,
}

/// Why a task has no figures.
#[derive(Clone, Debug)]
struct Missing {
    failed: bool,
    reason: String,
}

/// Measures both sides on ext4 and prints the table.
fn compared(lab: &Lab, check: &Check, disk: &str, scale: &str) -> Vec<Verdict> {
    let suite = lab.write(&format!("{}.toml", check.suite_name()), &check.suite_text());
    let plan = ["--fs", "ext4", "--suite", &suite, "--disk", disk, "--scale", scale, "--repeat", "1"];
    // A phase that fails is judged like the others.
    let figures = Figures::of(&lab.run(&plan).results());
    let judged = |phase| judge::judge(phase, &figures, "ext4", disk, check.by_time);
    let verdicts: Vec<Verdict> = check.phases.iter().map(judged).collect();
    let head = table::Head { check, filesystem: "ext4", disk, scale, parameters: &check.parameters(scale) };
    println!("{}", table::text(&head, &verdicts));
    verdicts
}

impl Figures {
    fn of(results: &Results) -> Figures {
        let cell = results.cell("ext4");
        assert_eq!(cell["outcome"], "ok", "{}", cell["reason"]);
        let tasks = cell["tasks"].as_array().unwrap().iter().map(|ended| (&ended["task"], outcome(ended)));
        let missing = tasks.filter(|(_, (word, ..))| word != "ok").map(|(task, (word, reason, _))| {
            (task.as_str().unwrap().to_owned(), Missing { failed: word == "failed", reason })
        });
        let values =
            results.figures().into_iter().map(|((_, _, task, _, metric), bits)| ((task, metric), f64::from_bits(bits)));
        Figures { values: values.collect(), missing: missing.collect() }
    }
}

/// At a smaller scale, sysbench's start-up work would be more than a tenth of its runs.
#[test]
fn sysbench_and_the_engine_agree() {
    let Some(lab) = Lab::with_guests("sysbench_and_the_engine_agree", 1) else { return };
    let (_, sysbench) = PROGRAMS[2];
    let verdicts = compared(&lab, &pairs::of(sysbench), "ram", "0.25");
    let phases: Vec<&str> = verdicts.iter().map(|verdict| &*verdict.phase).collect();
    for phase in ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"] {
        assert!(phases.contains(&phase), "{phase} is missing in {phases:?}");
    }
    let differs: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.kind != Kind::Agrees).collect();
    assert!(differs.is_empty(), "{differs:?}");
}

#[test]
#[ignore = "takes half an hour; prints both sides of every phase of four programs"]
fn every_program_and_the_engine_agree_or_differ_for_a_known_reason() {
    let name = "every_program_and_the_engine_agree_or_differ_for_a_known_reason";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let mut wrong = Vec::new();
    for check in PROGRAMS.map(|(_, text)| pairs::of(text)) {
        for disk in ["ram", "ssd"] {
            let verdicts = compared(&lab, &check, disk, "1");
            if !verdicts.iter().any(Verdict::is_measured) {
                skip(name, &format!("{} on the disk {disk}: {:?}", check.title, verdicts[0].kind));
            }
            let bad = verdicts.into_iter().filter(|verdict| !verdict.is_good());
            wrong.extend(bad.map(|verdict| format!("{} on the disk {disk}: {verdict:?}", check.title)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
