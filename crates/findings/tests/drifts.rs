//! Figures that change while a run goes on, and those that do not.

mod support;

use mountmark_findings::{Drift, Findings, Options, Remark, findings};
use mountmark_model::Lab;
use mountmark_record::{RunRecord, Timestamp};
use mountmark_stats::random::Random;

use support::{plan, run};

/// A run of `tasks` tests on three configurations with noise of 2 % and workloads that differ by 3 % between repeats; the
/// first test becomes slower by `drift` from the first cell to the last.
fn simulated(lab: Lab, tasks: usize, repeats: u32, drift: f64, seed: u64) -> RunRecord {
    let plan = plan(3, tasks, repeats);
    let mut random = Random::new(seed);
    let blocks: Vec<f64> = (0..repeats as usize * tasks).map(|_| 1.0 + 0.03 * random.normal()).collect();
    let last = f64::from(3 * repeats - 1);
    let mut run = run(&plan, |configuration, task, repeat| {
        let at = f64::from(repeat * 3 + configuration as u32) / last;
        let slower = if task == 0 { 1.0 + drift * at } else { 1.0 };
        let own = [10.0, 20.0, 5.0][configuration];
        own * slower * blocks[repeat as usize * tasks + task] * (1.0 + 0.02 * random.normal())
    });
    run.plan.lab = lab;
    for (at, cell) in run.cells.iter_mut().enumerate() {
        (cell.started, cell.ended) = (Timestamp(at as i64 * 1000), Timestamp(at as i64 * 1000 + 900));
    }
    run
}

fn drifts(run: &RunRecord) -> Vec<Drift> {
    let found: Findings = findings(run, &Options { resamples: 0, ..Options::default() });
    let drifts = found.remarks.into_iter().find_map(|remark| match remark {
        Remark::Drifts(drifts) => Some(drifts),
        _ => None,
    });
    drifts.unwrap_or_default()
}

#[test]
fn a_drift_is_found_with_its_size_and_only_where_it_is() {
    let runs = 20;
    let mut found = 0;
    for seed in 0..runs {
        let drifts = drifts(&simulated(Lab::Host, 5, 10, 0.2, seed));
        if let Some(drift) = drifts.iter().find(|drift| drift.task == 0) {
            found += 1;
            assert!(drift.worse && (0.08..0.35).contains(&drift.change) && drift.p <= 0.05, "{drift:?}");
        }
    }
    assert!(found >= 18, "{found} of {runs}");
}

#[test]
fn runs_without_drift_have_none() {
    for (repeats, runs) in [(3, 150), (8, 150)] {
        let wrong = (0..runs).filter(|seed| !drifts(&simulated(Lab::Host, 5, repeats, 0.0, *seed)).is_empty()).count();
        // 5 % of runs, and three standard deviations of the count.
        assert!(wrong <= 15, "{repeats} repeats: {wrong} of {runs}");
    }
}

#[test]
fn under_an_exact_clock_nothing_drifts() {
    assert_eq!(drifts(&simulated(Lab::Virtual, 2, 10, 0.5, 1)), []);
    assert_ne!(drifts(&simulated(Lab::Host, 2, 10, 0.5, 1)), []);
}

/// What was measured again was chosen by its value, and came last.
#[test]
fn cells_that_were_measured_again_make_no_drift() {
    let mut run = simulated(Lab::Host, 2, 6, 0.5, 3);
    let before = drifts(&run);
    assert_eq!(before.len(), 1);
    for at in 0..6 {
        let mut again = run.cells[at].clone();
        (again.index, again.started) = (18 + at as u32, Timestamp(100_000 + at as i64));
        again.samples.iter_mut().for_each(|(_, value)| *value *= 2.0);
        run.cells.push(again);
    }
    assert_eq!(drifts(&run), before);
}
