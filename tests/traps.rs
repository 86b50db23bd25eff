//! False alarms of `mountmark crash`: what looks like a broken promise and is none must not be told as one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::lab::Lab;

const FILESYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "f2fs"];

#[derive(Deserialize)]
struct Traps {
    trap: Vec<Trap>,
    known: Vec<Known>,
    unsync: Vec<Unsync>,
}

/// What makes an application sync, and what keeps it from that.
#[derive(Deserialize)]
struct Unsync {
    from: String,
    to: String,
}

/// A finding that is one.
#[derive(Deserialize)]
struct Known {
    filesystem: String,
    workload: String,
    signature: String,
}

#[derive(Deserialize)]
struct Trap {
    workload: String,
    why: String,
}

fn traps() -> Traps {
    toml::from_str(include_str!("traps.toml")).expect("a table of traps")
}

/// The files of the catalogue.
fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog/crash");
    let files = std::fs::read_dir(folder).expect("the catalogue").map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap())).collect();
    files.sort();
    files
}

/// Workloads of the catalogue by name, without the sync that ends their stage.
fn catalogue() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = files()
        .into_iter()
        .filter_map(|(_, text)| {
            let read: toml::Table = toml::from_str(&text).unwrap();
            let text = read.get("workload")?.as_str()?;
            // What the medium loses is no promise, but damage all the same.
            if text.contains("lose ") {
                return None;
            }
            let unsynced = text.split_once('|').and_then(|(stage, recorded)| {
                let stage = stage.trim().strip_suffix("sync")?;
                Some(format!("{} |{recorded}", stage.trim().trim_end_matches(';')))
            });
            Some((read["name"].as_str()?.to_owned(), unsynced.unwrap_or_else(|| text.to_owned())))
        })
        .collect();
    all.sort();
    all
}

/// Workloads of the catalogue without any sync, in the time that it takes the kernel to write back what it likes.
fn unsynced() -> Vec<String> {
    let is_sync =
        |op: &str| ["fsync", "fdatasync", "msync", "sync"].iter().any(|sync| op.split(' ').next() == Some(sync));
    let without = |ops: &str| -> Vec<String> {
        let ops = ops.split(';').map(str::trim).filter(|op| !op.is_empty() && !is_sync(op));
        ops.map(|op| op.trim_end_matches(" dsync").trim_end_matches(" sync").to_owned()).collect()
    };
    let all = catalogue().into_iter().map(|(_, workload)| {
        let (stage, recorded) = workload.split_once('|').unwrap_or(("", &workload));
        let (stage, mut recorded) = (without(stage), without(recorded));
        recorded.push("idle 40".to_owned());
        format!("{} | {}", stage.join("; "), recorded.join("; "))
    });
    let all: BTreeSet<String> = all.map(|workload| workload.trim_start_matches([' ', '|']).to_owned()).collect();
    all.into_iter().collect()
}

/// Applications of the catalogue that are told not to sync, whose damage is their own, as files.
fn careless(lab: &Lab) -> Vec<String> {
    let mut made = BTreeMap::new();
    for (path, text) in files() {
        let mut read: toml::Table = toml::from_str(&text).unwrap();
        if read.contains_key("workload") {
            continue;
        }
        let told = |text: &str| {
            traps().unsync.iter().fold(text.to_owned(), |text, Unsync { from, to }| text.replace(from, to))
        };
        for key in ["prepare", "check"] {
            read[key] = told(read[key].as_str().unwrap()).into();
        }
        read["steps"].as_array_mut().unwrap().iter_mut().for_each(|step| *step = told(step.as_str().unwrap()).into());
        read.insert("durable".into(), false.into());
        let what = ["prepare", "steps", "check"].map(|key| read[key].to_string());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        read["name"] = name.clone().into();
        made.entry(what).or_insert((name, read));
    }
    made.into_values().map(|(name, read)| lab.write(&format!("{name}.toml"), &read.to_string())).collect()
}

/// What is found on a file system, and is a broken promise.
fn signatures(filesystem: &str) -> Vec<String> {
    let known = traps().known.into_iter().filter(|known| known.filesystem == filesystem);
    known.map(|known| known.signature).collect()
}

/// Tries workloads in one guest; each must leave images. What is told as a broken promise.
fn broken(lab: &Lab, filesystem: &str, workloads: &[&str]) -> Vec<String> {
    let mut arguments = vec!["crash", "--fs", filesystem, "--jobs", "1", "--images", "16", "--recoveries", "0"];
    arguments.extend(["--no-shrink", "--budget", "2h", "--format", "json"]);
    workloads.iter().for_each(|workload| arguments.extend(["--workload", workload]));
    let ran = lab.start_command(&arguments).wait_within(Duration::from_secs(7200));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()));
    let tried = answer["configurations"][0]["tried"].as_array().expect("what was tried");
    let images = |tried: &Value| tried["explored"]["states"].as_u64().unwrap_or(0);
    // Applications are recorded twice.
    assert!(tried.len() >= workloads.len() && tried.iter().all(|tried| images(tried) > 0), "{}", ran.stderr);
    let causes = answer["configurations"][0]["causes"].as_array().expect("causes").iter();
    let broken = causes.filter(|cause| cause["promised"] == true);
    let broken: Vec<String> = broken.map(|cause| cause["signature"].as_str().unwrap().to_owned()).collect();
    let all: u64 = tried.iter().map(images).sum();
    println!("{filesystem}: {} workloads, {all} images, told as broken promises: {broken:?}", tried.len());
    broken
}

#[test]
fn each_trap_has_its_reason_and_is_of_its_own() {
    let Traps { trap: traps, known, unsync } = traps();
    let mut workloads: Vec<&str> = traps.iter().map(|trap| trap.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    assert_eq!((workloads.len(), traps.len()), (24, 24));
    assert!(traps.iter().all(|trap| trap.why.contains("(2): ")));
    let catalogue = catalogue();
    assert!(catalogue.len() > 20, "{catalogue:?}");
    let bare = unsynced();
    assert!(bare.len() > 20 && !bare.iter().any(|workload| workload.contains("sync")), "{bare:?}");
    let sources = files();
    let is_used = |unsync: &Unsync| sources.iter().any(|(_, text)| text.contains(&unsync.from));
    assert!(unsync.iter().all(is_used), "an application syncs otherwise than it did");
    let is_there = |known: &Known| catalogue.iter().any(|(name, _)| *name == known.workload);
    assert!(known.iter().all(|known| is_there(known) && FILESYSTEMS.contains(&known.filesystem.as_str())));
}

#[test]
#[ignore = "minutes: make nightly"]
fn what_looks_like_a_broken_promise_is_not_told_as_one() {
    let Some(lab) = Lab::with_guests("what_looks_like_a_broken_promise_is_not_told_as_one", 1) else { return };
    let traps = traps().trap;
    let workloads: Vec<&str> = traps.iter().map(|trap| trap.workload.as_str()).collect();
    for filesystem in FILESYSTEMS {
        assert_eq!(broken(&lab, filesystem, &workloads), [""; 0], "{filesystem}");
    }
}

#[test]
#[ignore = "minutes: make nightly"]
fn no_workload_of_the_catalogue_counts_on_a_sync_that_is_not_written() {
    let name = "no_workload_of_the_catalogue_counts_on_a_sync_that_is_not_written";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let catalogue = catalogue();
    let workloads: Vec<&str> = catalogue.iter().map(|(_, workload)| workload.as_str()).collect();
    for filesystem in FILESYSTEMS {
        assert_eq!(broken(&lab, filesystem, &workloads), signatures(filesystem), "{filesystem}");
    }
}

#[test]
#[ignore = "minutes: make nightly"]
fn no_workload_and_no_application_without_a_sync_is_told_to_break_a_promise() {
    let name = "no_workload_and_no_application_without_a_sync_is_told_to_break_a_promise";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let mut wrong = Vec::new();
    for all in [unsynced(), careless(&lab)] {
        let workloads: Vec<&str> = all.iter().map(String::as_str).collect();
        for filesystem in FILESYSTEMS {
            let known = signatures(filesystem);
            let told = broken(&lab, filesystem, &workloads).into_iter().filter(|told| !known.contains(told));
            wrong.extend(told.map(|told| format!("{filesystem}: {told}")));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
