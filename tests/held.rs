//! What file systems hold before the tasks.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::lab::{Lab, Ran, Results, assert_has_figures};

/// Reads what it wrote.
const SMALL: &str = r#"
[[task]]
id = "write"
title = "write files"
run = "mkdir mine; for i in $(seq 200); do head -c 20000 /dev/urandom > mine/$i; done"

[[task]]
id = "read"
title = "read them again"
cold = true
run = "cat mine/* | wc -c"
"#;

/// Asserts that it prints these texts.
fn prints(ran: &Ran, texts: &[&str]) {
    for text in texts {
        assert!(ran.stdout.contains(text), "{text:?} is missing in {}", ran.text());
    }
}

fn on_store(lab: &Lab, words: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    let (command, rest) = words.split_first().expect("a command");
    lab.command(&[&[*command, "--out", &out], rest].concat())
}

#[test]
fn a_fill_takes_its_share_before_the_tasks_and_repeats() {
    let Some(lab) = Lab::with_guests("a_fill_takes_its_share_before_the_tasks_and_repeats", 2) else { return };
    let suite = lab.suite("held", SMALL);
    let words = ["run", "--fs", "ext4,xfs,btrfs", "--suite", &suite, "--disk-size", "512MiB", "--repeat", "1"];
    let words = [&words[..], &["--disk", "ssd"]].concat();
    let crossed = [&words[..], &["--fill", "0%,70%"]].concat();
    let dry = on_store(&lab, &[&crossed[..], &["--dry-run"]].concat()).ended_with(0);
    prints(&dry, &["ext4#fill-70 held: files fill 70% of the file system, in .mountmark-fill", "ext4#fill-0 mkfs"]);
    let told = on_store(&lab, &crossed).ended_with(0);
    prints(&told, &["held before", "files fill 70%", "df told", "a new file system is made in the same way"]);
    let json = ["--format", "json"];
    let one = on_store(&lab, &[&["show"], &json[..]].concat()).ended_with(0).results();
    for fs in ["ext4", "xfs", "btrfs"] {
        let full = format!("{fs}#fill-70");
        one.is_ok(&full, &["write", "read", "fsck"]);
        let came_to = one.value(&full, "capacity", "capacity_filled");
        assert!((69.5..71.0).contains(&came_to), "{fs}: {came_to}");
        // The fill takes no time of a task, and nothing of it is in memory.
        let read = |side: &str| one.value(&format!("{fs}#{side}"), "read", "elapsed");
        assert!(read("fill-70") < 3.0 * read("fill-0"), "{fs}: {} and {}", read("fill-70"), read("fill-0"));
    }
    // A new file system is made apart too, so that nothing but the fill differs.
    assert!(one.figures().keys().all(|figure| figure.2 != "mkfs"), "mkfs is measured of neither");
    // One is filled again.
    let alone: Vec<&str> = words.iter().map(|word| if *word == "ext4,xfs,btrfs" { "ext4" } else { *word }).collect();
    for (fill, side) in [("70%", "ext4#fill-70"), ("0%", "ext4#fill-0")] {
        let again = on_store(&lab, &[&alone[..], &["--fill", fill], &json[..]].concat()).ended_with(0).results();
        let figures = |results: &Results, name: &str| -> Vec<(String, String, u64)> {
            let of_side = results.figures().into_iter().filter(|(figure, _)| figure.0 == name);
            of_side.map(|((_, _, task, _, metric), bits)| (task, metric, bits)).collect()
        };
        assert_eq!(figures(&again, "ext4"), figures(&one, side), "{side}");
    }
}

#[test]
fn a_fill_that_cannot_be_is_refused_with_a_number() {
    let lab = Lab::without_guests();
    let suite = lab.suite("held", SMALL);
    let refused = |words: &[&str], says: &[&str]| {
        let ran = on_store(&lab, &[&["run", "--suite", &suite], words].concat()).ended_with(2);
        ran.says(says);
        assert!(!ran.stderr.contains("preparing"), "it began: {}", ran.text());
    };
    refused(&["--fill", "100%"], &["--fill 100%: ", "at most 99%"]);
    refused(&["--fill", "much"], &["--fill much: give a whole number of percent, such as 80%"]);
    refused(&["--fill", "80%,80"], &["--fill: 80 is there twice"]);
    refused(&["--fill", "80%,"], &["give a whole number of percent"]);
    refused(&["--lab", "host", "--dir", "/tmp", "--fill", "80%"], &["--fill has no effect with --dir /tmp"]);
    // Of several fills the size is that of the one that lacks most.
    let (fits, made) =
        ("does not fit on it with ext4 beside a fill of 80%", "xfs can only be made on 300 MiB and more");
    for (fs, fill, reason) in [("ext4", "80%", fits), ("xfs", "0%,80%,40%", made)] {
        let on = |size: &str| {
            on_store(&lab, &["run", "--suite", &suite, "--fs", fs, "--disk-size", size, "--fill", fill, "--dry-run"])
        };
        let ran = on("128MiB").ended_with(2);
        ran.says(&["is too small", reason]);
        let (_, rest) = ran.stderr.split_once("--disk-size ").unwrap();
        let would_do = rest.rsplit("--disk-size ").next().unwrap().split(' ').next().unwrap();
        on(would_do).ended_with(0);
    }
}

/// Reads the aged tree.
const AGED: &str = r#"
[[task]]
id = "read"
title = "read the tree"
cold = true
run = "cat $(find aged -type f) | wc -c"
"#;

/// Ended long before the ages are those of the profile.
const PROFILE: &str = "geriatrix:douceur,overwrites=2,size=8MiB";

#[test]
fn a_history_ages_a_file_system_and_repeats() {
    let Some(lab) = Lab::with_guests("a_history_ages_a_file_system_and_repeats", 2) else { return };
    let lab = lab.with_own_cells("cache");
    let suite = lab.suite("aged", AGED);
    let words = ["run", "--fs", "ext4", "--suite", &suite, "--disk-size", "256MiB", "--repeat", "1", "--disk", "hdd"];
    let ages = format!("copy:seed:40,seed:40,{PROFILE}");
    let words = [&words[..], &["--age", &ages]].concat();
    let dry = on_store(&lab, &[&words[..], &["--dry-run"]].concat()).ended_with(0);
    prints(
        &dry,
        &[
            "files with which a history ends are written once, in aged",
            "file operations of 40 commits are played, in aged",
        ],
    );
    let ran = on_store(&lab, &words).ended_with(0);
    prints(&ran, &["held before", "operations of 40"]);
    ran.says(&["% of the files have an age as in the profile; with overwrites="]);
    let json = ["--format", "json"];
    let one = on_store(&lab, &[&["show"], &json[..]].concat()).ended_with(0).results();
    let [copy, aged] = ["ext4#age-copy-seed-40", "ext4#age-seed-40"];
    for side in [copy, aged, "ext4#age-geriatrix-douceur-overwrites-2-size-8MiB"] {
        one.is_ok(side, &["read", "fsck"]);
    }
    // The same files, and worse places.
    let score = |side: &str| one.value(side, "read", "layout_score");
    assert!(score(aged) < score(copy), "{} {}", score(aged), score(copy));
    assert!(one.value(aged, "read", "elapsed") > one.value(copy, "read", "elapsed"));
    // What is played is played again in the same way, if its disks were lost or are not what they were.
    let kept = disks(&lab);
    assert_eq!(kept.len(), 3, "{kept:?}");
    for (at, disk) in kept.iter().enumerate() {
        match at {
            0 => fs::remove_file(disk).unwrap(),
            _ => File::options().write(true).open(disk).unwrap().write_all_at(b"damage", 5 << 20).unwrap(),
        }
    }
    let played = words.iter().map(|word| if *word == ages { ages.trim_start_matches("copy:seed:40,") } else { *word });
    let played: Vec<&str> = played.chain(["--fresh"]).chain(json).collect();
    assert_has_figures(&on_store(&lab, &played).ended_with(0).results(), &one);
    // The copy, which is not asked for, may be the one that was lost.
    assert!(disks(&lab).len() >= 2);
}

/// The disks with contents in the lab's cache, in order.
fn disks(lab: &Lab) -> Vec<PathBuf> {
    let entries = fs::read_dir(lab.path("cache").join("contents")).expect("contents of disks").flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path().join("disks")).filter(|path| path.exists()).collect();
    found.sort();
    found
}

#[test]
fn a_history_that_cannot_be_is_refused() {
    let lab = Lab::without_guests();
    let suite = lab.suite("aged", AGED);
    let folder = lab.path("tmp").to_string_lossy().into_owned();
    let refused = |words: &[&str], says: &[&str]| {
        let ran = on_store(&lab, &[&["run", "--suite", &suite], words].concat()).ended_with(2);
        ran.says(says);
        assert!(!ran.stderr.contains("preparing"), "it began: {}", ran.text());
    };
    refused(&["--age", "old"], &["--age old: give seed:N, git:PATH,commits=N"]);
    refused(&["--age", "seed:0"], &["--age seed:0: give a number of commits from 1"]);
    refused(&["--age", "geriatrix:douceur"], &["give a profile and how often files are written over"]);
    refused(&["--age", "geriatrix:doceur,overwrites=3"], &["there is no ageing profile named \"doceur\"", "douceur"]);
    refused(
        &["--age", "geriatrix:douceur,overwrites=3,size=1"],
        &["is too little for files of this profile; size=256MiB"],
    );
    refused(&["--age", &format!("git:{folder},commits=3")], &["is no git repository"]);
    refused(&["--age", "seed:4,seed:04"], &["--age: seed:4 and seed:04 are one history"]);
    refused(&["--age", "none,none"], &["--age: none is there twice"]);
    refused(&["--lab", "host", "--dir", "/tmp", "--age", "seed:3"], &["--age has no effect with --dir /tmp"]);
}
