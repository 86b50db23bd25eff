//! `mountmark run --vary`: one run at several points of a parameter, its curve, and its cliff.

use crate::lab::Lab;
use crate::tasks::TRUE;

/// Reads a file of 330 MiB once more: from memory if that holds it, else from the disk.
const READ: &str = r#"
[parameters.SIZE_MIB]
value = 330
fixed = true

[[task]]
id = "again"
title = "read {SIZE_MIB} MiB once more"
prepare = "head -c ${SIZE_MIB}M /dev/zero > big && sync && cat big > /dev/null"
run = "cat big > /dev/null"
"#;

#[track_caller]
fn refused(lab: &Lab, arguments: &[&str], says: &[&str]) {
    let suite = lab.suite("vary", READ);
    let all = [&["--fs", "ext4", "--suite", &suite], arguments].concat();
    let ran = lab.run(&all).ended_with(2);
    ran.says(says);
    assert!(!ran.stderr.contains("preparing"), "it began: {}", ran.text());
}

#[test]
fn what_cannot_be_varied_is_refused_before_anything_begins() {
    let lab = Lab::without_guests();
    refused(
        &lab,
        &["--vary", "files=1..10:3"],
        &["--vary files", "vary has no such parameter", "ram, scale, disk-size, SIZE_MIB"],
    );
    refused(&lab, &["--vary", "ram=512MiB..2GiB"], &["write NAME=FROM..TO:POINTS"]);
    refused(&lab, &["--vary", "ram=1GiB..1GiB:3"], &["both ends are 1GiB", "give two values"]);
    refused(&lab, &["--vary", "ram=2GiB..512MiB:8"], &["reversed", "write ram=512MiB..2GiB:8"]);
    refused(&lab, &["--vary", "ram=512MiB..2GiB:1"], &["at least 2 points", "leave --vary away"]);
    refused(&lab, &["--vary", "ram=1GiB..8GiB:2"], &["at ram=8GiB", "at most 2944 MiB"]);
    refused(&lab, &["--vary", "ram=300MiB..1GiB:2"], &["300MiB is no multiple of 128 MiB", "give 384MiB"]);
    refused(&lab, &["--vary", "ram=512MiB..1GiB:2", "--vary", "ram=1GiB..2GiB:2"], &["--vary ram is given twice"]);
    refused(&lab, &["--vary", "ram=512MiB..1GiB:2", "--vary", "scale=1..2:2"], &["a run varies one parameter"]);
    refused(&lab, &["--vary", "disk-size=1GiB..2GiB:2", "--disk-size", "1GiB"], &["--disk-size gives it one value"]);
    refused(&lab, &["--vary", "scale=1..2:2", "--scale", "1"], &["--vary scale: --scale gives it one value"]);
    refused(&lab, &["--yes"], &["--yes confirms many cells"]);
}

#[test]
fn a_curve_that_would_take_long_says_so_and_needs_yes() {
    let lab = Lab::without_guests();
    let many = ["--vary", "SIZE_MIB=1..20000:10000", "--repeat", "3"];
    refused(&lab, &many, &["whole numbers", "points of this range are not all different"]);
    let many = ["--vary", "SIZE_MIB=10000..900000:10000", "--repeat", "3"];
    refused(&lab, &many, &["30,000 cells", "which take about", "if a cell takes 10 s", "--yes to run them all"]);
}

#[test]
fn a_dry_run_names_the_points_and_changes_nothing() {
    let lab = Lab::without_guests();
    let suite = lab.suite("dry", TRUE);
    let ran = lab
        .run(&["--fs", "ext4", "--suite", &suite, "--vary", "ram=512MiB..1GiB:3", "--repeat", "2", "--dry-run"])
        .ended_with(0);
    assert!(ran.stdout.contains("varied: ram: 512MiB, 768MiB, 1GiB"), "{}", ran.text());
    assert!(ran.stdout.contains("ext4: 6 cells, each:"), "{}", ran.text());
}

#[test]
fn the_edge_of_the_page_cache_is_a_cliff_and_the_report_says_where() {
    const TEST: &str = "the_edge_of_the_page_cache_is_a_cliff_and_the_report_says_where";
    let Some(lab) = Lab::with_guests(TEST, 2) else { return };
    let suite = lab.suite("edge", READ);
    let disk = ["--disk", "hdd", "--disk-size", "512MiB"];
    // What is left in memory too small for the file differs by 26 % between seeds: two repeats show no step beside that.
    let vary = ["--vary", "ram=256MiB..1GiB:3", "--repeat", "3"];
    lab.run(&[&["--fs", "ext4", "--suite", &suite], &disk[..], &vary[..]].concat()).ended_with(0);
    let says = "a cliff between ram=256MiB and ram=512MiB";
    let out = lab.out().to_string_lossy().into_owned();
    let report = |format: &str| {
        let ran = lab.command(&["report", "latest", "--out", &out, "--format", format, "--output", "-"]).ended_with(0);
        ran.stdout.clone()
    };
    for format in ["table", "markdown", "html"] {
        let text = report(format);
        assert!(text.replace(['\n', '\\'], " ").contains(says) && text.contains("1GiB"), "{format}: {text}");
    }
    assert!(report("csv").contains(",again@1GiB,"));
    let json: serde_json::Value = serde_json::from_str(&report("json")).unwrap();
    let curves = &json["mountmark_reports"][0]["findings"]["curves"];
    let curve = curves["curves"].as_array().unwrap().iter().find(|curve| curve["task"] == "again").unwrap();
    let points: Vec<&str> = curves["points"].as_array().unwrap().iter().filter_map(|at| at["text"].as_str()).collect();
    assert_eq!(points, ["256MiB", "512MiB", "1GiB"]);
    assert_eq!((&curve["cliffs"][0]["from"], &curve["cliffs"][0]["to"]), (&0.into(), &1.into()));
    assert!(curve["cliffs"][0]["factor"].as_f64().unwrap() < 0.5, "{curve}");
}
