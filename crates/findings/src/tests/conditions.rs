//! Figures that depend on conditions, and curves over a varied parameter, in every format.

use mountmark_model::{Vary, VaryPoint};
use mountmark_record::RunSummary;

use super::*;
use crate::analysis::findings;
use crate::changes::find::changes;
use crate::dependence::find::Dependence;
use crate::found::Findings;
use crate::reports::show::Reports;
use crate::run::show::list::Runs;
use crate::tests::programs;
use crate::view::Report;
use crate::{changes, curves, dependence, options, overview, run, verdicts};

/// Task 001 by durable time: xfs has `groups`, ext4 and jfs about 12 and 40 s.
fn grouped(groups: [f64; 5]) -> RunRecord {
    let mut run = run(&["ext4", "xfs", "jfs"], 5);
    run.plan.tasks.truncate(1);
    for cell in &mut run.cells {
        let noise = 1.0 + f64::from(cell.index % 7) / 1000.0;
        let value = [12.0 * noise, groups[cell.repeat as usize], 40.0 * noise][cell.index as usize % 3];
        cell.samples = vec![sample("001", "durable", value)].into();
    }
    run
}

const GROUPS: [f64; 5] = [13.6, 32.4, 13.7, 13.6, 32.6];

fn found(run: &RunRecord) -> Findings {
    findings(run, &options::Options::default())
}

#[test]
fn a_figure_in_groups_is_told_with_them_wherever_verdicts_are() {
    let run = grouped(GROUPS);
    let found = found(&run);
    let task = found.tasks.iter().find(|task| task.id == "001").unwrap();
    let said = verdicts::say::sentence(&found, task.judged().unwrap());
    let groups = "about 13.6 s in 3 of 5 repeats, 32.5 s in 2";
    assert!(said.ends_with(&format!("xfs depends on conditions: {groups}.")), "{said}");
    let reports = [Report::of(&run, &found)];
    let text = |format: &str| written(&Reports::of(&reports), format, 200).replace('\\', "");
    for format in ["table", "markdown", "html", "json", "csv"] {
        // Numbers in CSV have no unit.
        let groups = if format == "csv" { "about 13.6 in 3 of 5 repeats, 32.5 in 2" } else { groups };
        assert!(text(format).contains(groups), "{format}: {}", text(format));
    }
    assert!(text("table").contains("Depends on conditions\n"), "{}", text("table"));
    let json: serde_json::Value = serde_json::from_str(&written(&Reports::of(&reports), "json", 200)).unwrap();
    let tasks = json["mountmark_reports"][0]["findings"]["tasks"].as_array().unwrap_or_else(|| panic!("{json:#}"));
    let task = tasks.iter().find(|task| task["id"] == "001").unwrap_or_else(|| panic!("{json:#}"));
    let metric = &task["metrics"][0];
    let dependence = &metric["estimates"][1]["dependence"];
    assert_eq!((&dependence["kind"], &dependence["groups"][1]["repeats"]), (&"groups".into(), &2.into()), "{metric}");
}

#[test]
fn three_groups_are_told_by_their_number_of_repeats() {
    let group = |value, repeats| dependence::find::Group { value, repeats };
    let groups = Dependence::Groups { groups: vec![group(13.6, 2), group(20.0, 3), group(32.5, 2)] };
    let said = dependence::say::depends(&Metric::DURABLE, &groups);
    assert_eq!(said, "depends on conditions: about 20.0 s in 3 of 7 repeats, 13.6 s in 2, 32.5 s in 2");
}

#[test]
fn one_ratio_is_not_said_of_a_figure_in_groups() {
    let mut run = grouped(GROUPS);
    // Where jfs is out of the way, the next one to ext4 is in groups.
    let all = found(&run);
    let task = all.tasks.iter().find(|task| task.id == "001").unwrap();
    let gap = task.judged().unwrap().verdict.as_ref().unwrap().gap;
    let conclusions = overview::say::sentences(&all).join(" ");
    if let Some(between) = gap.and_then(|gap| gap.between) {
        assert!(between.low < 1.2 && between.high > 2.6, "{between:?}");
    }
    for cell in &mut run.cells {
        let value = [3.0, GROUPS[cell.repeat as usize], 2.0][cell.index as usize % 3] + f64::from(cell.index) / 1e3;
        cell.samples = vec![sample("001", "durable", value)].into();
    }
    let far = found(&run);
    let said = overview::say::sentences(&far).join(" ");
    assert!(said.contains("times that, depending on conditions"), "{said} / {conclusions}");
}

#[test]
fn a_comparison_of_runs_names_the_side_that_depends() {
    let (before, after) = (grouped([13.6; 5]), grouped(GROUPS));
    let found = changes(&before, &after, None, &options::Options::default());
    let change = found.changes.iter().find(|change| change.configuration == "xfs" && change.task == "001").unwrap();
    let said = changes::say::sentence(&found, change);
    assert!(
        said.ends_with("The figure after depends on conditions: about 13.6 s in 3 of 5 repeats, 32.5 s in 2."),
        "{said}"
    );
}

/// Task 001 of two file systems at four points; ext4 falls from the second to the third.
fn varied() -> RunRecord {
    let mut run = run(&["ext4", "xfs"], 3);
    let points = [("256MiB", 256.0), ("384MiB", 384.0), ("512MiB", 512.0), ("768MiB", 768.0)];
    let points = points.map(|(text, value)| VaryPoint { value, text: text.into() }).into();
    let vary = Vary { parameter: "ram".into(), points };
    run.plan.tasks = (0..4).map(|point| (vary.name("001", point), "read a file".into())).collect();
    run.plan.vary = Some(vary);
    let cells = std::mem::take(&mut run.plan.cells);
    run.cells.clear();
    for (point, cell) in (0..4).flat_map(|point| cells.iter().map(move |cell| (point, cell))) {
        let index = run.plan.cells.len() as u32;
        run.plan.cells.push(PlannedCell { index, point: Some(point), ..cell.clone() });
        let cell = run.plan.cells.last().unwrap();
        let mut record = CellRecord::new(cell, &environment());
        let falls = cell.configuration.name == "ext4" && point > 1;
        let value = if falls { 2.0 } else { 10.0 } + f64::from(index % 5) / 100.0;
        record.samples.push(sample(&run.plan.recorded(cell, "001"), "durable", value));
        record.samples.push(sample(&run.plan.recorded(cell, "mkfs"), "elapsed", 0.5));
        run.cells.push(record);
    }
    run
}

#[test]
fn a_cliff_is_told_with_its_place_in_every_format() {
    let run = varied();
    let found = found(&run);
    let reports = [Report::of(&run, &found)];
    let text = |format: &str| written(&Reports::of(&reports), format, 200).replace('\\', "");
    let says = "ext4, 001 (read a file): a cliff between ram=384MiB and ram=512MiB, from 10.0 s to 2.0";
    for format in ["table", "markdown", "html", "json"] {
        assert!(text(format).contains(says), "{format}: {}", text(format));
        assert!(text(format).contains("ram from 256MiB to 768MiB, 4 points") || format == "json", "{format}");
    }
    assert!(text("csv").contains(",001@768MiB,"));
    let page = text("html");
    assert!(page.contains("class=\"band\"") && page.contains("id=\"varied\""), "{page}");
    let table = written(&of(&run, None), "table", 200);
    assert!(table.contains(says) && !table.contains("total of"), "{table}");
    assert!(run::say::again::again(&run).contains(" --vary ram=256MiB..768MiB:4 "), "{}", run::say::again::again(&run));
}

#[test]
fn a_step_is_named_once_for_all_its_points() {
    let mut run = varied();
    for record in &mut run.cells {
        let cell = run.plan.cells[record.index as usize].clone();
        record.samples.push(sample(&run.plan.recorded(&cell, "mkfs"), "durable", 0.6));
    }
    let table = written(&of(&run, None), "table", 200);
    assert!(
        table.contains(
            "mkfs is judged by another figure than this table has of it, and has no best here: returned (s)."
        ),
        "{table}"
    );
}

/// The sentences on cliffs if figures of these cells are missing.
fn said_without(is_missing: fn(&PlannedCell) -> bool) -> Vec<String> {
    let mut run = varied();
    let planned = run.plan.cells.clone();
    run.cells.retain(|cell| !is_missing(&planned[cell.index as usize]));
    let found = found(&run);
    curves::say::cliffs(&found, found.curves.as_ref().unwrap())
}

#[test]
fn too_few_points_are_said_to_be_too_few() {
    let none = "Fewer than three points have figures: too few to look for a cliff.";
    assert_eq!(said_without(|cell| cell.point > Some(1)), [none]);
    assert_eq!(said_without(|_| true), [none]);
    let some = "1 of 2 curves has figures at fewer than three points: too few to look for a cliff.";
    assert_eq!(
        said_without(|cell| cell.point > Some(1) && cell.configuration.name == "ext4"),
        ["No step is far above the trend of its curve and the spread of its repeats.", some]
    );
    let both = said_without(|cell| cell.point > Some(1) && cell.configuration.name == "xfs");
    assert!(both.len() == 2 && both[0].contains("a cliff between") && both[1] == some, "{both:?}");
}

#[test]
fn a_plan_that_varies_nothing_has_no_curves() {
    let run = run(&["ext4", "xfs"], 3);
    let found = found(&run);
    let reports = [Report::of(&run, &found)];
    for format in ["table", "html", "json"] {
        let text = written(&Reports::of(&reports), format, 200);
        assert!(!text.contains("Cliffs over") && !text.contains("Curves over") && !text.contains("\"curves\""));
    }
}

#[test]
fn what_was_varied_is_in_lists_of_runs_and_in_keys() {
    let run = varied();
    let json: serde_json::Value = serde_json::from_str(&written(&of(&run, None), "json", 100)).unwrap();
    assert_eq!((&json["vary"]["parameter"], &json["vary"]["points"][1]["text"]), (&"ram".into(), &"384MiB".into()));
    assert_eq!(json["vary"]["points"].as_array().unwrap().len(), 4);
    let plain = RunSummary { configurations: vec!["ext4".into()], ..programs::summary() };
    let summary = RunSummary { vary: run.plan.vary.clone(), ..plain.clone() };
    let scale = Vary { parameter: Vary::SCALE.into(), ..run.plan.vary.clone().unwrap() };
    let all = [plain.clone(), summary.clone(), RunSummary { vary: Some(scale), ..plain.clone() }];
    let text = written(&Runs(&all), "table", 200);
    let column = |line: usize, at: usize| text.lines().nth(line).unwrap().split_whitespace().nth(at).unwrap();
    let columns = [0, 2, 3, 4].map(|line| (column(line, 3), column(line, 4)));
    let wanted =
        [("scale", "varied"), ("0.02", "-"), ("0.02", "ram=256MiB..768MiB:4"), ("varied", "scale=256MiB..768MiB:4")];
    assert_eq!(columns, wanted, "{text}");
    assert!(written(&Runs(&all), "csv", 100).contains(",tiny,0.02,ram=256MiB..768MiB:4,virtual,slow,"));
    let json: serde_json::Value = serde_json::from_str(&written(&Runs(&all), "json", 100)).unwrap();
    assert_eq!(
        (&json["runs"][0]["vary"], &json["runs"][1]["vary"]["points"][3]["value"]),
        (&json!(null), &json!(768.0))
    );
    for format in ["table", "markdown"] {
        assert!(!written(&Runs(std::slice::from_ref(&plain)), format, 200).contains("varied"), "{format}");
    }
}
