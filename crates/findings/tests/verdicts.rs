//! Metrics that judge tasks, and the contents of verdicts and conclusions.

mod support;

use mountmark_findings::changes::{ChangeOutcome, ChangeRemark, changes};
use mountmark_findings::{Basis, Conclusion, Findings, Lead, Options, Remark, Verdict, VerdictOutcome, findings};
use mountmark_model::{Lab, Metric};
use mountmark_record::RunRecord;
use mountmark_stats::random::Random;

use support::{plan, run, sample};

/// Three file systems, of which the first is best by rate and worst by time, at two tasks of fs_mark; a third task, the
/// whole program, has only a time.
fn rated(repeats: u32) -> RunRecord {
    let mut plan = plan(3, 3, repeats);
    let mut tasks = plan.cells[0].tasks.to_vec();
    tasks[2].program = Some("fs_mark".into());
    for task in &mut tasks[..2] {
        task.part_of = Some("t2".into());
    }
    plan.cells[0].tasks = tasks.into();
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

/// Twelve repeats on a machine that others use too: times vary by 30 %, processor times by 1.5 %, and the second file
/// system's programs do 5 % more in the first task.
fn disturbed(lab: Lab) -> RunRecord {
    let mut random = Random::new(12);
    let mut record = run(&plan(2, 2, 12), |_, _, _| 4.0 * (0.3 * random.normal()).exp());
    record.plan.lab = lab;
    for cell in &mut record.cells {
        for task in ["t0", "t1"] {
            let more = if cell.configuration == "c1" && task == "t0" { 1.05 } else { 1.0 };
            let noise = 1.0 + 0.015 * random.normal();
            cell.samples.push(sample(task, "user", 1.0 * more * noise));
            cell.samples.push(sample(task, "system", 0.5 * more * noise));
        }
    }
    record
}

#[test]
fn on_a_disturbed_machine_processor_time_tells_what_time_does_not() {
    let found = findings(&disturbed(Lab::Host), &Options::default());
    assert!(matches!(verdict(&found).outcome, VerdictOutcome::NoDifferenceShown { .. }), "{:?}", verdict(&found));
    let told = found.tasks[0].told_by_processor().expect("a difference");
    let judged = told.verdict.as_ref().unwrap();
    assert_eq!(judged.outcome, VerdictOutcome::Winner { configuration: 0 });
    let gap = judged.gap.unwrap();
    assert!((1.03..1.07).contains(&gap.ratio) && gap.interval.unwrap().low > 1.0, "{gap:?}");
    assert!((told.median(0).unwrap() - 1.5).abs() < 0.03, "user and system time together");
    assert!(found.tasks[1].told_by_processor().is_none(), "equal work");
    assert!(found.remarks.contains(&Remark::ProcessorTime));
    assert!(found.conclusions.contains(&Conclusion::ByProcessor(vec![0])), "{:?}", found.conclusions);
}

#[test]
fn under_an_exact_clock_time_alone_judges() {
    let found = findings(&disturbed(Lab::Virtual), &Options::default());
    let figures = found.tasks[0].figures(&Metric::PROCESSOR).expect("figures of user and system time");
    assert!(figures.verdict.is_none() && !found.remarks.contains(&Remark::ProcessorTime));
}

#[test]
fn what_gives_a_rate_is_not_better_by_working_less() {
    let mut record = disturbed(Lab::Host);
    for cell in &mut record.cells {
        cell.samples.push(sample("t0", "rate", 1000.0));
    }
    let found = findings(&record, &Options::default());
    assert!(found.tasks[0].figures(&Metric::PROCESSOR).unwrap().verdict.is_none());
}

#[test]
fn half_of_a_processor_time_is_none() {
    let mut record = disturbed(Lab::Host);
    for cell in &mut record.cells {
        cell.samples.retain(|sample| sample.metric != "system" || sample.task != "t0");
    }
    let found = findings(&record, &Options::default());
    assert!(found.tasks[0].figures(&Metric::PROCESSOR).is_none());
    assert!(found.tasks[1].figures(&Metric::PROCESSOR).is_some());
}

/// The verdict on the first task.
fn verdict(found: &Findings) -> &Verdict {
    found.tasks[0].judged().unwrap().verdict.as_ref().unwrap()
}

#[test]
fn tasks_with_a_rate_are_judged_by_it_and_more_is_better() {
    let found = findings(&rated(3), &Options::default());
    let metric = found.tasks[0].judged().unwrap();
    assert_eq!((metric.metric.id, metric.metric.unit_text()), ("rate", "1/s"));
    assert_eq!(metric.verdict.as_ref().unwrap().outcome, VerdictOutcome::Winner { configuration: 0 });
    let gap = verdict(&found).gap.unwrap();
    assert_eq!((gap.best, gap.other, verdict(&found).order.as_slice()), (0, 1, [0, 1, 2].as_slice()));
    assert!((gap.ratio - 0.5).abs() < 0.01 && gap.interval.unwrap().low < 0.5, "{gap:?}");
    let by_time = found.tasks[0].metrics.iter().find(|metric| metric.metric.id == "durable").unwrap();
    assert!(by_time.verdict.is_none(), "the time of a task with a rate is not judged");
    // Rankings and conclusions use the rate too.
    assert_eq!((found.overall.basis, found.overall.ranking[0].configuration), (Basis::Rate, 0));
    assert_eq!(found.overall.lead, Some(Lead::First { everywhere: true }));
    assert_eq!(found.conclusions[0], Conclusion::Overall { tests: 2 });
    assert_eq!(found.conclusions[1], Conclusion::Tally { tests: 2, wins: vec![(0, 2)], tied: 0, none: 0, rest: 0 });
    let is_striking = |said: &Conclusion| matches!(said, Conclusion::Striking { gap, .. } if gap.other == 2);
    assert!(found.conclusions.iter().any(is_striking), "{:?}", found.conclusions);
    let is_composite = |said: &Conclusion| matches!(said, Conclusion::Composite { .. });
    assert!(!found.conclusions.iter().any(is_composite), "a sum of times that were given says nothing");
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
fn a_noisy_file_system_hides_no_slowdown_of_a_quiet_one() {
    let plan = plan(3, 9, 10);
    let is_found = |seed: &u64| {
        let mut random = Random::new(*seed);
        let mut measure = |slower: f64| {
            run(&plan, |one, task, _| {
                let noise = if (one, task) == (2, 0) { 0.1 } else { 0.005 };
                10.0 * if (one, task) == (0, 0) { slower } else { 1.0 } * (1.0 + noise * random.normal())
            })
        };
        let (before, after) = (measure(1.0), measure(1.03));
        let found = changes(&before, &after, None, &Options::default());
        let worse = found.changes.iter().filter(|change| change.outcome == ChangeOutcome::Regression);
        let worse: Vec<_> = worse.map(|change| (change.task.as_str(), change.configuration.as_str())).collect();
        worse == [("t0", "c0")]
    };
    let found = (0..50).filter(is_found).count();
    assert!(found >= 45, "{found} of 50");
}

#[test]
fn a_rate_that_fell_is_a_regression() {
    let before = rated(3);
    let mut after = before.clone();
    for (sample, value) in after.cells.iter_mut().flat_map(|cell| cell.samples.iter_mut()) {
        // Less time, but a lower rate: the rate decides.
        *value *= if sample.metric == "rate" && sample.task == "t0" { 0.8 } else { 0.999 };
    }
    let found = changes(&before, &after, None, &Options::default());
    let beyond = found.beyond(0.05);
    assert_eq!(beyond.len(), 3, "t0 on each file system");
    assert!((beyond[0].worse.unwrap() - 0.2).abs() < 1e-9);
    assert_eq!((beyond[0].metric.id, beyond[0].metric.unit_text()), ("rate", "1/s"));
    assert!((beyond[0].ratio.unwrap() - 0.8).abs() < 1e-9, "{:?}", beyond[0]);
    assert!(found.changes.iter().all(|change| change.task != "t2"));
    assert_eq!(found.changes.iter().filter(|change| change.outcome == ChangeOutcome::NoDifferenceShown).count(), 3);
}

#[test]
fn commands_are_judged_by_the_time_until_durable() {
    let mut record =
        run(&plan(2, 1, 3), |configuration, _, repeat| [2.0, 3.0][configuration] + f64::from(repeat) / 100.0);
    for cell in &mut record.cells {
        // The configuration that returns early is durable late.
        let elapsed = 4.0 - cell.samples.first().unwrap().value;
        cell.samples.push(sample("t0", "elapsed", elapsed));
    }
    let found = findings(&record, &Options::default());
    assert_eq!(found.tasks[0].judged().unwrap().metric.id, "durable");
    assert_eq!(verdict(&found).outcome, VerdictOutcome::Winner { configuration: 0 });
    assert!((verdict(&found).gap.unwrap().ratio - 3.01 / 2.01).abs() < 1e-9);
    let returned = found.tasks[0].metrics.iter().find(|metric| metric.metric.id == "elapsed").unwrap();
    assert_eq!(returned.verdict.as_ref().unwrap().outcome, VerdictOutcome::Winner { configuration: 1 });
    assert_eq!((&found.conclusions[0], found.overall.basis), (&Conclusion::Overall { tests: 1 }, Basis::Durable));
}

#[test]
fn what_one_repeat_cannot_show_is_beside_the_answer() {
    let found = findings(&rated(1), &Options::default());
    assert!(matches!(found.conclusions[..2], [Conclusion::Overall { .. }, Conclusion::OneRepeat]));
    let shows = |said: &Conclusion| match said {
        Conclusion::Tally { .. } => true,
        Conclusion::Striking { gap, .. } => gap.interval.is_some(),
        _ => false,
    };
    assert!(!found.conclusions.iter().any(shows), "{:?}", found.conclusions);
    assert!(found.conclusions.contains(&Conclusion::BestFigures { tests: 2, best: vec![(0, 2)] }));
}

#[test]
fn who_shares_the_first_place_is_told_from_who_is_slower() {
    let mut random = Random::new(8);
    let record =
        run(&plan(4, 1, 5), |configuration, _, _| [1.0, 1.0, 1.2, 1.3][configuration] * (1.0 + 0.01 * random.normal()));
    let found = findings(&record, &Options::default());
    let shared = verdict(&found);
    assert!(
        matches!(&shared.outcome, VerdictOutcome::Tied { configurations } if configurations.len() == 2),
        "{shared:?}"
    );
    assert_eq!(shared.below, [2, 3]);
    let record = run(&plan(3, 1, 3), |_, _, repeat| 1.0 + f64::from(repeat) / 10.0);
    let found = findings(&record, &Options::default());
    assert_eq!(verdict(&found).outcome, VerdictOutcome::NoDifferenceShown { detectable: Some(0.01) });
    assert_eq!(found.overall.lead, Some(Lead::AllLevel));
}

#[test]
fn what_shares_no_repeats_with_the_others_is_no_winner() {
    let mut record = run(&plan(3, 1, 5), |configuration, _, repeat| {
        [1.0, 1.3, 3.0][configuration] * (1.0 + 0.001 * f64::from(repeat % 3))
    });
    record.cells.retain(|cell| cell.configuration != "c2" || cell.repeat == 0);
    let found = findings(&record, &Options::default());
    assert_eq!(verdict(&found).outcome, VerdictOutcome::Winner { configuration: 0 });
    assert_eq!(
        (verdict(&found).order.as_slice(), verdict(&found).apart.as_slice()),
        ([0, 1].as_slice(), [2].as_slice())
    );
    // Two halves without a common repeat: the larger one is judged.
    let mut record = run(&plan(3, 1, 6), |configuration, _, _| [1.0, 1.0, 2.0][configuration]);
    record.cells.retain(|cell| (cell.configuration == "c0") == (cell.repeat < 3) || cell.configuration == "c2");
    let found = findings(&record, &Options::default());
    assert!(matches!(verdict(&found).outcome, VerdictOutcome::Winner { .. }), "{:?}", verdict(&found));
    assert_eq!(verdict(&found).apart.len(), 1);
}

#[test]
fn a_small_difference_that_is_shown_hides_no_large_one_that_is_not() {
    let mut random = Random::new(5);
    let record = run(&plan(3, 1, 5), |configuration, _, _| {
        [1.0, 1.005, 1.1][configuration] * (1.0 + [0.0, 0.0, 0.3][configuration] * random.normal())
    });
    let found = findings(&record, &Options::default());
    let VerdictOutcome::NoDifferenceShown { detectable } = verdict(&found).outcome else { panic!("a difference") };
    assert!(verdict(&found).has_small && detectable.unwrap() > 0.01, "{detectable:?}");
}

#[test]
fn a_file_system_that_the_later_run_skipped_has_lost_its_figures() {
    let before = run(&plan(2, 2, 3), |configuration, _, _| 1.0 + configuration as f64);
    let mut after = before.clone();
    after.cells.retain(|cell| cell.configuration != "c1");
    after.plan.cells.retain(|cell| cell.configuration.name != "c1");
    after.plan.configurations.retain(|name| name != "c1");
    // Figures that were not requested are not lost.
    assert!(changes(&before, &after, None, &Options::default()).beyond(0.05).is_empty());
    after.plan.skipped.push(("c1".into(), "The kernel has no c1.".into()));
    let found = changes(&before, &after, None, &Options::default());
    let beyond = found.beyond(0.05);
    assert_eq!(beyond.len(), 2, "both tests: {beyond:?}");
    assert!(beyond.iter().all(|change| change.outcome == ChangeOutcome::Lost && change.configuration == "c1"));
    let skipped = ChangeRemark::Skipped { configuration: "c1".into(), reason: "The kernel has no c1.".into() };
    assert!(found.remarks.contains(&skipped), "{:?}", found.remarks);
}

#[test]
fn a_change_speaks_of_the_repeats_that_both_runs_have() {
    let before = run(&plan(1, 1, 1), |_, _, _| 3.0);
    let after = run(&plan(1, 1, 5), |_, _, repeat| if repeat == 0 { 2.94 } else { 3.3 });
    let found = changes(&before, &after, None, &Options::default());
    let change = &found.changes[0];
    let medians = [&change.before, &change.after].map(|summary| summary.unwrap().median);
    assert_eq!((medians, change.ratio.map(|ratio| (100.0 * ratio).round())), ([3.0, 2.94], Some(98.0)));
}
