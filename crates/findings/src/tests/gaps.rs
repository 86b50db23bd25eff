//! What a reader is told where figures are 0, lacking or far apart: the same in every format.

use mountmark_model::protocol_task;
use mountmark_record::RunRecord;

use crate::analysis::findings;
use crate::found::Findings;
use crate::options::Options;
use crate::overview;
use crate::reports::show::{Reports, Verdicts};
use crate::tests::{of, page, run, sample, written};

fn found(run: &RunRecord) -> Findings {
    findings(run, &Options::default())
}

fn verdicts(run: &RunRecord) -> String {
    written(&Verdicts { run, findings: &found(run) }, "table", 400)
}

fn drawn(run: &RunRecord, format: &str) -> String {
    let found = found(run);
    written(&Reports::of(&[page::report(run, &found)]), format, 400)
}

/// ext4 loses no file, xfs five and jfs twenty.
#[test]
fn nobody_has_the_least_beside_a_0() {
    let mut run = run(&["ext4", "xfs", "jfs"], 2);
    for cell in &mut run.cells {
        cell.samples.push(sample("001", "lost", [0.0, 5.0, 20.0][cell.index as usize % 3]));
    }
    let text = verdicts(&run);
    assert!(text.contains("Files lost: ext4 0, xfs 5, jfs 20 (not judged: a figure of 0 has no ratio)."), "{text}");
    assert!(text.contains("Of 2 tests, ext4 is the best in 1 and 1 is not judged."), "{text}");
    assert!(text.contains("Over 1 of 2 tests (not ranked: 001), ext4 took the least returned time "), "{text}");
    let means = found(&run).overall.geometric_mean;
    assert!((means[2].unwrap() - 3.0).abs() < 1e-9, "of the test that is ranked: {means:?}");
    let text = drawn(&run, "markdown");
    assert!(text.contains("mean ratio over 1 of 2 tests"), "{text}");
}

/// xfs lacks one test and jfs the other.
#[test]
fn why_there_is_no_order_is_the_answer_and_one_alone_has_no_place() {
    let mut run = page::whole(&["ext4", "xfs", "jfs"], 2);
    for (name, task) in [("xfs", "001"), ("jfs", "002")] {
        let cells = run.cells.iter_mut().filter(|cell| cell.configuration == name);
        cells.for_each(|cell| cell.samples.retain(|sample| sample.task != task));
    }
    let why = "Only ext4 has figures of all 2 tests (xfs lacks 001 and jfs lacks 002), so there is no order over all.";
    let kind = "Tasks: only ext4 has figures of all tests. Not ranked, because figures are missing: xfs and jfs.";
    for format in ["table", "markdown", "html", "json"] {
        let text = drawn(&run, format);
        assert!(text.contains(why), "{format}: {text}");
        assert!(text.contains(kind) || format == "json", "{format}: {text}");
        assert!(!text.contains("<strong>overall</strong>") && !text.contains("<strong>tasks</strong>"), "{text}");
        let sums = "Sums over the tests: until returned, then durable, then settled; no sum where a test has no figure";
        assert!(text.contains(sums) || format == "json", "{format}: {text}");
    }
    let html = drawn(&run, "html");
    let sums = html.split("Sum of the returned times of").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(!sums.contains("★"), "of one sum: {sums}");
    assert!(drawn(&run, "svg").contains("; * without those that have no figure"));
}

#[test]
fn a_test_without_any_figure_is_counted() {
    let mut run = run(&["ext4", "xfs"], 2);
    run.plan.tasks.push(("003".into(), "sync".into()));
    let text = verdicts(&run);
    assert!(text.contains("Over 2 of 3 tests (no figure: 003), ext4 took the least returned time "), "{text}");
    assert!(text.contains("Of 3 tests, ext4 is fastest in 2 and 1 is not judged."), "{text}");
    assert!(written(&of(&run, None), "table", 100).contains("total of 2 of 3 tasks"));
    let html = drawn(&run, "html");
    let total = html.split("total of 2 of 3 tests</th>").nth(1).unwrap();
    assert!(total.starts_with("<td class=\"best\">"), "{}", &total[..200]);
}

#[test]
fn a_step_that_is_judged_by_another_figure_has_no_star() {
    let run = page::whole(&["ext4", "xfs"], 2);
    let table = written(&of(&run, None), "table", 100);
    let line = |id: &str| table.lines().find(|line| line.starts_with(id)).unwrap();
    assert!(line("001").contains('*') && !line(protocol_task::UMOUNT).contains('*'), "{table}");
    let html = drawn(&run, "html");
    let row = html.split("<th scope=\"row\">umount</th>").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(!row.contains("class="), "neither star nor heat: {row}");
}

/// The figures of xfs spread so far that they cannot be told from those of ext4.
#[test]
fn what_is_far_from_the_best_does_not_share_its_place() {
    let mut run = run(&["ext4", "xfs", "jfs"], 5);
    for cell in &mut run.cells {
        let value = [1.0, [0.9, 2.5, 1.2, 3.0, 1.4][cell.repeat as usize], 400.0][cell.index as usize % 3];
        cell.samples.push(sample("001", "durable", value));
    }
    let text = verdicts(&run);
    let said = "ext4 (1.00 s) has the best median; that xfs (1.40 s, 1.40 times that) is slower is not shown; ";
    assert!(text.contains(said), "{text}");
    let all = overview::say::sentences(&found(&run)).join(" ");
    assert!(all.contains("1 and several come first, in no order that is shown, in 1."), "{all}");
}

#[test]
fn a_page_names_figures_of_a_part_of_the_repeats() {
    let mut run = run(&["ext4", "xfs"], 2);
    run.cells[0].samples.retain(|sample| sample.task != "001");
    let html = drawn(&run, "html");
    assert!(html.contains("Of a part of the repeats: 001 on ext4 (1 of 2)."), "{html}");
    run.cells.truncate(2);
    assert!(drawn(&run, "svg").contains("best, as printed"), "one repeat was measured of two that were planned");
}
