//! `mountmark advise`: the answer, what it says of it, and what it refuses.

use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;

use crate::lab::{Lab, Ran};

fn advise(lab: &Lab, words: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    lab.command(&[&["advise", "--out", &out], words].concat())
}

/// Each sync waits for a flush of the disk: what sends none is faster by far, and loses what was synced.
const SYNCS: &str = r#"
[[task]]
id = "mail"
title = "write and sync"
run = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i > f$i; sync f$i; done"
"#;

#[test]
fn the_answer_has_its_evidence() {
    let Some(lab) = Lab::with_guests("the_answer_has_its_evidence", 2) else { return };
    let suite = lab.suite("mail", SYNCS);
    let lab = lab.taking_cells();
    let json = lab.path("answer.json").to_string_lossy().into_owned();
    let page = lab.path("answer.html").to_string_lossy().into_owned();
    // The work has one size: looking for a scale would tell nothing. The search ends long before its budget.
    let words =
        ["--suite", &suite, "--scale", "1", "--fs", "nilfs2,jfs", "--budget", "10m", "--also", &json, "--also", &page];
    let ran = advise(&lab, &words).ended_with(0);
    ran.says(&["2 file systems with their defaults", "screening of options", "in 2 repeats"]);
    assert!(ran.stdout.contains("\nTake nilfs2"), "{}", ran.text());
    assert!(ran.stdout.contains("jfs: --survive fsync: it lost 100 of 100 files"), "{}", ran.text());
    assert!(ran.stdout.contains("nilfs2 broke no promise in "), "{}", ran.text());
    for heading in [
        "What power cuts showed",
        "What options do",
        "All that was measured",
        "Left out",
        "Confirm it on your own disk",
    ] {
        assert!(ran.stdout.contains(heading), "{heading}: {}", ran.text());
    }
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(found["answer"]["filesystem"], "nilfs2");
    assert!(found["mkfs"].as_str().unwrap().starts_with("mkfs.nilfs2 "), "{found}");
    assert!(found["screened"].as_array().unwrap().iter().any(|one| one["option"] == "noatime"), "{found}");
    let left_out = |what: &str| found["left_out"].as_array().unwrap().iter().any(|one| one["what"] == what);
    assert!(left_out("jfs"), "{found}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("Which file system for"));

    // The same command has everything on the shelf, and the same answer.
    let again = advise(&lab, &words).ended_with(0);
    assert!(!again.stderr.contains(", 1 measured"), "{}", again.text());
    let same: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((&same["answer"], &same["tried"]), (&found["answer"], &found["tried"]));

    // Asked again, it says what it was; what is said otherwise stands in the place of what was said.
    let then = advise(&lab, &["--again", &json, "--budget", "1s", "--format", "json"]).ended_with(0);
    let then: Value = serde_json::from_str(&then.stdout).unwrap();
    assert_eq!((&then["before"]["name"], &then["before"]["sentence"]), (&same["answer"]["name"], &same["sentence"]));
    assert_eq!(then["before"]["versions"], then["versions"], "nothing changed");
    let speed = |found: &Value, name: &str| {
        found["tried"].as_array().unwrap().iter().find(|one| one["configuration"] == name).unwrap()["speed"].clone()
    };
    assert_eq!(then["before"]["speeds"]["nilfs2"], speed(&then, "nilfs2"), "one seed has one speed");
    assert!(!then["not_asked"].as_array().unwrap().is_empty(), "{then}");
    advise(&lab, &["--again", &page]).ended_with(2).says(&["--again"]);

    // Who needs nothing gets what needs nothing.
    let free = [
        "--suite", &suite, "--scale", "1", "--fs", "nilfs2,jfs", "--survive", "nothing", "--budget", "150s",
        "--format", "json",
    ];
    let begin = Instant::now();
    let free = advise(&lab, &free);
    // What takes longer than was foretold is left: a disk that is half full took minutes more than there were.
    let took = begin.elapsed().as_secs();
    assert!(took < 240, "{took} s of a budget of 150 s: {}", free.text());
    let free: Value = serde_json::from_str(&free.ended_with(0).stdout).unwrap();
    assert_eq!(free["answer"]["filesystem"], "jfs", "{free}");
    assert!(free["over_simplest"]["ratio"].as_f64().unwrap() > 1.2, "{free}");
    assert!(free["after_cut"].as_str().unwrap().contains("100 of 100"), "{free}");
    let costs = free["costs"].as_array().unwrap();
    assert!(costs.iter().all(|one| one["survival"]["kind"].is_string()) && !costs.is_empty(), "{free}");
    assert!(!free["turns"].as_array().unwrap().is_empty() && !free["why"].as_array().unwrap().is_empty(), "{free}");
}

#[test]
fn a_work_that_fails_everywhere_and_a_budget_that_is_too_small_are_said() {
    let Some(lab) = Lab::with_guests("a_work_that_fails_everywhere", 2) else { return };
    let ran = advise(&lab, &["--fs", "ext4,xfs", "--", "sh", "-c", "exit 3"]).ended_with(1);
    ran.says(&[
        "ext4 is left out: sh failed: ",
        "xfs is left out: sh failed: ",
        "no file system ran this work to its end",
    ]);
    let ran = advise(&lab, &["--fs", "jfs", "--", "sh", "-c", "echo 1 > f; sync f"]).ended_with(1);
    ran.says(&["jfs is left out: --survive fsync", "--survive nothing asks without that"]);
    let ran = advise(&lab, &["--fs", "ext4", "--budget", "1s", "--", "true"]).ended_with(0);
    assert!(ran.stdout.contains(" options of ext4 do: the budget is used"), "{}", ran.text());
    assert!(ran.stdout.contains("Take ext4 as it is"), "{}", ran.text());
    assert!(ran.stdout.contains("ext4:nojournal: it takes away what the defaults promise"), "{}", ran.text());
}

#[test]
fn what_cannot_be_answered_is_refused_before_anything_begins() {
    let lab = Lab::without_guests();
    let ran = advise(&lab, &["--suite", "varmail", "--need", "snapshots,encryption", "--fs", "ext4,btrfs"]);
    let ran = ran.ended_with(1);
    ran.says(&[
        "ext4 is left out: --need snapshots: it has \"no\"",
        "the nearest is ",
        "no file system meets these needs",
    ]);
    let refused = |words: &[&str], says: &[&str]| advise(&lab, words).ended_with(2).says(says);
    refused(&[], &["say what the work is"]);
    refused(&["--suite", "nosuch"], &["nosuch"]);
    refused(&["--suite", "varmail", "--fs", "nosuch"], &["nosuch"]);
    refused(&["--suite", "varmail", "--need", "speed"], &["there is no fact", "snapshots"]);
    let dry = advise(&lab, &["--suite", "varmail", "--fs", "ext4", "--dry-run"]).ended_with(0);
    let options = dry.stdout.lines().next().unwrap();
    assert!(options.contains("noatime") && !options.contains("nojournal"), "{options}");
    assert!(dry.stdout.contains("left out: ext4:nojournal: it takes away what the defaults promise"), "{}", dry.stdout);
    let needs = ["--suite", "varmail", "--need", "checksums,reflink", "--fs", "btrfs", "--dry-run"];
    let dry = advise(&lab, &needs).ended_with(0);
    assert!(!dry.stdout.lines().next().unwrap().contains("nodatacow"), "{}", dry.stdout);
    assert!(dry.stdout.contains("nodatacow: --need checksums of data: it takes that away"), "{}", dry.stdout);
    let synced = ["--suite", "varmail", "--survive", "everything-returned", "--fs", "ext4,xfs,exfat", "--dry-run"];
    let dry = advise(&lab, &synced).ended_with(0);
    assert!(dry.stdout.starts_with("ext4:mount=sync as it is, and with noatime, "), "{}", dry.stdout);
    assert!(dry.stdout.contains("\nxfs:mount=sync as it is, and with noatime, "), "{}", dry.stdout);
    assert!(
        dry.stdout.contains("left out: exfat: --survive everything-returned: its documents do not promise L1"),
        "{}",
        dry.stdout
    );
    refused(&["--suite", "varmail", "--need", "purpose"], &["unless --fs names it"]);
    refused(&["--suite", "varmail", "--survive", "all"], &["fsync, rename, everything-returned"]);
    refused(&["--suite", "varmail", "--room", "100%"], &["--room 100%", "at most 99%"]);
    refused(&["--suite", "varmail", "--survive", "all"], &["everything-returned, nothing"]);
    for (option, value) in [("disk", "ssd,hdd"), ("kernel", "6.1,6.12"), ("machine", "modern,celeron-2006")] {
        let says = format!("--{option}: this is about one {option}");
        refused(&["--suite", "varmail", &format!("--{option}"), value], &[&says]);
    }
    // A dry run refuses what a search would.
    for (words, says) in [
        (["--budget", "0"], "--budget 0: nothing can be measured"),
        (["--scale", "0"], "is not a scale"),
        (["--disk", "nosuch"], "no disk named \"nosuch\""),
        (["--kernel", "nosuch"], "there is no kernel nosuch"),
        (["--fs", "ext4,ext4"], "it is in the list twice"),
        (["--fs", "ext4:noatime@luks"], "leave out what is behind ext4"),
        (["--fs", "ext4#mine"], "advise asks its options itself"),
        (["--fs", "ext4@nosuch"], "there is no layer named \"nosuch\""),
        (["--on", "slurm"], "--on needs --shelf FOLDER"),
        (["--on", "pbs"], "there is no engine \"pbs\""),
        (["--also", "/nowhere/a.md"], "there is no folder /nowhere"),
    ] {
        refused(&[&["--suite", "varmail", "--dry-run"], &words[..]].concat(), &[says]);
    }
    let named = ["--suite", "varmail", "--fs", "ext4@luks,zfs", "--dry-run"];
    let named = advise(&lab, &named).ended_with(0);
    assert!(named.stdout.contains("ext4@luks as it is, and with noatime, "), "{}", named.text());
    assert!(named.stdout.contains("\nzfs as it is\n"), "{}", named.text());
    let mine = lab.write("mine.md", "mine\n");
    refused(&["--suite", "varmail", "--also", &mine], &["is there already and is no markdown report"]);
    refused(&["--suite", "varmail", "--", "true"], &["there is a command too"]);
    refused(&["--suite", "varmail", "--also", "x.csv"], &["its ending names no format"]);
    refused(&["--suite", "varmail", "--format", "csv"], &["cannot be written as csv"]);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Situations {
    situation: Vec<Situation>,
    measured: Vec<Work>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Situation {
    id: String,
    words: Vec<String>,
    #[serde(default)]
    asked: Option<Vec<String>>,
    #[serde(default)]
    never: Vec<String>,
    why: String,
}

/// A work, and what is known of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Work {
    id: String,
    words: Vec<String>,
    work: Vec<String>,
    /// The file system to take.
    answer: String,
    /// What cannot be taken.
    #[serde(default)]
    left_out: Vec<String>,
    why: String,
}

#[test]
#[ignore = "minutes: make nightly"]
fn a_search_finds_what_is_known_to_be_right() {
    let Some(lab) = Lab::with_guests("a_search_finds_what_is_known_to_be_right", 2) else { return };
    let all: Situations = toml::from_str(include_str!("situations.toml")).expect("situations");
    let mut wrong = Vec::new();
    for Work { id, words, work, answer, left_out, why } in all.measured {
        let [words, work] = [&words, &work].map(|words| words.iter().map(String::as_str));
        let words: Vec<&str> = ["--format", "json"].into_iter().chain(words).chain(["--"]).chain(work).collect();
        let ran = advise(&lab, &words).ended_with(0);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        println!("{id}: {}", found["sentence"]);
        let out = found["left_out"].as_array().unwrap();
        let is_right = found["answer"]["filesystem"] == *answer
            && left_out.iter().all(|name| out.iter().any(|one| one["what"] == **name));
        if !is_right {
            wrong.push(format!("{id} ({why}): {}", ran.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn facts_leave_what_is_known_to_be_right() {
    let lab = Lab::without_guests();
    let all: Situations = toml::from_str(include_str!("situations.toml")).expect("situations");
    for Situation { id, words, asked, never, why } in all.situation {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = advise(&lab, &[&["--suite", "varmail", "--dry-run"], &words[..]].concat()).ended_with(0);
        let lines = || ran.stdout.lines().filter(|line| !line.starts_with("left out: "));
        let mut found: Vec<&str> = lines().filter_map(|line| line.split(' ').next()).collect();
        found.sort_unstable();
        assert!(asked.is_none_or(|asked| asked == found), "{id} ({why}): {}", ran.text());
        assert!(
            !found.is_empty() && !never.iter().any(|name| found.contains(&name.as_str())),
            "{id} ({why}): {found:?}"
        );
    }
}

#[test]
fn an_answer_is_confirmed_or_not_by_a_run() {
    let Some(lab) = Lab::with_guests("an_answer_is_confirmed_or_not_by_a_run", 2) else { return };
    let suite = lab.suite("mail", SYNCS);
    let answer = |work: &str, ratio: f64| {
        let path = lab.path("answer.json");
        let gain = serde_json::json!({"ratio": ratio, "shown": true});
        let answer = serde_json::json!({
            "sentence": "Take jfs.", "kernel": "6.12", "work": work, "words": [], "answer": {"name": "jfs"},
            "second": {"configuration": "nilfs2", "repeats": 4, "gain": gain}, "simplest": "nilfs2", "over_simplest": gain,
        });
        std::fs::write(&path, answer.to_string()).unwrap();
        path.to_string_lossy().into_owned()
    };
    let run = |fs: &str, file: &str| lab.run(&["--fs", fs, "--suite", &suite, "--repeat", "2", "--advice", file]);
    run("jfs,nilfs2", &answer("mail", 3.0)).ended_with(0).says(&["This machine agrees: jfs is "]);
    run("jfs,ext2", &answer("mail", 3.0)).ended_with(2).says(&["its answer is jfs: say --fs jfs,nilfs2"]);
    let file = answer("mail", 3.0);
    let full = std::fs::read_to_string(&file).unwrap().replacen('{', "{\"room\":\"80%\",", 1);
    std::fs::write(&file, full).unwrap();
    run("jfs,nilfs2", &file).ended_with(2).says(&["it was asked with --fill 80%: say so here too"]);
    run("jfs,nilfs2", &answer("varmail", 3.0)).ended_with(2).says(&["it is about varmail, and this run is about mail"]);
    std::fs::write(lab.path("answer.json"), "{}").unwrap();
    let file = lab.path("answer.json").to_string_lossy().into_owned();
    run("jfs,nilfs2", &file).ended_with(2).says(&["it is no answer that"]);
}
