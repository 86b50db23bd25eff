//! Simulated rates of false verdicts, of interval coverage, and of differences found.
//!
//! `cargo test --release -p mountmark-findings --test simulations -- --ignored --nocapture` prints the tables.

mod support;

use mountmark_cells::Plan;
use mountmark_findings::{Findings, Options, VerdictOutcome, findings};
use mountmark_stats::bootstrap::draw;
use mountmark_stats::interval::{Interval, median_interval};
use mountmark_stats::random::Random;
use mountmark_stats::summary::median;

use support::bca::bca;
use support::{Noise, plan, run};

/// Number of runs behind each figure of a table.
const RUNS: u64 = 1000;

/// No smallest difference that matters, to test the statistics alone.
fn strict() -> Options {
    Options { matters: 0.0, resamples: 0, ..Options::default() }
}

/// A run in which all configurations are equal apart from noise; `slower` makes the first slower at task 0.
fn simulate(plan: &Plan, noise: Noise, seed: u64, slower: f64) -> Findings {
    let mut random = Random::new(seed);
    let configurations = plan.configurations.len();
    // Repeats differ by the same factor for all configurations, as workloads of another seed do.
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

/// Share of runs in which the one slow configuration is shown to be slower than another.
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

/// Share of samples whose median's interval covers the true median.
fn covered(noise: Noise, n: usize, samples: u64, truth: f64) -> f64 {
    let mut random = Random::new(3);
    let covers = |_: &u64| {
        let values: Vec<f64> = (0..n).map(|_| noise.draw(&mut random, 0, 7, 0)).collect();
        let interval = median_interval(&values, 0.95).expect("five values or more");
        interval.low <= truth && truth <= interval.high
    };
    (0..samples).filter(covers).count() as f64 / samples as f64
}

/// The median of a very large sample.
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

/// Kinds of noise for tests of intervals.
const TRIED: [Noise; 4] = [Noise::Normal, Noise::Lognormal, Noise::Halves, Noise::Seldom];

/// Figures of 7 configurations at 21 tasks with known true times, by configuration, task and repeat. Each configuration
/// is the best of three tasks, by `spread` before the next; with 0 all are equal.
struct Known {
    spread: f64,
    figures: Vec<f64>,
    repeats: usize,
}

const CONFIGURATIONS: usize = 7;
const TASKS: usize = 21;

impl Known {
    fn new(noise: Noise, repeats: usize, spread: f64, seed: u64) -> Known {
        let mut random = Random::new(seed);
        let mut out = Known { spread, figures: vec![0.0; CONFIGURATIONS * TASKS * repeats], repeats };
        for task in 0..TASKS {
            for repeat in 0..repeats {
                let block = 10.0 * (1.0 + 0.03 * random.normal());
                for one in 0..CONFIGURATIONS {
                    let at = out.at(one, task, repeat);
                    out.figures[at] =
                        block * out.factor(one, task) * noise.draw(&mut random, one, CONFIGURATIONS, task);
                }
            }
        }
        out
    }

    fn at(&self, one: usize, task: usize, repeat: usize) -> usize {
        (one * TASKS + task) * self.repeats + repeat
    }

    fn factor(&self, one: usize, task: usize) -> f64 {
        1.0 + self.spread * ((one + task) % CONFIGURATIONS) as f64
    }

    /// The true score, without noise.
    fn score(&self, one: usize) -> f64 {
        ((0..TASKS).map(|task| self.factor(one, task).ln()).sum::<f64>() / TASKS as f64).exp()
    }

    fn findings(&self) -> Findings {
        let plan = plan(CONFIGURATIONS, TASKS, self.repeats as u32);
        findings(&run(&plan, |one, task, repeat| self.figures[self.at(one, task, repeat as usize)]), &strict())
    }

    /// Scores by medians over `blocks`, which may repeat.
    fn scores(&self, blocks: &[usize]) -> Vec<f64> {
        let mut sums = vec![0.0; CONFIGURATIONS];
        for task in 0..TASKS {
            let of = |one: usize| {
                let values: Vec<f64> = blocks.iter().map(|block| self.figures[self.at(one, task, *block)]).collect();
                median(&values).expect("some").ln()
            };
            let logs: Vec<f64> = (0..CONFIGURATIONS).map(of).collect();
            let best = logs.iter().copied().fold(f64::INFINITY, f64::min);
            sums.iter_mut().zip(logs).for_each(|(sum, log)| *sum += log - best);
        }
        sums.into_iter().map(|sum| (sum / TASKS as f64).exp()).collect()
    }

    /// Bootstrap intervals of the scores, with resampled blocks.
    fn bootstrapped(&self, random: &mut Random) -> Vec<Option<Interval>> {
        let all: Vec<usize> = (0..self.repeats).collect();
        let mut places = Vec::new();
        let drawn: Vec<Vec<f64>> = (0..500)
            .map(|_| {
                draw(random, self.repeats, &mut places);
                self.scores(&places)
            })
            .collect();
        let without = |out: &usize| self.scores(&all.iter().copied().filter(|block| block != out).collect::<Vec<_>>());
        let left_out: Vec<Vec<f64>> = all.iter().map(without).collect();
        let own = self.scores(&all);
        let of = |from: &[Vec<f64>], one: usize| from.iter().map(|scores| scores[one]).collect::<Vec<f64>>();
        (0..CONFIGURATIONS).map(|one| bca(own[one], &of(&drawn, one), &of(&left_out, one), 0.95)).collect()
    }
}

fn covers(interval: Option<Interval>, truth: f64) -> bool {
    // A score that is 1 by definition is exact only up to rounding.
    interval.is_some_and(|found| found.low <= truth * (1.0 + 1e-12) && truth <= found.high * (1.0 + 1e-12))
}

/// Share of true ratios to the baseline that their intervals cover.
fn ratios_covered(noise: Noise, repeats: usize, runs: u64) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for seed in 0..runs {
        let known = Known::new(noise, repeats, 0.3, seed);
        for (task, found) in known.findings().tasks.iter().enumerate() {
            for one in 1..CONFIGURATIONS {
                let interval = found.metrics[0].estimates[one].as_ref().and_then(|estimate| estimate.ratio_interval);
                hits += usize::from(covers(interval, known.factor(one, task) / known.factor(0, task)));
                all += 1;
            }
        }
    }
    hits as f64 / all as f64
}

/// Share of true scores covered by the intervals of findings, and by bootstrap intervals.
fn scores_covered(noise: Noise, repeats: usize, spread: f64, runs: u64, bootstrap: bool) -> (f64, f64) {
    let (mut hits, mut bootstrap_hits, mut all) = (0, 0, 0);
    let mut random = Random::new(6);
    for seed in 0..runs {
        let known = Known::new(noise, repeats, spread, seed);
        for rank in &known.findings().overall.ranking {
            hits += usize::from(covers(rank.interval, known.score(rank.configuration)));
            all += 1;
        }
        if bootstrap {
            let found = known.bootstrapped(&mut random);
            bootstrap_hits += (0..CONFIGURATIONS).filter(|one| covers(found[*one], known.score(*one))).count();
        }
    }
    (hits as f64 / all as f64, bootstrap_hits as f64 / all as f64)
}

#[test]
#[ignore = "takes ten minutes; prints tables"]
fn table_of_coverage_of_ratios_and_scores() {
    let repeats = [3, 5, 10, 30];
    println!("share of true ratios to the baseline that 95 % intervals cover; 7 configurations, 21 tasks, 200 runs");
    println!("{:16} {:>6} {:>6} {:>6} {:>6}", "repeats", 3, 5, 10, 30);
    for noise in TRIED {
        let [a, b, c, d] = repeats.map(|repeats| 100.0 * ratios_covered(noise, repeats, 200));
        println!("{:16} {a:>5.1}% {b:>5.1}% {c:>5.1}% {d:>5.1}%", format!("{noise:?}"));
    }
    for (spread, what) in [(0.3, "each the best of three tasks by 30 %"), (0.0, "all equal")] {
        println!("share of true scores that 95 % intervals cover, and that BCa intervals do; {what}; 200 runs");
        println!("{:16} {:>15} {:>15} {:>15} {:>15}", "repeats", 3, 5, 10, 30);
        for noise in TRIED {
            let text = repeats.map(|repeats| {
                let (own, bootstrap) = scores_covered(noise, repeats, spread, 200, true);
                format!("{:>6.1}% {:>6.1}%", 100.0 * own, 100.0 * bootstrap)
            });
            println!("{:16} {}", format!("{noise:?}"), text.join(" "));
        }
    }
}

#[test]
fn intervals_of_ratios_and_scores_cover() {
    for repeats in [5, 10] {
        let ratios = ratios_covered(Noise::Normal, repeats, 40);
        assert!((0.93..=0.98).contains(&ratios), "{repeats} repeats: ratios {ratios}");
        let (scores, _) = scores_covered(Noise::Normal, repeats, 0.3, 150, false);
        assert!((0.92..=0.98).contains(&scores), "{repeats} repeats: scores {scores}");
    }
}
