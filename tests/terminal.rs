//! Output on a terminal: no control sequences from input, and only characters that its locale has.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use mountmark_model::{Environment, Outcome};
use mountmark_record::{CellRecord, CellToRecord, Output, OutputKind, RunStatus, Store, TaskOutcome};

use crate::lab::{Lab, binary};
use crate::made;

/// Clears the screen, sets a title, reverses the text.
const HOSTILE: &str = "before\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}behind";

/// Output of the program on its own terminal: standard output and standard error.
fn on_terminal(lab: &Lab, locale: &str, arguments: &[&str]) -> String {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: two descriptors are written; no name, attributes or size are given.
    let result = unsafe { libc::openpty(&raw mut ours, &raw mut theirs, none, none.cast(), none.cast()) };
    assert_eq!(result, 0, "no terminal");
    // SAFETY: both were just opened and have no other owner.
    let (mut ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut command = Command::new(binary());
    command.args(arguments).env("LC_ALL", locale).env("XDG_CONFIG_HOME", lab.path("config")).stdin(Stdio::null());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    // Now only the child has the other end.
    drop(command);
    let mut text = Vec::new();
    // Reading ends with an error when the other end is closed.
    let _ = ours.read_to_end(&mut text);
    child.wait().unwrap();
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_terminal_gets_nothing_that_it_would_obey() {
    let lab = Lab::without_guests();
    let out = lab.out().to_string_lossy().into_owned();
    let plan = made::plan("piszcz-2006", &["ext4"], 1, 1, "0.005");
    let store = Store::open(lab.out().join("results.sqlite")).unwrap();
    let environment = Environment::default();
    let run = store.begin_run(&plan, &environment, HOSTILE).unwrap();
    let mut record = CellRecord::new(&plan.cells[0], &environment);
    record.notes = vec![HOSTILE.into()];
    let outcome = Outcome::Failed { reason: HOSTILE.into(), detail: HOSTILE.into() };
    record.outcomes = vec![TaskOutcome { task: "001".into(), outcome }];
    let output = Output { cell: 0, task: "001".into(), iteration: 0, kind: OutputKind::Stdout, text: HOSTILE.into() };
    store
        .record_cells(&run, &[CellToRecord { cell: &record, outputs: &[output], devices: &[], profiles: None }])
        .unwrap();
    store.end_run(&run, RunStatus::Done).unwrap();
    drop(store);
    let corpora = lab.path("config/mountmark/catalog/corpora");
    fs::create_dir_all(&corpora).unwrap();
    let kind = "kind = \"tree\"\nfiles = 1\ndirectories = 1\ntotal = 1\nmax_depth = 1\n\
                sizes = { distribution = \"log-uniform\", min = 1, max = 1 }\n";
    let about = "a \\u001B[2J \\u202E about";
    fs::write(corpora.join("own.toml"), format!("name = \"own\"\nabout = \"{about}\"\nsources = []\n{kind}")).unwrap();

    let raw = ["show", "--raw", "001", "--out", &out];
    for arguments in [&raw[..], &["show", "--out", &out], &["runs", "--out", &out], &["list", "corpora"]] {
        let text = on_terminal(&lab, "C.UTF-8", arguments);
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.is_empty() && !text.contains(obeyed), "{arguments:?}: {text:?}");
    }
    assert!(on_terminal(&lab, "C.UTF-8", &raw).contains("before\\u{1b}[2J"));
    // Not shown on a terminal, it is unchanged.
    let printed = format!("==> ext4 #1, 001, stdout <==\n{HOSTILE}\n");
    assert!(lab.command(&raw).ended_with(0).stdout.starts_with(&printed));

    // Messages may be read in logs, too.
    let path = format!("./no{HOSTILE}.toml");
    let ran = lab.run(&["--suite", &path]).ended_with(2);
    assert!(ran.stderr.contains("no") && !ran.stderr.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{:?}", ran.stderr);
}

#[test]
fn a_terminal_of_the_locale_c_gets_ascii() {
    let lab = Lab::without_guests();
    let plan = made::plan("piszcz-2006", &["ext4", "xfs"], 2, 1, "0.005");
    made::record(&lab, &plan, &[], |configuration, task, repeat| {
        Some(if configuration == "xfs" { 2.0 } else { 1.0 } * made::noise(configuration, task, repeat, 1))
    });
    let out = lab.out().to_string_lossy().into_owned();
    for arguments in [&["show", "--out", &out][..], &["show", "--verdict", "--out", &out], &["list", "metrics"]] {
        let text = on_terminal(&lab, "C", arguments);
        assert!(text.lines().count() > 5 && text.is_ascii(), "{arguments:?}: {text}");
    }
    assert!(on_terminal(&lab, "C", &["show", "--out", &out]).contains("-----"));
    assert!(on_terminal(&lab, "C.UTF-8", &["show", "--out", &out]).contains("─────"));
}

#[test]
fn what_a_full_disk_does_not_take_is_no_success() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"], &["help", "show"], &["list", "suites"]] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mountmark"));
        let output = command.args(arguments).stdout(full()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_closed_standard_output_is_no_success() {
    for arguments in ["--help", "--version", "list suites", "show", "runs", "doctor", "clean", "run --dry-run"] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("\"$0\" {arguments} >&-")]).arg(env!("CARGO_BIN_EXE_mountmark"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments}: {said}");
        assert!(said.contains("standard output is closed"), "{arguments}: {said}");
    }
}
