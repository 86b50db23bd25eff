use mountmark_model::{Metric, Task};
use mountmark_record::RunRecord;
use serde_json::Value;

use crate::analysis::findings;
use crate::reports::show::Verdicts;
use crate::tests::{run, written};
use crate::{options, registry, tests};

/// Written for a screen wide enough that no sentence is broken.
fn text(run: &RunRecord, baseline: Option<&str>, format: &str) -> String {
    let options = options::Options { baseline: baseline.map(str::to_owned), ..Default::default() };
    written(&Verdicts { run, findings: &findings(run, &options) }, format, 400)
}

#[test]
fn verdicts_have_all_their_parts_in_order() {
    let text = text(&run(&["ext4", "xfs", "jfs"], 3), None, "table");
    let mut rest = text.as_str();
    for part in [
        "Over all 2 tests, ext4 took the least returned time and was the best in every test",
        "Conclusions\n",
        "More conclusions:\n",
        "How far this goes:\n",
        "What was compared\n",
        "baseline  ext4",
        "run     20261121-0345-a1b2",
        "Ranking, tasks (by returned time)\n",
        "times the",
        "Ranking, all tests (by returned time)\n",
        "Test by test\n",
        "- 001 touch 10,000 files: Returned time: ext4 is fastest with 10.1 s; the next is xfs with 20.2 s: 2.00 times that",
        "Against ext4: median ratio, its 95 % interval below; * the best of its row, and what cannot be told from it",
        "\n001           *10.1 s",
        "Making, mounting, unmounting, and room\n",
        "- capacity: Usable space: ",
        "Failed, skipped, doubtful\n",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing, or stands too early, in\n{text}"));
        rest = &rest[at + part.len()..];
    }
    let run = run(&["ext4", "xfs", "jfs"], 3);
    let found = findings(&run, &options::Options::default());
    let narrow = written(&Verdicts { run: &run, findings: &found }, "table", 100);
    assert!(narrow.lines().all(|line| line.chars().count() <= 100), "{narrow}");
}

#[test]
fn ratios_are_against_the_baseline_that_was_asked_for() {
    let run = run(&["ext4", "xfs", "jfs"], 3);
    let text = text(&run, Some("xfs"), "table");
    let table = text.split("Against xfs").nth(1).unwrap();
    let row: Vec<&str> = table.lines().find(|line| line.starts_with("001")).unwrap().split_whitespace().collect();
    assert_eq!(row, ["001", "20.2", "s", "*0.50", "1.50"], "ext4 leads: {table}");
}

#[test]
fn one_repeat_has_order_and_neither_intervals_nor_stars() {
    let text = text(&run(&["ext4", "xfs"], 1), None, "table");
    assert!(text.contains("This run has one repeat."), "{text}");
    assert!(
        text.contains("001 touch 10,000 files: Returned time in this one repeat: ext4 10.0 s, xfs 20.0 s."),
        "{text}"
    );
    assert!(text.contains("Against ext4: ratio; * the best of its row as printed: one repeat"), "{text}");
    assert!(!text.contains("%:"), "{text}");
}

#[test]
fn rates_are_told_with_their_unit() {
    let mut run = run(&["ext4", "xfs"], 3);
    let definition = serde_json::json!([{"id": "001", "title": "create", "program": "fs_mark"}]);
    run.plan.cells[0].tasks = serde_json::from_value::<Vec<Task>>(definition).unwrap().into();
    for cell in &mut run.cells {
        let place = if cell.configuration == "ext4" { 1.0 } else { 2.0 };
        let value = place * (1000.0 + f64::from(cell.repeat));
        cell.samples.push(tests::sample("001", Metric::RATE.id, value));
    }
    let text = text(&run, None, "table");
    let said = "Rate: xfs is fastest with 2,002 ops/s; the next is ext4 with 1,001 ops/s: 0.50 of that";
    assert!(text.contains(&format!("001 touch 10,000 files: {said}")), "{text}");
    assert!(text.contains("(by time or rate)") && text.contains("1,001 ops/s"), "{text}");
}

#[test]
fn every_format_holds_the_findings_and_no_other_is_known() {
    let run = run(&["ext4", "xfs"], 3);
    let json: Value = serde_json::from_str(&text(&run, None, "json")).unwrap();
    assert_eq!(json["configurations"], serde_json::json!(["ext4", "xfs"]));
    assert_eq!(json["overall"]["basis"], "returned time");
    let markdown = text(&run, None, "markdown");
    assert!(markdown.contains("## Conclusions\n") && markdown.contains("| test | ext4 median | xfs |"), "{markdown}");
    let error = registry::Format::find::<Verdicts>(Some("tabel")).err().unwrap().to_string();
    assert!(error.contains("did you mean table?"), "{error}");
}

#[test]
fn a_run_without_figures_says_so() {
    let mut run = run(&["ext4", "xfs"], 2);
    run.cells.clear();
    let text = text(&run, None, "table");
    assert!(
        text.contains("No cell has ended")
            && text.contains("Failed, skipped, doubtful\n")
            && !text.contains("Test by test"),
        "{text}"
    );
    assert!(!text.contains("Ranking") && !text.contains("Against"), "{text}");
}
