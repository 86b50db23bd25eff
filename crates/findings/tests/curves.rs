//! Curves over a varied parameter: which steps are cliffs, and how often smooth curves with noise have one.
//!
//! `cargo test --release -p mountmark-findings --test curves -- --ignored --nocapture` prints the table.

mod support;

use mountmark_cells::{Plan, PlannedCell};
use mountmark_findings::{Cliff, Findings, Options, VerdictOutcome, WhyUnsearched, findings};
use mountmark_model::{Vary, VaryPoint};
use mountmark_stats::random::Random;

use support::plan;

const POINTS: usize = 8;

/// A plan whose cells are at eight points, each `factor` times the one before.
fn varied(configurations: usize, tasks: usize, repeats: u32, factor: f64) -> Plan {
    let mut plan = plan(configurations, tasks, repeats);
    let definitions = plan.cells[0].tasks.clone();
    let point = |at: usize| VaryPoint { value: 100.0 * factor.powi(at as i32), text: format!("{at}x") };
    let vary = Vary { parameter: "SIZE".into(), points: (0..POINTS).map(point).collect() };
    let ids = plan.tasks.clone();
    plan.tasks = ids
        .iter()
        .flat_map(|(id, title)| (0..POINTS).map(|at| (vary.name(id, at), title.clone())).collect::<Vec<_>>())
        .collect();
    let cells = std::mem::take(&mut plan.cells);
    for cell in cells.iter().flat_map(|cell| (0..POINTS as u32).map(move |point| (point, cell))) {
        let (point, cell) = cell;
        let mut cell = PlannedCell { point: Some(point), index: plan.cells.len() as u32, ..cell.clone() };
        cell.tasks.clone_from(&definitions);
        plan.cells.push(cell);
    }
    plan.vary = Some(vary);
    plan
}

/// The findings of a run in which `figure(configuration, task, point)` is the durable time.
fn of(plan: &Plan, mut figure: impl FnMut(usize, usize, usize) -> f64) -> Findings {
    let tasks = plan.tasks.len() / POINTS;
    let mut record = support::run(plan, |_, _, _| 0.0);
    for (cell, planned) in record.cells.iter_mut().zip(&plan.cells) {
        let one = plan.configurations.iter().position(|name| *name == cell.configuration).unwrap();
        let point = planned.point.unwrap() as usize;
        cell.samples.clear();
        cell.outcomes.clear();
        cell.samples.push(support::sample(&plan.recorded(planned, "mkfs"), "elapsed", 1.0));
        for at in 0..tasks {
            let name = plan.recorded(planned, &format!("t{at}"));
            cell.samples.push(support::sample(&name, "durable", figure(one, at, point)));
        }
    }
    findings(&record, &Options { resamples: 0, ..Options::default() })
}

fn cliffs(found: &Findings) -> Vec<(String, Cliff)> {
    let curves = found.curves.as_ref().expect("curves");
    curves.curves.iter().flat_map(|curve| curve.cliffs.iter().map(|cliff| (curve.task.clone(), *cliff))).collect()
}

type Law = fn(f64) -> f64;

/// Laws without a cliff, of the parameter over its first value.
const LAWS: [(&str, Law); 6] = [
    ("constant", |_| 10.0),
    ("proportional", |x| 10.0 * x),
    ("quadratic", |x| x * x),
    ("fixed cost", |x| 10.0 + x),
    ("inverse", |x| 1.0 + 10.0 / x),
    ("logarithm", |x| 5.0 + x.ln()),
];

/// Share of curves with a cliff.
fn falsely(law: Law, factor: f64, noise: f64, repeats: u32, runs: u64) -> f64 {
    let plan = varied(1, 20, repeats, factor);
    let curves = |seed: u64| {
        let mut random = Random::new(seed);
        cliffs(&of(&plan, |_, _, point| law(factor.powi(point as i32)) * (noise * random.normal()).exp())).len()
    };
    (0..runs).map(curves).sum::<usize>() as f64 / (20 * runs) as f64
}

#[test]
#[ignore = "takes a minute; prints a table"]
fn table_of_cliffs() {
    println!("share of 400 smooth curves of 8 points in which a cliff is found; points 1.2 and 2 times apart");
    println!("{:24} {:>27} {:>27}", "", "1.2", "2");
    println!("{:24} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}", "repeats", 1, 2, 3, 10, 1, 2, 3, 10);
    for (name, law) in LAWS {
        for noise in [0.01, 0.05, 0.15] {
            let shares: Vec<String> = [1.2, 2.0]
                .into_iter()
                .flat_map(|factor| [1, 2, 3, 10].map(|repeats| (factor, repeats)))
                .map(|(factor, repeats)| format!("{:>5.2}%", 100.0 * falsely(law, factor, noise, repeats, 20)))
                .collect();
            println!("{:24} {}", format!("{name}, noise {noise}"), shares.join(" "));
        }
    }
}

#[test]
fn smooth_curves_have_no_cliff() {
    for (name, law) in LAWS {
        for factor in [1.2, 2.0] {
            let share = falsely(law, factor, 0.05, 3, 3);
            assert!(share <= 0.02, "{name}, {factor}: {share}");
        }
    }
}

#[test]
fn a_cliff_is_told_with_its_place_and_factor() {
    let plan = varied(2, 2, 3, 1.2);
    let mut random = Random::new(1);
    let found = of(&plan, |configuration, task, point| {
        let falls = configuration == 1 && task == 0 && point >= 3;
        if falls { 2.0 } else { 10.0 * (0.01 * random.normal()).exp() }
    });
    let all = cliffs(&found);
    let [(task, cliff)] = &all[..] else { panic!("{all:?}") };
    assert_eq!((task.as_str(), cliff.configuration, cliff.from, cliff.to), ("t0", 1, 2, 3));
    assert!((0.19..0.21).contains(&cliff.factor), "{cliff:?}");
    let curves = found.curves.as_ref().unwrap();
    assert_eq!(curves.curves.iter().map(|curve| curve.task.as_str()).collect::<Vec<_>>(), ["mkfs", "t0", "t1"]);
    assert!(curves.curves[0].step && curves.curves[0].medians[1].iter().all(Option::is_some));
}

#[test]
fn points_are_compared_with_the_same_point_alone() {
    let plan = varied(2, 1, 5, 2.0);
    // Points differ by far, file systems not at all.
    let mut random = Random::new(2);
    let found = of(&plan, |_, _, point| 2f64.powi(point as i32) * (0.01 * random.normal()).exp());
    let tasks: Vec<_> = found.suite().collect();
    assert_eq!(tasks.len(), POINTS);
    assert_eq!((found.configurations.len(), tasks[3].id.as_str()), (2, "t0@3x"));
    for task in tasks {
        let outcome = task.judged().and_then(|judged| judged.verdict.as_ref()).map(|verdict| &verdict.outcome);
        assert!(matches!(outcome, Some(VerdictOutcome::NoDifferenceShown { .. })), "{outcome:?}");
    }
}

#[test]
fn one_repeat_under_wall_time_has_no_cliff() {
    let mut plan = varied(1, 1, 1, 1.2);
    let figure = |_, _, point| if point < 4 { 10.0 } else { 2.0 };
    assert_eq!(cliffs(&of(&plan, figure)).len(), 1);
    plan.lab = mountmark_model::Lab::Kvm;
    let found = of(&plan, figure);
    assert_eq!(cliffs(&found).len(), 0);
    assert_eq!(unsearched(&found), [("mkfs", 0, WhyUnsearched::OneRepeat), ("t0", 0, WhyUnsearched::OneRepeat)]);
}

fn unsearched(found: &Findings) -> Vec<(&str, usize, WhyUnsearched)> {
    let curves = &found.curves.as_ref().expect("curves").curves;
    let of = |curve: &'_ mountmark_findings::Curve| -> Vec<(usize, WhyUnsearched)> {
        curve.unsearched.iter().map(|line| (line.configuration, line.why)).collect()
    };
    curves.iter().flat_map(|curve| of(curve).into_iter().map(|(one, why)| (curve.task.as_str(), one, why))).collect()
}

#[test]
fn lines_with_figures_at_two_points_are_not_searched() {
    let plan = varied(2, 1, 3, 1.2);
    let found = of(&plan, |configuration, _, point| if configuration == 1 && point > 1 { 0.0 } else { 10.0 });
    assert_eq!(unsearched(&found), [("t0", 1, WhyUnsearched::FewPoints)]);
}
