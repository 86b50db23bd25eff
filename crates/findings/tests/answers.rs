//! Claims that points of a varied parameter decide, a setting, or power cuts.

mod support;

use ClaimOutcome::{Fails, Holds, NeedsCrashLab, NotMeasured, Partly};
use mountmark_findings::claims::{ClaimOutcome, CutsSeen, Judges, MissingReason};
use mountmark_model::{FileOutcome, Vary, VaryPoint};
use mountmark_record::RunRecord;

use support::sample;
use support::studies::{empty, judged};

/// What the suite recovery measures.
const FIVE: [&str; 5] = ["ext2", "ext3", "jfs", "reiserfs", "xfs"];

/// A run of the suite recovery at two sizes of disk, in which the full check of ext2 takes so long.
fn at_two_sizes(parameter: &str, seconds: [f64; 2]) -> RunRecord {
    let mut run = empty("recovery", &FIVE);
    run.plan.scale = mountmark_model::Scale::try_from(0.05).unwrap();
    let points = [(512 << 20, "512MiB"), (4096 << 20, "4GiB")];
    let point = |(value, text): (u64, &str)| VaryPoint { value: value as f64, text: text.into() };
    run.plan.vary = Some(Vary { parameter: parameter.into(), points: points.map(point).into() });
    let names = |task: &str| points.map(|(_, text)| format!("{task}@{text}"));
    run.plan.tasks =
        ["usable", "clean", "check-clean"].into_iter().flat_map(names).map(|id| (id.clone(), id)).collect();
    for cell in &mut run.cells {
        let is_ext2 = cell.configuration == "ext2";
        cell.samples = run.plan.tasks.iter().map(|(task, _)| sample(task, "elapsed", 0.1)).collect();
        let check = if is_ext2 { seconds } else { [0.5, 1.0] };
        for (task, value) in names("check-clean").iter().zip(check) {
            cell.samples.retain(|found| found.task != *task);
            cell.samples.push(sample(task, "elapsed", value));
        }
        for task in names("usable") {
            cell.samples.retain(|found| found.task != task);
            cell.samples.push(sample(&task, "elapsed", if is_ext2 { 0.7 } else { 0.1 }));
        }
    }
    run
}

#[test]
fn points_of_a_varied_parameter_are_compared() {
    let told = |run: &RunRecord, id: &str| judged(&Judges::of(run))[id].clone();
    assert_eq!(told(&at_two_sizes("disk-size", [0.14, 1.07]), "J02").outcome, Holds);
    assert_eq!(told(&at_two_sizes("disk-size", [0.14, 0.14]), "J02").outcome, Partly);
    // Points of the memory are no sizes of a disk; nor is there a size without points.
    let mut plain = empty("recovery", &FIVE);
    plain.plan.scale = mountmark_model::Scale::try_from(0.05).unwrap();
    for run in [at_two_sizes("ram", [0.14, 1.07]), plain] {
        let claim = told(&run, "J02");
        assert_eq!(claim.outcome, NotMeasured);
        assert!(claim.missing.contains(&MissingReason::Points("disk-size=1GiB..4GiB:2".into())), "{claim:?}");
        assert!(claim.commands[0].ends_with("--scale 0.05 --vary disk-size=1GiB..4GiB:2"), "{:?}", claim.commands);
    }
    // What is said of a task is said of it at each point.
    let run = at_two_sizes("disk-size", [0.14, 1.07]);
    assert_eq!(["J04", "J22"].map(|id| told(&run, id).outcome), [Holds; 2]);
    assert_eq!(told(&run, "J22").clauses[0].counts.holds, 2);
}

#[test]
fn what_a_setting_answers_needs_no_run() {
    let judged = judged(&Judges::of(&empty("oltp", &["ext2"])));
    assert_eq!((judged["J09"].outcome, judged["J09"].own_figures), (Fails, None));
    assert!(judged["J09"].answered.as_ref().unwrap().starts_with("Today never"));
    assert_eq!((judged["J24"].outcome, judged["J24"].own_figures), (Fails, None));
}

#[test]
fn power_cuts_judge_what_is_said_of_them() {
    let cuts = |holds: &[(&str, bool)], missing: &[&str]| CutsSeen {
        holds: holds.iter().map(|(name, holds)| ((*name).to_owned(), *holds)).collect(),
        images: vec![("ext3".into(), [(FileOutcome::Mixed, 24), (FileOutcome::New, 8)].into())],
        missing: missing.iter().map(|name| (*name).to_owned()).collect(),
        ..CutsSeen::default()
    };
    let claim = judged(&Judges::of(&empty("piszcz-2006", &FIVE)))["J18"].clone();
    let told = |seen: CutsSeen| {
        let mut claim = claim.clone();
        claim.by_power_cuts(seen);
        (claim.outcome, claim.missing)
    };
    assert_eq!(told(cuts(&[("ext3", true), ("xfs", true)], &[])), (Holds, Vec::new()));
    assert_eq!(
        told(cuts(&[("ext3", false), ("xfs", true)], &["jfs"])),
        (Partly, vec![MissingReason::NotCut(vec!["jfs".into()])])
    );
    assert_eq!(told(cuts(&[("ext3", false)], &[])).0, Fails);
    assert_eq!(told(cuts(&[], &["ext3"])), (NeedsCrashLab, vec![MissingReason::PowerCuts]));
}
