use mountmark_model::{PROTOCOL, Task};
use proptest::prelude::*;

use super::*;

fn task(id: &str, repeat: u32) -> Task {
    Task { id: id.into(), run: "true".into(), repeat, ..Task::default() }
}

/// A task with two iterations, one with a part, one that is left out.
fn cell() -> Cell {
    let stored = include_str!("../../../model/tests/stored-plan.json");
    let plan: mountmark_model::Plan = serde_json::from_str(stored).unwrap();
    let tasks = vec![
        task("twice", 2),
        task("whole", 1),
        Task { part_of: Some("whole".into()), ..task("part", 1) },
        Task { skip: Some("Its program is not to be had.".into()), ..task("out", 1) },
    ];
    Cell { index: 7, tasks, ..plan.cells[0].clone() }
}

fn hello() -> Event {
    Event::Hello { protocol: PROTOCOL, kernel: "6.12.1 #1".into(), memory: 1 << 30 }
}

fn sample(task: &str, iteration: u32, values: &[(&str, f64)]) -> Event {
    let values = values.iter().map(|(metric, value)| ((*metric).to_owned(), *value)).collect();
    Event::Sample { task: task.into(), iteration, values }
}

fn ended(task: &str, outcome: Outcome) -> Event {
    Event::Ended { task: Subject::from(task.to_owned()), outcome }
}

fn output(task: &str, kind: OutputKind) -> Event {
    Event::Output { task: task.into(), iteration: 0, kind, text: "text".into() }
}

fn device(task: &str) -> Event {
    Event::Device { task: task.into(), iteration: 0, record: Box::default() }
}

/// An honest agent's events for [`cell`].
fn honest() -> Vec<Event> {
    let figure = [("elapsed", 1.0)];
    let skipped = Outcome::Skipped { reason: "Its program is not to be had.".into() };
    vec![
        hello(),
        sample("mkfs", 0, &figure),
        ended("mkfs", Outcome::Ok),
        sample("mount", 0, &figure),
        ended("mount", Outcome::Ok),
        sample("capacity", 0, &[("capacity", 90.0), ("capacity_bytes", 1e9)]),
        device("twice"),
        sample("twice", 0, &figure),
        sample("twice", 1, &[("elapsed", 2.0), ("sync", 0.0)]),
        ended("twice", Outcome::Ok),
        output("whole", OutputKind::Stdout),
        output("whole", OutputKind::Stderr),
        sample("whole", 0, &figure),
        sample("part", 0, &[("rate", 3.0)]),
        ended("part", Outcome::Ok),
        ended("whole", Outcome::Ok),
        ended("out", skipped),
        sample("capacity", 0, &[("capacity_residual", 80.0)]),
        sample("umount", 0, &figure),
        ended("umount", Outcome::Ok),
        ended("fsck", Outcome::Failed { reason: "not clean".into(), detail: String::new() }),
        Event::Done,
    ]
}

fn finish(events: &[Event]) -> CellResult {
    let mut account = Account::new(&cell());
    events.iter().cloned().for_each(|event| account.take(event));
    account.finish(Ended::Outcome { outcome: Outcome::Ok, log: "log".into() }).unwrap()
}

/// The sentence of a refused cell, of which nothing may be kept.
fn disbelieved(events: &[Event]) -> Option<String> {
    let result = finish(events);
    let reason = result.outcome.reason()?.to_owned();
    if !reason.contains("cannot be believed") {
        return None;
    }
    assert!(result.samples.is_empty() && result.tasks.is_empty() && result.outputs.is_empty());
    assert!(result.devices.is_empty() && result.kernel.is_empty() && result.notes.is_empty());
    assert_eq!((result.index, result.log.as_str()), (7, "log"));
    Some(reason)
}

#[test]
fn an_honest_account_is_kept_whole() {
    let result = finish(&honest());
    assert_eq!(result.outcome, Outcome::Ok);
    assert_eq!((result.samples.len(), result.tasks.len(), result.outputs.len(), result.devices.len()), (11, 8, 2, 1));
    assert_eq!((result.kernel.as_str(), result.samples[5].iteration), ("6.12.1 #1", 1));
}

#[test]
fn what_no_agent_of_this_cell_says_takes_the_credit_from_all() {
    let at_the_end = |event: Event| {
        let mut events = honest();
        events.insert(events.len() - 1, event);
        disbelieved(&events).unwrap_or_default()
    };
    let figure = [("elapsed", 1.0)];
    assert!(at_the_end(sample("invented", 0, &figure)).contains("\"invented\", which is not in the plan"));
    assert!(at_the_end(ended("invented", Outcome::Ok)).contains("not in the plan"));
    assert!(at_the_end(sample("whole", 0, &figure)).contains("after its end"));
    assert!(at_the_end(sample("out", 0, &figure)).contains("leaves out"));
    assert!(at_the_end(ended("whole", Outcome::Ok)).contains("ended twice"));
    assert!(at_the_end(hello()).contains("twice who it is"));
    assert!(at_the_end(sample("capacity", 0, &[("capacity", 1.0)])).contains("came twice"));
    assert!(at_the_end(Event::Done).contains("after its end"));
    let before_its_end = |event: Event| {
        let mut events = honest();
        let end = events.iter().position(|event| *event == ended("whole", Outcome::Ok)).unwrap();
        events.insert(end, event);
        disbelieved(&events).unwrap_or_default()
    };
    assert!(before_its_end(sample("whole", 0, &figure)).contains("second sample"));
    assert!(before_its_end(sample("whole", 1, &figure)).contains("for time 2, and the plan has 1"));
    assert!(before_its_end(sample("whole", u32::MAX, &figure)).contains("for time 4294967296"));
    assert!(before_its_end(output("whole", OutputKind::Stdout)).contains("came twice"));
    let long = Event::Output {
        task: "whole".into(),
        iteration: 0,
        kind: OutputKind::Result,
        text: "x".repeat(MOST_OUTPUT + 1),
    };
    assert!(before_its_end(long).contains("bytes long"));
    let first = |values: &[(&str, f64)]| {
        let mut events = honest();
        events[7] = sample("twice", 0, values);
        disbelieved(&events).unwrap_or_default()
    };
    assert!(first(&[("invented", 1.0)]).contains("metric \"invented\""));
    for value in [f64::NAN, f64::INFINITY, -1e-9] {
        assert!(first(&[("elapsed", value)]).contains("which it cannot be"), "{value}");
    }
    assert_eq!(first(&figure), "");
}

#[test]
fn a_cell_is_done_when_each_of_its_tasks_has_ended() {
    let mut events = honest();
    events.truncate(8);
    events.push(Event::Done);
    assert!(disbelieved(&events).unwrap().contains("had not said how task"));
    // A guest that ended half-way keeps its earlier figures, and is no success.
    events.pop();
    let result = finish(&events);
    assert!(result.outcome.is_failed() && result.samples.len() == 5);
    // A cell whose file system cannot be made has no tasks.
    let failed = Outcome::Failed { reason: "mkfs".into(), detail: String::new() };
    let events = [hello(), ended("mkfs", failed.clone()), ended("", failed), Event::Done];
    assert_eq!(finish(&events).tasks.len(), 1);
    let events = [ended("mkfs", Outcome::Ok), Event::Done];
    assert!(disbelieved(&events).unwrap().contains("before it said who it is"));
}

#[test]
fn a_lab_that_disbelieves_takes_the_credit_too() {
    let mut account = Account::new(&cell());
    honest().into_iter().for_each(|event| account.take(event));
    let refused = Ended::Refused { reason: "something else spoke".into(), log: String::new() };
    let result = account.finish(refused).unwrap();
    assert!(result.samples.is_empty() && result.outcome.reason().unwrap().contains("something else spoke"));
    assert!(Account::new(&cell()).finish(Ended::Interrupted).is_none());
}

/// Any event, whose names include the plan's.
fn any_event() -> impl Strategy<Value = Event> {
    let name = prop_oneof![
        5 => prop::sample::select(vec!["twice", "whole", "part", "out", "mkfs", "mount", "capacity", "umount", "fsck"]),
        1 => Just("invented"),
        1 => Just(""),
    ];
    let value = prop_oneof![4 => 0.0..1e9f64, 1 => any::<f64>()];
    let metric = prop::sample::select(vec!["elapsed", "sync", "rate", "capacity", "invented"]);
    let values = prop::collection::btree_map(metric.prop_map(str::to_owned), value, 1..3);
    let outcome = prop_oneof![
        Just(Outcome::Ok),
        Just(Outcome::Skipped { reason: "no".into() }),
        Just(Outcome::Failed { reason: "no".into(), detail: String::new() }),
    ];
    (0..8u8, name, 0..3u32, values, outcome).prop_map(|(kind, name, iteration, values, outcome)| match kind {
        0 => hello(),
        1 => Event::Done,
        2 => Event::Stage { name: name.to_owned().into() },
        3 => Event::Note { text: name.into() },
        4 => Event::Device { task: name.into(), iteration, record: Box::default() },
        5 => Event::Output { task: name.into(), iteration, kind: OutputKind::Stdout, text: name.into() },
        6 => ended(name, outcome),
        _ => Event::Sample { task: name.into(), iteration, values },
    })
}

/// Invariants of every result, whatever the events.
fn is_sound(result: &CellResult) {
    let cell = cell();
    let steps = ["mkfs", "mount", "capacity", "umount", "fsck"];
    let mut seen = BTreeSet::new();
    for Sample { task: id, iteration, metric, value } in &result.samples {
        let task = cell.tasks.iter().find(|task| task.id == *id);
        assert!(task.is_some() || steps.contains(&id.as_str()), "{id}");
        assert!(*iteration < task.map_or(1, |task| task.repeat) && task.is_none_or(|task| task.skip.is_none()));
        assert!(Metric::find(metric).is_some() && value.is_finite() && *value >= 0.0);
        assert!(seen.insert((id, iteration, metric)), "{id} {iteration} {metric} twice");
    }
    let ended: BTreeSet<&str> = result.tasks.iter().map(|ended| ended.task.as_str()).collect();
    assert_eq!(ended.len(), result.tasks.len());
    for TaskOutcome { task: id, outcome } in &result.tasks {
        let repeat = cell.tasks.iter().find(|task| task.id == *id).map_or(1, |task| task.repeat);
        let times: BTreeSet<u32> =
            result.samples.iter().filter(|sample| sample.task == *id).map(|sample| sample.iteration).collect();
        assert!(!outcome.is_ok() || times.len() >= repeat as usize, "{id} was done without figures");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_what_is_kept_is_sound(events in prop::collection::vec(any_event(), 0..40)) {
        let events: Vec<Event> = [hello()].into_iter().chain(events).collect();
        is_sound(&finish(&events));
    }

    #[test]
    fn an_honest_account_with_one_lie_in_it_is_sound_or_not_believed(at in 0..23usize, lie in any_event()) {
        let mut events = honest();
        events.insert(at.min(events.len()), lie.clone());
        let result = finish(&events);
        is_sound(&result);
        let is_between = (1..events.len() - 1).contains(&at);
        let harmless = matches!(lie, Event::Note { .. }) || matches!(lie, Event::Stage { .. }) && is_between;
        prop_assert!(!harmless || result.outcome.is_ok());
        if result.outcome.is_ok() {
            // All honest events are still there.
            let honest = finish(&honest());
            prop_assert!(honest.samples.iter().all(|sample| result.samples.contains(sample)));
            prop_assert!(honest.tasks.iter().all(|ended| result.tasks.contains(ended)));
        }
    }

    #[test]
    fn an_event_that_is_lost_or_comes_twice_is_noticed(at in 0..22usize) {
        let events = honest();
        let mut lost = events.clone();
        let gone = lost.remove(at);
        // These are not known to be missing.
        let unknown = matches!(&gone, Event::Output { .. } | Event::Device { .. })
            || matches!(&gone, Event::Sample { task, .. } if task == "capacity");
        prop_assert_eq!(finish(&lost).outcome.is_ok(), unknown, "{:?}", gone);
        let mut twice = events.clone();
        twice.insert(at, events[at].clone());
        prop_assert!(finish(&twice).outcome.is_failed());
    }
}
