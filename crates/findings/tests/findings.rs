//! Findings, doubts and changes of synthetic runs: known answers, bad input, speed.

mod support;

use std::time::Instant;

use mountmark_findings::changes::{ChangeOutcome, Incomparable, changes, incomparable};
use mountmark_findings::{
    Conclusion, Missing, NotJudged, Options, Remark, Repeats, VerdictOutcome, cells_in_doubt, doubts, findings,
};
use mountmark_model::{Metric, Outcome};
use mountmark_stats::distribution::{
    digamma, f_quantile, normal_quantile, t_quantile, t_tails, trigamma, trigamma_inverse,
};
use mountmark_stats::holm::adjust;
use mountmark_stats::random::Random;
use mountmark_stats::summary;
use proptest::prelude::*;

use support::{plan, run, sample};

fn close(found: f64, known: f64) {
    assert!((found - known).abs() <= 1e-8 * known.abs().max(1.0), "{found} is not {known}");
}

/// Deterministic noise.
fn noisy(base: f64) -> impl FnMut(usize, usize, u32) -> f64 {
    let mut random = Random::new(5);
    move |configuration, task, _| base * (1 + configuration) as f64 * (1 + task) as f64 * (1.0 + 0.01 * random.normal())
}

#[test]
fn distributions_are_those_of_tables() {
    close(normal_quantile(0.975), 1.959_963_984_540_054);
    close(t_quantile(0.05, 2.0), 4.302_652_729_911_275);
    close(t_quantile(0.05, 30.0), 2.042_272_456_301_238);
    close(t_tails(2.0, 1.0), 1.0 - 2.0 * 2f64.atan() / std::f64::consts::PI);
    // With two degrees above the tail is (1 + 2 f / below) ^ (- below / 2).
    close(f_quantile(0.25, 2.0, 12.0), 6.0 * (0.25f64.powf(-1.0 / 6.0) - 1.0));
    close(digamma(1.0), -0.577_215_664_901_532_9);
    close(trigamma(1.0), std::f64::consts::PI.powi(2) / 6.0);
    close(trigamma_inverse(trigamma(3.7)), 3.7);
    assert_eq!(adjust(&[0.01, 0.04, 0.03, f64::NAN]), [0.04, 0.09, 0.09, 1.0]);
}

#[test]
fn a_clear_order_has_a_winner_and_groups_of_one() {
    let found = findings(&run(&plan(3, 4, 3), noisy(2.0)), &Options::default());
    for task in &found.tasks {
        let metric = &task.metrics[0];
        let verdict = metric.verdict.as_ref().unwrap();
        assert_eq!(verdict.outcome, VerdictOutcome::Winner { configuration: 0 }, "{verdict:?}");
        assert_eq!(verdict.groups, [[0], [1], [2]]);
        let last = metric.estimates[2].as_ref().unwrap();
        let interval = last.ratio_interval.unwrap();
        assert!(interval.low <= 3.0 && 3.0 <= interval.high && interval.high < 3.3, "{interval:?}");
    }
    assert_eq!(found.overall.ranking[0].configuration, 0);
    assert_eq!(found, findings(&run(&plan(3, 4, 3), noisy(2.0)), &Options::default()));
}

#[test]
fn one_repeat_has_values_and_no_verdict() {
    let found = findings(&run(&plan(2, 2, 1), noisy(1.0)), &Options::default());
    let metric = &found.tasks[0].metrics[0];
    let not_judged = VerdictOutcome::NotJudged { reason: NotJudged::OneRepeat };
    assert_eq!(metric.verdict.as_ref().unwrap().outcome, not_judged);
    assert!(metric.estimates.iter().flatten().all(|e| e.median_interval.is_none() && e.ratio_interval.is_none()));
    assert_eq!(found.remarks[0], Remark::OneRepeat { exact: true, planned: 1 });
    assert!(matches!(found.conclusions[0], Conclusion::Overall { .. }), "{:?}", found.conclusions);
    assert_eq!(found.conclusions[1], Conclusion::OneRepeat);
}

#[test]
fn equal_repeats_of_equal_configurations_are_not_told_apart_and_of_others_are() {
    let found = findings(&run(&plan(3, 1, 3), |c, _, _| if c == 2 { 3.0 } else { 2.0 }), &Options::default());
    let verdict = found.tasks[0].metrics[0].verdict.clone().unwrap();
    assert_eq!(verdict.outcome, VerdictOutcome::Tied { configurations: vec![0, 1] });
    let found = findings(&run(&plan(2, 1, 3), |c, _, _| [2.0, 2.01][c]), &Options::default());
    let verdict = found.tasks[0].metrics[0].verdict.clone().unwrap();
    assert!(matches!(verdict.outcome, VerdictOutcome::NoDifferenceShown { .. }), "half a per cent does not matter");
}

#[test]
fn bad_values_are_named_and_never_counted() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        let mut value = noisy(1.0);
        let record = run(&plan(2, 1, 3), |c, t, r| if c == 1 && r == 1 { bad } else { value(c, t, r) });
        let found = findings(&record, &Options::default());
        assert_eq!(found.tasks[0].metrics[0].estimates[1].as_ref().unwrap().summary.n, 2);
        assert!(matches!(found.missing[..], [Missing::Absurd { count: 1, .. }]), "{:?}", found.missing);
    }
    for base in [0.0, 1e308, 1e-308] {
        let found = findings(&run(&plan(3, 2, 3), |_, _, _| base), &Options::default());
        let estimate = found.tasks[0].metrics[0].estimates[0].clone().unwrap();
        assert_eq!((estimate.summary.median, estimate.summary.max), (base, base));
        assert!(estimate.summary.mean.is_finite() && estimate.ratio.is_none_or(f64::is_finite));
    }
}

#[test]
fn failures_and_missing_cells_leave_no_figures() {
    let mut record = run(&plan(2, 2, 3), noisy(1.0));
    for cell in record.cells.iter_mut().filter(|cell| cell.configuration == "c1") {
        cell.outcomes[0].outcome = Outcome::Failed { reason: "no space".into(), detail: String::new() };
    }
    let found = findings(&record, &Options::default());
    assert!(found.tasks[0].metrics[0].estimates[1].is_none());
    assert_eq!(found.overall.ranking.len(), 1);
    let is_full = |missing: &Missing| match missing {
        Missing::Task { reason, repeats, skipped, .. } => reason == "no space" && *repeats == Repeats::All && !skipped,
        _ => false,
    };
    assert!(found.missing.iter().any(is_full), "{:?}", found.missing);
    record.cells.clear();
    let found = findings(&record, &Options::default());
    assert!(found.conclusions.is_empty() && found.missing.len() == 2, "{:?}", found.missing);
    let found = findings(&run(&plan(1, 2, 3), noisy(1.0)), &Options::default());
    assert!(found.conclusions.is_empty());
}

#[test]
fn a_sample_far_off_is_doubtful_and_clean_runs_seldom_have_one() {
    let mut value = noisy(1.0);
    let record = run(&plan(4, 5, 5), |c, t, r| value(c, t, r) * if (c, t, r) == (2, 3, 4) { 1.5 } else { 1.0 });
    let found = doubts(&record);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].configuration, found[0].task.as_str(), found[0].repeat), (2, "t3", 4));
    assert_eq!(cells_in_doubt(&record), [18]);
}

/// Share of 300 clean runs of 7 configurations and 10 tasks with a doubt; the last two have `wide` times the noise.
fn share_with_doubt(repeats: u32, wide: f64) -> f64 {
    let mut random = Random::new(9);
    let plan = plan(7, 10, repeats);
    let mut draw = |configuration, _, _| 1.0 + 0.02 * random.normal() * if configuration > 4 { wide } else { 1.0 };
    let has = |_: &u32| !doubts(&run(&plan, &mut draw)).is_empty();
    (0..300).filter(has).count() as f64 / 300.0
}

#[test]
fn one_clean_run_in_twenty_has_a_doubt_at_most() {
    for repeats in [3, 4, 5, 10, 30] {
        let share = share_with_doubt(repeats, 1.0);
        println!("{repeats} repeats: {:.1} % of 300 clean runs have a doubt", 100.0 * share);
        // 5 % plus three standard errors of a count of 300 at 5 %.
        assert!(share <= 0.05 + 3.0 * (0.05_f64 * 0.95 / 300.0).sqrt(), "{repeats} repeats: {share}");
        assert!(repeats < 10 || share >= 0.01, "{repeats} repeats: {share}: the bound is too far out");
    }
    for repeats in [3, 10] {
        let share = share_with_doubt(repeats, 5.0);
        println!("{repeats} repeats, two configurations five times as noisy: {:.1} %", 100.0 * share);
        assert!(share <= 0.10, "{repeats} repeats: {share}");
    }
}

#[test]
fn a_cell_that_was_run_again_counts_with_its_first_figure() {
    let mut record = run(&plan(2, 1, 3), |_, _, _| 1.0);
    let mut again = record.cells[4].clone();
    again.index = 6;
    again.samples.iter_mut().take(1).for_each(|(_, value)| *value = 3.0);
    record.cells.push(again);
    let found = findings(&record, &Options::default());
    let estimate = found.tasks[0].metrics[0].estimates[0].clone().unwrap();
    assert_eq!((estimate.summary.n, estimate.summary.max, estimate.points.len()), (3, 2.0, 4));
}

#[test]
fn changes_find_what_became_worse() {
    let before = run(&plan(2, 4, 5), noisy(1.0));
    let mut value = noisy(1.0);
    let after = run(&plan(2, 4, 5), |c, t, r| value(c, t, r) * if (c, t) == (1, 2) { 1.2 } else { 1.0 });
    assert!(incomparable(&before, &after).is_empty());
    let found = changes(&before, &after, None, &Options::default());
    let beyond = found.beyond(0.05);
    assert_eq!(beyond.len(), 1);
    assert_eq!((beyond[0].configuration.as_str(), beyond[0].task.as_str()), ("c1", "t2"));
    assert!((beyond[0].worse.unwrap() - 0.2).abs() < 0.001 && found.changes[0] == *beyond[0]);
    assert!(changes(&before, &before, None, &Options::default()).beyond(0.0).is_empty());

    let (mut before, mut after) = (run(&plan(2, 1, 1), |_, _, _| 1.0), run(&plan(2, 1, 1), |c, _, _| [1.0, 0.8][c]));
    let found = changes(&before, &after, None, &Options::default());
    assert_eq!(found.changes[1].outcome, ChangeOutcome::Improvement);
    after.plan.seed = 8;
    assert!(!changes(&before, &after, None, &Options::default()).is_judged());
    before.plan.suite = "other".into();
    assert_eq!(incomparable(&before, &after), [Incomparable::Suites("other".into(), "made-up".into())]);
}

proptest! {
    #[test]
    fn summaries_lie_in_their_range(values in prop::collection::vec(0.0..1e9f64, 1..40)) {
        let found = summary::summary(&values).unwrap();
        prop_assert!(found.min <= found.median && found.median <= found.max);
        prop_assert!(found.min <= found.mean * (1.0 + 1e-12) && found.mean <= found.max * (1.0 + 1e-12));
    }

    #[test]
    fn any_values_give_findings(values in prop::collection::vec(prop::num::f64::ANY, 18)) {
        let found = findings(&run(&plan(3, 2, 3), |c, t, r| values[(r as usize * 2 + t) * 3 + c]), &Options::default());
        for estimate in found.tasks.iter().flat_map(|t| &t.metrics).flat_map(|m| &m.estimates).flatten() {
            prop_assert!(estimate.summary.mean.is_finite() && estimate.ratio.is_none_or(f64::is_finite));
            prop_assert!(estimate.ratio_interval.is_none_or(|i| i.low <= i.high && i.low >= 0.0));
        }
    }
}

/// Run in release: `cargo test --release -p mountmark-findings --test findings -- --nocapture speed`.
#[test]
fn speed_of_200_000_samples() {
    let mut random = Random::new(1);
    let mut record = run(&plan(7, 21, 57), |_, _, _| 1.0 + 0.02 * random.normal());
    for cell in &mut record.cells {
        cell.samples.clear();
        for task in 0..21 {
            let metrics = Metric::ALL.iter().filter(|metric| **metric != Metric::RATE).take(24);
            cell.samples.extend(metrics.map(|metric| sample(&format!("t{task}"), metric.id, 1.0 + random.unit())));
        }
    }
    let samples: usize = record.cells.iter().map(|cell| cell.samples.len()).sum();
    let begin = Instant::now();
    let found = findings(&record, &Options::default());
    println!("findings of {samples} samples: {:?}", begin.elapsed());
    assert_eq!(found.tasks.len(), 21);
    assert!(begin.elapsed().as_secs_f64() < 10.0);
}
