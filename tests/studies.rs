//! `mountmark run --study`: a study again in one command, and what `mountmark list studies` says of it.

use mountmark_model::Study;
use mountmark_plan::Catalogue;

use crate::lab::Lab;

/// What `list studies` prints of one run of a study: the command, and those that it stands for.
fn listed(text: &str, name: &str) -> (String, Vec<String>) {
    let after = text.split(&format!("\n  mountmark run --study {name}\n")).nth(1);
    let after = after.unwrap_or_else(|| panic!("no command for {name} in {text}"));
    let lines = after.lines().take_while(|line| line.starts_with("    mountmark "));
    (format!("run --study {name}"), lines.map(|line| line.trim().to_owned()).collect())
}

/// The commands that standard error names, in their order.
fn told(stderr: &str, study: &str) -> Vec<String> {
    let head = format!("mountmark: study {study}, ");
    let lines = stderr.lines().filter_map(|line| line.strip_prefix(&head)?.split_once(": "));
    lines.map(|(_, command)| command.to_owned()).collect()
}

/// What the disks of one study were.
const ARRAY: &str = "raid5:disks=5:chunk=64KiB";

#[test]
fn every_study_is_repeated_by_the_commands_that_the_list_has() {
    let lab = Lab::without_guests();
    let list = lab.command(&["list", "studies"]).ended_with(0).stdout;
    let catalogue = Catalogue::built_in().expect("a catalogue");
    let mut seen = 0;
    for study in catalogue.list::<Study>() {
        for (index, run) in study.runs.iter().enumerate() {
            let name = if index == 0 { study.name.clone() } else { format!("'{}#{}'", study.name, run.id) };
            let (command, steps) = listed(&list, &name);
            let name = name.trim_matches('\'');
            let dry = lab.command(&["run", "--study", name, "--dry-run"]).ended_with(0);
            assert_eq!(told(&dry.stderr, name), steps, "{command}");
            assert!(!steps.is_empty() && !dry.stderr.contains("otherwise"), "{}", dry.text());
            // Each stands for a command that can be typed, and does the same.
            for step in &steps {
                let words: Vec<&str> = step.split(' ').skip(1).chain(["--dry-run"]).collect();
                if words[0] == "run" {
                    let typed = lab.command(&words).ended_with(0);
                    assert!(dry.stdout.contains(&typed.stdout), "{step}: {}\n{}", typed.text(), dry.text());
                } else {
                    assert!(dry.stdout.lines().any(|line| line == step), "{step}: {}", dry.text());
                }
                seen += 1;
            }
        }
    }
    assert!(seen >= 15, "{seen} commands");
}

#[test]
fn a_study_names_its_options_and_what_its_claims_need() {
    let list = Lab::without_guests().command(&["list", "studies"]).ended_with(0).stdout;
    let of = |name: &str| listed(&list, name).1;
    assert_eq!(
        of("piszcz-2006"),
        ["mountmark run --suite piszcz-2006 --machine p3-2006 --disk-size 400GB --fs \
          ext2,ext3,jfs,reiserfs,reiser4,xfs --repeat 3 --scale 1"]
    );
    assert!(of("'piszcz-2006#1'")[0].contains("--machine p3-2004 --disk-size 250GB --fs ext2,ext3,jfs,reiserfs,xfs "));
    let suites = |name: &str| -> Vec<String> {
        of(name).iter().filter_map(|line| line.split("--suite ").nth(1)?.split(' ').next().map(str::to_owned)).collect()
    };
    assert_eq!(suites("linux-magazin-2004"), ["fsbench-2004", "fsbench-2004-real"]);
    let array = ["ext2", "ext3:data=journal", "jfs", "reiserfs", "xfs"].map(|fs| format!("{fs}@{ARRAY}")).join(",");
    assert!(of("linux-magazin-2004").iter().all(|line| line.contains(&format!(" --fs {array} "))), "{array}");
    assert_eq!(suites("wiki-2007"), ["wiki-2007", "wiki-2007-loop"]);
    assert_eq!(suites("'wiki-2007#bonnie-ext4'"), ["wiki-2007-real"]);
    assert_eq!(suites("hans-2006"), ["hans-2006"], "a claim about another study's suite is repeated with that study");
    assert_eq!(suites("journaling-2010"), ["piszcz-2006", "recovery", "recovery", "safety"]);
    let journaling = of("journaling-2010");
    assert!(journaling[0].starts_with("mountmark crash --cases --fs ext2,vfat,ext3,"), "{journaling:?}");
    assert!(journaling.iter().any(|line| line.contains("recovery") && line.contains("--vary disk-size=1GiB..4GiB:2")));
}

#[test]
fn options_stand_in_the_place_of_the_studys_and_others_are_refused() {
    let lab = Lab::without_guests();
    let run = |arguments: &[&str]| lab.command(&[&["run", "--dry-run"], arguments].concat());
    let otherwise = ["--study", "linux-magazin-2004", "--suite", "fsbench-2004", "--scale", "0.02", "--fs", "xfs"];
    let dry = run(&otherwise).ended_with(0);
    dry.says(&[
        "1 of 1",
        "otherwise than the study: --fs xfs (ext2@raid5:disks=5:chunk=64KiB,",
        "xfs@raid5:disks=5:chunk=64KiB there), --scale 0.02 (1 there)",
    ]);
    assert_eq!(told(&dry.stderr, "linux-magazin-2004").len(), 1, "{}", dry.text());
    assert!(dry.stdout.contains("machine: p4-2004"), "{}", dry.text());
    run(&["--study", "hans-2006", "--suite", "piszcz-2006"])
        .ended_with(2)
        .says(&["--suite piszcz-2006 does not repeat hans-2006", "hans-2006 does"]);
    run(&["--study", "hans-2007"]).ended_with(2).says(&["hans-2007", "hans-2006"]);
    run(&["--study", "piszcz-2006#3"]).ended_with(2).says(&["piszcz-2006#2", "piszcz-2006#1"]);
    run(&["--study", "journaling-2010", "--format", "html"]).ended_with(2).says(&["power cuts", "--suite"]);
    // A budget is of power cuts too, and of no range of the study's.
    let budget = run(&["--study", "journaling-2010", "--budget", "2m"]).ended_with(0);
    budget.says(&["otherwise than the study: --budget 120s (not said)"]);
    assert!(budget.stdout.contains("--budget 120s"), "{}", budget.text());
    assert_eq!(told(&budget.stderr, "journaling-2010").len(), 5, "{}", budget.text());
    // Figures of a precision need more repeats than the study made.
    let precise = run(&["--study", "hans-2006", "--fs", "ext4", "--precision", "2%"]).ended_with(0);
    precise.says(&["--repeat 5 (3 there)"]);
    // The same value is nothing else than the study's.
    let same = run(&["--study", "hans-2006", "--scale", "1", "--machine", "celeron-2006"]).ended_with(0);
    assert!(!same.stderr.contains("otherwise"), "{}", same.text());
}

#[test]
fn a_study_is_run_and_shown_beside_its_figures_and_claims() {
    let Some(lab) = Lab::with_guests("a_study_is_run_and_shown_beside_its_figures_and_claims", 2) else { return };
    let again = ["run", "--study", "hans-2006", "--scale", "0.002", "--repeat", "1", "--fs", "ext3,jfs,reiser4"];
    let ran = lab.command(&[&again[..], &["--disk-size", "512MiB"]].concat()).ended_with(0);
    // What today's kernel cannot run is skipped, with the reason.
    ran.says(&["reiser4 is skipped: ", "--scale 0.002 (1 there)", "report ", "--study hans-2006 --claims"]);
    for part in ["hans-2006: ", "capacity", "H12", "Not judged at this scale"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.text());
    }
    assert!(!ran.stdout.contains("P07"), "claims of another study: {}", ran.text());
    // What is stored stands for itself, without the study.
    let runs = lab.command(&["runs", "--format", "json"]).ended_with(0).stdout;
    let line = "mountmark run --suite hans-2006 --machine celeron-2006 --disk-size 536870912 --fs ext3,jfs,reiser4 --repeat 1 \
                --scale 0.002";
    assert!(runs.contains(line), "{runs}");
}
