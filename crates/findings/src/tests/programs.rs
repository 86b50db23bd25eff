//! Formats for programs: CSV and JSON; and missing data fails in no format.

use mountmark_document::writers::Options;
use mountmark_model::{Bytes, Metric};
use mountmark_record::{RunId, RunRecord, RunStatus, RunSummary, Sample, TaskOutcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run::show::list::Runs;
use crate::tests::{MANY, STARTED, failed, formats, of, run, sample, written};

#[test]
fn csv_is_quoted_and_complete() {
    let mut run = run(&["ext3:data=journal,noatime"], 1);
    run.plan.suite = "my \"own\"\nsuite".into();
    run.cells[0].samples = vec![sample("001", "elapsed", 0.1 + 0.2), sample("002", "other", 1e300)].into();
    run.cells[0].outcomes[3].outcome = failed("no");
    assert_eq!(
        written(&of(&run, None), "csv", 100),
        "run,suite,scale,lab,machine,disk,cell,configuration,repeat,seed,conditions,task,iteration,outcome,metric,unit,value\n\
         20261121-0345-a1b2,\"my \"\"own\"\"\nsuite\",0.02,virtual,slow,ram,0,\"ext3:data=journal,noatime\",0,7,fixed,001,0,ok,\
         elapsed,s,0.30000000000000004\n\
         20261121-0345-a1b2,\"my \"\"own\"\"\nsuite\",0.02,virtual,slow,ram,0,\"ext3:data=journal,noatime\",0,7,fixed,002,0,\
         failed,other,,1e300\n"
    );
}

#[test]
fn json_holds_everything() {
    let mut run = run(&["ext4", "xfs"], 2);
    run.cells[1].outcome = failed("the guest stopped");
    run.cells[1].notes.push("a \"note\"".into());
    run.cells[2].disk_size = Bytes(u64::MAX);
    run.cells[2].environment.key = "0c4e".into();
    run.plan.skipped = vec![("ntfs".into(), "its driver cannot write".into())];
    let value: Value = serde_json::from_str(&written(&of(&run, None), "json", 100)).unwrap();
    assert_eq!(value["run"], "20261121-0345-a1b2");
    assert_eq!(value["started"], "2026-11-21T03:45:12Z");
    assert_eq!(value["scale"], 0.02);
    assert_eq!(value["environment"]["kernel"], "6.12.57");
    assert_eq!(value["configurations"][2]["skipped"], "its driver cannot write");
    assert_eq!(value["configurations"][0]["mount_options"], json!(["noatime"]));
    assert_eq!(value["cells"].as_array().unwrap().len(), 4);
    assert_eq!(value["cells"][1]["outcome"], "failed");
    assert_eq!(value["cells"][2]["environment"]["key"], "0c4e");
    assert_eq!(value["cells"][1]["reason"], "the guest stopped");
    assert_eq!(value["cells"][1]["notes"][0], "a \"note\"");
    assert_eq!(value["cells"][0]["tasks"][0], json!({"task": "mkfs", "outcome": "ok"}));
    assert_eq!(value["cells"][2]["disk_size"], u64::MAX);
    let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    assert_eq!(value["samples"].as_array().unwrap().len(), samples);
    assert_eq!(
        value["samples"][0],
        json!({"cell": 0, "configuration": "ext4", "repeat": 0, "task": "mkfs", "iteration": 0, "metric": "elapsed",
            "unit": "s", "value": 0.5})
    );
}

/// One run in a list, which varied nothing.
pub(crate) fn summary() -> RunSummary {
    RunSummary {
        id: RunId::new("20261121-0345-a1b2"),
        started: STARTED,
        ended: None,
        status: RunStatus::Interrupted,
        program: "0.1.0".into(),
        command_line: "mountmark run".into(),
        suite: "tiny".into(),
        lab: "virtual".into(),
        machine: "slow".into(),
        kernel: "6.12".into(),
        scale: 0.02,
        vary: None,
        seed: 7,
        repeats: 2,
        configurations: MANY.iter().map(|name| (*name).to_owned()).collect(),
        planned: 36,
        recorded: 4,
        failed: 1,
    }
}

#[test]
fn lists_of_runs_are_tables() {
    let summary = summary();
    for width in [60, 80, 84, 100, 200] {
        let text = written(&Runs(&[summary.clone(), summary.clone()]), "table", width);
        assert!(text.contains("4/36") && text.contains("exfat"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        // Each part names its runs.
        let parts = text.split("\n\n").count();
        assert_eq!(text.matches("20261121-0345-a1b2").count(), 2 * parts, "{width}:\n{text}");
        assert_eq!(parts > 1, width < 90, "{width}:\n{text}");
        if width < 100 {
            continue;
        }
        let head: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(head[..7], ["run", "status", "suite", "scale", "lab", "cells", "failed"]);
        assert_eq!(row[..7], ["20261121-0345-a1b2", "interrupted", "tiny", "0.02", "virtual", "4/36", "1"]);
    }
    assert_eq!(written(&Runs(&[]), "table", 100), "There is no run yet.\n");
    let json: Value = serde_json::from_str(&written(&Runs(std::slice::from_ref(&summary)), "json", 100)).unwrap();
    assert_eq!((&json["runs"][0]["failed"], &json["runs"][0]["suite"]), (&1.into(), &"tiny".into()));
    assert!(
        written(&Runs(&[summary]), "csv", 100)
            .lines()
            .nth(1)
            .unwrap()
            .contains(",tiny,0.02,,virtual,slow,6.12,7,2,36,4,1,\"ext2 ext3 ")
    );
}

/// `cargo test -p mountmark-findings -- --ignored --nocapture speed`
#[test]
#[ignore = "measures"]
fn speed() {
    let mut run = run(&MANY, 10);
    let each = 200_000 / run.cells.len() as u32;
    for cell in &mut run.cells {
        cell.samples.extend((0..each).map(|iteration| Sample {
            iteration: iteration + 1,
            ..sample(if iteration % 2 == 0 { "001" } else { "002" }, "elapsed", 1.0 / f64::from(iteration + 1))
        }));
    }
    for format in formats() {
        let begun = std::time::Instant::now();
        let text = format.write(&of(&run, None), &Options::default()).unwrap();
        println!("{}: {} bytes of 200,000 samples in {:?}", format.name(), text.len(), begun.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn values_survive_json_and_csv(values in prop::collection::vec(
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 1..20)
    ) {
        let mut run = run(&["ext4"], 1);
        run.cells[0].samples = values.iter().map(|value| sample("001", "elapsed", *value)).collect();
        let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        let value: Value = serde_json::from_str(&written(&of(&run, None), "json", 100)).unwrap();
        let back = value["samples"].as_array().unwrap().iter().map(|sample| sample["value"].as_f64().unwrap().to_bits());
        prop_assert_eq!(back.collect::<Vec<_>>(), bits.clone());
        let text = written(&of(&run, None), "csv", 100);
        let back = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap().to_bits());
        prop_assert_eq!(back.collect::<Vec<_>>(), bits);
    }

    #[test]
    fn nothing_panics(
        names in prop::collection::vec(".{0,30}", 0..5),
        titles in prop::collection::vec((".{0,6}", ".{0,60}"), 0..4),
        values in prop::collection::vec((0_usize..9, 0_usize..6, any::<f64>()), 0..30),
        reasons in prop::collection::vec((0_usize..9, 0_usize..6, ".{0,40}"), 0..6),
        width in 0_usize..120,
        terminal in any::<bool>(),
        color in any::<bool>(),
    ) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut run = run(&names, 2);
        run.plan.tasks = titles;
        let task = |run: &RunRecord, at: usize| {
            run.plan.tasks.get(at).map_or("mkfs".to_owned(), |(id, _)| id.clone())
        };
        for (cell, at, value) in values {
            let task = task(&run, at);
            if let Some(cell) = run.cells.get_mut(cell) {
                cell.samples.push(sample(&task, "elapsed", value));
            }
        }
        for (cell, at, reason) in reasons {
            let task = task(&run, at);
            if let Some(cell) = run.cells.get_mut(cell) {
                cell.outcomes.push(TaskOutcome { task, outcome: failed(&reason) });
            }
        }
        let options = Options { width, terminal, color };
        for metric in Metric::ALL.iter().map(Some).chain([None]) {
            for format in formats() {
                prop_assert!(format.write(&of(&run, metric), &options).unwrap().ends_with('\n'));
            }
        }
    }
}
