//! Runs that find out on their way how many repeats they make: in the host lab as root, and in a guest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::host::{Place, awaited, kill, leftovers, mountmark, obstacle, planned_cells, shown, small_image, text};
use crate::lab::Lab;
use crate::repeat::TASKS;

/// The same each time, apart from the machine's noise.
const STEADY: &str = "sleep 3; touch a";

/// Up to a quarter of a second, as chance has it.
const ERRATIC: &str = "sleep 0.$(printf %03d $(od -An -N1 -tu1 /dev/urandom)); touch a";

fn run(folder: &Path, fs: &str, work: &str, options: &[&str]) -> Command {
    let suite = format!(
        "name = \"tiny\"\nabout = \"one task\"\nroom = \"8 MiB\"\ndecisions = []\n[[task]]\nid = \"work\"\ntitle = \"work\"\n\
         run = '''{work}'''\n"
    );
    fs::write(folder.join("tiny.toml"), suite).unwrap();
    small_image(folder);
    let mut command = mountmark(folder);
    command.args(["run", "--lab", "host", "--fs", fs, "--scale", "1", "--no-control", "--suite"]);
    command.arg(folder.join("tiny.toml")).arg("--image").arg(folder.join("disk.img")).args(options);
    command
}

/// Its output in one line: tables have lines of some width.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The planned cells of a run that has ended.
fn planned(run: &Value) -> BTreeMap<Place, &Value> {
    let cells = planned_cells(run);
    assert_eq!(cells.len() as u64, run["planned_cells"].as_u64().unwrap(), "none is lost");
    cells
}

#[test]
fn a_run_ends_when_its_figures_are_settled() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = folder.path();
    let output = run(folder, "ext4", STEADY, &["--precision", "30%", "--budget", "9m"]).output().unwrap();
    let said = one_line(&text(&output));
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("at least 5 repeats if they fit into 9 min, then more of what is wider than +-30 %"),
        "{said}"
    );
    assert!(said.contains("at most 9 min left") && said.contains("wider than +-30 %"), "{said}");
    assert!(said.contains("target +-30 % reached by all 1 figure"), "{said}");
    let run = shown(folder);
    let sampling = &run["sampling"];
    assert_eq!(sampling["ended"]["why"], "settled", "{sampling}");
    let halves: Vec<f64> =
        sampling["figures"].as_array().unwrap().iter().map(|of| of["half"].as_f64().unwrap()).collect();
    assert!(halves.len() == 1 && halves.iter().all(|half| *half <= 0.3), "{halves:?}");
    assert!(planned(&run).len() >= 5);
    let again = text(&mountmark(folder).arg("resume").output().unwrap());
    assert!(again.contains("is complete"), "{again}");
    let mut report = mountmark(folder);
    report.args(["report", "latest", "--format", "html", "-o"]).arg(folder.join("r.html"));
    assert!(report.status().unwrap().success());
    assert!(fs::read_to_string(folder.join("r.html")).unwrap().contains("target +-30 % reached"));
    assert_eq!(leftovers(folder), Vec::<String>::new());
}

#[test]
fn a_budget_ends_a_run_that_says_what_it_did_not_reach() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = folder.path();
    let output = run(folder, "ext2,ext4", ERRATIC, &["--precision", "0.1%", "--budget", "10s"]).output().unwrap();
    let said = one_line(&text(&output));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("target +-0.1 % not reached by 2 of 2 figures in 10 s"), "{said}");
    let run = shown(folder);
    assert_eq!(run["sampling"]["ended"]["why"], "time");
    let used = run["sampling"]["ended"]["used"].as_f64().unwrap();
    let cells = planned(&run);
    assert!(cells.len().is_multiple_of(2), "whole repeats");
    // The first repeat is made in any case; another one may take longer than those before it.
    assert!(cells.len() == 2 || used < 15.0, "{used}");
}

#[test]
fn a_killed_run_goes_on_with_the_time_that_is_left() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let folder = folder.path();
    let said = folder.join("said");
    let mut command = run(folder, "ext2,ext4", ERRATIC, &["--precision", "0.1%", "--budget", "90s"]);
    let process = command.stdout(Stdio::null()).stderr(File::create(&said).unwrap()).spawn().unwrap();
    awaited("the cell", || fs::read_to_string(&said).unwrap().contains("[3/").then_some(()));
    kill(folder, process);
    let before = shown(folder);
    assert!(before["sampling"]["ended"].is_null(), "{}", before["sampling"]);
    let many = before["cells"].as_array().unwrap().len();
    assert!(many >= 3);
    let table = one_line(&text(&mountmark(folder).args(["show", "latest"]).output().unwrap()));
    assert!(table.contains("the run has not ended"), "{table}");
    let resumed = mountmark(folder).arg("resume").output().unwrap();
    assert!(resumed.status.success(), "{}", text(&resumed));
    let after = shown(folder);
    let cells = planned(&after);
    assert!(cells.len() > many, "{} after {many}", cells.len());
    assert_eq!(
        after["cells"].as_array().unwrap()[..many],
        before["cells"].as_array().unwrap()[..],
        "what was there stays"
    );
    assert_eq!(after["sampling"]["ended"]["why"], "time");
    let used = after["sampling"]["ended"]["used"].as_f64().unwrap();
    assert!((25.0..120.0).contains(&used), "{used}");
}

#[test]
fn a_guest_has_a_budget_too() {
    let Some(lab) = Lab::with_guests("a_guest_has_a_budget_too", 1) else { return };
    let suite = lab.suite("disks", TASKS);
    // One repeat is always made, and the next would not fit.
    let ran = lab.run(&["--fs", "ext2", "--suite", &suite, "--precision", "2%", "--budget", "1s"]).ended_with(0);
    let results = ran.results();
    results.is_ok("ext2", &["write", "files", "read"]);
    assert_eq!(results.cells().len(), 1);
    let shown = one_line(&lab.command(&["show", "latest", "--out", &lab.out().to_string_lossy()]).ended_with(0).stdout);
    assert!(shown.contains("one repeat") && shown.contains("not reached by 3 of 3 figures in 1 s"), "{shown}");
}

#[test]
fn wrong_use_is_told_with_its_mend() {
    let lab = Lab::without_guests();
    let refused = |options: &[&str], says: &[&str]| {
        let mut words = vec!["run"];
        words.extend(options);
        lab.command(&words).ended_with(2).says(says);
    };
    for wrong in ["0", "0%", "1e-9%", "200%", "two"] {
        refused(&["--precision", wrong], &["--precision", "such as 2%"]);
    }
    refused(&["--scale", "1e-300"], &["--scale", "from 0.000001 to 1000"]);
    refused(&["--lab", "host", "--memory", "0"], &["--memory 0", "at least 16"]);
    refused(&["--budget", "0"], &["--budget 0"]);
    refused(&["--budget", "10x"], &["10x", "30m"]);
    refused(&["--precision", "2%", "--repeat", "3"], &["--repeat 3", "at least 5"]);
    refused(&["--precision", "2%", "--vary", "ram=512MiB..1GiB:2"], &["--vary", "give --repeat"]);
    let dry = lab.command(&["run", "--dry-run", "--fs", "ext4", "--precision", "2%", "--budget", "30m"]).ended_with(0);
    let asked = "repeats: at least 5 repeats if they fit into 30 min, then more of what is wider than +-2 %, 1000 at most; below";
    assert!(dry.stdout.contains(asked), "{}", dry.text());
}
