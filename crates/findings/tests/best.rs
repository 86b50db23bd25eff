//! What is marked as the best, and what is called firm.

mod support;

use mountmark_findings::{Findings, Options, VerdictOutcome, findings};

use support::{plan, run, sample};

/// The configurations marked in the first task by the metric that judges it.
fn marked(found: &Findings) -> Vec<usize> {
    found.tasks[0].judged().unwrap().best.clone()
}

#[test]
fn a_figure_that_depends_on_conditions_is_no_best() {
    let figure = |configuration: usize, _: usize, repeat: u32| {
        let noise = 1.0 + 0.002 * f64::from(repeat * 7 % 5);
        noise * [[31.3, 3.9][usize::from(repeat % 2 == 1)], 4.14, 22.8][configuration]
    };
    let found = findings(&run(&plan(3, 1, 7), figure), &Options::default());
    let judged = found.tasks[0].judged().unwrap();
    assert_eq!(judged.dependences().map(|(one, _)| one).collect::<Vec<_>>(), [0]);
    let outcome = &judged.verdict.as_ref().unwrap().outcome;
    assert_eq!(*outcome, VerdictOutcome::Tied { configurations: vec![1, 0] });
    assert_eq!(marked(&found), [1]);
}

#[test]
fn what_lost_synced_files_is_no_best_at_syncing() {
    let with = |lost: f64| {
        let mut record = run(&plan(2, 2, 3), |_, _, repeat| 1.0 + f64::from(repeat) / 1e3);
        for cell in &mut record.cells {
            let is_first = cell.configuration == "c0";
            let rate = if is_first { 4298.0 } else { 402.0 };
            cell.samples.push(sample("t0", "rate", rate + f64::from(cell.repeat)));
            cell.samples.push(sample("t0", "sync_latency_mean", 1e-3));
            cell.samples.push(sample("t1", "lost", if is_first { lost } else { 0.0 }));
        }
        findings(&record, &Options::default())
    };
    assert_eq!(marked(&with(0.0)), [0]);
    let found = with(20.0);
    assert_eq!(marked(&found), Vec::<usize>::new());
    // The power cut is judged by what it took, and not by how long the way back was.
    let cut = found.tasks[1].judged().unwrap();
    assert_eq!((cut.metric.id, cut.median(0), cut.best.as_slice()), ("lost", Some(20.0), [1].as_slice()));
}

#[test]
fn few_repeats_make_no_place_firm() {
    let firm = |repeats: u32| {
        let figure = |one: usize, _: usize, repeat: u32| (1 + one) as f64 * (1.0 + f64::from(repeat) / 1e3);
        let found = findings(&run(&plan(3, 2, repeats), figure), &Options::default());
        found.overall.ranking.iter().map(|rank| rank.stability).collect::<Vec<_>>()
    };
    for few in 1..6 {
        assert_eq!(firm(few), [None; 3], "{few}");
    }
    assert_eq!(firm(6), [Some(1.0); 3]);
}
