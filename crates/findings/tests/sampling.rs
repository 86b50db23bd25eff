//! What a run that looks at its own figures costs: how often its intervals hold, its verdicts are false, and its estimate
//! of the time left is right.
//!
//! `cargo test -p mountmark-findings --test sampling -- --ignored --nocapture` prints the tables.

mod support;

use mountmark_cells::PlannedCell;
use mountmark_findings::sampling::{Look, Pace, ended, left, look};
use mountmark_findings::{Options, VerdictOutcome, findings};
use mountmark_model::{Outcome, Sampling, SamplingEnd, TaskOutcome, WhyEnded};
use mountmark_plan::next_block;
use mountmark_record::{CellRecord, RunRecord, Timestamp};
use mountmark_stats::random::Random;
use mountmark_stats::summary::median;

use support::{plan, run, sample};

/// What runs have in common.
#[derive(Clone, Copy)]
struct Case {
    configurations: usize,
    tasks: usize,
    precision: Option<f64>,
    budget: Option<f64>,
    noise: Noise,
    /// How much slower each configuration is than the one before, in logarithms.
    step: f64,
}

/// Noise of the logarithm of a figure.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Normal, of this size.
    Normal(f64),
    /// Student's t with three degrees of freedom, of this scale: far figures on both sides.
    Heavy(f64),
    /// One figure in ten 20 % higher; 1 % otherwise.
    Seldom,
}

impl Noise {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Noise::Normal(size) => size * random.normal(),
            Noise::Heavy(scale) => {
                let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                scale * random.normal() / (squares / 3.0).sqrt()
            }
            Noise::Seldom => (if random.unit() < 0.1 { 1.2_f64.ln() } else { 0.0 }) + 0.01 * random.normal(),
        }
    }

    fn mean(self) -> f64 {
        if matches!(self, Noise::Seldom) { 0.1 * 1.2_f64.ln() } else { 0.0 }
    }
}

/// A run that has ended.
struct Ended {
    run: RunRecord,
    look: Look,
    why: WhyEnded,
    used: f64,
    /// After each repeat: the time used, and the estimate of what is left.
    estimates: Vec<(f64, f64)>,
}

/// Runs cells as the program does: planned repeats, then looks and further ones.
fn simulate(case: &Case, seed: u64) -> Ended {
    let mut plan = plan(case.configurations, case.tasks, Sampling::LEAST);
    plan.seed = seed;
    let (precision, budget) = (case.precision, case.budget);
    plan.sampling = Some(Sampling { precision, budget, least: Sampling::LEAST, ..Sampling::default() });
    let mut run = run(&plan, |_, _, _| 1.0);
    run.cells.clear();
    let mut random = Random::new(seed);
    let (mut used, mut estimates) = (0.0, Vec::new());
    let mut found = look(&run, precision);
    let why = loop {
        let mut next: Vec<PlannedCell> = run.plan.cells[run.cells.len()..].to_vec();
        let repeat = next.first().map(|cell| cell.repeat);
        next.retain(|cell| Some(cell.repeat) == repeat);
        if next.is_empty() {
            if let Some(why) = ended(&run, &found) {
                break why;
            }
            next = next_block(&run.plan, &|name| found.wants(name), &mut |_| unreachable!("no corpus")).unwrap();
        }
        let names = next.iter().map(|cell| cell.configuration.name.as_str());
        let needed = Pace::new(&run, used).map_or(0.0, |pace| pace.seconds(names));
        if budget.is_some_and(|budget| used + needed > budget) {
            break WhyEnded::Time;
        }
        if next[0].index as usize == run.plan.cells.len() {
            run.plan.repeats += 1;
            run.plan.cells.extend(next.clone());
        }
        for cell in next {
            let record = measured(case, &cell, &run, used, &mut random);
            used = record.ended.0 as f64 / 1000.0;
            run.cells.push(record);
        }
        found = look(&run, precision);
        estimates.extend(left(&run, &found, used).map(|left| (used, left)));
    };
    run.plan.sampling.as_mut().unwrap().ended = Some(SamplingEnd { why, used });
    Ended { run, look: found, why, used, estimates }
}

/// A cell of about a second, or two, four, ... on later configurations.
fn measured(case: &Case, cell: &PlannedCell, run: &RunRecord, began: f64, random: &mut Random) -> CellRecord {
    let configuration = run.plan.configurations.iter().position(|name| *name == cell.configuration.name).unwrap();
    let mut record = CellRecord::new(cell, &run.environment);
    let seconds = f64::from(1 << configuration) * (1.0 + 0.05 * random.normal());
    (record.started, record.ended) = (Timestamp((began * 1e3) as i64), Timestamp(((began + seconds) * 1e3) as i64));
    for (task, _) in &run.plan.tasks {
        let log = case.step * configuration as f64 + case.noise.draw(random);
        record.samples.push(sample(task, "durable", 10.0 * log.exp()));
        record.outcomes.push(TaskOutcome { task: task.clone(), outcome: Outcome::Ok });
    }
    record
}

const ONE: Case =
    Case { configurations: 1, tasks: 1, precision: Some(0.02), budget: None, noise: Noise::Normal(0.03), step: 0.0 };

/// Mean number of repeats, and the share of runs whose interval at the end holds the true mean.
fn coverage(noise: Noise, runs: u64) -> (f64, f64) {
    let (mut repeats, mut held) = (0, 0);
    for seed in 0..runs {
        let ended = simulate(&Case { noise, ..ONE }, seed);
        let width = &ended.look.widths[0];
        let logs: Vec<f64> =
            ended.run.cells.iter().map(|cell| (cell.samples.first().unwrap().value / 10.0).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        repeats += logs.len();
        held += usize::from((mean - noise.mean()).abs() <= width.half.ln_1p());
    }
    (repeats as f64 / runs as f64, held as f64 / runs as f64)
}

/// Share of runs without any difference in which one is shown.
fn false_share(case: &Case, runs: u64) -> f64 {
    let options = Options { matters: 0.0, resamples: 0, ..Options::default() };
    let shows = |seed: &u64| {
        let found = findings(&simulate(case, *seed).run, &options);
        let mut verdicts = found.tasks.iter().flat_map(|task| &task.metrics).filter_map(|of| of.verdict.as_ref());
        verdicts.any(|verdict| matches!(verdict.outcome, VerdictOutcome::Winner { .. } | VerdictOutcome::Tied { .. }))
    };
    (0..runs).filter(shows).count() as f64 / runs as f64
}

/// Of the estimates after `part` of the time: the median of their errors, as part of what was left, and the share within
/// 20 %. Runs that ended before they could say anything at that time count as wrong.
fn estimates(case: &Case, part: f64, runs: u64) -> (f64, f64) {
    let error = |seed| {
        let ended = simulate(case, seed);
        let known = ended.estimates.iter().find(|(used, _)| *used >= part * ended.used);
        let (used, left) = known.filter(|(used, _)| *used < ended.used)?;
        Some((left - (ended.used - used)).abs() / (ended.used - used))
    };
    let errors: Vec<f64> = (0..runs).map(|seed| error(seed).unwrap_or(f64::INFINITY)).collect();
    (median(&errors).unwrap(), errors.iter().filter(|error| **error <= 0.2).count() as f64 / runs as f64)
}

#[test]
fn intervals_hold_at_the_end() {
    for noise in [Noise::Normal(0.02), Noise::Normal(0.03), Noise::Heavy(0.02)] {
        let (_, held) = coverage(noise, 200);
        // 95 %, and two standard deviations of the count.
        assert!(held >= 0.92, "{noise:?}: {held}");
    }
    // A mode that five repeats seldom have is what no rule about widths can see.
    assert!(coverage(Noise::Seldom, 200).1 < 0.7);
}

#[test]
fn runs_without_differences_have_none() {
    let share = false_share(&Case { configurations: 2, ..ONE }, 100);
    // 5 % of runs, and three standard deviations of the count.
    assert!(share <= 0.115, "{share}");
}

#[test]
fn a_budget_is_kept_and_the_time_left_is_known() {
    let case = Case { configurations: 3, tasks: 2, noise: Noise::Normal(0.1), budget: Some(100.0), ..ONE };
    for seed in 0..5 {
        let ended = simulate(&case, seed);
        assert!(ended.why == WhyEnded::Time && ended.used <= 100.0 * 1.1, "{:?} {}", ended.why, ended.used);
    }
    let (error, share) = estimates(&case, 0.25, 20);
    assert!(error <= 0.2 && share >= 0.8, "{error} {share}");
}

#[test]
#[ignore = "prints tables"]
fn tables() {
    println!("1000 runs of one figure to +-2 %: mean repeats, share whose interval at the end holds the true mean");
    for noise in [0.01, 0.02, 0.03, 0.05].map(Noise::Normal).into_iter().chain([Noise::Heavy(0.02), Noise::Seldom]) {
        let (repeats, held) = coverage(noise, 1000);
        println!("{:16} {repeats:>6.1} {:>6.1}%", format!("{noise:?}"), 100.0 * held);
    }
    println!("300 runs without a difference in which one is shown, by tests and file systems");
    for noise in [Noise::Normal(0.03), Noise::Heavy(0.02), Noise::Seldom] {
        for (configurations, tasks) in [(2, 1), (3, 5)] {
            let share = false_share(&Case { configurations, tasks, noise, ..ONE }, 300);
            println!("{:16} {configurations} x {tasks} {:>6.1}%", format!("{noise:?}"), 100.0 * share);
        }
    }
}

#[test]
#[ignore = "prints a table"]
fn time_left() {
    println!(
        "100 runs of 3 file systems and 5 tests: error of the time left after a part of the run, share within 20 %"
    );
    for (size, budget) in [(0.03, None), (0.03, Some(100.0)), (0.05, Some(150.0))] {
        let case = Case { configurations: 3, tasks: 5, noise: Noise::Normal(size), budget, ..ONE };
        for part in [0.25, 0.5] {
            let (error, share) = estimates(&case, part, 100);
            println!("{size} {budget:?} after {part}: {:>6.1}% {:>6.1}%", 100.0 * error, 100.0 * share);
        }
        let ends = (0..30).map(|seed| simulate(&case, seed));
        let (time, used): (Vec<bool>, Vec<f64>) = ends.map(|one| (one.why == WhyEnded::Time, one.used)).unzip();
        let time = time.iter().filter(|time| **time).count();
        println!("  {time} of 30 ended by time; median time {:.0} s", median(&used).unwrap());
    }
}

#[test]
fn without_a_figure_no_target_is_reached() {
    let mut plan = plan(2, 1, 5);
    plan.sampling = Some(Sampling { precision: Some(0.02), budget: None, least: 5, ..Sampling::default() });
    let mut run = run(&plan, |_, _, _| 1.0);
    let said = |run: &RunRecord| mountmark_findings::sampling::say::sentence(run).unwrap();
    assert!(said(&run).starts_with("target +-2 % reached by all 2 figures of the tests: "), "{}", said(&run));
    run.cells.iter_mut().for_each(|cell| cell.samples.clear());
    assert!(said(&run).starts_with("target +-2 %, and no test has a figure: 5 repeats"), "{}", said(&run));
}
