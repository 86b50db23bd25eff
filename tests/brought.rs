//! What people bring: job files and suites as they are kept beside programs, each with the figures that it can give, or
//! with the reason that it has none.

use std::path::Path;

use crate::lab::{Lab, Results};

/// A file of `fixtures/brought`.
fn brought(name: &str) -> String {
    format!("{}/tests/fixtures/brought/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn has(results: &Results, task: &str, metric: &str) -> bool {
    results.figures().keys().any(|(_, _, of, _, named)| of == task && named == metric)
}

fn notes(results: &Results) -> String {
    results.cell("ext4")["notes"].to_string()
}

/// One guest for all: each job file is a task.
#[test]
fn job_files_have_the_figures_that_they_can_give() {
    let Some(lab) = Lab::with_guests("job_files_have_the_figures_that_they_can_give", 1) else { return };
    let suite = brought("brought-jobs.toml");
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1", "--scale", "1", "--no-control"]);
    let ran = ran.ended_with(0);
    let results = ran.results();
    let whole = ["log", "pace", "names", "stat", "unlink", "check", "nothing", "readers", "laid", "included", "syncs"];
    results.is_ok("ext4", &whole);
    let value = |task: &str, metric: &str| results.value("ext4", task, metric);

    // The sync is in metrics of its own, and the write into the cache is not taken for it.
    let (sync, write) = (value("commit", "sync_latency_p99"), value("commit", "latency_p99"));
    assert!(sync > 5.0 * write, "{sync} s, {write} s");
    assert_eq!((value("commit", "sync_operations"), value("with", "sync_operations")), (113.0, 31.0));
    assert!(value("every", "sync_latency_mean") > 0.0);
    for task in ["at-end", "range"] {
        assert!(!has(&results, task, "sync_latency_mean"), "{task}");
    }
    // Written through, a write is the sync, and has all of it in its own time.
    for task in ["o-sync", "o-dsync"] {
        assert!(!has(&results, task, "sync_latency_mean") && value(task, "latency_mean") > 10.0 * write, "{task}");
    }

    // What a job fixes is no figure of the file system.
    assert!(!has(&results, "paced", "rate") && has(&results, "paced", "sync_latency_mean"));
    assert!(notes(&results).contains("the job fixes its rate by rate_iops=100"), "{}", notes(&results));

    // Sections of one name that ran one after the other are two figures, and neither is their sum.
    assert!(has(&results, "both", "write_operations") && !has(&results, "both", "read_operations"));
    assert!(has(&results, "both-2", "read_operations") && !has(&results, "both-2", "write_operations"));

    // stat and unlink move no data, whatever fio counts; with so few of them its clock is too coarse for a rate.
    for task in ["ask-a", "ask-b", "remove", "smoke"] {
        assert!(!has(&results, task, "rate") && has(&results, task, "latency_mean"), "{task}");
        assert!(!has(&results, task, "read_rate") && !has(&results, task, "write_rate"), "{task}");
        let why = format!("{task}: fio counts whole milliseconds");
        assert!(notes(&results).contains(&why), "{}", notes(&results));
    }
    let (word, reason, _) = results.task("ext4", "empty");
    assert!(word == "skipped" && reason.contains("its operations moved no data"), "{word}: {reason}");

    // The first figure of what syncs is what its syncs take.
    let out = lab.out().display().to_string();
    let text = lab.command(&["show", "latest", "--out", &out]).ended_with(0).stdout;
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what:?} in {text}"));
    assert!(place("commit fio commit (mean sync, s)") < place("commit fio commit (rate, KiB/s)"), "{text}");

    // Room for one shared file, and for the whole of one that is read in part.
    assert_eq!(value("many", "read_operations"), 16.0 * 64.0);
    assert_eq!(value("part", "read_operations"), 128.0);
}

/// What could run nowhere is refused before a guest starts, with the cure.
#[test]
fn what_could_not_run_is_refused_with_its_cure() {
    let lab = Lab::without_guests();
    for (name, says) in [
        ("half.fio", ["size=50%", "add filesize= or write a size"]),
        ("uncounted.toml", ["its phase \"work\" counts, and no task shows its figures", "add a [[task]] with part_of"]),
        ("no-size.toml", ["its files have no size", "say files.size"]),
    ] {
        let path = brought(name);
        assert!(Path::new(&path).exists(), "{path}");
        lab.run(&["--fs", "ext4", "--suite", &path, "--dry-run"]).ended_with(2).says(&says);
    }
}
