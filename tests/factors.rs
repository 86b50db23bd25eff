//! Factors crossed in one run: kernels, disks and options, and what each of them changes.

use crate::lab::{Lab, Ran};

/// Two tasks that read a time stamp's neighbourhood and write a little, and syncs, which a disk without flushes makes free.
const SMALL: &str = r#"
[[task]]
id = "syncs"
title = "write and sync"
run = "for i in 1 2 3 4 5 6 7 8; do echo $i > f$i; sync f$i; done"
"#;

fn on_store(lab: &Lab, words: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    let (command, rest) = words.split_first().expect("a command");
    lab.command(&[&[*command, "--out", &out], rest].concat())
}

#[test]
fn kernels_and_disks_are_crossed_and_their_effects_told() {
    let Some(lab) = Lab::with_guests("kernels_and_disks_are_crossed_and_their_effects_told", 2) else { return };
    let shelf = lab.path("shelf").to_string_lossy().into_owned();
    let lab = lab.taking_cells();
    let suite = lab.suite("factors", SMALL);
    let disks = "ssd,ssd:flush=0";
    let words = ["run", "--fs", "ext4", "--suite", &suite, "--kernel", "6.1,6.12", "--disk", disks, "--repeat", "2"];
    let words = [&words[..], &["--shelf", &shelf]].concat();
    let ran = on_store(&lab, &words).ended_with(0);
    assert!(ran.stdout.contains("kernel: 6.1, 6.12; disk: ssd, ssd:flush=0"), "{}", ran.text());
    let found = on_store(&lab, &["show", "--verdict", "--format", "json"]).ended_with(0);
    let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    let names = ["ext4#6.1-ssd", "ext4#6.1-ssd-flush-0", "ext4#6.12-ssd", "ext4#6.12-ssd-flush-0"];
    assert_eq!(found["configurations"], serde_json::json!(names));
    let effects = &found["effects"];
    assert_eq!(effects["factors"][2]["levels"], serde_json::json!(["6.1", "6.12"]), "{effects}");
    let disk = effects["tasks"][0]["effects"].as_array().unwrap().iter().find(|one| one["factor"] == 3).unwrap();
    assert!(disk["gain"]["ratio"].as_f64().unwrap() > 1.02 && disk["gain"]["shown"] == true, "{disk}");
    let verdict = on_store(&lab, &["show", "--verdict"]).ended_with(0);
    for text in ["What each factor changes", "Disk ssd:flush=0 beside disk ssd is"] {
        assert!(verdict.stdout.contains(text), "{text}: {}", verdict.text());
    }

    // A side is a run of its own, with its own kernel.
    let old = on_store(&lab, &["show", "latest#6.1-ssd"]).ended_with(0);
    assert!(old.stdout.contains("kernel  6.1.") && !old.stdout.contains("6.12."), "{}", old.text());
    on_store(&lab, &["why", "latest", "--task", "syncs", "--fs", "ext4#6.1-ssd,ext4#6.12-ssd"])
        .ended_with(2)
        .says(&["guests of several kernels or machines", "#6.1-ssd"]);
    let why = on_store(&lab, &["why", "latest#6.1-ssd", "latest#6.12-ssd", "--task", "syncs"]).ended_with(0);
    assert!(why.stdout.contains("equal to the last bit"), "{}", why.text());

    // Each cell is known by its own kernel.
    let again = on_store(&lab, &words).ended_with(0);
    again.says(&["8 cells taken from the shelf, 0 measured"]);
}

#[test]
fn what_cannot_be_crossed_is_refused_before_anything_begins() {
    let lab = Lab::without_guests();
    let suite = lab.suite("factors", SMALL);
    let refused = |words: &[&str], says: &[&str]| {
        let ran = on_store(&lab, &[&["run", "--suite", &suite], words].concat()).ended_with(2);
        ran.says(says);
        assert!(!ran.stderr.contains("preparing"), "it began: {}", ran.text());
    };
    refused(&["--kernel", "6.1,6.1"], &["--kernel: 6.1 is there twice"]);
    refused(&["--kernel", "6.1,"], &["--kernel: a name is empty"]);
    refused(&["--kernel", "6.1,nosuch"], &["there is no kernel nosuch;"]);
    refused(&["--disk", "ssd,nosuch"], &["nosuch"]);
    refused(&["--machine", "modern,nosuch"], &["nosuch"]);
    refused(&["--options", "noatime"], &["--options noatime: give two or more"]);
    refused(&["--fs", "ext4", "--options", "defaults,nosuch"], &["ext4:nosuch"]);
    let many = ["--fs", "ext4,xfs", "--kernel", "6.1,6.12", "--disk", "ssd,hdd", "--repeat", "1000"];
    refused(&many, &["4 combinations of what is crossed", "8,000 cells", "which take about", "--yes"]);
    refused(&["--lab", "host", "--kernel", "6.1,6.12"], &["--machine and --kernel choose a guest"]);
}
