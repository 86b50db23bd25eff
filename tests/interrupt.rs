//! A run that is interrupted, terminated or killed: no guest and no temporary folder remains, finished cells are kept.

use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::lab::{Lab, Started, assert_equal_figures};

const TASKS: &str = r#"
[[task]]
id = "quick"
title = "quick"
run = "touch quick"

[[task]]
id = "long"
title = "long"
run = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
"#;

/// Starts a run of two cells, one after the other, and waits until the second one is running.
fn in_the_second_cell(lab: &Lab) -> Started {
    let suite = lab.suite("two", TASKS);
    let plan = ["--fs", "ext4", "--suite", &suite, "--repeat", "2", "--jobs", "1", "--verbose"];
    let mut run = lab.start_run(&plan);
    run.wait_for("[1/2]");
    run.wait_for("ext4 #2: long");
    assert!(!lab.processes().is_empty(), "no guest runs");
    run
}

fn assert_sound(lab: &Lab) {
    let store = lab.out().join("results.sqlite");
    let store = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the store");
    for check in ["integrity_check", "foreign_key_check"] {
        let mut statement = store.prepare(&format!("PRAGMA {check}")).expect("SQLite");
        let rows: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(rows.is_empty() || rows == ["ok"], "{check}: {rows:?}");
    }
}

fn assert_nothing_is_left(lab: &Lab) {
    let begin = Instant::now();
    // A killed guest may take a moment to free its memory.
    while !lab.processes().is_empty() && begin.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(lab.processes(), [""; 0]);
}

fn interrupted_by(lab: &Lab, signal: libc::c_int) {
    let run = in_the_second_cell(lab);
    let begin = Instant::now();
    run.signal(signal);
    let ran = run.wait().ended_with(128 + signal);
    assert!(begin.elapsed() < Duration::from_secs(30), "it took {:?} to end", begin.elapsed());
    ran.says(&[" keeps 1 cell of 2"]);
    assert_nothing_is_left(lab);
    assert_eq!(lab.temporary_files(), [""; 0]);
    let results = ran.results();
    assert_eq!(results.run["status"], "interrupted");
    assert_eq!(results.cells().len(), 1);

    let out = lab.out().to_string_lossy().into_owned();
    let shown = lab.command(&["show", "latest", "--format", "json", "--out", &out]).ended_with(0).results();
    shown.is_ok("ext4", &["mkfs", "mount", "quick", "long", "umount"]);
    assert_eq!(shown.run["planned_cells"], 2);
    let table = lab.command(&["show", "latest", "--out", &out]).ended_with(0);
    assert!(table.stdout.contains("interrupted"), "{}", table.stdout);
    let runs = lab.command(&["runs", "--out", &out]).ended_with(0);
    assert!(runs.stdout.contains("interrupted"), "{}", runs.stdout);
    assert_sound(lab);
}

#[test]
fn an_interrupted_run_keeps_its_finished_cells_and_leaves_nothing() {
    let Some(lab) = Lab::with_guests("an_interrupted_run_keeps_its_finished_cells_and_leaves_nothing", 1) else {
        return;
    };
    interrupted_by(&lab, libc::SIGINT);
}

#[test]
fn a_terminated_run_keeps_its_finished_cells_and_leaves_nothing() {
    let Some(lab) = Lab::with_guests("a_terminated_run_keeps_its_finished_cells_and_leaves_nothing", 1) else { return };
    interrupted_by(&lab, libc::SIGTERM);
}

#[test]
fn a_killed_run_takes_its_guest_with_it_and_clean_removes_the_rest() {
    let Some(lab) = Lab::with_guests("a_killed_run_takes_its_guest_with_it_and_clean_removes_the_rest", 1) else {
        return;
    };
    let run = in_the_second_cell(&lab);
    run.signal(libc::SIGKILL);
    let ran = run.wait();
    assert_eq!(ran.status.signal(), Some(libc::SIGKILL), "{}", ran.text());
    assert_nothing_is_left(&lab);
    assert_sound(&lab);
    let out = lab.out().to_string_lossy().into_owned();
    let shown = lab.command(&["show", "latest", "--format", "json", "--out", &out]).ended_with(0).results();
    assert_eq!(shown.cells().len(), 1, "the finished cell is kept");
    let runs = lab.command(&["runs", "--out", &out]).ended_with(0);
    assert!(!runs.stdout.contains("running"), "nobody runs it any more:\n{}", runs.stdout);

    let left = lab.temporary_files();
    assert!(left.iter().all(|name| name.starts_with("mountmark-guest-")), "{left:?}");
    // A cache of the test's own: other processes may change the user's.
    let cache = lab.path("cache");
    let lab = lab.with_cache(&cache);
    let cleaned = lab.command(&["clean"]).ended_with(0);
    assert!(left.iter().all(|name| cleaned.stdout.contains(name)), "{left:?}\n{}", cleaned.stdout);
    assert_eq!(lab.temporary_files(), [""; 0]);
}

#[test]
fn a_signal_that_the_caller_has_ignored_is_ignored() {
    let Some(lab) = Lab::with_guests("a_signal_that_the_caller_has_ignored_is_ignored", 1) else { return };
    let suite = lab.suite("ignored", "[[task]]\nid = \"work\"\ntitle = \"work\"\nrun = \"sleep 2\"\n");
    let lab = lab.ignoring(libc::SIGHUP);
    let mut run = lab.start_run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1"]);
    run.wait_for("1 at a time");
    run.signal(libc::SIGHUP);
    run.wait().ended_with(0);
}

#[test]
fn an_interrupt_need_not_wait_for_the_first_boot() {
    let Some(lab) = Lab::with_guests("an_interrupt_need_not_wait_for_the_first_boot", 1) else { return };
    let lab = lab.with_new_cache("cache");
    let mut run = lab.start_run(&["--fs", "ext4", "--scale", "0.001", "--repeat", "1"]);
    run.wait_for("1 at a time");
    let begin = Instant::now();
    while lab.processes().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no guest boots:\n{}", run.stderr());
        thread::sleep(Duration::from_millis(5));
    }
    run.signal(libc::SIGINT);
    run.wait().ended_with(128 + libc::SIGINT).says(&["keeps 0 cells of 1"]);
    assert_nothing_is_left(&lab);
    assert_eq!(lab.temporary_files(), [""; 0]);
    let snapshots = std::fs::read_dir(lab.path("cache/snapshots")).into_iter().flatten().flatten();
    let booted: Vec<_> = snapshots.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    assert!(booted.is_empty(), "it waited for the boot, or left half a snapshot: {booted:?}");
}

#[test]
fn an_interrupted_run_can_be_resumed_and_is_then_like_any_other() {
    let Some(lab) = Lab::with_guests("an_interrupted_run_can_be_resumed_and_is_then_like_any_other", 1) else { return };
    let run = in_the_second_cell(&lab);
    run.signal(libc::SIGINT);
    let out = lab.out().to_string_lossy().into_owned();
    // The suggested command finds the run, from any folder and after later runs.
    let ran = run.wait().ended_with(128 + libc::SIGINT);
    ran.says(&[" keeps 1 cell of 2", "mountmark resume 2", &format!(" --out {out} runs the others")]);
    let unknown = lab.command(&["resume", "nonsense", "--out", &out]).ended_with(2);
    unknown.says(&["nonsense"]);
    let foreign = lab.command(&["resume", "--shelf", &out, "--out", &out]).ended_with(2);
    foreign.says(&["--shelf: ", "is no shelf, as it has other things in it"]);
    let resumed = lab.command(&["resume", "--format", "json", "--out", &out]).ended_with(0);
    resumed.says(&["1 cell (", "[1/1]"]);
    let resumed = resumed.results();
    assert_eq!(resumed.run["status"], "done");
    lab.command(&["resume", "--out", &out]).ended_with(2).says(&["is complete"]);
    let suite = lab.path("two.toml").to_string_lossy().into_owned();
    let whole = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "2", "--jobs", "1"]).ended_with(0).results();
    assert_equal_figures(&resumed, &whole);
}

/// Two file systems have two images, and a resumed run is resumed again: before any cell has ended, and in the middle.
#[test]
fn a_run_of_several_file_systems_is_resumed_as_often_as_it_is_interrupted() {
    let test = "a_run_of_several_file_systems_is_resumed_as_often_as_it_is_interrupted";
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let suite = lab.suite("several", &TASKS.replace("60000", "6000"));
    let plan = ["--fs", "ext4,jfs", "--suite", &suite, "--repeat", "2", "--verbose"];
    let out = lab.out().to_string_lossy().into_owned();
    let resume = ["resume", "--jobs", "2", "--verbose", "--format", "json", "--out", &out];
    let mut run = lab.start_run(&plan);
    run.wait_for(": mkfs");
    run.signal(libc::SIGINT);
    run.wait().ended_with(128 + libc::SIGINT).says(&[" keeps 0 cells of 4"]);
    let mut run = lab.start_command(&resume);
    run.wait_for("[1/4]");
    run.signal(libc::SIGTERM);
    run.wait().ended_with(128 + libc::SIGTERM).says(&["mountmark resume 2"]);
    let mut run = lab.start_command(&resume);
    run.wait_for(": long");
    run.signal(libc::SIGKILL);
    assert_eq!(run.wait().status.signal(), Some(libc::SIGKILL));
    let resumed = lab.command(&resume).ended_with(0).results();
    assert_eq!((&resumed.run["status"], resumed.cells().len()), (&"done".into(), 4));
    assert_sound(&lab);
    let whole = lab.run(&plan).ended_with(0).results();
    assert_equal_figures(&resumed, &whole);
}

#[test]
fn only_one_process_works_on_a_run() {
    let Some(lab) = Lab::with_guests("only_one_process_works_on_a_run", 1) else { return };
    let run = in_the_second_cell(&lab);
    let out = lab.out().to_string_lossy().into_owned();
    let command = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--out", &out]).collect();
        lab.start_command(&words)
    };
    let under_way = command(&["runs"]).wait().ended_with(0);
    assert!(under_way.stdout.contains("running"), "{}", under_way.text());
    for refused in [&["resume"][..], &["runs", "--delete", "latest"]] {
        command(refused).wait().ended_with(2).says(&["is under way: process "]);
    }
    // Ctrl-C twice ends it at once: the store has no end of the run.
    run.signal(libc::SIGINT);
    run.signal(libc::SIGINT);
    let begin = Instant::now();
    run.wait().ended_with(128 + libc::SIGINT);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_nothing_is_left(&lab);
    let ended = command(&["runs"]).wait().ended_with(0);
    assert!(ended.stdout.contains("interrupted"), "{}", ended.text());
    // Of two that resume it at the same time, one succeeds.
    let both = [(); 2].map(|()| command(&["resume", "--jobs", "1", "--format", "json"]));
    let mut both = both.map(crate::lab::Started::wait);
    both.sort_by_key(crate::lab::Ran::code);
    let [one, other] = both;
    let resumed = one.ended_with(0).results();
    assert_eq!((&resumed.run["status"], resumed.cells().len()), (&"done".into(), 2));
    // The other may be late and find the run complete.
    assert!(["is under way", "is complete"].iter().any(|words| other.stderr.contains(words)), "{}", other.text());
    other.ended_with(2).says(&[]);
    assert_sound(&lab);
}
