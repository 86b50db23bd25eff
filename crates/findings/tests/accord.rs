//! A run of the virtual lab beside one of a real machine, and what reports say of the model from it.

mod support;

use mountmark_findings::agreement::{ModelAgreement, Trust, Unfit, model_agreement};
use mountmark_findings::{Options, Remark, findings};
use mountmark_model::{Lab, MachineAgreement};
use mountmark_record::RunRecord;
use mountmark_stats::random::Random;

use support::{plan, run};

/// The same work on a real machine, with noise of 0.2 %; `figure(configuration, task)`.
fn real(configurations: usize, tasks: usize, figure: impl Fn(usize, usize) -> f64) -> RunRecord {
    let mut plan = plan(configurations, tasks, 5);
    plan.lab = Lab::Host;
    let mut random = Random::new(11);
    run(&plan, |configuration, task, _| figure(configuration, task) * (1.0 + 0.002 * random.normal()))
}

fn model(configurations: usize, tasks: usize, figure: impl Fn(usize, usize) -> f64) -> RunRecord {
    run(&plan(configurations, tasks, 3), |configuration, task, _| figure(configuration, task))
}

fn rising(configuration: usize, _: usize) -> f64 {
    1.0 + configuration as f64
}

fn found(model: &RunRecord, machine: &RunRecord) -> ModelAgreement {
    model_agreement(model, machine, &Options::default()).unwrap()
}

#[test]
fn orders_agree_whatever_the_seconds() {
    let found = found(&model(5, 2, rising), &real(5, 2, |c, t| 7.0 * rising(c, t)));
    let tasks: Vec<_> = found.tasks.iter().filter(|task| !task.step).collect();
    assert_eq!(tasks.len(), 2);
    for task in tasks {
        let counts = &task.counts;
        assert_eq!((counts.told, counts.same, counts.reversed, counts.tau), (10, 10, 0, Some(1.0)));
        assert_eq!(counts.agrees(), Some(true));
        assert!((counts.factor.unwrap() - 7.0).abs() < 0.05, "{counts:?}");
    }
    assert_eq!((found.tau, found.kept.tasks.len(), found.kept.model.machine.as_str()), (Some(1.0), 2, "slow"));
}

#[test]
fn a_reversed_pair_is_named_and_an_equal_one_has_no_order() {
    // c0 and c1 change places in the first task; the model has c2, c3 and c4 alike in the second.
    let modelled = |c: usize, t: usize| match (t, c) {
        (0, 0) => 2.0,
        (0, 1) => 1.0,
        (1, 2..) => 3.0,
        _ => rising(c, t),
    };
    let found = found(&model(5, 2, modelled), &real(5, 2, rising));
    assert_eq!(found.tasks[0].reversed, [(0, 1)]);
    let counts: Vec<_> = found.tasks.iter().map(|task| (task.counts.same, task.counts.reversed)).collect();
    assert_eq!(counts, [(9, 1), (7, 0)]);
    assert_eq!(found.tasks[0].counts.tau, Some(0.8));
}

#[test]
fn what_a_noisy_machine_does_not_tell_apart_is_not_held_against_the_model() {
    let mut machine = plan(3, 1, 5);
    machine.lab = Lab::Host;
    let mut random = Random::new(5);
    let machine = run(&machine, |_, _, _| 1.0 + 0.2 * random.normal());
    let found = found(&model(3, 1, rising), &machine);
    assert_eq!((found.tasks[0].counts.told, found.tasks[0].counts.agrees(), found.tau), (0, None, None));
}

#[test]
fn a_machine_has_configurations_of_its_own() {
    let mut machine = real(4, 1, rising);
    for name in
        machine.plan.configurations.iter_mut().chain(machine.cells.iter_mut().map(|cell| &mut cell.configuration))
    {
        if name == "c0" {
            *name = "other".into();
        }
    }
    machine.plan.change(|cell| {
        if cell.configuration.name == "c0" {
            cell.configuration.name = "other".into();
        }
    });
    let found = found(&model(3, 1, rising), &machine);
    assert_eq!(found.configurations, ["c1", "c2"]);
    assert_eq!((found.tasks[0].counts.told, found.tasks[0].counts.same), (1, 1));
}

#[test]
fn runs_that_say_nothing_are_refused() {
    let (model, machine) = (model(2, 1, rising), real(2, 1, rising));
    let options = Options::default();
    assert_eq!(model_agreement(&machine, &machine, &options).unwrap_err(), Unfit::NoModel);
    assert_eq!(model_agreement(&model, &model, &options).unwrap_err(), Unfit::NoMachine);
    let mut stranger = machine.clone();
    stranger.cells.clear();
    assert_eq!(model_agreement(&model, &stranger, &options).unwrap_err(), Unfit::NothingCommon);
}

#[test]
fn a_report_says_where_the_model_misleads() {
    let reversed = |c: usize, t: usize| if t == 1 { 9.0 - c as f64 } else { rising(c, t) };
    let modelled = model(3, 3, rising);
    let mut accord = MachineAgreement { name: "desk".into(), ..MachineAgreement::default() };
    accord.put(found(&modelled, &real(3, 3, reversed)).kept);
    let trust = Trust { machines: vec!["desk".into()], told: 3, misleads: vec!["t1".into()] };
    let said = |run: &RunRecord, accords: Option<Vec<MachineAgreement>>| {
        let remarks = findings(run, &Options { accords, ..Options::default() }).remarks;
        remarks.into_iter().find_map(|remark| if let Remark::Trust(trust) = remark { Some(trust) } else { None })
    };
    assert_eq!(said(&modelled, Some(vec![accord.clone()])), Some(trust));
    // A second machine that has the model's order outvotes the first where it tells as much.
    let mut second = MachineAgreement { name: "rack".into(), ..MachineAgreement::default() };
    second.put(found(&modelled, &real(3, 3, rising)).kept);
    let both = said(&modelled, Some(vec![accord.clone(), second])).unwrap();
    assert_eq!((both.machines.len(), both.misleads), (2, vec!["t1".to_owned()]));
    assert_eq!(said(&modelled, None), None);
    assert_eq!(said(&modelled, Some(Vec::new())).unwrap().machines, Vec::<String>::new());
    // A run of a real machine is no model.
    assert_eq!(said(&real(3, 3, rising), Some(vec![accord])), None);
}
