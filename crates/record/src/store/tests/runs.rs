//! Runs of processes that are alive, gone, or elsewhere; and their end.

use mountmark_model::{Vary, VaryPoint};

use super::*;

/// Assigns the run to a process that is gone.
fn orphan(store: &Store, run: &RunId) {
    store.execute("UPDATE run SET process = ?2 WHERE id = ?1", params![run.as_str(), json(&Process::dead())]).unwrap();
    store.locks.give_back(store.run_number(run).unwrap());
}

#[test]
fn a_run_whose_process_is_gone_was_interrupted() {
    let (_folder, _, store) = store();
    let run = begin(&store);
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Running);
    assert!(matches!(store.delete_run(&run, false), Err(StoreError::StillRunning { .. })));
    assert!(matches!(store.resume_run(&run, false), Err(StoreError::StillRunning { .. })));
    orphan(&store, &run);
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Interrupted);
    assert_eq!(store.load(&run).unwrap().status, RunStatus::Interrupted);
    store.resume_run(&run, false).unwrap();
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Running);
}

#[test]
fn a_run_is_resumed_with_the_cells_that_it_has_by_then() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    store.record_cell(&run, &cell(2, 1)).unwrap();
    orphan(&store, &run);
    let other = Store::open(&path).unwrap();
    assert_eq!(other.resume_run(&run, false).unwrap(), BTreeSet::from([2]));
    other.record_cell(&run, &cell(0, 1)).unwrap();
    other.end_run(&run, RunStatus::Interrupted).unwrap();
    assert_eq!(store.resume_run(&run, false).unwrap(), BTreeSet::from([0, 2]));
}

#[test]
fn a_run_on_a_machine_that_is_gone_is_taken_over_by_force_and_its_first_process_adds_nothing() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let elsewhere = Process::elsewhere();
    let assign = |process: &Process| {
        let values = params![run.as_str(), json(process)];
        store.execute("UPDATE run SET process = ?2 WHERE id = ?1", values).unwrap();
    };
    assign(&elsewhere);
    store.locks.give_back(store.run_number(&run).unwrap());
    let text = store.resume_run(&run, false).unwrap_err().to_string();
    assert!(text.contains("machine far-away") && text.contains("--force"), "{text}");
    // To the original process the run belongs to another.
    assert!(matches!(store.record_cell(&run, &cell(0, 1)), Err(StoreError::TakenOver { .. })));
    assert!(matches!(store.end_run(&run, RunStatus::Failed), Err(StoreError::TakenOver { .. })));
    assert_eq!(recorded(&store, &run), [] as [u32; 0]);
    Store::open(&path).unwrap().resume_run(&run, true).unwrap();
    store.record_cell(&run, &cell(0, 1)).unwrap();
    assert_eq!(recorded(&store, &run), [0]);
}

#[test]
fn a_run_in_another_container_is_known_by_its_lock() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let contained = Process::contained().with_lock(true);
    let values = params![run.as_str(), json(&contained)];
    store.execute("UPDATE run SET process = ?2 WHERE id = ?1", values).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    let status = || (reader.load(&run).unwrap().status, reader.runs().unwrap()[0].status);
    assert_eq!(status(), (RunStatus::Running, RunStatus::Running));
    assert!(matches!(store.delete_run(&run, false), Err(StoreError::StillRunning { .. })));
    // The kernel does the same when the process ends.
    store.locks.give_back(store.run_number(&run).unwrap());
    assert_eq!(status(), (RunStatus::Interrupted, RunStatus::Interrupted));
    store.delete_run(&run, false).unwrap();
}

#[test]
fn failures_of_cells_and_tasks_are_counted_and_deleting_takes_all() {
    let (_folder, _, store) = store();
    let (run, other) = (begin(&store), begin(&store));
    let failed = Outcome::Failed { reason: "mkfs ended with 1".into(), detail: String::new() };
    let mut cells = [cell(0, 1), cell(1, 1), cell(2, 1)];
    cells[0].outcome = failed.clone();
    cells[1].outcomes.push(TaskOutcome { task: "fsck".into(), outcome: failed });
    for cell in &cells {
        store.record_cell(&run, cell).unwrap();
    }
    store.record_cell(&other, &cells[2]).unwrap();
    assert_eq!(store.runs().unwrap()[0].failed, 2);
    store.end_run(&run, RunStatus::Failed).unwrap();
    store.delete_run(&run, false).unwrap();
    assert_eq!(store.runs().unwrap().len(), 1);
    for table in ["cell", "task_outcome", "sample", "note"] {
        assert_eq!(store.number(&format!("SELECT count(*) FROM {table}")).unwrap(), 1, "{table}");
    }
}

#[test]
fn a_list_of_runs_has_what_they_varied() {
    let (_folder, _, store) = store();
    let points = [1.0, 2.5].map(|value| VaryPoint { value, text: value.to_string() });
    let vary = Some(Vary { parameter: "scale".into(), points: points.into() });
    let run = begin(&store);
    let mut varied = plan();
    varied.vary = vary.clone();
    let varied = store.begin_run(&varied, &environment(), "mountmark run").unwrap();
    // A text that looks like the field is none.
    let mut named = plan();
    named.suite_about = "\"vary\":{}".into();
    let named = store.begin_run(&named, &environment(), "mountmark run").unwrap();
    let found = |run: &RunId| store.runs().unwrap().into_iter().find(|known| known.id == *run).unwrap().vary;
    assert_eq!((found(&run), found(&varied), found(&named)), (None, vary.clone(), None));
    for (plan, wanted) in [("{\"vary\":", true), ("{\"vary\":null}", true), ("{\"vary\":7}", false)] {
        store.execute("UPDATE run SET plan = ?2 WHERE id = ?1", params![run.as_str(), plan]).unwrap();
        assert_eq!(store.runs().is_ok(), wanted, "{plan}");
    }
}
