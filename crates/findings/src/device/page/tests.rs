use mountmark_model::device::{Field, IoMap, ROWS, SLICES, Slice};
use mountmark_model::workload::{Engine, Latency, Operation, OperationResult, PhaseResult, Series, SeriesPoint};
use mountmark_model::{DeviceRecord, WorkloadResult};
use mountmark_record::{DeviceUse, Output, OutputKind, RunRecord};

use crate::tests::page::{check, findings, of, report, whole};
use crate::view::Report;

/// A record with a field in each place for which `used` is true.
fn record(scale: u64, used: impl Fn(usize, usize) -> bool) -> DeviceRecord {
    let slice = Slice {
        count: [3, 5, 0, 1],
        bytes: [12 << 10, 80 << 10, 0, 0],
        wait: [3_000_000, 5_000_000, 0, 9_000_000],
        queued: 17_000_000,
        busy: 10_000_000,
    };
    let places = (0..SLICES).flat_map(|column| (0..ROWS).map(move |row| (column, row)));
    let fields = places.filter(|(column, row)| used(*column, *row)).map(|(column, row)| {
        let noise = (column * 7 + row * 13) as u32 % 5;
        Field { column: column as u32, row: row as u32, read: noise % 2, written: noise * 8 }
    });
    DeviceRecord {
        size: 1 << 30,
        returned: 60 * scale,
        durable: 70 * scale,
        settled: 120 * scale,
        slice: scale,
        slices: vec![slice; SLICES],
        map: Some(IoMap { row_bytes: 11 << 20, fields: fields.collect() }),
        ..DeviceRecord::default()
    }
}

fn uses(run: &RunRecord, tasks: &[&str], record: &DeviceRecord) -> Vec<DeviceUse> {
    let cells = run.cells.iter().filter(|cell| cell.repeat == 0);
    let uses = cells.flat_map(|cell| {
        tasks.iter().map(|task| DeviceUse {
            cell: cell.index,
            task: (*task).to_owned(),
            iteration: 0,
            record: record.clone(),
        })
    });
    uses.collect()
}

#[test]
fn maps_have_words_and_share_an_axis() {
    let run = whole(&["ext4", "xfs", "jfs"], 2);
    let found = findings(&run);
    let mut devices = uses(&run, &["001", "mkfs"], &record(1 << 20, |column, row| column == row));
    // One takes twice as long, one has no activity, and one has counts only.
    devices[2].record = record(1 << 21, |column, _| column < 3);
    devices[4].record = DeviceRecord { map: Some(IoMap::default()), settled: 5, slice: 1 << 20, ..Default::default() };
    devices[5].record = DeviceRecord { lacking: Some("No <queue>.".into()), map: None, ..devices[5].record.clone() };
    devices.extend(uses(&run, &["002"], &DeviceRecord { map: Some(IoMap::default()), ..Default::default() }));
    let text = of(&[Report { devices: &devices, ..report(&run, &found) }]);
    check(&text);
    let section = text.split("id=\"device\"").nth(1).unwrap().split("<h2").next().unwrap();
    assert_eq!(section.matches("<img ").count(), 4);
    let words = "alt=\"ext4: 1.41 MiB read in 360 requests, 9.38 MiB written in 600 requests, 120 flushes";
    assert!(section.contains(words), "{section}");
    assert!(section.contains("style=\"width:50.00%\"") && section.contains("style=\"width:100.00%\""));
    assert!(section.contains("nothing read or written") && section.contains("No &lt;queue&gt;."));
    let idle = section.split("No file system read or wrote anything in: ").nth(1).unwrap();
    assert!(idle.contains("copy a tree") && !idle.contains("touch"), "{idle}");
    assert!(!of(&[report(&run, &found)]).contains("id=\"device\""));
}

/// Total size of the pictures in a page, in bytes.
fn pictures(text: &str) -> usize {
    text.split(";base64,").skip(1).filter_map(|rest| rest.find('"')).sum()
}

/// 21 tests on seven file systems, with maps as dense as those of small-file jobs.
#[test]
fn many_maps_fit_a_page() {
    let names = ["ext2", "ext3", "ext4", "jfs", "reiserfs", "xfs", "btrfs"];
    let mut run = whole(&names, 1);
    run.plan.tasks = (1..=21).map(|number| (format!("{number:03}"), format!("the test {number}"))).collect();
    let tasks: Vec<String> = run.plan.tasks.iter().map(|(id, _)| id.clone()).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let found = findings(&run);
    let devices = uses(&run, &tasks, &record(1 << 20, |column, row| (column * 31 + row * row) % 6 == 0));
    let text = of(&[Report { devices: &devices, ..report(&run, &found) }]);
    println!("147 maps: a page of {} bytes, {} of them pictures", text.len(), pictures(&text));
    assert_eq!(text.matches("<img ").count(), 147);
    assert!(text.len() < 3_000_000, "{} bytes", text.len());
}

fn result(scale: u64, bytes: u64) -> String {
    let histogram: Vec<(u64, u64)> = (0..20).map(|step| (scale << step, 1 << (20 - step))).collect();
    let count = histogram.iter().map(|(_, count)| count).sum();
    let latency =
        Latency { count, min: scale, p50: scale, p99: 64 * scale, max: scale << 19, histogram, ..Latency::default() };
    let operation =
        OperationResult { operation: Operation::Write, count, bytes, errors: 0, seconds: 2.0, latency: Some(latency) };
    let points = (0..200).map(|at| SeriesPoint { operations: 10 + at % 3, bytes, mean: 5.0, max: 9 }).collect();
    let phase = PhaseResult {
        name: "random writes".into(),
        setup: false,
        engine: Engine::Psync,
        seconds: 2.0,
        user_seconds: 0.1,
        system_seconds: 0.1,
        operations: vec![operation],
        threads: Vec::new(),
        series: Series { step: 0.01, points },
        verified_bytes: 0,
        errors: Vec::new(),
        notes: Vec::new(),
    };
    let setup = PhaseResult { name: "setup".into(), setup: true, ..phase.clone() };
    serde_json::to_string(&WorkloadResult { phases: vec![setup, phase], clock: "tsc".into() }).unwrap()
}

#[test]
fn latencies_are_drawn_and_written() {
    let run = whole(&["ext4", "xfs"], 1);
    let found = findings(&run);
    let output =
        |cell: u32, text: String| Output { cell, task: "001".into(), iteration: 0, kind: OutputKind::Result, text };
    let mut results = vec![output(0, result(1000, 1 << 20)), output(1, result(3000, 1 << 19))];
    let text = of(&[Report { results: &results, ..report(&run, &found) }]);
    check(&text);
    let section = text.split("id=\"latency\"").nth(1).unwrap().split("<h2").next().unwrap();
    assert_eq!(section.matches("class=\"frame\"").count(), 2, "shares and time, of the phase that counts");
    assert_eq!(section.matches("<path class=\"stroke0 dash0\"").count(), 3 + 1, "two curves, and their keys");
    for words in
        ["random writes", "99.99 %", "1 µs", "524 ms", "MiB/s over time", "xfs 50.0 to 50.0", "ext4 100 to 100"]
    {
        assert!(section.contains(words), "{words:?} is missing in {section}");
    }
    results[1].text.truncate(40);
    let text = of(&[Report { results: &results, ..report(&run, &found) }]);
    assert!(text.contains("1 document of the engine cannot be read"));
}
