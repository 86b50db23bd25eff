//! `mountmark crash` with applications, users' files, and logs of other disks.

use std::fs;

use serde_json::Value;

use crate::lab::{Lab, Ran};

/// One transaction, and a check that asks for it.
const SQLITE: &str = r#"
title = "SQLite"
about = "One transaction"
packages = ["sqlite3"]
tools = ["sqlite3"]
prepare = "sqlite3 -batch db 'PRAGMA journal_mode=WAL; CREATE TABLE t (step);'"
steps = ['''
sqlite3 -batch db <<END
.dbconfig no_ckpt_on_close on
PRAGMA synchronous=FULL;
INSERT INTO t VALUES ($STEP);
END
''']
check = '''
sqlite3 -batch db 'PRAGMA integrity_check; SELECT count(*) FROM t;' > /tmp/said 2>&1 || { cat /tmp/said; exit 1; }
set -- $(cat /tmp/said)
test "$1" = ok && test "$2" -le "$BEGUN" || { cat /tmp/said; exit 1; }
test "$2" -ge "$RETURNED" || exit 2
'''
"#;

/// Writes a user's file into the lab's folder; its path.
fn file(lab: &Lab, name: &str, text: &str) -> String {
    let path = lab.path(&format!("{name}.toml"));
    fs::write(&path, format!("name = \"{name}\"\n{text}")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Asserts texts in what it printed, wherever its lines end.
#[track_caller]
pub fn shows(ran: &Ran, texts: &[&str]) {
    let said: Vec<&str> = ran.stdout.split_whitespace().chain(ran.stderr.split_whitespace()).collect();
    let said = said.join(" ");
    for text in texts {
        assert!(said.contains(text), "{text:?} is missing in {}", ran.text());
    }
}

fn configuration(text: &str) -> Value {
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    answer["configurations"][0].clone()
}

fn causes(configuration: &Value) -> Vec<String> {
    let causes = configuration["causes"].as_array().expect("a list of causes");
    causes.iter().map(|cause| cause["signature"].as_str().expect("a signature").to_owned()).collect()
}

#[test]
fn a_database_loses_nothing_unless_the_disk_ignores_flushes() {
    let name = "a_database_loses_nothing_unless_the_disk_ignores_flushes";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let path = file(&lab, "small", SQLITE);
    let arguments = ["crash", "--fs", "ext4", "--app", &path, "--format", "json", "--device"];
    let honest = lab.command(&[&arguments[..], &["request", "--recoveries", "0"]].concat()).ended_with(0);
    let honest = configuration(&honest.stdout);
    assert_eq!(causes(&honest), [] as [&str; 0]);
    let explored = &honest["tried"][0]["explored"];
    assert!(explored["states"].as_u64() > Some(5) && explored["error"].is_null(), "{explored}");

    let faulty =
        lab.command(&[&arguments[..], &["request+i1", "--images", "2", "--recoveries", "0"]].concat()).ended_with(1);
    let faulty = configuration(&faulty.stdout);
    let found = causes(&faulty);
    assert!(found.iter().any(|signature| signature.contains("small.toml check: status")), "{found:?}");
}

#[test]
fn applications_that_cannot_be_judged_are_told_from_those_that_are_damaged() {
    let name = "applications_that_cannot_be_judged_are_told_from_those_that_are_damaged";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let about = "title = \"One\"\nabout = \"One\"\nsteps = [\"echo $STEP > file; sync\"]\n";
    let run = |name: &str, more: &str, code: i32| {
        let path = file(&lab, name, &format!("{about}{more}\n"));
        lab.command(&["crash", "--fs", "ext4", "--device", "request", "--app", &path]).ended_with(code)
    };
    // A check that fails where nothing is lost is at fault itself.
    let fault = ["mend the check", "Nothing was tried"];
    shows(&run("hangs", "limit = 1\ncheck = 'sleep 1000'", 3), &["has not ended after 1 s", fault[0], fault[1]]);
    shows(&run("typo", "check = 'tset -f file'", 3), &["ends with 127", "tset", fault[0], fault[1]]);
    shows(&run("unprepared", "prepare = 'echo too bad; exit 3'\ncheck = 'true'", 3), &["exit code 3", "too bad"]);
    shows(
        &run("lacks", "check = 'true'\nprepare = 'no-such-program-here'", 3),
        &["no-such-program-here", "`packages`"],
    );
    shows(&run("unpacked", "check = 'true'\npackages = ['no-such-package-here']", 3), &["no-such-package-here"]);
    // The check cannot reach the disk, cannot make another node of it, and leaves nothing behind.
    let apart = r#"check = '''
test -e /tmp/here && exit 1
echo > /tmp/here
head -c 4096 /dev/zero > /dev/nbd0 || exit 2
test "$(head -c 8 /dev/nbd0 | wc -c)" -eq 0 || exit 3
mknod /tmp/node b 43 0 2> /tmp/said && exit 4
umount /dev/nbd0 2> /tmp/said && exit 5
test "$BEGUN" -ge "$RETURNED" && test "$PWD" = "$TEST" || exit 6
'''"#;
    shows(&run("apart", apart, 0), &["No promise was broken"]);
}

#[test]
fn a_disk_that_takes_trims_gets_them_and_what_it_trimmed_is_not_missed() {
    let name = "a_disk_that_takes_trims_gets_them_and_what_it_trimmed_is_not_missed";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let workload = "creat foo; write foo 0+1048576; sync | unlink foo; sync; creat bar; write bar 0+8192; fsync bar";
    let log = lab.path("log");
    let arguments = ["crash", "--fs", "ext4:mount=discard", "--workload", workload];
    let export = ["--device", "request+trim", "--export-log", log.to_str().unwrap()];
    lab.command(&[&arguments[..], &export].concat()).ended_with(0);
    let flags = entries(&fs::read(&log).unwrap());
    assert!(flags.iter().any(|flags| flags & 4 != 0), "no trim among {} entries", flags.len());
    let poisoned = lab.command(&[&arguments[..], &["--device", "request+i8", "--format", "json"]].concat());
    let poisoned = configuration(&poisoned.ended_with(0).stdout);
    assert_eq!(causes(&poisoned), [] as [&str; 0]);
}

#[test]
fn a_log_of_a_disk_is_examined_as_the_disk_would_be() {
    let Some(lab) = Lab::with_guests("a_log_of_a_disk_is_examined_as_the_disk_would_be", 1) else { return };
    let (log, base) = (lab.path("log"), lab.path("base"));
    let (log, base) = (log.to_str().unwrap(), base.to_str().unwrap());
    let workload = "creat foo; sync | write foo 0+65536; fsync foo; rename foo bar; fsync bar";
    let export = ["crash", "--fs", "ext4", "--workload", workload, "--export-log", log, "--export-base", base];
    lab.command(&export).ended_with(0);
    let arguments = ["crash", "--fs", "ext4", "--log", log, "--base", base, "--device"];
    let honest = lab.command(&[&arguments[..], &["request"]].concat()).ended_with(0);
    shows(&honest, &["passes its check (L0)", "No promise was broken"]);
    let faulty = lab.command(&[&arguments[..], &["request+i3:3"]].concat()).ended_with(1);
    shows(&faulty, &["L0 ", "--log", "--base"]);
}

/// The flags of each entry of a log.
fn entries(log: &[u8]) -> Vec<u64> {
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
    let (mut at, mut flags) = (512, Vec::new());
    for _ in 0..word(16) {
        flags.push(word(at + 16));
        let data = if word(at + 16) & 12 == 0 { word(at + 8) * 512 } else { 0 };
        at += 512 + data as usize;
    }
    flags
}

#[test]
fn logs_and_files_that_cannot_be_used_are_refused_before_anything_begins() {
    let lab = Lab::without_guests();
    let refused = |arguments: &[&str], says: &[&str]| {
        lab.command(&[&["crash"], arguments].concat()).ended_with(2).says(says);
    };
    refused(&["--app", "sqlite-wall"], &["sqlite-wal"]);
    refused(&["--app", "./none.toml"], &["none.toml"]);
    let mine = file(&lab, "mine", "title = \"A\"\nabout = \"A\"\nsteps = [\"true\"]\nchek = 1\n");
    refused(&["--app", &mine], &["mine.toml:5:1", "chek"]);

    let entry = |words: [u64; 4]| {
        let mut sector: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        sector.resize(512, 0);
        sector
    };
    let start = |entries| entry([0x006a_7366_7773_6872, 1, entries, 512]);
    let path = lab.path("log");
    let path = path.to_str().unwrap();
    let log = |bytes: Vec<u8>, says: &[&str]| {
        fs::write(path, bytes).unwrap();
        refused(&["--log", path, "--disk-size", "64MiB"], says);
    };
    log(vec![0; 20], &["20 bytes"]);
    log(vec![7; 512], &["magic number"]);
    log(start(0), &["no entries"]);
    log([start(2), entry([0, 0, 1, 0])].concat(), &["entry 1 of 2", "cut off"]);
    log([start(1), entry([0, 8, 0, 0]), vec![0; 512]].concat(), &["entry 0 of 1", "cut off"]);
    log([start(1), entry([1 << 20, 1, 4, 0])].concat(), &["entry 0 of 1", "another disk"]);
    log([start(1), entry([0, 0, 1 << 40, 0])].concat(), &["entry 0 of 1", "flags"]);
    fs::write(path, [start(1), entry([0, 0, 1, 0])].concat()).unwrap();
    refused(&["--log", path, "--from", "mkfs"], &["mkfs", "no marks"]);
    refused(&["--log", path, "--workload", "sync"], &["--log", "--workload"]);
    refused(&["--log", path, "--cases"], &["--log", "--cases"]);
    refused(&["--log", path, "--check", "true", "--", "true"], &["--log", "[COMMAND]"]);
    let made = |words: &[&str], says: &str| {
        refused(
            &[&["--log", path, "--disk-size", "64MiB"], words].concat(),
            &[says, "nothing is recorded; leave it out"],
        );
    };
    for device in ["request+i9", "request+i10:each", "sector+trim", "sector+trim+i1"] {
        made(&["--device", device], &format!("--device {device}: "));
    }
    made(&["--policy", "fifo,lifo"], "--policy lifo: ");
    made(&["--recoveries", "3"], "--recoveries 3: ");
    refused(&["--log", path, "--base", path, "--disk-size", "1MiB"], &["--base", "--disk-size"]);
    refused(&["--log", "/none/log"], &["/none/log"]);
    refused(&["--base", path], &["--log"]);
    let odd = lab.path("odd");
    fs::write(&odd, [0; 1000]).unwrap();
    refused(&["--log", path, "--base", odd.to_str().unwrap()], &["1000 bytes"]);
    let sized = |fs: &str, size: u64, says: &[&str]| {
        fs::File::create(&odd).unwrap().set_len(size).unwrap();
        refused(&["--fs", fs, "--log", path, "--base", odd.to_str().unwrap()], says);
    };
    sized("ext4", 1_000_448, &["--base", "1000448 bytes", "no multiple of 4096", "truncate -s 1003520 /"]);
    sized("xfs", 100 << 20, &["--base", "104857600 bytes", "xfs can only be made on 300 MiB", "truncate -s 512MiB /"]);
}
