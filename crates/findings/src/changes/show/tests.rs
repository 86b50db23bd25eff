use mountmark_record::{RunId, RunRecord};
use serde_json::Value;

use crate::changes::find;
use crate::changes::show::RunBeside;
use crate::options::Options as Analysis;
use crate::tests::{run, written};

/// A run, and one in which xfs takes 1.5 times as long at task 001, ext4 half as long at 002, and mkfs is lost.
fn pair() -> (RunRecord, RunRecord) {
    let before = run(&["ext4", "xfs"], 3);
    let mut after = before.clone();
    after.id = RunId::new("20261122-0345-b2c3");
    after.plan.kernel = "6.18".into();
    for cell in &mut after.cells {
        for (sample, value) in cell.samples.iter_mut() {
            match (cell.configuration.as_str(), sample.task) {
                ("xfs", "001") => *value *= 1.5,
                ("ext4", "002") => *value *= 0.5,
                _ => {}
            }
        }
        cell.samples.retain(|sample| sample.task != "mkfs");
    }
    (before, after)
}

fn text(before: &RunRecord, after: &RunRecord, format: &str) -> String {
    let found = find::changes(before, after, None, &Analysis::default());
    written(&RunBeside(&found), format, 200)
}

#[test]
fn what_became_worse_stands_first_and_what_became_better_last() {
    let (before, after) = pair();
    let text = text(&before, &after, "table");
    assert!(text.contains("before  20261121-0345-a1b2\n") && text.contains("after   20261122-0345-b2c3\n"), "{text}");
    assert!(
        text.contains("Of 12 figures, 1 worse, 1 better, 8 without a difference that matters, 2 lost, 0 new"),
        "{text}"
    );
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is missing in\n{text}"));
    assert!(at("lost") < at("worse: 50 % more"), "{text}");
    assert!(at("worse: 50 % more") < at("better: 50 % less") && !text.contains("none shown"), "{text}");
    let row = text.lines().find(|line| line.contains("worse: 50 % more")).unwrap();
    assert!(row.contains("xfs") && row.contains("20.2 s") && row.contains("30.3 s") && row.contains("1.50"), "{row}");
}

#[test]
fn what_differs_between_the_runs_is_told() {
    let (before, mut after) = pair();
    after.environment.kernel = "6.18.1".into();
    for cell in &mut after.cells {
        cell.environment.kernel = "6.18.1".into();
    }
    let text = text(&before, &after, "table");
    assert!(text.contains("- kernel: 6.12.57 before, 6.18.1 after"), "{text}");
    assert!(self::text(&before, &before, "table").contains("Nothing but their names."));
}

#[test]
fn every_format_holds_every_change() {
    let (before, after) = pair();
    let json: Value = serde_json::from_str(&text(&before, &after, "json")).unwrap();
    assert_eq!(json["changes"].as_array().unwrap().len(), 12);
    let worse = json["changes"].as_array().unwrap().iter().find(|change| change["outcome"] == "regression").unwrap();
    assert_eq!((worse["metric"].as_str(), worse["configuration"].as_str()), (Some("elapsed"), Some("xfs")));
    assert!((worse["worse"].as_f64().unwrap() - 0.5).abs() < 1e-9);

    let csv = text(&before, &after, "csv");
    assert_eq!(csv.lines().count(), 13);
    let line = csv.lines().find(|line| line.contains(",xfs,001,")).unwrap();
    assert!(line.starts_with("20261121-0345-a1b2,20261122-0345-b2c3,xfs,001,elapsed,s,3,20.2,3,30."), "{line}");
    assert!(line.ends_with(",regression") && line.contains(",1.5"), "{line}");
    assert!(csv.lines().any(|line| line.ends_with(",,,,,lost")), "a figure that is lost has no ratio: {csv}");

    let markdown = text(&before, &after, "markdown");
    assert!(
        markdown.contains("| file system | test | metric |") && markdown.contains("worse: 50 % more"),
        "{markdown}"
    );
}

#[test]
fn every_part_of_a_narrow_table_says_what_its_rows_are_about() {
    let (before, after) = pair();
    let found = find::changes(&before, &after, None, &Analysis::default());
    let text = written(&RunBeside(&found), "table", 80);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("worse: 50 % more")).collect();
    assert!(rows.len() > 1, "the table is too wide for one part: {text}");
    assert!(rows.iter().all(|row| row.contains("xfs") && row.contains("001") && row.contains("eturned")), "{text}");
}
