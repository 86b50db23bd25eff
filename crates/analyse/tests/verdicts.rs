//! What tasks are judged by, and what is said of it.

mod support;

use mountmark_analyse::stats::random::Random;
use mountmark_analyse::{ChangeOutcome, Findings, Options, VerdictOutcome, changes, findings};
use mountmark_record::RunRecord;
use support::{plan, run, sample};

/// Three file systems, of which the first is best by rate and worst by time, at two tasks of fs_mark; a third task, the
/// whole program, has a time alone.
fn rated(repeats: u32) -> RunRecord {
    let mut plan = plan(3, 3, repeats);
    let tasks = &mut plan.cells[0].tasks;
    tasks[2].program = Some("fs_mark".into());
    for task in &mut tasks[..2] {
        task.part_of = Some("t2".into());
    }
    let mut random = Random::new(3);
    let mut record = run(&plan, |configuration, _, _| 10.0 / (1 + configuration) as f64);
    for cell in &mut record.cells {
        let place = cell.configuration.trim_start_matches('c').parse::<f64>().unwrap();
        for task in ["t0", "t1"] {
            cell.samples.push(sample(task, "rate", 4000.0 / (1.0 + place) * (1.0 + 0.001 * random.normal())));
        }
    }
    record
}

fn sentence<'a>(found: &'a Findings, task: &str) -> &'a str {
    let task = found.tasks.iter().find(|known| known.id == task).unwrap();
    task.judged().map_or("", |metric| &metric.verdict.as_ref().unwrap().sentence)
}

#[test]
fn tasks_with_a_rate_are_judged_by_it_and_more_is_better() {
    let found = findings(&rated(3), &Options::default());
    let metric = found.tasks[0].judged().unwrap();
    assert_eq!((metric.metric.id, metric.metric.unit_text()), ("rate", "1/s"));
    assert_eq!(metric.verdict.as_ref().unwrap().outcome, VerdictOutcome::Winner { configuration: 0 });
    let said = sentence(&found, "t0");
    assert!(
        said.starts_with("Rate: c0 is fastest with 3,99") || said.starts_with("Rate: c0 is fastest with 4,00"),
        "{said}"
    );
    assert!(said.contains(" operations/s; the next is c1 with ") && said.contains("0.50 of that (95 %: "), "{said}");
    let by_time = found.tasks[0].metrics.iter().find(|metric| metric.metric.id == "durable").unwrap();
    assert!(by_time.verdict.is_none(), "the time of a task with a rate is not judged");
    // Rankings and conclusions are by the rate too.
    assert_eq!((found.overall.basis.as_str(), found.overall.ranking[0].configuration), ("rate", 0));
    let all = found.conclusions.join("\n");
    assert!(all.contains("Over all 2 tests, c0 was fastest (by rate), the best of every test; then c1 with "), "{all}");
    assert!(all.contains("c2 reached 1,33") && !all.contains("took"), "{all}");
    assert!(!all.contains("composite"), "a sum of times that were given says nothing: {all}");
}

#[test]
fn a_program_whose_parts_have_rates_is_not_judged_itself() {
    let mut record = rated(3);
    let found = findings(&record, &Options::default());
    assert!(found.tasks[2].judged().is_none());
    assert!(found.tasks[2].metrics[0].estimates[0].is_some(), "its figures are there all the same");
    for cell in &mut record.cells {
        cell.samples.retain(|sample| sample.metric != "rate");
    }
    let found = findings(&record, &Options::default());
    assert_eq!(found.tasks[2].judged().unwrap().metric.id, "durable");
}

#[test]
fn a_rate_that_fell_is_a_regression() {
    let before = rated(3);
    let mut after = before.clone();
    for sample in after.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
        // Less time, and a lower rate: the rate decides.
        sample.value *= if sample.metric == "rate" && sample.task == "t0" { 0.8 } else { 0.999 };
    }
    let found = changes(&before, &after, None, &Options::default());
    let beyond = found.beyond(0.05);
    assert_eq!(beyond.len(), 3, "t0 on each file system");
    assert!((beyond[0].worse.unwrap() - 0.2).abs() < 1e-9);
    assert!(beyond[0].sentence.contains("rate: ") && beyond[0].sentence.contains(" operations/s before"));
    assert!(beyond[0].sentence.contains("20 % less, which is worse"), "{}", beyond[0].sentence);
    assert!(found.changes.iter().all(|change| change.task != "t2"));
    assert_eq!(found.changes.iter().filter(|change| change.outcome == ChangeOutcome::NoDifferenceShown).count(), 3);
}

#[test]
fn commands_are_judged_by_the_time_until_durable() {
    let mut record =
        run(&plan(2, 1, 3), |configuration, _, repeat| [2.0, 3.0][configuration] + f64::from(repeat) / 100.0);
    for cell in &mut record.cells {
        // The one that returns soon is durable late.
        let elapsed = 4.0 - cell.samples[0].value;
        cell.samples.push(sample("t0", "elapsed", elapsed));
    }
    let found = findings(&record, &Options::default());
    assert_eq!(found.tasks[0].judged().unwrap().metric.id, "durable");
    assert!(
        sentence(&found, "t0").starts_with("Durable time: c0 is fastest with 2.01 s; the next is c1 with 3.01 s: 1.50")
    );
    let returned = found.tasks[0].metrics.iter().find(|metric| metric.metric.id == "elapsed").unwrap();
    assert!(returned.verdict.as_ref().unwrap().sentence.starts_with("Returned time: c1 is fastest"));
    assert!(
        found.conclusions[0].starts_with("In the one test, c0 took the least durable time"),
        "{:?}",
        found.conclusions
    );
}

#[test]
fn what_one_repeat_cannot_show_is_said_first() {
    let found = findings(&rated(1), &Options::default());
    assert!(found.conclusions[0].contains("one repeat") && found.conclusions[0].contains("shows no difference"));
    assert!(found.conclusions.iter().all(|sentence| !sentence.contains(" is fastest") && !sentence.contains("%:")));
    assert!(sentence(&found, "t0").ends_with("One repeat shows no difference."), "{}", sentence(&found, "t0"));
}

#[test]
fn who_shares_the_first_place_is_told_from_who_is_slower() {
    let mut random = Random::new(8);
    let record =
        run(&plan(4, 1, 5), |configuration, _, _| [1.0, 1.0, 1.2, 1.3][configuration] * (1.0 + 0.01 * random.normal()));
    let found = findings(&record, &Options::default());
    let said = sentence(&found, "t0");
    assert!(said.starts_with("Durable time: ") && said.contains("share the first place"), "{said}");
    assert!(said.contains("all others are slower, the next is c2 (1."), "{said}");
    let record = run(&plan(3, 1, 3), |_, _, repeat| 1.0 + f64::from(repeat) / 10.0);
    let found = findings(&record, &Options::default());
    assert!(
        sentence(&found, "t0").starts_with("Durable time: no difference of 1 % or more (medians 1.10 s to 1.10 s)")
    );
    assert!(found.conclusions[0].contains("all 3 file systems are level"), "{:?}", found.conclusions);
}

#[test]
fn what_shares_no_repeats_with_the_others_is_no_winner() {
    let mut record = run(&plan(3, 1, 5), |configuration, _, repeat| {
        [1.0, 1.3, 3.0][configuration] * (1.0 + 0.001 * f64::from(repeat % 3))
    });
    record.cells.retain(|cell| cell.configuration != "c2" || cell.repeat == 0);
    let found = findings(&record, &Options::default());
    let verdict = found.tasks[0].judged().unwrap().verdict.as_ref().unwrap();
    assert_eq!(verdict.outcome, VerdictOutcome::Winner { configuration: 0 });
    let said = sentence(&found, "t0");
    assert!(said.starts_with("Durable time: c0 is fastest with 1.00 s; the next is c1"), "{said}");
    assert!(said.ends_with(" Not judged, for want of repeats that the others have too: c2 (3.00 s)."), "{said}");
    // Two halves that share none: the larger one is judged.
    let mut record = run(&plan(3, 1, 6), |configuration, _, _| [1.0, 1.0, 2.0][configuration]);
    record.cells.retain(|cell| (cell.configuration == "c0") == (cell.repeat < 3) || cell.configuration == "c2");
    let found = findings(&record, &Options::default());
    let verdict = found.tasks[0].judged().unwrap().verdict.as_ref().unwrap();
    assert!(matches!(verdict.outcome, VerdictOutcome::Winner { .. }), "{verdict:?}");
    assert!(verdict.sentence.contains("Not judged, for want of repeats"), "{}", verdict.sentence);
}

#[test]
fn a_small_difference_that_is_shown_hides_no_large_one_that_is_not() {
    let mut random = Random::new(5);
    let record = run(&plan(3, 1, 5), |configuration, _, _| {
        [1.0, 1.005, 1.1][configuration] * (1.0 + [0.0, 0.0, 0.3][configuration] * random.normal())
    });
    let said = sentence(&findings(&record, &Options::default()), "t0").to_owned();
    assert!(said.contains("no difference that matters is shown") && said.contains(" would be, four times"), "{said}");
}

#[test]
fn a_file_system_that_the_later_run_skipped_has_lost_its_figures() {
    let before = run(&plan(2, 2, 3), |configuration, _, _| 1.0 + configuration as f64);
    let mut after = before.clone();
    after.cells.retain(|cell| cell.configuration != "c1");
    after.plan.cells.retain(|cell| cell.configuration.name != "c1");
    after.plan.configurations.retain(|name| name != "c1");
    // Not asked for is not lost.
    assert!(changes(&before, &after, None, &Options::default()).beyond(0.05).is_empty());
    after.plan.skipped.push(("c1".into(), "The kernel has no c1.".into()));
    let found = changes(&before, &after, None, &Options::default());
    let beyond = found.beyond(0.05);
    assert_eq!(beyond.len(), 2, "both tests: {beyond:?}");
    assert!(beyond.iter().all(|change| change.outcome == ChangeOutcome::Lost && change.configuration == "c1"));
    assert!(found.remarks.iter().any(|remark| remark == "The later run skipped c1: The kernel has no c1."));
}

#[test]
fn a_change_speaks_of_the_repeats_that_both_runs_have() {
    let before = run(&plan(1, 1, 1), |_, _, _| 3.0);
    let after = run(&plan(1, 1, 5), |_, _, repeat| if repeat == 0 { 2.94 } else { 3.3 });
    let found = changes(&before, &after, None, &Options::default());
    let said = &found.changes[0].sentence;
    assert!(said.contains("3.00 s before, 2.94 s after") && said.contains("2 % less"), "{said}");
}
