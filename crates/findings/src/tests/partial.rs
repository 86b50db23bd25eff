//! Runs of which a part is missing: tests without a rank, repeats, all tests.

use mountmark_model::Outcome;
use mountmark_record::TaskOutcome;

use crate::advice::{NoRatio, speeds};
use crate::analysis::findings;
use crate::changes::find::{ChangeOutcome, changes};
use crate::options::Options;
use crate::overview::say::opening::{Opening, title};
use crate::reports::show::Verdicts;
use crate::tests::{failed, of, run, sample, written};
use crate::{overview, remarks, verdicts};

/// xfs is better at a number that the program of a third task prints.
#[test]
fn an_average_says_which_tests_it_leaves_out() {
    for (least, of) in [(0.0, "the number of ext4 is 0"), (2.0, "numbers of programs have no rank")] {
        let mut run = run(&["ext4", "xfs"], 3);
        run.plan.tasks.push(("tps".into(), "transactions".into()));
        for cell in &mut run.cells {
            let value = if cell.index % 2 == 0 { least } else { 5.0 + f64::from(cell.repeat) / 100.0 };
            cell.samples.push(sample("tps", "figure", value));
            cell.outcomes.push(TaskOutcome { task: "tps".into(), outcome: Outcome::Ok });
        }
        let found = findings(&run, &Options::default());
        let all = overview::say::sentences(&found);
        let answer = "Over 2 of 3 tests (not ranked: tps), ext4 took the least ";
        assert!(all[0].starts_with(answer), "{of}: {all:?}");
        assert!(all[0].contains(" and was the best in each of them; next is xfs"), "{of}: {all:?}");
        let title = title(&found);
        assert!(title.starts_with("ext4 is first over 2 of 3 tests, 2.00 times ahead of xfs"), "{of}: {title}");
        let kinds = all.iter().filter(|said| said.contains("Not ranked: tps."));
        assert_eq!(kinds.count(), 1, "{of}: {all:?}");
    }
}

/// jfs is twice as fast as the others in two tests, and the third fails on it.
#[test]
fn who_lacks_figures_has_no_place_and_is_named() {
    let mut run = run(&["ext4", "xfs", "jfs"], 3);
    run.plan.tasks.push(("003".into(), "sync".into()));
    for cell in &mut run.cells {
        let is_jfs = cell.configuration == "jfs";
        let scale = if is_jfs { 0.1 } else { 1.0 };
        cell.samples.iter_mut().for_each(|(_, value)| *value *= scale);
        cell.samples.push(sample("003", "elapsed", 1.0 + f64::from(cell.index % 3)));
        let outcome = if is_jfs { failed("no space") } else { Outcome::Ok };
        cell.outcomes.push(TaskOutcome { task: "003".into(), outcome });
    }
    let found = findings(&run, &Options::default());
    assert!(title(&found).starts_with("ext4 is first of 2 ranked file systems, "), "{}", title(&found));
    let all = overview::say::sentences(&found);
    assert!(all[0].starts_with("Over all 3 tests, ext4 "), "{all:?}");
    assert!(all[0].ends_with(" Not ranked, because figures are missing: jfs."), "{all:?}");
    let sum = all.iter().find(|said| said.starts_with("The sum of all tests")).unwrap();
    assert!(sum.ends_with(" on xfs; no figure of jfs."), "{sum}");
    let table = written(&Verdicts { run: &run, findings: &found }, "table", 100);
    let table = &table[table.find("Ranking, all tests").unwrap()..];
    assert!(table.contains("Not ranked, because figures are missing: jfs."));
}

#[test]
fn equal_on_all_speaks_of_those_with_a_figure() {
    let mut run = run(&["ext4", "xfs", "jfs"], 2);
    for cell in &mut run.cells {
        let is_jfs = cell.configuration == "jfs";
        cell.samples.iter_mut().filter(|(sample, _)| sample.task == "mkfs").for_each(|(_, value)| *value = 1.0);
        cell.samples.retain(|sample| !is_jfs || sample.task != "mkfs");
    }
    let all = overview::say::sentences(&findings(&run, &Options::default()));
    let mkfs = all.iter().find(|said| said.starts_with("Mkfs took")).unwrap();
    assert_eq!(mkfs, "Mkfs took 1.00 s on all file systems that have a figure; no figure of jfs.");
}

/// What is left of two repeats of two file systems after the first cell.
#[test]
fn an_interrupted_run_says_what_it_lacks() {
    let mut run = run(&["ext4", "xfs"], 2);
    run.cells.truncate(1);
    let found = findings(&run, &Options::default());
    let remarks = remarks::say::sentences(&found);
    assert!(remarks[0].starts_with("Of 2 repeats one has figures: no intervals, no verdicts."), "{remarks:?}");
    assert!(remarks[0].ends_with("(mountmark resume)."), "{remarks:?}");
    let task = found.suite().next().unwrap();
    let said = verdicts::say::sentences(&found, task, task.judged().unwrap());
    assert!(said.ends_with("there is nothing to compare it with: no other has a figure."), "{said}");
    let text = written(&of(&run, None), "table", 100);
    assert!(!text.contains("spread"), "one figure has none: {text}");

    // Both file systems, once.
    let mut run = crate::tests::run(&["ext4", "xfs"], 2);
    run.cells.truncate(2);
    let found = findings(&run, &Options::default());
    let answer = &overview::say::sentences(&found)[0];
    assert!(answer.starts_with("Over all 2 tests, in one repeat, ext4 took"), "{answer}");
    assert!(title(&found).contains(" in one repeat"));
}

#[test]
fn where_every_test_failed_no_step_is_the_answer() {
    let mut run = run(&["ext4", "xfs"], 3);
    for cell in &mut run.cells {
        cell.samples.retain(|sample| !["001", "002"].contains(&sample.task));
        for outcome in &mut cell.outcomes[2..4] {
            outcome.outcome = failed("it ended with exit code 1");
        }
    }
    let opening = Opening::of(&findings(&run, &Options::default()));
    assert_eq!(opening.answer, "No test has a figure.");
    assert!(opening.further.iter().any(|said| said.starts_with("Mkfs took from ")), "{:?}", opening.further);
}

/// A run of two file systems with a number that the program of a third task prints: so much on ext4, and 7 on xfs.
fn printed(metric: &str, on_ext4: f64) -> mountmark_record::RunRecord {
    let mut run = run(&["ext4", "xfs"], 2);
    run.plan.tasks.push(("errors".into(), "errors".into()));
    for cell in &mut run.cells {
        cell.samples.push(sample("errors", metric, if cell.index % 2 == 0 { on_ext4 } else { 7.0 }));
        cell.outcomes.push(TaskOutcome { task: "errors".into(), outcome: Outcome::Ok });
    }
    run
}

#[test]
fn a_change_from_0_and_to_0_has_a_direction() {
    for (metric, before, after, worse) in [
        ("figure_less", 0.0, 5.0, Some("errors: 0 before, 5.00 after: more than none, which is worse")),
        ("figure_less", 5.0, 0.0, None),
        ("figure", 5.0, 0.0, Some("errors: 5.00 before, 0 after: none any more, which is worse")),
        ("figure", 0.0, 5.0, None),
    ] {
        let found = changes(&printed(metric, before), &printed(metric, after), None, &Options::default());
        let one = found.changes.iter().find(|one| one.task == "errors" && one.configuration == "ext4").unwrap();
        let beyond = found.beyond(0.5);
        match worse {
            Some(said) => {
                assert_eq!((one.outcome, beyond.len()), (ChangeOutcome::Regression, 1), "{metric} {before}");
                let sentence = crate::changes::say::sentence(&found, one);
                assert!(sentence.contains(said.split_once(": ").unwrap().1), "{sentence}");
            }
            None => assert_eq!((one.outcome, beyond.len()), (ChangeOutcome::Improvement, 0), "{metric} {before}"),
        }
    }
}

#[test]
fn a_figure_without_a_ratio_makes_nothing_faster_than_the_others() {
    let lacking = NoRatio { task: "errors".into(), configuration: "ext4".into() };
    assert_eq!(speeds(&printed("figure_less", 0.0), &[]), Err(lacking));
    assert!(speeds(&printed("figure_less", 1.0), &[]).unwrap()["ext4"].iter().all(Option::is_some));
    assert!(speeds(&printed("lost", 0.0), &[]).is_ok(), "what a power cut took is no speed");
}
