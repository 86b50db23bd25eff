//! The built-in studies: their figures are complete, their claims name existing things, and a study agrees with itself.

mod support;

use mountmark_findings::Format;
use mountmark_findings::studies::{StudyBeside, compare_study};
use mountmark_model::{Clause, Metric, Study, Suite, Test, protocol_task};
use mountmark_plan::Catalogue;

use support::studies::{catalogue, reprinted};

#[test]
fn all_published_figures_are_there() {
    let catalogue = catalogue();
    let counts: Vec<(&str, usize, usize)> =
        catalogue.list::<Study>().map(|study| (study.name.as_str(), study.figures.len(), study.claims.len())).collect();
    let expected = [
        ("hans-2006", 147, 28),
        ("journaling-2010", 7, 25),
        ("linux-magazin-2004", 10, 37),
        ("piszcz-2006", 520, 25),
        ("wiki-2007", 204, 6),
    ];
    assert_eq!(counts, expected);
    // Both tables of Piszcz, each of times and processor shares, are complete.
    let piszcz = catalogue.get::<Study>("piszcz-2006").unwrap();
    for run in &piszcz.runs {
        for (fs, task) in run.filesystems.iter().flat_map(|fs| (1..=21).map(move |task| (fs, format!("{task:03}")))) {
            for metric in ["elapsed", "cpu_percent"] {
                let found = piszcz.figures.iter().filter(|figure| {
                    figure.run == run.id && figure.fs == *fs && figure.task == task && figure.metric == metric
                });
                assert_eq!(found.count(), 1, "{} {fs} {task} {metric}", run.id);
            }
        }
    }
    let total = |fs: &str| -> f64 {
        let figures =
            piszcz.figures.iter().filter(|f| f.run == "2" && f.fs == fs && f.metric == "elapsed" && f.task != "mkfs");
        figures.filter_map(|figure| figure.point()).sum()
    };
    for (fs, seconds) in [("jfs", 288.56), ("xfs", 358.31), ("ext3", 359.29), ("ext2", 359.81), ("reiser4", 454.11)] {
        assert!((total(fs) - seconds).abs() < 1e-6, "{fs} {}", total(fs));
    }
}

#[test]
fn claims_name_what_exists() {
    let catalogue = catalogue();
    let mut ids = Vec::new();
    for study in catalogue.list::<Study>() {
        assert!(
            study.machine.iter().all(|name| catalogue.get::<mountmark_model::Machine>(name).is_ok()),
            "{}",
            study.name
        );
        for claim in &study.claims {
            ids.push(claim.id.clone());
            assert!(!claim.text.is_empty() && claim.text.ends_with('.'), "{}", claim.id);
            for clause in &claim.clauses {
                check_clause(catalogue, study, &claim.id, clause);
            }
        }
    }
    let numbered = |prefix: &str, last: usize| (1..=last).map(|n| format!("{prefix}{n:02}")).collect::<Vec<_>>();
    let mut expected =
        [numbered("LM", 37), numbered("P", 25), numbered("H", 28), numbered("W", 6), numbered("J", 25)].concat();
    expected.sort();
    ids.sort();
    assert_eq!((ids.len(), ids), (121, expected));
}

fn check_clause(catalogue: &Catalogue, study: &Study, id: &str, clause: &Clause) {
    assert!(Metric::find(&clause.metric).is_some(), "{id}: {}", clause.metric);
    let order = match &clause.test {
        Test::Metrics { order, .. } => {
            assert!(order.names().all(|name| Metric::find(name).is_some()), "{id}: {order}");
            None
        }
        Test::FileSystems { order, .. } | Test::Ratio { order, .. } => Some(order),
        _ => None,
    };
    let on = match &clause.test {
        Test::Tasks { on, .. } | Test::Metrics { on, .. } | Test::First { on, .. } | Test::Last { on, .. } => {
            on.clone()
        }
        Test::Value { on, .. } | Test::Spread { on, .. } | Test::Points { on, .. } => on.clone(),
        _ => Vec::new(),
    };
    let named = order.iter().flat_map(|order| order.names()).map(str::to_owned).chain(on);
    for name in named {
        mountmark_plan::configurations(catalogue, std::slice::from_ref(&name))
            .unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    let suite = clause.suite.as_ref().or(study.suite.as_ref()).unwrap();
    let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT, protocol_task::CAPACITY];
    let mut tasks: Vec<String> = clause.tasks.clone();
    tasks.extend(clause.tasks.iter().filter_map(|name| study.groups.get(name)).flatten().cloned());
    tasks.retain(|task| !study.groups.contains_key(task));
    if let Test::Tasks { order, .. } = &clause.test {
        tasks.extend(order.names().map(str::to_owned));
    }
    for task in tasks.iter().filter(|task| *task != "all" && !steps.contains(&task.as_str())) {
        match catalogue.get::<Suite>(suite) {
            Ok(suite) => {
                assert!(suite.tasks.iter().any(|known| known.id == *task), "{id}: {} has no {task}", suite.name)
            }
            // The suite does not exist yet: the study itself must have titles for the tasks.
            Err(_) => {
                let task = task.trim_end_matches("_16m").trim_end_matches("_64k");
                assert!(study.tasks.contains_key(task), "{id}: {task}");
            }
        }
    }
}

#[test]
fn a_study_beside_itself_agrees_wholly() {
    let catalogue = catalogue();
    let piszcz = catalogue.get::<Study>("piszcz-2006").unwrap();
    let comparison = compare_study(&reprinted(piszcz, "2"), piszcz, None).unwrap();
    assert_eq!(comparison.common, ["ext2", "ext3", "jfs", "reiserfs", "reiser4", "xfs"]);
    let elapsed = &comparison.overall[0];
    assert_eq!((elapsed.tests, elapsed.reversed), (21, 0));
    assert!((elapsed.mean_tau.unwrap() - 1.0).abs() < 1e-12);
    assert!(comparison.moves.is_empty() && comparison.changes.is_empty());
    assert_eq!(comparison.not_measured, []);
    let graphs = comparison.curves.iter().map(|all| (all.metric.id, all.tests.len(), all.published == all.measured));
    assert_eq!(graphs.collect::<Vec<_>>(), [("elapsed", 21, true), ("cpu_percent", 21, true)]);
    assert_eq!(compare_study(&reprinted(piszcz, "2"), piszcz, Some("3")), None);
}

#[test]
fn the_two_runs_of_a_study_differ_as_its_tables_do() {
    let catalogue = catalogue();
    let piszcz = catalogue.get::<Study>("piszcz-2006").unwrap();
    let comparison = compare_study(&reprinted(piszcz, "1"), piszcz, Some("2")).unwrap();
    assert_eq!(comparison.only_published, ["reiser4"]);
    let (old, new) = (&comparison.curves[0].published, &comparison.curves[0].measured);
    assert_eq!((old.len(), old[3].values[5], new.len(), new[3].values[5]), (6, Some(43.48), 5, Some(5.37)));
    let test = comparison.tests.iter().find(|test| test.task == "006" && test.metric == "elapsed").unwrap();
    // ext2 1.66, ext3 1.67, jfs 3.58, reiserfs 43.48, xfs 5.39; before 1.97, 56.31, 4.05, 5.37, 6.70.
    let ranks = |pick: fn(&mountmark_findings::studies::ComparedFigure) -> Option<f64>| -> Vec<f64> {
        test.entries.iter().filter_map(pick).collect()
    };
    assert_eq!(ranks(|entry| entry.published_rank), [1.0, 2.0, 3.0, 5.0, 4.0]);
    assert_eq!(ranks(|entry| entry.measured_rank), [1.0, 5.0, 2.0, 3.0, 4.0]);
    // Reversed pairs: ext3 with jfs, xfs and reiserfs; reiserfs with xfs: 4 of 10.
    assert_eq!((test.agreement.same, test.agreement.reversed), (6, 4));
    assert!((test.agreement.tau.unwrap() - 0.2).abs() < 1e-12);
    assert!(comparison.moves.iter().any(|found| found.task == "006" && found.fs == "ext3" && found.to == 5.0));
}

#[test]
fn sums_over_tests_say_of_how_many_and_whom_they_leave_out() {
    let study = catalogue().get::<Study>("piszcz-2006").unwrap();
    let said = |run: &mountmark_record::RunRecord| {
        let found = compare_study(run, study, Some("1")).unwrap();
        let format = Format::find::<StudyBeside>(Some("table")).unwrap();
        let text = format.write(&StudyBeside(&found), &Default::default()).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut run = reprinted(study, "1");
    let whole = said(&run);
    assert!(whole.contains("All 21 tests: mean tau 1.00"), "{whole}");
    assert!(!whole.contains("Not among them"), "{whole}");
    // Two file systems are left at 004, and one fails at 003.
    let names: Vec<String> = run.cells.iter().map(|cell| cell.configuration.clone()).collect();
    for cell in &mut run.cells {
        let at = names.iter().position(|name| *name == cell.configuration).unwrap();
        cell.samples.retain(|sample| !(sample.task == "004" && at > 1 || sample.task == "003" && at == 2));
    }
    let part = said(&run);
    assert!(part.contains("20 of 21 tests have a tau, in the mean 1.00"), "{part}");
    let missing = format!("Not among them, because figures are missing: {}.", names[2..].join(", "));
    assert!(part.contains(&missing), "{part}");
}
