//! Checks the structure of the sources: how many places change when something is added, the length of files, and the
//! dependencies in manifests. It reads the repository and starts nothing.

mod repository;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use repository::{files, root};

/// Maximum number of lines of a file.
const LONGEST: usize = 350;
/// Lines of the program's own code, without tests and comments: (file, line).
fn code() -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (path, text) in files("crates", ".rs").into_iter().chain(files("src", ".rs")) {
        let is_test = path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "benches"));
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let own = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.extend(own.filter(|_| !is_test).map(|line| (path.clone(), line.to_owned())));
    }
    assert!(lines.len() > 20_000, "the sources are not where they were");
    lines
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// The files with lines accepted by `is_place`, and their number: `a.rs 1, b.rs 2`.
fn places(is_place: impl Fn(&str, &str) -> bool) -> String {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for (path, _) in code().into_iter().filter(|(path, line)| is_place(path, line)) {
        *counted.entry(path).or_default() += 1;
    }
    counted.iter().map(|(path, lines)| format!("{path} {lines}")).collect::<Vec<_>>().join(", ")
}

/// The folders in a folder, and the files without their extension.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let names = entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

fn upper(name: &str) -> String {
    name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

#[test]
fn no_file_is_too_long() {
    let all = ["crates", "src", "tests", "fuzz"].into_iter().flat_map(|folder| files(folder, ".rs"));
    let long: Vec<String> = all.filter(|(_, text)| text.lines().count() > LONGEST).map(|(path, _)| path).collect();
    assert!(long.is_empty(), "files of more than {LONGEST} lines: {long:?}");
}

/// One TOML and no line of code. Exceptions: defaults of options, disks that only hold files, which are ext2 on ext4's
/// driver, and overlayfs where it lays a suite's tree of files over the machine's.
#[test]
fn a_file_system_and_a_suite_are_one_file() {
    let filesystem = |line: &str| names("catalog/filesystems").iter().any(|name| line.contains(&format!("\"{name}\"")));
    assert_eq!(
        places(|_, line| filesystem(line)),
        "crates/agent/src/sandbox/mounts.rs 1, crates/job/src/plain.rs 1, crates/lab/src/emulator/cell.rs 1, \
         crates/plan/src/brought.rs 1, src/commands/crash/options.rs 1"
    );
    // Programs are code, and some suites have their names.
    let suites: Vec<String> =
        names("catalog/suites").into_iter().filter(|name| mountmark_model::Program::find(name).is_none()).collect();
    let suite = |line: &str| suites.iter().any(|name| line.contains(&format!("\"{name}\"")));
    assert_eq!(places(|_, line| suite(line)), "src/commands/run/mod.rs 1, src/commands/self_check.rs 1");
}

/// Its definition and where the agent reads it: no other change is needed to measure, store and show a metric.
#[test]
fn a_metric_is_two_places() {
    for (metric, reader) in [
        ("USER", "measure"),
        ("SETTLE_BUSY", "measure"),
        ("MAJOR_FAULTS", "measure"),
        ("VOLUNTARY_SWITCHES", "measure"),
        ("READ_REQUESTS", "probes"),
        ("DISCARDED_BYTES", "probes"),
    ] {
        let id = format!("\"{}\"", metric.to_lowercase());
        // Words of generated texts are not metrics, nor are mount options.
        let other = ["crates/corpus/src/contents.rs", "crates/agent/src/protocol/mount.rs"];
        assert_eq!(
            places(|path, line| !other.contains(&path)
                && (line.contains(&id) || has_word(line, &format!("Metric::{metric}")))),
            format!("crates/agent/src/{reader}.rs 1, crates/model/src/metric.rs 1")
        );
    }
    // Code that plans, stores and runs cells knows no metric.
    let blind = ["crates/plan", "crates/record", "crates/lab", "crates/disk", "crates/corpus", "crates/trace"];
    let constant = |line: &str| {
        line.match_indices("Metric::").any(|(at, found)| {
            line[at + found.len()..].starts_with(|c: char| c.is_ascii_uppercase()) && !line.contains("Metric::ALL")
        })
    };
    assert_eq!(places(|path, line| blind.iter().any(|crate_| path.starts_with(crate_)) && constant(line)), "");
}

/// Its folder, its `mod`, and its line in the list.
#[test]
fn a_disk_model_is_a_folder_and_a_line() {
    let folders: Vec<String> = names("crates/disk/src")
        .into_iter()
        .filter(|name| root().join("crates/disk/src").join(name).is_dir())
        .collect();
    assert!(folders.len() >= 3);
    for name in folders {
        let (own, kind) = (format!("crates/disk/src/{name}/"), upper(&name));
        let is_model = |path: &str, line: &str| {
            let inside = path.starts_with("crates/disk/") && (has_word(line, &name) || has_word(line, &kind));
            let outside =
                has_word(line, &format!("DiskModel::{kind}")) || has_word(line, &format!("mountmark_disk::{kind}"));
            // The constant for a disk without a drive is in the list's file too.
            !path.starts_with(&own) && (inside || outside) && !line.contains("NO_DRIVE")
        };
        assert_eq!(places(is_model), "crates/disk/src/lib.rs 1, crates/disk/src/models.rs 1", "{name}");
    }
}

/// Its folder, its row in the list, and how it is opened, which the compiler requires.
#[test]
fn a_lab_is_a_folder_and_a_line() {
    for lab in mountmark_model::Lab::ALL {
        let named = format!("Lab::{lab:?}");
        assert_eq!(places(|_, line| has_word(line, &named)), "crates/lab/src/lib.rs 1", "{lab:?}");
        let row = format!("    {lab:?}: Capabilities {{");
        assert_eq!(places(|_, line| line == row), "crates/model/src/lab.rs 1", "{lab:?}");
    }
    for (name, folder) in
        [("ThisMachine", "host"), ("HostLab", "host"), ("Guests", "emulator"), ("Emulator", "emulator")]
    {
        let own = format!("crates/lab/src/{folder}/");
        let elsewhere = places(|path, line| !path.starts_with(&own) && has_word(line, name));
        assert!(
            ["", "crates/lab/src/lib.rs 1", "crates/lab/src/lib.rs 2"].contains(&elsewhere.as_str()),
            "{elsewhere}"
        );
    }
}

/// Its file, its `mod`, and its line in the list.
#[test]
fn a_subcommand_is_a_file_and_a_line() {
    for name in names("src/commands").into_iter().filter(|name| name != "mod") {
        let list = "src/commands/mod.rs";
        let is_place = |path: &str, line: &str| {
            path == list
                && [format!("mod {name};"), format!("    {} {name};", upper(&name))].iter().any(|place| line == place)
        };
        assert_eq!(places(is_place), format!("{list} 2"), "{name}");
        let others =
            |path: &str, line: &str| path == list && has_word(line, &upper(&name)) && has_word(line, "Command");
        assert_eq!(places(others), "", "{name}");
    }
}

// Tests for subjects and writers of reports go here, with the same helpers, once each has one list.

/// Every crate in a manifest is used: by the program itself, or by tests for dev-dependencies.
#[test]
fn every_dependency_is_used() {
    let manifests = files("crates", "Cargo.toml")
        .into_iter()
        .chain([("Cargo.toml".to_owned(), fs::read_to_string(root().join("Cargo.toml")).unwrap())]);
    for (path, manifest) in manifests {
        let folder = path.strip_suffix("Cargo.toml").unwrap();
        let below = |part: &str| {
            let folder = format!("{folder}{part}");
            if root().join(&folder).is_dir() { files(&folder, ".rs") } else { BTreeMap::new() }
        };
        let own: Vec<String> = code()
            .into_iter()
            .filter(|(file, _)| file.starts_with(&format!("{folder}src/")))
            .map(|(_, line)| line)
            .collect();
        let all: String = ["src", "tests", "benches"].into_iter().flat_map(below).map(|(_, text)| text).collect();
        for (section, lines) in sections(&manifest) {
            for line in lines {
                let Some(name) = line.split(['.', ' ', '=']).next().filter(|name| !name.is_empty()) else { continue };
                let word = name.replace('-', "_");
                let is_used = match section {
                    "dependencies" => own.iter().any(|line| has_word(line, &word)),
                    _ => all.lines().any(|line| has_word(line, &word)),
                };
                assert!(is_used, "{path}: [{section}] {name} is not used");
            }
        }
    }
}

/// What every question needs builds without the answers to one of them.
#[test]
fn the_crash_lab_is_unknown_below_it() {
    for name in ["agent", "job", "lab", "plan", "record", "trace", "model"] {
        let manifest = fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let sections = sections(&manifest);
        let needed = sections.iter().find(|(section, _)| *section == "dependencies").unwrap();
        assert!(!needed.1.iter().any(|line| line.starts_with("mountmark-crash")), "{name}");
    }
}

/// Its bytes, and with them all figures, stay the same while the host's side changes.
#[test]
fn the_guests_program_is_built_from_few_crates() {
    let mut open = vec!["guest".to_owned()];
    let mut needed = BTreeSet::new();
    while let Some(name) = open.pop() {
        let manifest = fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let sections = sections(&manifest);
        let own = sections.iter().find(|(section, _)| *section == "dependencies").unwrap().1.iter();
        let own = own.filter_map(|line| Some(line.strip_prefix("mountmark-")?.split('.').next()?.to_owned()));
        if needed.insert(name) {
            open.extend(own);
        }
    }
    let known = ["agent", "crash", "disk", "guest", "job", "model", "random", "trace"];
    assert_eq!(needed.iter().map(String::as_str).collect::<Vec<_>>(), known);
    let main = fs::read_to_string(root().join("src/guest.rs")).unwrap();
    assert!(!main.contains("use ") && main.matches("mountmark_").count() == 1, "{main}");
}

fn sections(manifest: &str) -> Vec<(&str, Vec<&str>)> {
    let parts = manifest.split("\n[").filter_map(|part| part.split_once("]\n"));
    let wanted = parts.filter(|(name, _)| matches!(*name, "dependencies" | "dev-dependencies"));
    wanted.map(|(name, rest)| (name, rest.lines().collect())).collect()
}

/// `clean --cache` removes the folders that it knows, and nothing where there is one that it does not.
#[test]
fn each_folder_of_the_cache_is_known_to_its_cleaning_and_described() {
    let quoted = |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<String>>();
    let source = fs::read_to_string(root().join("crates/lab/src/cache/own.rs")).unwrap();
    let list = source.split("const FOLDERS").nth(1).unwrap().split(';').nth(1).unwrap();
    let mut known = quoted(list);
    known.extend(quoted(source.split("const JOURNALS").nth(1).unwrap().split(';').next().unwrap()));
    let used: BTreeSet<String> = code()
        .iter()
        .flat_map(|(_, line)| line.split("cache.join(\"").skip(1).map(str::to_owned).collect::<Vec<_>>())
        .map(|rest| rest.split(['"', '/']).next().unwrap_or_default().to_owned())
        .collect();
    assert!(used.len() > 5 && used.is_subset(&known), "{used:?} {known:?}");
    let text = fs::read_to_string(root().join("docs/LAB.md")).unwrap();
    let table = text.split("## What lies in the cache").nth(1).unwrap().split("\n\n").nth(1).unwrap();
    let described: BTreeSet<String> =
        table.lines().skip(2).filter_map(|row| Some(row.split('`').nth(1)?.to_owned())).collect();
    assert_eq!(described, known);
}

/// A crate that is published by mistake cannot be taken back, and one that is left out stops those that need it.
#[test]
fn each_crate_says_whether_it_is_published() {
    let manifests = ["catalog", "crates", "fuzz"].into_iter().flat_map(|folder| files(folder, "Cargo.toml"));
    let mut kept_back = Vec::new();
    for (path, manifest) in manifests {
        let said: Vec<&str> = manifest.lines().filter(|line| line.starts_with("publish")).collect();
        match said[..] {
            ["publish.workspace = true"] => {}
            ["publish = false"] => kept_back.push(path),
            _ => panic!("{path}: {said:?}"),
        }
    }
    assert_eq!(kept_back, ["crates/reference/Cargo.toml", "fuzz/Cargo.toml"]);
}

/// What the Debian package takes from the source is there; the rest is made by `scripts/pack`.
#[test]
fn files_of_the_package_are_there() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let assets = manifest.split("\nassets = [\n").nth(1).unwrap().split("\n]").next().unwrap();
    let pack = fs::read_to_string(root().join("scripts/pack")).unwrap();
    let sources: Vec<&str> = assets.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert!(sources.len() > 5, "{sources:?}");
    for source in sources {
        let folder = source.trim_end_matches('*');
        match source.strip_prefix("target/") {
            Some(made) => {
                let name = made.split('/').nth(1).unwrap();
                assert!(name.starts_with("mountmark") || pack.contains(&format!("$staged/{name}")), "{source}");
            }
            None => assert!(root().join(folder).exists(), "{source}"),
        }
    }
}
