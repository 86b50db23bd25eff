//! A search finds the kernel or the commit at which a task's time changes, in as few cells as halves need.

use std::path::Path;
use std::process::Command;

use mountmark_lab::image::kernel::Kernel;
use mountmark_lab::image::packages::Packages;
use serde_json::Value;

use crate::lab::{Lab, Ran};
use crate::repeat;
use crate::why;

fn bisect(lab: &Lab, arguments: &[&str]) -> Ran {
    let out = lab.out();
    lab.command(&[&["bisect", "--out", out.to_str().unwrap()], arguments].concat())
}

/// What a search says to programs.
#[track_caller]
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
}

fn tried(found: &Value) -> Vec<(String, String)> {
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    found["tried"].as_array().unwrap().iter().map(|one| (text(one, "name"), text(one, "verdict"))).collect()
}

#[test]
fn the_step_between_debian_kernels_is_found_and_explained() {
    let Some(lab) = why::lab("the_step_between_debian_kernels_is_found_and_explained") else { return };
    let suite = lab.suite("profiled", repeat::TASKS);
    let cache = mountmark_lab::cache::default_folder();
    // The last kernel of one series and the first two of another: the step is between the series.
    let offered = |ends| Kernel::offered(ends, &Packages::new(&cache), &cache).unwrap();
    let (all, [last, newest]) = offered(["6.1", "6.12"]);
    let bad = (last + 2).min(newest);
    let ends = [all[last].as_str(), all[bad].as_str()];
    let plan = [
        "--good", ends[0], "--bad", ends[1], "--suite", &suite, "--scale", "1", "--fs", "ext4", "--disk", "ssd",
        "--fail-on", "1%",
    ];
    let search = |more: &[&str]| bisect(&lab, &[&plan, more].concat());
    let ran = search(&["--task", "files", "--any", "--format", "json"]).ended_with(0);
    let found = json(&ran);
    assert_eq!([found["good"].as_str().unwrap(), found["bad"].as_str().unwrap()], [ends[0], &all[last + 1]]);
    assert_eq!(tried(&found).len(), bad - last + 1, "{found}");
    ran.says(&["1 kernel left, about 1 step", "0 kernels left"]);
    assert!(found["change"].as_str().unwrap().starts_with("Linux 6.1."), "{found}");
    let why = &found["why"];
    assert!(why["equal_figures"].as_u64().unwrap() > 10 && !why["differences"].as_array().unwrap().is_empty());
    let nanoseconds = |at: usize| (found["figures"][at].as_f64().unwrap() * 1e9).round() as i64;
    let told = |at: usize| why["totals"][at]["durable"].as_i64().unwrap();
    assert_eq!([nanoseconds(0), nanoseconds(1)], [told(0), told(1)], "the figures are those that are explained");

    // All cells are in the store: no guest is started, and the runs are the same.
    let again = search(&["--task", "files", "--any", "--no-why", "--format", "json"]).ended_with(0);
    assert_eq!(json(&again)["tried"], found["tried"]);
    assert!(!again.stderr.contains("1 cell"), "{}", again.stderr);
    // Without --any only what is slower counts.
    let is_slower = nanoseconds(1) > nanoseconds(0);
    search(&["--task", "files", "--no-why"]).ended_with(if is_slower { 0 } else { 1 });
    search(&["--task", "files", "--fail-on", "99999%"]).ended_with(1).says(&["differ by less than", "no step"]);
}

/// A command that must succeed, in a folder.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let author = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"];
    let said = Command::new("git").arg("-C").arg(folder).args(author).args(arguments).output().unwrap();
    assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

/// A git tree with a commit for each of these contents of its only file; a branch `work` has them all.
pub fn tree(lab: &Lab, contents: &[&str]) -> std::path::PathBuf {
    let folder = lab.path("tree");
    std::fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch", "work"]);
    for (at, content) in contents.iter().enumerate() {
        std::fs::write(folder.join("kernel"), format!("{content} {at}\n")).unwrap();
        git(&folder, &["add", "kernel"]);
        git(&folder, &["commit", "--quiet", "-m", &format!("commit {at}: {content}")]);
    }
    folder
}

/// A copy of a kernel whose first instruction is an invalid one.
fn broken(lab: &Lab, from: &str, name: &str) {
    let mut image = std::fs::read(lab.path(from).join("vmlinux")).unwrap();
    let number =
        |at: usize, bytes: usize| image[at..at + bytes].iter().rev().fold(0, |sum, byte| sum << 8 | *byte as usize);
    // elf(5): the entry, a physical address, and the table of program headers.
    let (entry, headers, count) = (number(24, 8), number(32, 8), number(56, 2));
    let parts =
        (0..count).map(|at| headers + 56 * at).map(|at| (number(at + 8, 8), number(at + 24, 8), number(at + 32, 8)));
    let inside = |(_, address, size): &(usize, usize, usize)| (*address..address + size).contains(&entry);
    let (offset, address, _) = parts.into_iter().find(inside).unwrap();
    image[offset + entry - address..][..2].copy_from_slice(&[0x0f, 0x0b]);
    std::fs::create_dir(lab.path(name)).unwrap();
    std::fs::write(lab.path(name).join("vmlinux"), image).unwrap();
    std::os::unix::fs::symlink(lab.path(from).join("modules"), lab.path(name).join("modules")).unwrap();
}

#[test]
fn a_commit_is_found_by_git_and_the_tree_given_back() {
    let Some(lab) = why::lab("a_commit_is_found_by_git_and_the_tree_given_back") else { return };
    let suite = lab.suite("profiled", repeat::TASKS);
    // What a compiler would make: kernel and modules of one of two releases, or nothing.
    let link = |release: &str, name: &str| {
        let cache = mountmark_lab::cache::default_folder();
        let kernel = Kernel::find(release, &Packages::new(&cache), &cache).unwrap();
        std::fs::create_dir(lab.path(name)).unwrap();
        std::os::unix::fs::symlink(&kernel.image, lab.path(name).join("vmlinux")).unwrap();
        std::os::unix::fs::symlink(kernel.modules_folder().unwrap(), lab.path(name).join("modules")).unwrap();
    };
    link("6.1", "old");
    link("6.12", "new");
    broken(&lab, "new", "broken");
    let tree = tree(&lab, &["old", "old", "old", "none", "broken", "new", "new", "old"]);
    let build = r#"read kernel rest < kernel; test $kernel != none || exit 125; ln -sfn "$PWD/../$kernel" built"#;
    let folder = tree.to_string_lossy().into_owned();
    let plan = ["--tree", &folder, "--build", build, "--kernel-path", "built/vmlinux,built/modules", "--suite", &suite];
    let more =
        ["--scale", "1", "--fs", "ext4", "--disk", "ssd", "--task", "files", "--fail-on", "1%", "--format", "json"];
    let search = |good: &str, bad: &str, extra: &[&str]| {
        let ran = bisect(&lab, &[&plan[..], &more, &["--good-commit", good, "--bad-commit", bad], extra].concat());
        assert_eq!(git(&tree, &["symbolic-ref", "--short", "HEAD"]), "work", "{}", ran.text());
        assert!(!tree.join(".git/BISECT_LOG").exists());
        ran
    };
    // Commit 3 cannot be built, and commit 4 does not boot; both lie between the good ones and the bad ones.
    let ran = search("work~7", "work~1", &["--any"]).ended_with(1);
    let found = json(&ran);
    let name = |key: &str| found[key].as_str().unwrap().split_once(' ').unwrap().1.to_owned();
    assert_eq!([name("good"), name("bad")], ["commit 2: old", "commit 5: new"], "{}", ran.text());
    let mut hidden: Vec<&str> =
        found["hidden"].as_array().unwrap().iter().map(|one| &one.as_str().unwrap()[13..]).collect();
    hidden.sort_unstable();
    assert_eq!(hidden, ["commit 3: none", "commit 4: broken"], "{found}");
    let skips = tried(&found).into_iter().filter(|(_, verdict)| verdict == "skipped").count();
    assert!(skips == 2 && tried(&found).len() <= 7, "{found}");
    ran.says(&["--build ended with 125", "this kernel does not boot", "left to test after this"]);
    // The profiles are in the store, though the first kernel is gone from the tree.
    assert_eq!(found["why"]["kept"], true, "{}", ran.text());
    assert!(!found["why"]["differences"].as_array().unwrap().is_empty());
    // From here on no guest is started: each kernel is measured once.
    let back = json(&search("work~1", "work", &["--any", "--no-why"]).ended_with(0));
    assert_eq!(back["runs"], Value::from([1, 0].map(|at| found["runs"][at].clone()).to_vec()));
    let step = json(&search("work~2", "work", &["--any", "--no-why"]).ended_with(0));
    assert!(step["bad"].as_str().unwrap().ends_with("commit 7: old") && tried(&step).len() == 3, "{step}");
    // Without --any only one of the two directions is to the worse.
    let [good, bad] = [0, 1].map(|at| found["figures"][at].as_f64().unwrap());
    let (forth, there) = (search("work~5", "work~2", &["--no-why"]), search("work~1", "work", &["--no-why"]));
    let (slower, faster) = if bad > good { (forth, there) } else { (there, forth) };
    assert!(!slower.stdout.is_empty(), "{}", slower.text());
    faster.ended_with(1).says(&["the bad end is better", "--any"]);
    search("work~7", "work~6", &[]).ended_with(1).says(&["differ by less than 1 %"]);
    search("work~4", "work", &[]).ended_with(3).says(&["commit 3: none, the good end", "--build ended with 125"]);
    search("work~3", "work", &[]).ended_with(3).says(&["commit 4: broken, the good end", "this kernel does not boot"]);
    let died = ["--build", "exit 130", "--any"];
    search("work~7", "work", &died).ended_with(3).says(&["--build ended with 130, so the search ends"]);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let lab = Lab::without_guests();
    let tree = tree(&lab, &["one", "two"]);
    let folder = tree.to_string_lossy().into_owned();
    let plain = ["--task", "mount", "--fs", "ext4"];
    let refused = |arguments: &[&str], code: i32, says: &[&str]| {
        bisect(&lab, arguments).ended_with(code).says(says);
    };
    let kernels = |more: &[&str], says: &[&str]| {
        refused(&[&["--good", "6.1", "--bad", "6.12", "--task", "mount", "--fs", "ext4"], more].concat(), 2, says);
    };
    kernels(&["--fs", "ext4,xfs"], &["--fs ext4,xfs", "name one"]);
    kernels(&["--fs", "ext5"], &["ext5"]);
    kernels(&["--task", "nothing"], &["piszcz-2006", "no task \"nothing\"", "mkfs"]);
    kernels(&["--lab", "host"], &["--lab host", "wall time"]);
    kernels(&["--fail-on", "0"], &["--fail-on", "such as 3%"]);
    kernels(&["--fail-on", "much"], &["--fail-on", "such as 5%"]);
    kernels(&["--good", "6.12", "--bad", "6.1"], &["newer than --bad", "--any"]);
    kernels(&["--bad", "6.1"], &["are both 6.1.0-", "name two kernels"]);
    kernels(&["--good", "./vmlinux"], &["./vmlinux", "--good-commit"]);
    kernels(&["--format", "csv"], &["csv", "json"]);
    // Nothing was written for a command that is refused.
    let saved = lab.path("saved.toml").to_string_lossy().into_owned();
    let work = ["--task", "true", "--shelf", &folder, "--save", &saved, "--", "true"];
    kernels(&work, &["--shelf: ", "is no shelf, as it has other things in it"]);
    assert!(!lab.path("saved.toml").exists());
    refused(&[&["--good", "6.1", "--bad", "9.9"][..], &plain].concat(), 3, &["9.9", "6.12."]);
    refused(&[&["--good", "6.1"][..], &plain].concat(), 2, &["--bad"]);
    refused(&plain, 2, &["--good"]);

    let commits = |good: &str, bad: &str, folder: &str, says: &[&str]| {
        let good = format!("--good-commit={good}");
        let ends = [&good, "--bad-commit", bad, "--build", "true", "--tree", folder];
        refused(&[&ends[..], &plain].concat(), 2, says);
    };
    commits("work", "work", &folder, &["same commit"]);
    commits("work", "work~1", &folder, &["ancestor of --good-commit work", "--any"]);
    commits("work~1", "nowhere", &folder, &["--bad-commit nowhere", "no such commit"]);
    commits("--all", "work", &folder, &["no such commit"]);
    commits("work~1", "work", "/nowhere", &["--tree /nowhere", "no such folder"]);
    let bare = lab.temporary().to_string_lossy().into_owned();
    commits("work~1", "work", &bare, &["in no git tree", "--tree"]);
    std::fs::write(tree.join("kernel"), "changed").unwrap();
    commits("work~1", "work", &folder, &["not committed", "stash"]);
    git(&tree, &["checkout", "--quiet", "kernel"]);
    git(&tree, &["checkout", "--quiet", "--orphan", "other"]);
    git(&tree, &["commit", "--quiet", "-m", "other"]);
    commits("work", "other", &folder, &["no ancestor", "git merge-base"]);
    git(&tree, &["bisect", "start"]);
    commits("work~1", "work", &folder, &["already", "git bisect reset"]);
    git(&tree, &["bisect", "reset"]);

    let no_git = Lab::without_guests().under(&["/usr/bin/env", "PATH=/nowhere"]);
    let ends = ["--good-commit", "work~1", "--bad-commit", "work", "--build", "true", "--tree", &folder];
    bisect(&no_git, &[&ends[..], &plain].concat()).ended_with(3).says(&["cannot start git", "install"]);
}

#[test]
fn ctrl_c_ends_a_build_and_gives_the_tree_back() {
    let lab = Lab::without_guests();
    let tree = tree(&lab, &["one", "two", "three"]);
    let (folder, out) = (tree.to_string_lossy().into_owned(), lab.out().to_string_lossy().into_owned());
    let mut search = vec!["bisect", "--out", &out, "--tree", &folder, "--build", "echo began >&2; sleep 600"];
    search.extend(["--good-commit", "work~2", "--bad-commit", "work", "--task", "mount", "--fs", "ext4"]);
    let mut search = lab.start_command(&search);
    search.wait_for("began");
    assert!(git(&tree, &["bisect", "log"]).contains("git bisect start"));
    search.signal(libc::SIGINT);
    search.wait().ended_with(128 + libc::SIGINT).says(&["commit 0: one", "interrupted", "the same command goes on"]);
    assert_eq!(git(&tree, &["symbolic-ref", "--short", "HEAD"]), "work");
    assert!(!tree.join(".git/BISECT_LOG").exists());
}
