//! Data stored beside figures: outputs and device records.

use super::*;

#[test]
fn outputs_come_back_for_all_tasks_or_one_and_go_with_their_run() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let output = |cell: u32, task: &str, kind: OutputKind| Output {
        cell,
        task: task.into(),
        iteration: 0,
        kind,
        text: format!("{task}\n\u{0}{cell}"),
    };
    let (a, b, c) =
        (output(1, "a", OutputKind::Stdout), output(1, "b", OutputKind::Stderr), output(0, "a", OutputKind::Result));
    store.record_cell_with(&run, &cell(1, 2), &[a.clone(), b.clone()], &[], None).unwrap();
    store.record_cell_with(&run, &cell(0, 2), std::slice::from_ref(&c), &[], None).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.outputs(&run, None).unwrap(), [c.clone(), a.clone(), b]);
    assert_eq!(reader.outputs(&run, Some("a")).unwrap(), [c.clone(), a]);
    assert_eq!((reader.results(&run, 0).unwrap(), reader.results(&run, 1).unwrap()), (vec![c], vec![]));
    assert!(reader.outputs(&run, Some("x")).unwrap().is_empty());
    let text = "SELECT count(*) FROM output WHERE kind IN ('stdout', 'stderr', 'result')";
    assert_eq!(store.number(text).unwrap(), 3);
    store.batch("UPDATE output SET kind = 'x'").unwrap();
    let error = reader.outputs(&run, None).unwrap_err().to_string();
    assert!(error.contains("\"x\" is not a kind of output"), "{error}");
    store.end_run(&run, RunStatus::Done).unwrap();
    store.delete_run(&run, false).unwrap();
    assert_eq!(store.number("SELECT count(*) FROM output").unwrap(), 0);
}

#[test]
fn what_devices_saw_comes_back_for_all_one_task_or_one_repeat() {
    let (_folder, path, store) = store();
    let run = begin(&store);
    let device = |cell: u32, task: &str| DeviceUse {
        cell,
        task: task.into(),
        iteration: 0,
        record: DeviceRecord { size: 1 << 30, settled: u64::from(cell) + 5, ..DeviceRecord::default() },
    };
    let (a, b, c) = (device(1, "a"), device(1, "b"), device(0, "a"));
    store.record_cell_with(&run, &cell(1, 2), &[], &[a.clone(), b.clone()], None).unwrap();
    store.record_cell_with(&run, &cell(0, 2), &[], std::slice::from_ref(&c), None).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    let devices = |task: Option<&str>, repeat| {
        reader.devices(&run, &DeviceUses { task: task.map(str::to_owned), repeat }).unwrap()
    };
    assert_eq!(devices(None, None), [c.clone(), a.clone(), b.clone()]);
    assert_eq!(devices(Some("a"), None), [c.clone(), a.clone()]);
    assert_eq!((devices(None, Some(1)), devices(Some("b"), Some(0))), (vec![a, b], vec![]));
    store.batch("UPDATE device SET record = x'00'").unwrap();
    let error = reader.devices(&run, &DeviceUses::default()).unwrap_err().to_string();
    assert!(error.contains("record of a device"), "{error}");
    store.end_run(&run, RunStatus::Done).unwrap();
    store.delete_run(&run, false).unwrap();
    assert_eq!(store.number("SELECT count(*) FROM device").unwrap(), 0);
}
