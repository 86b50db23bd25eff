//! False alarms of `mountmark crash`: what looks like a broken promise and is none must not be told as one.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::lab::Lab;

const FILESYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "f2fs"];

#[derive(Deserialize)]
struct Traps {
    trap: Vec<Trap>,
    known: Vec<Known>,
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

/// Workloads of the catalogue by name, without the sync that ends their stage.
fn catalogue() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog/crash");
    let files = std::fs::read_dir(folder).expect("the catalogue").map(|file| file.unwrap().path());
    let mut all: Vec<(String, String)> = files
        .filter_map(|path| {
            let read: toml::Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
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

/// Tries workloads in one guest; each must leave images. What is told as a broken promise.
fn broken(lab: &Lab, filesystem: &str, workloads: &[&str]) -> Vec<String> {
    let mut arguments = vec!["crash", "--fs", filesystem, "--jobs", "1", "--images", "16", "--recoveries", "0"];
    arguments.extend(["--no-shrink", "--budget", "2h", "--format", "json"]);
    workloads.iter().for_each(|workload| arguments.extend(["--workload", workload]));
    let ran = lab.command(&arguments);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()));
    let tried = answer["configurations"][0]["tried"].as_array().expect("what was tried");
    let images = |tried: &Value| tried["explored"]["states"].as_u64().unwrap_or(0);
    assert_eq!(tried.iter().filter(|tried| images(tried) > 0).count(), workloads.len(), "{}", ran.stderr);
    let causes = answer["configurations"][0]["causes"].as_array().expect("causes").iter();
    let broken = causes.filter(|cause| cause["promised"] == true);
    let broken: Vec<String> = broken.map(|cause| cause["signature"].as_str().unwrap().to_owned()).collect();
    let all: u64 = tried.iter().map(images).sum();
    println!("{filesystem}: {} workloads, {all} images, told as broken promises: {broken:?}", tried.len());
    broken
}

#[test]
fn each_trap_has_its_reason_and_is_of_its_own() {
    let Traps { trap: traps, known } = traps();
    let mut workloads: Vec<&str> = traps.iter().map(|trap| trap.workload.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    assert_eq!((workloads.len(), traps.len()), (24, 24));
    assert!(traps.iter().all(|trap| trap.why.contains("(2): ")));
    let catalogue = catalogue();
    assert!(catalogue.len() > 20, "{catalogue:?}");
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
    let (catalogue, known) = (catalogue(), traps().known);
    let workloads: Vec<&str> = catalogue.iter().map(|(_, workload)| workload.as_str()).collect();
    for filesystem in FILESYSTEMS {
        let known: Vec<&str> =
            known.iter().filter(|known| known.filesystem == filesystem).map(|known| known.signature.as_str()).collect();
        assert_eq!(broken(&lab, filesystem, &workloads), known, "{filesystem}");
    }
}
