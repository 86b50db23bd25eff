//! `mountmark crash -- COMMAND`: power cuts that interrupt a command of one's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::lab::{Lab, Ran, binary};

/// Appends a record to a file by replacing it, and syncs as `SYNC` says.
const APPEND: &str =
    "#!/bin/sh\ncp log new 2>/dev/null || : > new\necho \"record $STEP\" >> new\nSYNC\nmv new log\nSYNC\n";
const CHECK: &str = "test $RETURNED = 0 || grep -q \"record $RETURNED\" log";

fn program(lab: &Lab, text: &str) -> String {
    let path = lab.path("append");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

fn crash(lab: &Lab, words: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    lab.command(&[&["crash", "--fs", "ext4", "--out", &out, "--budget", "60s"], words].concat())
}

#[test]
fn a_program_that_does_not_sync_loses_what_it_wrote_and_one_that_does_keeps_it() {
    const TEST: &str = "a_program_that_does_not_sync_loses_what_it_wrote_and_one_that_does_keeps_it";
    let Some(lab) = Lab::with_guests(TEST, 1) else { return };
    let unsafe_one = program(&lab, &APPEND.replace("SYNC", ":"));
    let effort =
        ["--times", "2", "--pauses", "none", "--jobs", "1", "--images", "16", "--recoveries", "0", "--no-shrink"];
    let words = [&effort[..], &["--with", &unsafe_one, "--check", CHECK, "--", "./append"]].concat();
    let found = crash(&lab, &words).ended_with(1);
    assert!(found.stdout.contains("append check: status"), "{}", found.text());
    // The printed command makes the image again, and the check says the same of it.
    let line = found.stdout.lines().find(|line| line.contains("--state")).unwrap().trim();
    let again = line.replacen("mountmark", &binary().to_string_lossy(), 1);
    let again =
        Command::new("sh").args(["-c", &again]).env("MOUNTMARK_OUT", lab.out()).current_dir(lab.path("")).output();
    let again = again.unwrap();
    let text = String::from_utf8_lossy(&again.stdout) + String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(1) && text.contains("check ends with"), "{line}\n{text}");

    // Steps and the check see a parameter.
    let safe = program(&lab, &APPEND.replace("SYNC", "test $N = 7 && sync"));
    let check = format!("test $N = 7 && {{ {CHECK}; }}");
    let words = [&effort[..], &["--parameter", "N=7", "--with", &safe, "--check", &check, "--", "./append"]].concat();
    let none = crash(&lab, &words).ended_with(0);
    assert!(none.stdout.contains("images"), "{}", none.text());
}

#[test]
fn a_command_that_cannot_be_checked_is_refused() {
    let lab = Lab::without_guests();
    let refused = |words: &[&str], says: &[&str]| crash(&lab, words).ended_with(2).says(says);
    refused(&["--", "true"], &["--check LINE", "exit status is 0"]);
    refused(&["--check", "true"], &["a command after --"]);
    refused(&["--times", "3"], &["--times"]);
    refused(&["--with", "/bin/cat"], &["--with is for a command"]);
    refused(&["--cold", "--check", "true", "--", "true"], &["--cold has no meaning"]);
    refused(&["--compare", "a,b", "--check", "true", "--", "true"], &["--compare has no meaning"]);
    refused(&["--parameter", "N", "--check", "true", "--", "true"], &["--parameter N: give a name and a value"]);
    refused(
        &["--parameter", "a b=1", "--check", "true", "--", "true"],
        &["--parameter a b=1", "must be a capital letter"],
    );
    refused(&["--check", " ", "--", "true"], &["check is empty"]);
    refused(&["--times", "60000", "--check", "true", "--", "true"], &["steps", "are the most"]);
    let workload = ["--workload", "creat a; fsync a", "--kernel"];
    refused(&[&workload[..], &["6.1,6.12"]].concat(), &["--kernel: this is about one kernel"]);
    refused(&[&workload[..], &["nosuch"]].concat(), &["there is no kernel nosuch"]);
    let there = lab.write("there.img", "mine");
    for words in [&["--state", "e0.t0.all", "--export", &there][..], &["--export-log", &there]] {
        let words = [&["--workload", "creat a; fsync a"], words].concat();
        refused(&words, &["there.img is there already and is no empty file"]);
    }
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    refused(&["--with", "/no/such", "--check", "true", "--", "true"], &["/no/such"]);
}
