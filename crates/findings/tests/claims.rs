//! Verdicts on the built-in claims: by the articles' own figures, by runs with these figures, and which runs may judge.

mod support;

use std::collections::BTreeMap;

use ClaimOutcome::{Fails, Holds, NeedsCrashLab, NotJudged, NotMeasured, Partly, Reversed, Undecidable};
use mountmark_findings::claims::{ClaimOutcome, Judges, MissingReason, Reach, by_several, judge_claims, own_figures};
use mountmark_findings::studies::compare_study;
use mountmark_model::Study;
use mountmark_record::{RunId, RunRecord};

use support::studies::{catalogue, empty, judged, reach, reprinted};

/// What the articles' own figures say. `true`: the article prints all figures that the claim names.
const OWN: [(&str, ClaimOutcome, bool); 45] = [
    ("H01", Holds, true),
    ("H02", Holds, false),
    ("H03", Partly, false),
    ("H04", Partly, true),
    ("H06", Partly, true),
    ("H07", Holds, false),
    ("H08", Holds, true),
    ("H10", Holds, true),
    ("H11", Holds, true),
    ("H12", Holds, false),
    ("H14", Partly, false),
    ("H15", Partly, true),
    ("H17", Holds, true),
    ("H18", Holds, true),
    ("H19", Holds, false),
    ("H20", Holds, true),
    ("H21", Holds, true),
    ("H22", Holds, true),
    ("H24", Holds, true),
    ("H26", Holds, true),
    ("H27", Holds, true),
    ("H28", Holds, true),
    ("P04", Holds, true),
    ("P05", Holds, true),
    ("P06", Holds, true),
    ("P07", Holds, true),
    ("P08", Partly, true),
    ("P09", Holds, true),
    ("P10", Holds, true),
    ("P11", Holds, true),
    ("P12", Holds, true),
    ("P13", Holds, true),
    ("P14", Holds, true),
    ("P15", Holds, true),
    ("P16", Fails, true),
    ("P17", Partly, true),
    ("P18", Reversed, true),
    ("P19", Partly, true),
    ("P20", Holds, true),
    ("P21", Holds, true),
    ("P22", Reversed, true),
    ("P23", Holds, true),
    ("P24", Holds, true),
    ("W01", Holds, true),
    ("W02", Holds, true),
];

#[test]
fn the_articles_own_figures_support_these_claims() {
    let catalogue = catalogue();
    let studies: Vec<&Study> = catalogue.list::<Study>().collect();
    let own = own_figures(&studies);
    let own: Vec<(&str, ClaimOutcome, bool)> =
        own.iter().map(|((_, id), (outcome, complete))| (id.as_str(), *outcome, *complete)).collect();
    assert_eq!(own, OWN);
}

/// The older of two runs.
fn older(mut run: RunRecord) -> RunRecord {
    run.id = RunId::new("20251121-0345-a1b2");
    run
}

#[test]
fn runs_with_the_studys_figures_are_judged_like_the_study() {
    let catalogue = catalogue();
    for (name, prefix) in [("piszcz-2006", "P"), ("hans-2006", "H"), ("wiki-2007", "W")] {
        let study = catalogue.get::<Study>(name).unwrap();
        let run = reprinted(study, &study.runs[0].id);
        let earlier = study.runs.get(1).map(|earlier| older(reprinted(study, &earlier.id)));
        let judged = judged(&Judges { earlier: earlier.as_ref(), ..Judges::of(&run) });
        // H12 needs runs of two suites.
        for (id, outcome, _) in OWN.iter().filter(|(id, ..)| id.starts_with(prefix) && *id != "H12") {
            assert_eq!(judged[*id].outcome, *outcome, "{id}: {:?}", judged[*id]);
        }
        assert_eq!(judged["LM31"].outcome, Undecidable);
    }
}

#[test]
fn several_runs_tell_a_claim_once_unless_they_disagree() {
    let hans = catalogue().get::<Study>("hans-2006").unwrap();
    let judge = |run: &RunRecord| judge_claims(&Judges::of(run), &[hans], &reach());
    let told = |runs: &[&RunRecord], id: &str| -> Vec<(String, ClaimOutcome)> {
        let all = by_several(runs.iter().map(|run| judge(run)).collect());
        all.into_iter().filter(|claim| claim.id == id).map(|claim| (claim.run, claim.outcome)).collect()
    };
    let run = reprinted(hans, "1");
    let of = |run: &RunRecord, outcome| (run.id.as_str().to_owned(), outcome);
    // The run with all file systems that H17 names, and not the one without jfs.
    let mut fewer = older(run.clone());
    fewer.cells.retain(|cell| cell.configuration != "jfs");
    assert_eq!(judge(&fewer).iter().find(|claim| claim.id == "H17").unwrap().outcome, Holds);
    assert_eq!(told(&[&fewer, &run], "H17"), [of(&run, Holds)]);
    // Both, where less was more.
    let mut reversed = older(run.clone());
    reversed.cells.iter_mut().flat_map(|cell| cell.samples.iter_mut()).for_each(|(_, value)| *value = 1.0 / *value);
    let both = told(&[&run, &reversed], "H17");
    assert_eq!((both.len(), &both[0]), (2, &of(&run, Holds)));
    assert_ne!(both[1].1, Holds);
    // What none decides is told by the run that is nearest.
    let (other, mut small) = (empty("another", &["ext3"]), older(run.clone()));
    small.plan.scale = mountmark_model::Scale::try_from(0.02).unwrap();
    assert_eq!(told(&[&other, &small], "H17"), [of(&small, NotJudged)]);
}

#[test]
fn what_compares_runs_waits_for_an_earlier_one() {
    let catalogue = catalogue();
    let run = reprinted(catalogue.get::<Study>("piszcz-2006").unwrap(), "2");
    let judged = judged(&Judges::of(&run));
    assert_eq!((judged["P22"].outcome, judged["P05"].outcome), (NotMeasured, Holds));
    let earlier = MissingReason::StudyRun { run: "1".into(), can_be_given: true };
    assert!(judged["P22"].missing == [earlier.clone()] && judged["P05"].missing == [earlier]);
    assert_eq!(
        judged["P22"].commands,
        [
            "mountmark run --suite piszcz-2006 --fs xfs --machine p3-2006 --scale 1 --kernel OLDER".to_owned(),
            format!("mountmark compare EARLIER {} --claims --study piszcz-2006", run.id),
        ]
    );
}

#[test]
fn a_run_judges_claims_about_its_own_suite_and_machine_alone() {
    let catalogue = catalogue();
    let hans = catalogue.get::<Study>("hans-2006").unwrap();
    // mkfs, mount and capacity are steps of every suite; so they are figures of another computer too.
    let mut run = reprinted(hans, "1");
    assert_eq!(judged(&Judges::of(&run))["H01"].outcome, Holds);
    run.plan.machine.name = "modern".into();
    let other = judged(&Judges::of(&run));
    for id in ["H01", "H03", "H11", "H14", "H12", "P02", "P03"] {
        let Some(MissingReason::Misfit(misfit)) = other[id].missing.first() else { panic!("{id}: {:?}", other[id]) };
        assert_eq!(
            (other[id].outcome, misfit.suite.is_some()),
            (NotJudged, id.starts_with('P') || id == "H12"),
            "{id}"
        );
        assert_eq!(misfit.machine.as_ref().unwrap().of_run.as_deref(), Some("modern"), "{id}");
    }
    assert_eq!(
        other["H01"].commands,
        ["mountmark run --suite hans-2006 --fs ext3,jfs,reiserfs,xfs --machine celeron-2006 --scale 1"]
    );
    let anyway = judged(&Judges { anyway: true, ..Judges::of(&run) });
    assert_eq!((anyway["H01"].outcome, anyway["H01"].stretched.is_some()), (Holds, true));
    assert_eq!((anyway["P02"].outcome, anyway["LM09"].outcome), (Holds, NotMeasured));
    run.plan.lab = mountmark_model::Lab::Host;
    run.plan.machine.name = "celeron-2006".into();
    assert_eq!(judged(&Judges::of(&run))["H01"].outcome, NotJudged, "it is this computer");
    // The article on journals names no computer.
    let mut run = empty("piszcz-2006", &["ext2", "ext3"]);
    run.plan.machine.name = "modern".into();
    assert_ne!(judged(&Judges::of(&run))["J21"].outcome, NotJudged);
    assert_eq!(judged(&Judges::of(&run))["P01"].outcome, NotJudged);
}

#[test]
fn an_earlier_run_of_another_machine_is_refused() {
    let catalogue = catalogue();
    let piszcz = catalogue.get::<Study>("piszcz-2006").unwrap();
    let (run, mut earlier) = (reprinted(piszcz, "2"), older(reprinted(piszcz, "1")));
    earlier.plan.machine.name = "modern".into();
    let judges = Judges { earlier: Some(&earlier), ..Judges::of(&run) };
    let judged = judged(&judges);
    let MissingReason::Misfit(misfit) = &judged["P22"].missing[0] else { panic!("{:?}", judged["P22"]) };
    assert_eq!((misfit.run.as_str(), judged["P22"].outcome), (earlier.id.as_str(), NotJudged));
    assert_eq!(support::studies::judged(&Judges { anyway: true, ..judges })["P22"].outcome, Reversed);
}

#[test]
fn claims_about_power_cuts_are_not_judged_by_runs() {
    let judged = judged(&Judges::of(&empty("piszcz-2006", &["ext2"])));
    let waiting: Vec<&str> =
        judged.values().filter(|claim| claim.outcome == NeedsCrashLab).map(|claim| claim.id.as_str()).collect();
    assert_eq!(waiting, ["J01", "J03", "J10", "J12", "J13", "J14", "J15", "J16", "J17", "J18", "J19", "J20", "J23"]);
    assert!(waiting.iter().all(|id| judged[*id].missing == [MissingReason::PowerCuts]));
    // Recovery is timed by a suite of its own.
    assert_eq!((judged["J02"].outcome, judged["J04"].outcome), (NotJudged, NotJudged));
    assert!(judged["J04"].commands[0].starts_with("mountmark run --suite recovery --fs ext3,gfs2,jfs,reiserfs,xfs"));
}

#[test]
fn what_a_run_lacks_is_said_with_a_command() {
    let catalogue = catalogue();
    let piszcz = catalogue.get::<Study>("piszcz-2006").unwrap();
    let mut run = reprinted(piszcz, "2");
    let is_kept = |name: &String| name != "xfs" && name != "reiser4";
    run.cells.retain(|cell| is_kept(&cell.configuration));
    run.plan.configurations.retain(is_kept);
    run.plan.cells.retain(|cell| is_kept(&cell.configuration.name));
    let judged = judged(&Judges::of(&run));
    // reiser4 is never available: the claim about it alone is not measured, others are judged without it.
    assert_eq!(judged["P05"].outcome, NotMeasured);
    assert!(
        judged["P05"].missing.iter().any(|lack| matches!(
            lack,
            MissingReason::Unavailable { filesystem, reason } if filesystem == "reiser4" && reason.starts_with("no kernel")
        )),
        "{:?}",
        judged["P05"]
    );
    assert!(!judged["P12"].complete);
    assert_eq!(judged["P11"].outcome, NotMeasured);
    let command = "mountmark run --suite piszcz-2006 --fs ext3,xfs --machine p3-2006 --scale 1";
    assert_eq!(judged["P11"].commands[..2], [command.to_owned(), format!("{command} --kernel OLDER")]);
    assert_eq!(
        judged["H04"].commands,
        ["mountmark run --suite hans-2006 --fs ext3,jfs,reiserfs,xfs --machine celeron-2006 --scale 1"]
    );
    for claim in judged.values().filter(|claim| claim.outcome == NotMeasured) {
        assert!(!claim.missing.is_empty(), "{claim:?}");
    }
}

#[test]
fn what_needs_a_kernel_of_ones_own_is_offered_with_it_alone() {
    let catalogue = catalogue();
    let studies: Vec<&Study> = catalogue.list::<Study>().collect();
    let reach = Reach { own_kernel: ["reiser4".to_owned()].into(), unavailable: BTreeMap::new(), ..reach() };
    for (suite, names) in [("piszcz-2006", &["ext2", "xfs"][..]), ("another", &["ext2"]), ("hans-2006", &["jfs"])] {
        let judged = judge_claims(&Judges::of(&empty(suite, names)), &studies, &reach);
        let commands: Vec<&String> = judged.iter().flat_map(|claim| &claim.commands).collect();
        assert!(commands.iter().any(|command| command.contains("reiser4")), "{suite}: some claims name it");
        assert!(commands.iter().any(|command| !command.contains("reiser4")), "{suite}: others do not");
        for command in commands {
            assert_eq!(command.contains("reiser4"), command.ends_with(" --kernel VMLINUX,MODULES"), "{command}");
        }
    }
    let judged = judge_claims(&Judges::of(&empty("piszcz-2006", &["ext2"])), &studies, &reach);
    let claim = judged.iter().find(|claim| claim.id == "P05").unwrap();
    assert!(claim.missing.contains(&MissingReason::OwnKernel(vec!["reiser4".into()])), "{:?}", claim.missing);
}

#[test]
fn a_run_without_any_figure_makes_no_claim_and_no_panic() {
    let catalogue = catalogue();
    let studies: Vec<&Study> = catalogue.list::<Study>().collect();
    for suite in ["piszcz-2006", "hans-2006", "another"] {
        let mut run = empty(suite, &["ext2", "ext3", "jfs"]);
        run.cells.iter_mut().for_each(|cell| cell.samples.clear());
        for claim in judged(&Judges::of(&run)).values() {
            assert!(!claim.is_measured() || claim.answered.is_some(), "{claim:?}");
        }
        for study in &studies {
            let comparison = compare_study(&run, study, None).unwrap();
            assert!(comparison.tests.is_empty() && comparison.moves.is_empty());
        }
    }
}

#[test]
fn a_run_that_is_too_small_judges_nothing() {
    let hans = catalogue().get::<Study>("hans-2006").unwrap();
    let mut run = reprinted(hans, "1");
    run.plan.scale = mountmark_model::Scale::try_from(0.02).unwrap();
    let small = judged(&Judges::of(&run));
    let MissingReason::Misfit(misfit) = &small["H17"].missing[0] else { panic!("{:?}", small["H17"]) };
    let found = misfit.scale.as_ref().unwrap();
    assert_eq!((small["H17"].outcome, found.of_run.factor(), found.needed.factor()), (NotJudged, 0.02, 0.75));
    let command = "mountmark run --suite hans-2006 --fs ext3,jfs,reiserfs,xfs --machine celeron-2006 --scale 1";
    assert_eq!(small["H17"].commands, [command]);
    assert_eq!(judged(&Judges { anyway: true, ..Judges::of(&run) })["H17"].outcome, Holds);
    // Of the whole work, on a disk that is too small for what it is about.
    let piszcz = catalogue().get::<Study>("piszcz-2006").unwrap();
    let mut run = reprinted(piszcz, "2");
    run.plan.change(|cell| cell.disk_size = mountmark_model::Bytes(4 << 30));
    let small = judged(&Judges::of(&run));
    let MissingReason::Misfit(misfit) = &small["P02"].missing[0] else { panic!("{:?}", small["P02"]) };
    assert_eq!(misfit.disk_size.as_ref().unwrap().of_run.0, 4 << 30);
    assert!(small["P02"].commands[0].ends_with(" --scale 1 --disk-size 400000000000"), "{:?}", small["P02"].commands);
    assert_eq!(small["P12"].outcome, Holds);
}
