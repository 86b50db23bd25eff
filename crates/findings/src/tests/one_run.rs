//! All formats show the same number for a figure.

use mountmark_document::writers::Options;
use mountmark_model::Lab;
use mountmark_record::Timestamp;
use serde_json::Value;

use crate::analysis::findings;
use crate::options::Options as Analysis;
use crate::reports::show::Reports;
use crate::reports::show::Verdicts;
use crate::tests::{of, run, sample, table, written};
use crate::view::Report;

/// Mean and median of the repeats differ, so that no format can show one for the other.
#[test]
fn every_format_shows_the_same_statistic_of_a_figure() {
    let mut run = run(&["ext4", "xfs"], 5);
    for cell in &mut run.cells {
        let far = if cell.repeat == 4 { 3.0 } else { 1.0 };
        cell.samples.iter_mut().filter(|(one, _)| one.metric == "elapsed").for_each(|(_, value)| *value *= far);
    }
    let found = findings(&run, &Analysis::default());
    let task = found.tasks.iter().find(|task| task.id == "001").unwrap();
    let summary = &task.shown().unwrap().estimates[1].as_ref().unwrap().summary;
    let (median, mean) = (summary.median, summary.mean);
    assert_eq!((format!("{median:.1}").as_str(), format!("{mean:.1}").as_str()), ("20.4", "28.7"));
    let reports = [Report::of(&run, &found)];
    let reports = Reports::of(&reports);
    let row = |text: &str| {
        let line =
            text.lines().find(|line| line.contains("001") && line.contains("10,000 files") && line.contains("20.4"));
        line.unwrap_or_else(|| panic!("no row of 001 with 20.4 in\n{text}")).to_owned()
    };
    for text in [
        written(&of(&run, None), "table", 100),
        written(&of(&run, None), "markdown", 100),
        written(&Verdicts { run: &run, findings: &found }, "table", 1000),
        written(&Verdicts { run: &run, findings: &found }, "markdown", 100),
        written(&reports, "table", 1000),
        written(&reports, "markdown", 100),
    ] {
        assert!(!row(&text).contains("28.7"), "{text}");
    }
    let page = written(&reports, "html", 100);
    let matrix = page.split("matrix-table").nth(1).unwrap().split("</table>").next().unwrap();
    let cells = matrix.split("touch 10,000 files").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(cells.contains(">20.4<") && !page.contains("28.7 s"), "{cells}");
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let table = data[0]["tables"].as_array().unwrap().iter().find(|table| table["id"] == "elapsed").unwrap();
    let at = found.tasks.iter().position(|task| task.id == "001").unwrap();
    let row = table["rows"].as_array().unwrap().iter().find(|row| row[0] == at).unwrap();
    assert_eq!((&row[2][1], &row[5][1]), (&"20.4".into(), &3.into()));
    assert!(written(&reports, "svg", 100).contains(">20.4<"));
    let line =
        written(&reports, "csv", 100).lines().find(|line| line.contains(",xfs,001,elapsed,")).unwrap().to_owned();
    assert!(
        line.contains(&format!(",s,{median},exact,\"median of 5; mean {mean};"))
            || line.contains(&format!(",s,{median},exact,median of 5; mean {mean};")),
        "{line}"
    );
    let json: Value = serde_json::from_str(&written(&reports, "json", 100)).unwrap();
    let tasks = json["mountmark_reports"][0]["findings"]["tasks"].as_array().unwrap();
    let task = tasks.iter().find(|task| task["id"] == "001").unwrap();
    assert_eq!(task["judged_by"], "elapsed");
    assert_eq!(task["metrics"][0]["estimates"][1]["summary"]["median"].as_f64(), Some(median));
    // The sums match the rows above them.
    let total = found.total(task_metric(), |_| true).sums[1].unwrap();
    assert_eq!(Some(total), found.overall.composite[1]);
    let text = format!("{total:.0}");
    assert!(
        written(&of(&run, None), "table", 100).lines().any(|line| line.starts_with("total") && line.contains(&text))
    );
    assert!(page.contains(&format!("<td>{text} s</td>")) || page.contains(&format!("{text} s")), "{text}");
}

fn task_metric() -> &'static mountmark_model::Metric {
    &mountmark_model::Metric::ELAPSED
}

/// The figures of `run` already grow by 1 % with each repeat.
#[test]
fn a_drift_is_told_with_its_size_and_under_wall_time_alone() {
    let mut run = run(&["ext4", "xfs"], 12);
    for (at, cell) in run.cells.iter_mut().enumerate() {
        (cell.started, cell.ended) = (Timestamp(at as i64 * 1000), Timestamp(at as i64 * 1000 + 900));
    }
    for (lab, is_told) in [(Lab::Host, true), (Lab::Virtual, false)] {
        run.plan.lab = lab;
        let found = findings(&run, &Analysis::default());
        let text = written(&Verdicts { run: &run, findings: &found }, "table", 1000);
        assert_eq!(text.contains("Figures changed while the run went on"), is_told, "{text}");
        assert_eq!(text.contains("001 by 11 % (worse)"), is_told, "{text}");
    }
}

/// Where a task syncs, what that takes stands before the rate, which does not tell whether it includes a sync.
#[test]
fn syncs_are_shown_first() {
    let mut synced = run(&["ext4", "xfs"], 2);
    for cell in &mut synced.cells {
        cell.samples.push(sample("001", "rate", 500.0));
        cell.samples.push(sample("001", "latency_p99", 15e-6));
        cell.samples.push(sample("001", "sync_latency_mean", 2.4e-3));
    }
    for format in ["table", "markdown"] {
        let text = written(&of(&synced, None), format, 100);
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in {text}"));
        assert!(place("mean sync") < place("(rate") && !text.contains("latency p99"), "{text}");
    }
    let plain = table(&run(&["ext4", "xfs"], 2), &Options { width: 100, ..Options::default() });
    assert!(!plain.contains("mean sync"), "{plain}");
}
