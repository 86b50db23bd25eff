//! How often verdicts are wrong, how often intervals cover, how often a difference is found: by simulation.
//!
//! `cargo test --release -p mountmark-analyse --test simulations -- --ignored --nocapture` prints the tables.

mod support;

use mountmark_analyse::stats::interval::median_interval;
use mountmark_analyse::stats::random::Random;
use mountmark_analyse::stats::summary::median;
use mountmark_analyse::{Findings, Options, VerdictOutcome, findings};
use mountmark_model::Plan;
use support::{Noise, plan, run};

/// Runs behind each figure of a table.
const RUNS: u64 = 1000;

/// Every difference counts, however small: the test itself is under test.
fn strict() -> Options {
    Options { matters: 0.0, resamples: 0, ..Options::default() }
}

/// A run in which all configurations are equal but for noise; `slower` makes the first slower at task 0.
fn simulate(plan: &Plan, noise: Noise, seed: u64, slower: f64) -> Findings {
    let mut random = Random::new(seed);
    let configurations = plan.configurations.len();
    // Repeats differ for all configurations alike, as workloads of another seed do.
    let blocks: Vec<f64> =
        (0..plan.repeats as usize * plan.tasks.len()).map(|_| 1.0 + 0.03 * random.normal()).collect();
    let record = run(plan, |configuration, task, repeat| {
        let block = blocks[repeat as usize * plan.tasks.len() + task];
        let slower = if configuration == 0 && task == 0 { slower } else { 1.0 };
        10.0 * block * slower * noise.draw(&mut random, configuration, configurations, task)
    });
    findings(&record, &strict())
}

fn shows_a_difference(findings: &Findings) -> bool {
    let mut verdicts =
        findings.tasks.iter().flat_map(|task| &task.metrics).filter_map(|metric| metric.verdict.as_ref());
    verdicts.any(|verdict| matches!(verdict.outcome, VerdictOutcome::Winner { .. } | VerdictOutcome::Tied { .. }))
}

/// Share of runs without any difference in which one is shown.
fn false_share(configurations: usize, repeats: u32, noise: Noise, runs: u64) -> f64 {
    let plan = plan(configurations, 21, repeats);
    let wrong = (0..runs).filter(|seed| shows_a_difference(&simulate(&plan, noise, *seed, 1.0))).count();
    wrong as f64 / runs as f64
}

/// Share of runs in which the one slower of two, or of all, is seen to be slower than another.
fn found_share(configurations: usize, tasks: usize, repeats: u32, slower: f64, runs: u64) -> f64 {
    let plan = plan(configurations, tasks, repeats);
    let found = |seed: &u64| {
        let findings = simulate(&plan, Noise::Normal, *seed, slower);
        let verdict = findings.tasks[0].metrics[0].verdict.clone();
        match verdict.map(|verdict| verdict.outcome) {
            Some(VerdictOutcome::Winner { configuration }) => configuration != 0,
            Some(VerdictOutcome::Tied { configurations }) => !configurations.contains(&0),
            _ => false,
        }
    };
    (0..runs).filter(found).count() as f64 / runs as f64
}

#[test]
#[ignore = "takes minutes; prints a table"]
fn table_of_false_verdicts() {
    println!("share of {RUNS} runs without a difference in which one is shown; 21 tasks, level 95 %");
    println!("{:16} {:>6} {:>6} {:>6}   {:>6} {:>6} {:>6}", "configurations", "7", "", "", "2", "", "");
    println!("{:16} {:>6} {:>6} {:>6}   {:>6} {:>6} {:>6}", "repeats", "3", "5", "10", "3", "5", "10");
    for noise in Noise::ALL.into_iter().rev() {
        let share = |configurations, repeats| 100.0 * false_share(configurations, repeats, noise, RUNS);
        let [a, b, c] = [3, 5, 10].map(|repeats| share(7, repeats));
        let [d, e, f] = [3, 5, 10].map(|repeats| share(2, repeats));
        println!("{:16} {a:>5.1}% {b:>5.1}% {c:>5.1}%   {d:>5.1}% {e:>5.1}% {f:>5.1}%", format!("{noise:?}"));
    }
}

#[test]
#[ignore = "takes minutes; prints a table"]
fn table_of_power() {
    println!("share of {RUNS} runs in which one configuration that is slower at one task is seen to be; noise 2 %");
    println!("{:24} {:>6} {:>6} {:>6} {:>6}", "configurations x tasks", "2x1", "2x21", "7x1", "7x21");
    for (slower, repeats) in [(1.05, 3), (1.05, 5), (1.05, 10), (1.2, 3), (1.5, 3)] {
        let shares = [(2, 1), (2, 21), (7, 1), (7, 21)];
        let [a, b, c, d] =
            shares.map(|(configurations, tasks)| 100.0 * found_share(configurations, tasks, repeats, slower, RUNS));
        println!("{:24} {a:>5.1}% {b:>5.1}% {c:>5.1}% {d:>5.1}%", format!("{slower} x, {repeats} repeats"));
    }
}

/// Share of samples whose median's interval covers the median of what they are from.
fn covered(noise: Noise, n: usize, samples: u64, truth: f64) -> f64 {
    let mut random = Random::new(3);
    let covers = |_: &u64| {
        let values: Vec<f64> = (0..n).map(|_| noise.draw(&mut random, 0, 7, 0)).collect();
        let interval = median_interval(&values, 0.95).expect("five values or more");
        interval.low <= truth && truth <= interval.high
    };
    (0..samples).filter(covers).count() as f64 / samples as f64
}

/// The median of a great many.
fn median_of(noise: Noise) -> f64 {
    let mut random = Random::new(4);
    median(&(0..200_001).map(|_| noise.draw(&mut random, 0, 7, 0)).collect::<Vec<_>>()).expect("some")
}

#[test]
#[ignore = "prints a table"]
fn table_of_coverage() {
    println!("share of 20,000 samples whose 95 % interval of the median covers it");
    println!("{:16} {:>6} {:>6} {:>6}", "values", "5", "10", "30");
    for noise in [Noise::Normal, Noise::Lognormal, Noise::Halves, Noise::Seldom] {
        let truth = median_of(noise);
        let [a, b, c] = [5, 10, 30].map(|n| 100.0 * covered(noise, n, 20_000, truth));
        println!("{:16} {a:>5.1}% {b:>5.1}% {c:>5.1}%", format!("{noise:?}"));
    }
}

#[test]
fn intervals_of_medians_cover() {
    for noise in [Noise::Normal, Noise::Lognormal, Noise::Seldom] {
        let truth = median_of(noise);
        for n in [5, 10, 30] {
            let share = covered(noise, n, 4000, truth);
            assert!((0.925..0.975).contains(&share), "{noise:?}, {n}: {share}");
        }
    }
}

#[test]
fn runs_without_differences_have_none_and_a_true_one_is_found() {
    for noise in [Noise::Normal, Noise::Halves, Noise::ByConfiguration] {
        let share = false_share(7, 3, noise, 40);
        assert!(share <= 0.15, "{noise:?}: {share}");
    }
    assert!(found_share(7, 21, 10, 1.05, 20) >= 0.9);
}
