//! False alarms of `mountmark crash`: what looks like a broken promise and is none must not be told as one.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::lab::Lab;

const FILESYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "f2fs"];

#[derive(Deserialize)]
struct Traps {
    trap: Vec<Trap>,
}

#[derive(Deserialize)]
struct Trap {
    workload: String,
    why: String,
}

fn traps() -> Vec<Trap> {
    toml::from_str::<Traps>(include_str!("traps.toml")).expect("a table of traps").trap
}

/// Workloads of the catalogue, without the sync that ends their stage.
fn catalogue() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog/crash");
    let files = std::fs::read_dir(folder).expect("the catalogue").map(|file| file.unwrap().path());
    let mut all: Vec<String> = files
        .filter_map(|path| {
            let read: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let (stage, recorded) = read.get("workload")?.as_str()?.split_once('|')?;
            // What the medium loses is no promise, but damage all the same.
            let stage = stage.trim().strip_suffix("sync").filter(|_| !recorded.contains("lose "))?;
            Some(format!("{} |{recorded}", stage.trim().trim_end_matches(';')))
        })
        .collect();
    all.sort();
    all
}

/// Tries workloads in one guest; each must leave images, and break no promise.
fn keeps(lab: &Lab, filesystem: &str, workloads: &[String], images: &str) {
    let mut arguments = vec!["crash", "--fs", filesystem, "--jobs", "1", "--images", images, "--recoveries", "0"];
    arguments.extend(["--no-shrink", "--budget", "2h", "--format", "json"]);
    workloads.iter().for_each(|workload| arguments.extend(["--workload", workload]));
    let ran = lab.command(&arguments).ended_with(0);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tried = answer["configurations"][0]["tried"].as_array().expect("what was tried");
    assert_eq!(tried.len(), workloads.len(), "{}", ran.text());
    let images: u64 = tried.iter().map(|tried| tried["explored"]["states"].as_u64().unwrap()).sum();
    println!("{filesystem}: {} workloads, {images} images, none told as a broken promise", tried.len());
    assert!(tried.iter().all(|tried| tried["explored"]["states"].as_u64() > Some(0)), "{}", ran.text());
}

#[test]
fn each_trap_has_its_reason_and_is_of_its_own() {
    let traps = traps();
    let mut workloads: Vec<&str> = traps.iter().map(|trap| trap.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    assert_eq!((workloads.len(), traps.len()), (24, 24));
    assert!(traps.iter().all(|trap| trap.why.contains("(2): ")));
    assert!(catalogue().len() > 20, "{:?}", catalogue());
}

#[test]
#[ignore = "a quarter of an hour: make nightly"]
fn what_looks_like_a_broken_promise_is_not_told_as_one() {
    let Some(lab) = Lab::with_guests("what_looks_like_a_broken_promise_is_not_told_as_one", 1) else { return };
    let traps: Vec<String> = traps().into_iter().map(|trap| trap.workload).collect();
    FILESYSTEMS.iter().for_each(|filesystem| keeps(&lab, filesystem, &traps, "16"));
}

#[test]
#[ignore = "an hour: make nightly"]
fn no_workload_of_the_catalogue_counts_on_a_sync_that_is_not_written() {
    let Some(lab) = Lab::with_guests("no_workload_of_the_catalogue_counts_on_a_sync_that_is_not_written", 1) else {
        return;
    };
    let workloads = catalogue();
    FILESYSTEMS.iter().for_each(|filesystem| keeps(&lab, filesystem, &workloads, "16"));
}
