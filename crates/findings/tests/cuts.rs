//! Runs under wall time that were cut and went on.

mod support;

use mountmark_findings::{Cut, Options, VerdictOutcome, cuts, findings};
use mountmark_model::{Lab, Sitting};
use mountmark_record::{RunRecord, Timestamp};

use support::{plan, run};

/// A run whose cells from `first` on were measured in a second sitting, and there take `slower` times as long.
fn cut_at(first: usize, booted: bool, slower: f64) -> RunRecord {
    let plan = plan(2, 1, 6);
    let mut at = 0;
    let mut run = run(&plan, |configuration, _, repeat| {
        at += 1;
        let noise = f64::from((repeat * 7 + configuration as u32 * 3) % 5) / 1000.0;
        10.0 * (1.0 + noise) * if at > first { slower } else { 1.0 }
    });
    run.plan.lab = Lab::Host;
    for (at, cell) in run.cells.iter_mut().enumerate() {
        let late = at >= first;
        let boot = if late && booted { "two" } else { "one" }.to_owned();
        cell.environment.sitting = Some(Sitting { number: 1 + u32::from(late), boot, machine: "m".into() });
        let begin = at as i64 * 1000 + if late { 60_000 } else { 0 };
        (cell.started, cell.ended) = (Timestamp(begin), Timestamp(begin + 900));
    }
    run
}

#[test]
fn a_cut_is_told_with_what_came_after() {
    let wanted = Cut {
        cells: 5,
        ended: Timestamp(4900),
        began: Timestamp(65_000),
        booted: true,
        after: vec![3, 4, 5],
        split: vec![2],
    };
    assert_eq!(cuts(&cut_at(5, true, 1.0)), std::slice::from_ref(&wanted));
    assert_eq!(cuts(&cut_at(4, false, 1.0))[0].split, [0u32; 0]);
    assert!(!cuts(&cut_at(4, false, 1.0))[0].booted);
    assert_eq!(cuts(&cut_at(12, true, 1.0)), []);
    // A cell that was measured again afterwards makes no other cut.
    let mut run = cut_at(5, true, 1.0);
    let again = mountmark_record::CellRecord { index: 12, repeat: 0, ..run.cells[11].clone() };
    run.cells.push(again);
    assert_eq!(cuts(&run), [wanted]);
    // Under an exact clock nothing has a sitting.
    assert_eq!(cuts(&support::run(&plan(2, 1, 3), |_, _, _| 1.0)), []);
}

/// After a boot everything takes twice as long: the half-measured repeat must not make that a difference between file
/// systems, and each half is a figure of its own.
#[test]
fn nothing_is_compared_across_a_cut() {
    let found = findings(&cut_at(5, true, 2.0), &Options::default());
    let judged = found.tasks[0].judged().unwrap();
    let ratio = judged.estimates[1].as_ref().unwrap();
    assert!((ratio.ratio.unwrap() - 1.0).abs() < 0.01, "{ratio:?}");
    assert_eq!(ratio.summary.n, 6, "no figure is lost");
    let outcome = &judged.verdict.as_ref().unwrap().outcome;
    assert!(matches!(outcome, VerdictOutcome::NoDifferenceShown { .. }), "{outcome:?}");
    // Were the halves one block, its ratio of 2 would be in the interval.
    let interval = ratio.ratio_interval.unwrap();
    assert!(interval.high < 1.05 && interval.low > 0.95, "{interval:?}");
}
