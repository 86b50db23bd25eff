//! Devices that must not be touched, in a guest that has all kinds of them: it runs the host lab inside itself.
//!
//! The guest's kernel sets each up with its own drivers; nothing of this machine is used. The bytes of each device are
//! compared before and after. Needs no root.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::lab::{Lab, binary};

const LIB: &str = include_str!("danger/lib.sh");
const FILESYSTEM: &str = include_str!("danger/fs.toml");
const USES: &str = include_str!("danger/uses.toml");
const STACKS: &str = include_str!("danger/stacks.toml");
const FAULTS: &str = include_str!("danger/faults.toml");
const DRILL: &str = include_str!("danger/drill.toml");
const OPTIONS: &str = include_str!("danger/options.toml");
const SIGNATURES: &str = include_str!("danger/signatures.toml");
/// Kinds of contents that are tried one after the other in one task.
const TOGETHER: usize = 8;

/// The suite that the guest's own host lab runs.
const TINY: &str = r#"
name = "tiny"
about = "a small task"
room = "1 MiB"

[[task]]
id = "create"
title = "create files"
run = "touch a b c"
"#;

struct Case {
    id: String,
    run: String,
    /// Why the lab around it fails its task all the same.
    ends: Option<String>,
    /// Another way to the same end as one of `make test`.
    nightly: bool,
}

fn text(value: &toml::Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name}: {value}")).to_owned()
}

fn cases(all: &str) -> Vec<Case> {
    let cases: toml::Table = all.parse().expect("TOML");
    let cases = cases["case"].as_array().expect("cases");
    let ends = |case: &toml::Value| case.get("ends").map(|_| text(case, "ends"));
    let nightly = |case: &toml::Value| case.get("nightly").is_some();
    let case = |case: &toml::Value| Case {
        id: text(case, "id"),
        run: text(case, "run"),
        ends: ends(case),
        nightly: nightly(case),
    };
    cases.iter().map(case).collect()
}

/// Tasks of some kinds each, of each so many kinds one, and the number of these.
fn contents(one_of: usize) -> (Vec<Case>, usize) {
    let table: toml::Table = SIGNATURES.parse().expect("TOML");
    let kinds = table["signatures"].as_array().expect("signatures");
    let kinds: Vec<&toml::Value> = kinds.iter().step_by(one_of).collect();
    let groups = kinds.chunks(TOGETHER).enumerate().map(|(at, kinds)| {
        // Where wipefs is missing, the program's own table must do.
        let mut run = String::from("[ ! -e /usr/bin/wipefs ] || mv /usr/bin/wipefs /usr/bin/wipefs.away\n");
        for kind in kinds {
            let fields = kind.as_array().expect("a kind");
            let word = |at: usize| fields[at].as_str().expect("text");
            let (id, offset, bytes, words) = (word(0), &fields[1], word(2), word(3));
            let _ = write!(
                run,
                "ID=holds-{id}; file one; put one {offset} '{bytes}'; d=$(losetup --show -f /tmp/one)\n\
                 refused '{words}' --device $d; losetup -d $d\n"
            );
        }
        Case { id: format!("contents-{}", at + 1), run, ends: None, nightly: false }
    });
    (groups.collect(), kinds.len())
}

/// Tasks of some ways each in which an option would reach another device, and the number of ways.
fn options() -> (Vec<Case>, usize) {
    let table: toml::Table = OPTIONS.parse().expect("TOML");
    let rows = |name: &str| table[name].as_array().expect("rows").clone();
    let quoted = |text: &toml::Value| format!("'{}'", text.as_str().expect("text").replace('\'', "'\\''"));
    let line = |is_own: bool, row: &toml::Value| {
        let [id, what, words] = [0, 1, 2].map(|at| quoted(&row[at]));
        match is_own {
            true => format!("ID={id}; own {what}; foreign {words} own\n"),
            false => format!("ID={id}; foreign {words} {what}\n"),
        }
    };
    let ways = rows("ways").iter().map(|row| line(false, row)).collect::<Vec<_>>();
    let all: Vec<String> = ways.into_iter().chain(rows("catalogue").iter().map(|row| line(true, row))).collect();
    let groups = all.chunks(4 * TOGETHER).enumerate();
    let case = |(at, lines): (usize, &[String])| Case {
        id: format!("options-{}", at + 1),
        run: format!("kept\n{}unchanged\n", lines.concat()),
        ends: None,
        nightly: false,
    };
    (groups.map(case).collect(), all.len())
}

fn task(case: &Case) -> String {
    let Case { id, run, .. } = case;
    format!("\n[[task]]\nid = \"{id}\"\ntitle = \"{id}\"\nrun = '''\nID={id}; . /run/lib.sh\n{run}\n'''\n")
}

/// Runs cases in one guest that stands for a machine; each must end well.
fn run_in_guest(name: &str, cases: &[Case]) -> bool {
    let Some(lab) = Lab::with_guests(name, 1) else { return false };
    let catalogue = lab.path("config").join("mountmark/catalog/filesystems");
    fs::create_dir_all(&catalogue).expect("a folder");
    fs::write(catalogue.join("danger.toml"), FILESYSTEM).expect("a file");
    let slow = TINY.replace("tiny", "slow").replace("touch a b c", "echo sleeping > /tmp/state; sleep 1000");
    // The guest's own program has no host lab: the whole one comes on the second disk.
    let brought = lab.path("brought");
    fs::create_dir(&brought).expect("a folder");
    // Each run hashes its program, which takes an emulated processor seconds: less of it will do.
    let stripped = Command::new("strip").arg("-o").arg(brought.join("mountmark")).arg(binary()).status();
    if !stripped.is_ok_and(|status| status.success()) {
        fs::copy(binary(), brought.join("mountmark")).expect("a copy of the program");
    }
    let mut tasks = format!(
        "source = \"tree\"\n\n[[task]]\nid = \"setup\"\ntitle = \"setup\"\nrun = '''\n\
         cp $(find $SOURCE/tree -name mountmark -type f) /run/mountmark || exit 1\ncat > /run/lib.sh <<'END'\n{LIB}END\n\
         cat > /tmp/tiny.toml <<'END'\n{TINY}END\ncat > /tmp/slow.toml <<'END'\n{slow}END\n'''\n"
    );
    for case in cases {
        tasks += &task(case);
    }
    let suite = lab.suite(name, &tasks);
    // The tar of a program of this size is no good to anybody else's cache.
    let lab = lab.with_own_cells("cache");
    fs::remove_file(lab.path("cache/corpora")).expect("a link of the test");
    let brought = brought.to_string_lossy();
    let ran =
        lab.run(&["--fs", "danger", "--suite", &suite, "--repeat", "1", "--conditions", "fixed", "--corpus", &brought]);
    let failed = (ran.code() != 0) != cases.iter().any(|case| case.ends.is_some());
    let results = ran.results();
    let mut wrong = String::new();
    for case in cases {
        let (word, reason, detail) = results.task("danger", &case.id);
        if std::env::var_os("MOUNTMARK_TIMES").is_some() && word == "ok" {
            eprintln!("guest's seconds: {:.1} {name} {}", results.value("danger", &case.id, "elapsed"), case.id);
        }
        let expected = case.ends.as_deref().map_or(("ok", ""), |reason| ("failed", reason));
        if (word.as_str(), reason.as_str()) != expected {
            let _ = writeln!(wrong, "{}: {word}: {reason}\n{detail}", case.id);
        }
    }
    assert!(wrong.is_empty() && !failed, "{wrong}");
    true
}

#[test]
fn no_device_in_use_is_touched_and_each_has_a_sentence() {
    let mut cases = cases(USES);
    let kinds = cases.len();
    assert!(kinds >= 60, "{kinds} kinds of devices in use");
    // A sentence, without the names of its devices, is said of one kind.
    let run = "sed 's/^[^:]*: //; s,/dev/[a-z0-9/-]*,DEV,g; s/loop[0-9]*/LOOP/g' /run/said | sort | uniq -d > /tmp/twice\n\
               n=$(wc -l < /run/said); echo \"kinds: $n\" >&2; cat /tmp/twice >&2; test ! -s /tmp/twice && test \"$n\" -ge 60";
    cases.push(Case { id: "all-said".into(), run: run.into(), ends: None, nightly: false });
    run_in_guest("danger-uses", &cases);
}

#[test]
fn no_known_contents_are_overwritten_unasked_nor_reached_by_options() {
    // Each kind is recognised: `every_kind_of_contents_is_recognised` of the lab.
    let ((mut cases, kinds), (others, ways)) = (contents(4), options());
    assert!(kinds >= 15 && ways >= 60, "{kinds} kinds of contents, {ways} ways of reaching others");
    cases.extend(others);
    run_in_guest("danger-contents", &cases);
}

#[test]
fn layers_on_real_disks_are_taken_down_and_touch_no_other() {
    let mut cases = cases(STACKS);
    cases.retain(|case| !case.nightly);
    run_in_guest("danger-stacks", &cases);
}

#[test]
#[ignore = "minutes: make nightly"]
fn none_of_all_known_contents_is_overwritten_unasked() {
    let (cases, kinds) = contents(1);
    assert!(kinds >= 60, "{kinds} kinds of contents");
    run_in_guest("danger-all-contents", &cases);
}

#[test]
fn faults_of_devices_end_cells_with_a_sentence_and_leave_nothing() {
    let mut cases = cases(FAULTS);
    cases.retain(|case| !case.nightly);
    run_in_guest("danger-faults", &cases);
}

#[test]
#[ignore = "minutes: make nightly"]
fn faults_in_other_ways_leave_nothing() {
    let mut cases: Vec<Case> = [FAULTS, STACKS].into_iter().flat_map(cases).collect();
    cases.retain(|case| case.nightly);
    run_in_guest("danger-other-faults", &cases);
}

#[test]
fn killed_runs_on_a_machine_that_starts_again_lose_no_cell() {
    run_in_guest("danger-drill", &cases(DRILL));
}

#[test]
#[ignore = "minutes: make nightly"]
fn runs_that_are_killed_at_many_moments_lose_no_cell() {
    let many = DRILL.replace("rounds=3", "rounds=16");
    assert_ne!(many, DRILL);
    run_in_guest("danger-drills", &cases(&many));
}
