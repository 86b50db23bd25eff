//! Whether orders hold for every machine within a range of costs, and how that is said.

mod support;

use mountmark_findings::agreement::model_agreement;
use mountmark_findings::{CostRange, CostsAsked, Findings, Format, Known, Options, Survival, Verdicts, findings};
use mountmark_model::{
    ClassCosts, Lab, MachineAgreement, MachineCosts, Side, SuiteAgreement, TaskAgreement, Work, WorkTimes,
};
use mountmark_record::{CellWork, RunRecord, TaskWork};

use support::{plan, run};

fn range(work: Work, lowest: f64, highest: f64) -> CostRange {
    CostRange { work, lowest, highest, machines: Vec::new(), source: "a guess".into() }
}

fn times(parts: &[(Work, u64)]) -> WorkTimes {
    let mut out = WorkTimes::default();
    parts.iter().for_each(|(work, time)| out.add(*work, *time));
    out
}

/// Two configurations whose task t0 is made up so, in milliseconds, once.
fn two(fast: &[(Work, u64)], slow: &[(Work, u64)]) -> (RunRecord, Vec<CellWork>) {
    let all = [fast, slow];
    let sum = |parts: &[(Work, u64)]| parts.iter().map(|(_, time)| *time).sum::<u64>() as f64;
    let run = run(&plan(2, 1, 1), |configuration, _, _| sum(all[configuration]) / 1000.0);
    let work = |(at, parts): (usize, &&[(Work, u64)])| CellWork {
        cell: at as u32,
        tasks: Some(vec![TaskWork {
            task: "t0".into(),
            iteration: 0,
            returned: WorkTimes::default(),
            sync: times(parts),
        }]),
    };
    (run, all.iter().enumerate().map(work).collect())
}

fn found((run, work): &(RunRecord, Vec<CellWork>), costs: &[CostRange]) -> Findings {
    let asked = Some(CostsAsked { costs: costs.to_vec(), work: work.clone() });
    findings(run, &Options { asked, ..Options::default() })
}

fn survival(asked: &(RunRecord, Vec<CellWork>), costs: &[CostRange]) -> Survival {
    let robustness = found(asked, costs).robustness.unwrap();
    let [task] = &robustness.tasks[..] else { panic!("{robustness:?}") };
    let [pair] = &task.pairs[..] else { panic!("{task:?}") };
    assert_eq!((pair.better, pair.worse), (0, 1));
    pair.survival.clone()
}

#[test]
fn an_order_holds_or_turns_at_the_nearest_cost_of_one_class() {
    use Work::{Copies, Kernel, Modules, Programs, Server};
    let copies = range(Copies, 0.25, 1.0);
    let asked = two(&[(Kernel, 100)], &[(Kernel, 50), (Copies, 100)]);
    // 50 + 100 x is above 100 from x = 0.5 on.
    let Survival::TurnsAt { work, cost } = survival(&asked, std::slice::from_ref(&copies)) else { panic!() };
    assert_eq!((work, cost), (Copies, 0.5));
    assert_eq!(survival(&asked, &[range(Copies, 0.51, 1.0)]), Survival::Holds);
    // What both have alike turns nothing.
    let both = two(&[(Kernel, 100), (Copies, 900)], &[(Kernel, 110), (Copies, 900)]);
    assert_eq!(survival(&both, std::slice::from_ref(&copies)), Survival::Holds);
    // Of two classes the one whose cost is nearer to the model's: 0.5 of the copies, 1.5 times the file system's code.
    let other = two(&[(Kernel, 100), (Modules, 100)], &[(Kernel, 150), (Copies, 100)]);
    let costs = [copies.clone(), range(Modules, 0.6, 1.6)];
    let Survival::TurnsAt { work, cost } = survival(&other, &costs) else { panic!() };
    assert_eq!((work, cost), (Modules, 1.5));
    // None alone, both together.
    let costs = [range(Copies, 0.7, 1.0), range(Modules, 0.6, 1.3), range(Programs, 0.7, 1.3)];
    let Survival::TurnsTogether { costs } = survival(&other, &costs) else { panic!() };
    assert_eq!(costs.iter().map(|one| one.work).collect::<Vec<_>>(), [Copies, Modules]);
    // The server's time is no machine's.
    let served = two(&[(Kernel, 100)], &[(Kernel, 90), (Server, 50)]);
    assert_eq!(survival(&served, std::slice::from_ref(&copies)), Survival::TurnsWithoutServer);
    assert_eq!(found(&served, &[copies]).robustness.unwrap().server, Some((0.0, 50.0 / 140.0)));
}

#[test]
fn each_corner_agrees_with_going_through_all_of_them() {
    let classes = [Work::Modules, Work::Programs, Work::Copies, Work::Waiting];
    let costs: Vec<CostRange> = classes.iter().map(|work| range(*work, 0.5, 1.5)).collect();
    let mut number = 1_u64;
    let mut next = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (number >> 33) % 100
    };
    let (mut holding, mut turning) = (0, 0);
    for _ in 0..60 {
        let mut parts = || classes.map(|work| (work, next()));
        let (one, other) = (parts(), parts());
        let sum = |parts: &[(Work, u64)]| parts.iter().map(|(_, time)| time).sum::<u64>();
        if sum(&one) * 101 >= sum(&other) * 100 {
            continue;
        }
        let at = |corner: usize, parts: &[(Work, u64)]| -> f64 {
            let cost = |class: usize| if corner >> class & 1 == 1 { 1.5 } else { 0.5 };
            parts.iter().enumerate().map(|(class, (_, time))| cost(class) * *time as f64).sum()
        };
        let holds = (0..16).all(|corner| at(corner, &one) < at(corner, &other));
        assert_eq!(survival(&two(&one, &other), &costs) == Survival::Holds, holds, "{one:?} {other:?}");
        if holds { holding += 1 } else { turning += 1 }
    }
    assert!(holding > 2 && turning > 2, "{holding} hold, {turning} turn");
}

fn said(asked: &(RunRecord, Vec<CellWork>), format: &str) -> String {
    let costs = [range(Work::Copies, 0.25, 1.0)];
    let findings = found(asked, &costs);
    let format = Format::find::<Verdicts>(Some(format)).unwrap();
    format.write(&Verdicts { run: &asked.0, findings: &findings }, &Default::default()).unwrap()
}

#[test]
fn verdicts_say_it_and_offer_it() {
    let mut asked = two(&[(Work::Kernel, 100)], &[(Work::Kernel, 50), (Work::Copies, 100)]);
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let turns = "turns if copies and clears cost less than 0.50 of what the model says";
    for format in ["table", "markdown"] {
        let text = joined(said(&asked, format));
        assert!(text.contains(&format!("The order {turns}.")), "{text}");
        assert!(text.contains(&format!("c0 before c1 {turns}.")), "{text}");
        assert!(
            text.contains(
                "Orders of two file systems in a test: 0 hold for every machine in the range of costs, 1 turns on some."
            ),
            "{text}"
        );
        assert!(text.contains("a guess"), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&said(&asked, "json")).unwrap();
    let pair = &json["robustness"]["tasks"][0]["pairs"][0];
    assert_eq!((&pair["survival"]["kind"], &pair["survival"]["cost"]), (&"turns-at".into(), &0.5.into()));
    assert_eq!(json["overall"]["orders"], serde_json::json!({"hold": 0, "turn": 1, "unasked": 0}));
    assert!(json["tasks"].to_string().contains(turns));
    // Profiles of before are no fault, and a run without any is offered them.
    asked.1.iter_mut().for_each(|cell| cell.tasks = None);
    assert_eq!(found(&asked, &[]).robustness.unwrap().known, Known::Older);
    assert!(joined(said(&asked, "table")).contains("profiles are of an older program"));
    asked.1.clear();
    let offered = joined(said(&asked, "table"));
    assert!(offered.contains("measured with --profile, each verdict here says"), "{offered}");
    asked.0.plan.lab = Lab::Host;
    assert_eq!(found(&asked, &[]).robustness, None, "a real machine is its own answer");
}

#[test]
fn orders_without_a_profile_are_counted_and_hold_nothing() {
    let all: Vec<CellWork> = two(&[(Work::Kernel, 100)], &[(Work::Kernel, 150)]).1;
    let mut asked = (run(&plan(3, 1, 1), |configuration, _, _| [0.1, 0.15, 0.4][configuration]), all);
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = joined(said(&asked, "table"));
    assert!(
        text.contains("The order holds for every machine in the range of costs. 2 more orders could not be asked."),
        "{text}"
    );
    assert!(text.contains("1 holds for every machine in the range of costs, 2 could not be asked."), "{text}");
    asked.0.plan.configurations.truncate(2);
    asked.0.cells.truncate(2);
    assert!(!joined(said(&asked, "table")).contains("could not be asked"));
}

#[test]
fn a_machine_is_asked_for_the_orders_that_are_marked() {
    let (model, work) = two(&[(Work::Kernel, 100)], &[(Work::Kernel, 150)]);
    let costs = [range(Work::Copies, 0.25, 1.0)];
    let asked = |work: &[CellWork]| Options {
        asked: Some(CostsAsked { costs: costs.to_vec(), work: work.to_vec() }),
        ..Options::default()
    };
    let machine = |ratio: f64| {
        let mut plan = plan(2, 1, 5);
        plan.lab = Lab::Host;
        run(&plan, |configuration, _, repeat| {
            let wobble = 1.0 + 0.001 * f64::from((7 * repeat + 3 * configuration as u32) % 5);
            wobble * if configuration == 1 { ratio } else { 1.0 }
        })
    };
    let marked = |ratio: f64, work: &[CellWork]| {
        let found = model_agreement(&model, &machine(ratio), &asked(work)).unwrap();
        found.marked.map(|found| (found.orders, found.told, found.same))
    };
    assert_eq!(marked(2.0, &work), Some((1, 1, 1)));
    assert_eq!(marked(0.5, &work), Some((1, 1, 0)));
    assert_eq!(marked(1.0, &work), Some((1, 0, 0)));
    assert_eq!(marked(2.0, &[]), None);
}

#[test]
fn ranges_come_from_machines_where_there_are_any() {
    let class = |work, tasks: &[&str], widens| ClassCosts {
        work,
        lowest: 0.8,
        highest: 1.1,
        source: "a guess".into(),
        tasks: tasks.iter().map(|task| (*task).to_owned()).collect(),
        widens,
    };
    let costs = MachineCosts {
        suite: "costs".into(),
        unit: vec!["call".into(), "find".into()],
        classes: vec![
            class(Work::Copies, &["clear"], false),
            class(Work::Programs, &["sum"], true),
            class(Work::Modules, &[], false),
            class(Work::Waiting, &[], false),
        ],
        ..MachineCosts::default()
    };
    let task = |name: &str, processor| TaskAgreement {
        task: name.into(),
        tau: None,
        told: 0,
        same: 0,
        reversed: 0,
        factor: None,
        processor,
    };
    let mut machine = MachineAgreement { name: "desk".into(), ..MachineAgreement::default() };
    machine.put(SuiteAgreement {
        suite: "costs".into(),
        scale: mountmark_model::Scale::ONE,
        configurations: vec!["ext4".into()],
        model: Side::default(),
        machine: Side::default(),
        tasks: vec![
            task("call", Some(0.4)),
            task("find", Some(0.5)),
            task("clear", Some(0.1)),
            task("sum", Some(0.2)),
            task("other", None),
        ],
    });
    let ends = |machines: &[MachineAgreement]| {
        let all = CostRange::all(&costs, machines);
        all.iter().map(|range| (range.lowest, range.highest, range.machines.len())).collect::<Vec<_>>()
    };
    assert_eq!(ends(&[]), [(0.8, 1.1, 0); 4]);
    let close = ends(&[machine]);
    let wanted = [(0.2, 1.0, 1), (0.4, 1.1, 1), (0.8, 1.1, 0), (1.0, 2.5, 1)];
    for (found, wanted) in close.iter().zip(wanted) {
        assert!((found.0 - wanted.0).abs() < 1e-9 && (found.1 - wanted.1).abs() < 1e-9, "{close:?}");
        assert_eq!(found.2, wanted.2);
    }
}
