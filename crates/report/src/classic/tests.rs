use mountmark_model::program::TOO_FAST;
use mountmark_model::{Metric, Outcome, Vary, VaryPoint};
use mountmark_record::{CellRecord, RunRecord, Sample, TaskOutcome};
use serde_json::json;

use super::*;

/// A run of two file systems with these tasks (JSON), and no figures yet.
fn run(tasks: &[serde_json::Value], parameters: serde_json::Value) -> RunRecord {
    let mut run = crate::tests::run(&["ext4", "a-very-long-name-indeed"], 1);
    run.plan.suite = "mine".into();
    for cell in &mut run.plan.cells {
        cell.tasks = tasks.iter().map(|task| serde_json::from_value(task.clone()).unwrap()).collect();
        cell.parameters = serde_json::from_value(parameters.clone()).unwrap();
    }
    run.plan.tasks = run.plan.cells[0].tasks.iter().map(|task| (task.id.clone(), task.title.clone())).collect();
    for cell in &mut run.cells {
        cell.samples.clear();
        cell.outcomes.clear();
    }
    run
}

fn put(cell: &mut CellRecord, task: &str, values: &[(Metric, f64)]) {
    for (metric, value) in values {
        let sample = Sample { task: task.into(), iteration: 0, metric: metric.id.into(), value: *value };
        cell.samples.push(sample);
    }
}

fn bonnie() -> RunRecord {
    let whole = json!({"id": "bonnie", "title": "b", "run": "x", "program": "bonnie++"});
    let parts = mountmark_model::program::BONNIE
        .iter()
        .map(|(name, _)| json!({"id": name, "title": name, "part_of": "bonnie"}));
    let tasks: Vec<_> = std::iter::once(whole).chain(parts).collect();
    let mut run = run(&tasks, json!({"FILE_MIB": 256, "FILES_K": 16}));
    for cell in &mut run.cells {
        put(cell, "putc", &[(Metric::RATE, 67760.0), (Metric::CPU_PERCENT, 99.0), (Metric::LATENCY_MAX, 0.070_186)]);
        put(cell, "put_block", &[(Metric::RATE, 105_487.4), (Metric::CPU_PERCENT, 17.6)]);
        put(cell, "seeks", &[(Metric::RATE, 123.44), (Metric::CPU_PERCENT, 6.0), (Metric::LATENCY_MAX, 0.25)]);
        put(cell, "ran_del", &[(Metric::RATE, 9999.0), (Metric::CPU_PERCENT, 20.0)]);
        let reason = format!("{TOO_FAST}.");
        cell.outcomes.push(TaskOutcome { task: "rewrite".into(), outcome: Outcome::Skipped { reason } });
    }
    run
}

#[test]
fn bonnie_looks_as_it_always_did() {
    let report = classic(&bonnie(), "bonnie").unwrap();
    let expected = "\
Version  1.03       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
ext4           256M 67760  99 105487  18 +++++ +++                     123.4   6
a-very-long-na 256M 67760  99 105487  18 +++++ +++                     123.4   6
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
Machine       files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
ext4             16                                                    9999  20
a-very-long-name 16                                                    9999  20
";
    assert_eq!(report, expected, "\n{report}");
}

#[test]
fn bonnie_csv_has_its_fields() {
    let first = |style: &str| classic(&bonnie(), style).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(first("bonnie-csv"), "ext4,256M,67760,99,105487,18,+++++,+++,,,,,123.4,6,16,,,,,,,,,,,9999,20");
    assert_eq!(first("bonnie-csv").split(',').count(), 27);
    let fields: Vec<String> = first("bonnie-2-csv").split(',').map(str::to_owned).collect();
    assert_eq!(fields.len(), 50);
    assert_eq!((fields[0].as_str(), fields[2].as_str(), fields[5].as_str()), ("1.98", "ext4", "256M"));
    assert_eq!((fields[9].as_str(), fields[13].as_str(), fields[21].as_str()), ("67760", "+++++", "16"));
    assert_eq!((fields[36].as_str(), fields[38].as_str(), fields[43].as_str()), ("9999", "70186us", "250ms"));
}

#[test]
fn sizes_are_lines_of_their_own() {
    let task = |id: &str, size: &str| {
        json!({"id": id, "title": id, "workload": {"files": {"size": size},
            "phases": [{"name": "w", "what": "write"}]}})
    };
    let mut run = run(
        &[task("put_block_1g", "$GB_MIB * 1 MiB"), task("put_block_2g", "$GB_MIB * 2 MiB")],
        json!({"GB_MIB": 512}),
    );
    put(&mut run.cells[0], "put_block_2g", &[(Metric::RATE, 5.0)]);
    let csv = classic(&run, "bonnie-csv").unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("ext4,512M,,,,") && lines[1].starts_with("ext4,1G,,,5,,"), "{csv}");
    assert_eq!(lines.len(), 4);
}

#[test]
fn iozone_has_its_table_and_its_six_lines() {
    let task = |id: &str, phase: &str, threads: u32| {
        json!({"id": id, "title": id, "workload": {"files": {"count": threads, "size": "1 MiB"},
            "phases": [{"name": phase, "what": "read", "block": "64 KiB", "threads": threads, "processes": threads > 1}]}})
    };
    let mut run = run(
        &[task("read", "read", 1), task("stride", "stride", 1), task("processes_random_read", "random_read", 2)],
        json!({}),
    );
    put(&mut run.cells[0], "read", &[(Metric::RATE, 6_733_974.0)]);
    put(&mut run.cells[0], "stride", &[(Metric::RATE, 11.6)]);
    let values = [
        (Metric::RATE, 7_622_916.0),
        (Metric::PARENT_RATE, 770_295.35),
        (Metric::PROCESS_RATE_MIN, 3_326_279.0),
        (Metric::PROCESS_RATE_MAX, 4_296_637.0),
        (Metric::PROCESS_RATE_MEAN, 3_811_458.0),
    ];
    put(&mut run.cells[0], "processes_random_read", &values);
    let without = classic(&run, "iozone").unwrap();
    assert!(without.contains("\tAvg throughput per process") && !without.contains("Min xfer"), "{without}");
    put(&mut run.cells[0], "processes_random_read", &[(Metric::PROCESS_BYTES_MIN, 262_144.0)]);
    let report = classic(&run, "iozone").unwrap();
    let row = format!("{:16}{:8}{:18}{:9}{:46}{:10}\n", 1024, 64, "", 6_733_974, "", 12);
    assert!(report.contains(&row), "{row}{report}");
    for line in [
        "\tChildren see throughput for  2 random readers \t= 7622916.00 kB/sec\n",
        "\tParent sees throughput for  2 random readers  \t=  770295.35 kB/sec\n",
        "\tMin xfer \t\t\t\t\t=     256.00 kB\n",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    assert_eq!(report.matches("iozone test complete.").count(), 1, "the other cell has no figures: {report}");
}

#[test]
fn sysbench_has_its_summary() {
    let mut run = run(&[json!({"id": "rndrw", "title": "r", "run": "x", "program": "sysbench"})], json!({}));
    let values = [
        (Metric::RATE, 3072.0),
        (Metric::READ_RATE, 2048.0),
        (Metric::WRITE_RATE, 1024.0),
        (Metric::READ_OPERATIONS, 600.0),
        (Metric::WRITE_OPERATIONS, 400.0),
        (Metric::SYNC_OPERATIONS, 40.0),
        (Metric::OPERATIONS, 1000.0),
        (Metric::MEASURED, 2.0),
        (Metric::LATENCY_MEAN, 0.002),
        (Metric::LATENCY_P95, 0.0047),
    ];
    put(&mut run.cells[0], "rndrw", &values);
    let report = classic(&run, "sysbench").unwrap();
    for line in [
        "Doing random r/w test\n",
        "    reads/s:                      300.00\n",
        "    fsyncs/s:                     20.00\n",
        "    written, MiB/s:               1.00\n",
        "    total time:                          2.0000s\n",
        "    total number of events:              1000\n",
        "         avg:                                    2.00\n",
        "         95th percentile:                        4.70\n",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
}

#[test]
fn what_is_not_there_is_said() {
    let run = crate::tests::run(&["ext4"], 1);
    let text = classic(&run, "bonnie").unwrap_err().to_string();
    assert_eq!(
        text,
        "the suite tiny has no figures of bonnie; suites that have: bonnie, bonnie-real, fsbench-2004, wiki-2007, \
         wiki-2007-loop"
    );
    let text = classic(&run, "bony").unwrap_err().to_string();
    assert!(text.starts_with("there is no style \"bony\"; there are: bonnie (the text report"), "{text}");
}

/// `run` at two points of a parameter, with figures twice as large at the second.
fn varied(mut run: RunRecord, parameter: &str) -> RunRecord {
    let points = [256.0, 512.0].map(|value| VaryPoint { value, text: value.to_string() });
    let vary = Vary { parameter: parameter.into(), points: points.into() };
    let names = |point| run.plan.tasks.iter().map(move |(id, title)| (id, title, point));
    run.plan.tasks = names(0).chain(names(1)).map(|(id, title, point)| (vary.name(id, point), title.clone())).collect();
    let (planned, recorded) = (std::mem::take(&mut run.plan.cells), std::mem::take(&mut run.cells));
    for point in 0..2 {
        for (cell, record) in planned.iter().zip(&recorded) {
            let (mut cell, mut record) = (cell.clone(), record.clone());
            (cell.index, cell.point) = (run.plan.cells.len() as u32, Some(point));
            if let Some(value) = cell.parameters.get_mut(parameter) {
                *value = vary.points[point as usize].value as u64;
            }
            record.index = cell.index;
            for sample in &mut record.samples {
                sample.task = vary.name(&sample.task, point as usize);
                sample.value *= f64::from(point + 1);
            }
            record.outcomes.iter_mut().for_each(|ended| ended.task = vary.name(&ended.task, point as usize));
            run.plan.cells.push(cell);
            run.cells.push(record);
        }
    }
    run.plan.vary = Some(vary);
    run
}

#[test]
fn a_varied_run_has_a_report_for_each_point() {
    let run = varied(bonnie(), "FILE_MIB");
    let csv = classic(&run, "bonnie-csv").unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "ext4@256,256M,67760,99,105487,18,+++++,+++,,,,,123.4,6,16,,,,,,,,,,,9999,20");
    assert!(lines[2].starts_with("ext4@512,512M,135520,198,") && lines.len() == 4, "{csv}");
    let report = classic(&run, "bonnie").unwrap();
    let (first, second) = report.split_once("\nFILE_MIB=512\n\n").unwrap();
    // Where figures are the same, so is the report of a run that varied nothing.
    assert_eq!(first, format!("FILE_MIB=256\n\n{}", classic(&bonnie(), "bonnie").unwrap()));
    assert!(second.contains("\next4           512M 135520 198 "), "{second}");
    assert!(matches!(classic(&run, "iozone"), Err(ClassicError::Nothing { .. })));
}
