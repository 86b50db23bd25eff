//! What stands in tables in place of figures: failed, skipped, not run, not measured.

use mountmark_document::writers::Options;
use mountmark_model::{Metric, Outcome};
use mountmark_record::{RunRecord, RunStatus, TaskOutcome};

use crate::tests::{by, failed, formats, of, run, table};

#[test]
fn a_file_system_that_could_not_be_made_is_in_the_table() {
    let mut run = run(&["ext4", "xfs"], 1);
    run.cells[1].outcome = failed("mkfs.xfs ended with 1");
    run.cells[1].samples.clear();
    run.cells[1].outcomes = vec![TaskOutcome { task: "mkfs".into(), outcome: failed("mkfs.xfs ended with 1") }];
    run.plan.skipped = vec![("ntfs".into(), "its driver cannot write".into())];
    let text = table(&run, &Options::default());
    assert!(text.lines().next_back().unwrap().starts_with("ntfs was skipped: its driver cannot write"), "{text}");
    for row in ["mkfs", "mount", "001", "002", "umount"] {
        let line = text.lines().find(|line| line.starts_with(row)).unwrap();
        assert!(line.ends_with("failed[a]"), "{text}");
    }
    // A sum without the failed tasks is not shown.
    let line = text.lines().find(|line| line.starts_with("total")).unwrap();
    assert_eq!(line.split_whitespace().skip(4).collect::<Vec<_>>(), ["210", "-"], "{text}");
}

#[test]
fn neighbours_that_were_skipped_for_one_reason_share_a_line() {
    let mut run = run(&["ext4", "xfs"], 1);
    let skipped = |reason: &str| Outcome::Skipped { reason: reason.into() };
    for (at, reason) in ["too fast", "too fast", "too fast", "no iozone"].into_iter().enumerate() {
        let task = format!("10{at}");
        run.plan.tasks.insert(1 + at, (task.clone(), "seek".into()));
        for cell in &mut run.cells {
            cell.outcomes.push(TaskOutcome { task: task.clone(), outcome: skipped(reason) });
        }
    }
    let rows = |run: &RunRecord| -> Vec<String> {
        let text = table(run, &Options::default());
        text.lines().filter(|line| line.starts_with("10")).map(str::to_owned).collect()
    };
    let found = rows(&run);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("100 to 102, 3 tasks") && found[1].starts_with("103 seek"), "{found:?}");
    assert!(found[0].ends_with("skipped[a]") && found[1].ends_with("skipped[b]"), "{found:?}");
    // One that ended otherwise on one file system has a line of its own.
    run.cells[0].outcomes.iter_mut().filter(|ended| ended.task == "101").for_each(|ended| ended.outcome = failed("no"));
    assert_eq!(rows(&run).len(), 4);
}

#[test]
fn the_time_of_a_failed_task_is_no_figure() {
    let mut run = run(&["ext4", "xfs"], 1);
    run.cells[0].outcomes[2].outcome = failed("touch ended with 1");
    let text = table(&run, &Options::default());
    let line = text.lines().find(|line| line.starts_with("001")).unwrap();
    assert!(line.contains("failed[a]") && line.contains(" 20.0") && !line.contains(" 10.0"), "{text}");
}

#[test]
fn runs_without_cells_have_a_header_and_say_so() {
    let mut run = run(&["ext4", "xfs"], 1);
    run.cells.clear();
    run.status = RunStatus::Interrupted;
    for format in formats() {
        let text = format.write(&of(&run, None), &Options::default()).unwrap();
        assert!(text.ends_with('\n'), "{}", format.name());
    }
    let text = table(&run, &Options::default());
    assert!(text.contains("There is no figure of durable (s) in this run."), "{text}");
    assert!(text.contains("not run: 1 of 1 planned cells of xfs"), "{text}");
    run.plan.cells.clear();
    run.plan.configurations.clear();
    for format in formats() {
        format.write(&of(&run, None), &Options::default()).unwrap();
    }
}

#[test]
fn a_metric_that_was_not_measured_says_so() {
    let text = by(&run(&["ext4"], 1), &Metric::FLUSHES);
    assert!(text.contains("There is no figure of flushes (count) in this run."), "{text}");
}
