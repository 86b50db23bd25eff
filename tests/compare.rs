//! `mountmark compare` of two runs, as seen by a script: rejections, messages, exit codes.

use mountmark_record::RunId;

use crate::lab::{Lab, Ran};
use crate::made::{noise, plan, record};

const FS: [&str; 2] = ["ext4", "xfs"];

/// A run of three repeats whose task 014 on xfs takes `times` as long.
fn run(lab: &Lab, seed: u64, times: f64) -> RunId {
    record(lab, &plan("piszcz-2006", &FS, 3, seed, "0.02"), &[], |name, task, repeat| {
        let slower = if (name, task) == ("xfs", "014") { times } else { 1.0 };
        Some(2.0 * slower * noise(name, task, repeat, seed))
    })
}

fn compare(lab: &Lab, arguments: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    let mut all = vec!["compare", "--out", &out];
    all.extend(arguments);
    lab.command(&all)
}

#[test]
fn a_regression_fails_a_gate_with_a_reason_for_each_task() {
    let lab = Lab::without_guests();
    let (before, after) = (run(&lab, 1, 1.0), run(&lab, 1, 1.2));
    let (before, after) = (before.as_str(), after.as_str());

    // Without a limit a regression is reported, with exit code 0.
    let told = compare(&lab, &[before, after]).ended_with(0);
    assert!(told.stdout.contains("worse: 20 % more") && told.stderr.is_empty(), "{}", told.text());

    let failed = compare(&lab, &[before, after, "--fail-on", "5%"]).ended_with(1);
    let reasons: Vec<&str> = failed.stderr.lines().collect();
    assert_eq!(reasons.len(), 2, "returned and durable time of one task: {}", failed.text());
    for (reason, metric) in reasons.iter().zip(["durable time", "returned time"]) {
        assert!(reason.starts_with("mountmark: regression: xfs, 014 (copy the 20 MiB file), "), "{reason}");
        assert!(reason.contains(" s before, 2.") && reason.contains("20 % more, which is worse"), "{reason}");
        assert!(reasons.iter().any(|reason| reason.contains(metric)), "{reasons:?}");
    }

    compare(&lab, &[before, after, "--fail-on", "25%"]).ended_with(0);
    compare(&lab, &[after, before, "--fail-on", "0.05"]).ended_with(0);
    // A gate that can never fail is rejected.
    compare(&lab, &[before, before, "--fail-on", "0%"]).ended_with(2).says(&["name two runs"]);
    compare(&lab, &[before, after, "--fail-on", "5"]).ended_with(2).says(&["did you mean 5%?"]);
    compare(&lab, &[before, after, "--fail-on", "5%", "--metric", "elapsed"]).ended_with(1).says(&["returned time"]);
}

#[test]
fn a_task_that_has_no_figure_any_more_fails_a_gate_too() {
    let lab = Lab::without_guests();
    let before = run(&lab, 1, 1.0);
    let plan = plan("piszcz-2006", &FS, 3, 1, "0.02");
    let after = record(&lab, &plan, &[], |name, task, repeat| {
        ((name, task) != ("ext4", "007")).then(|| 2.0 * noise(name, task, repeat, 1))
    });
    compare(&lab, &[before.as_str(), after.as_str(), "--fail-on", "50%"])
        .ended_with(1)
        .says(&["regression: ext4, 007", "no figure after"]);
}

#[test]
fn runs_of_other_work_are_refused_unless_it_is_asked_for() {
    let lab = Lab::without_guests();
    let small = run(&lab, 1, 1.0);
    let plan = plan("piszcz-2006", &FS, 3, 1, "0.5");
    let large = record(&lab, &plan, &[], |name, task, repeat| Some(9.0 * noise(name, task, repeat, 1)));
    let (small, large) = (small.as_str(), large.as_str());
    let refused = compare(&lab, &[small, large]).ended_with(2);
    refused.says(&["the scales differ: 0.02 and 0.5", "--anyway"]);
    assert!(refused.stdout.is_empty(), "{}", refused.text());
    compare(&lab, &[small, large, "--anyway"]).ended_with(0).says(&["compared anyway, though the scales differ"]);
    compare(&lab, &[small, large, "--anyway", "--fail-on", "5%"]).ended_with(1);
}

#[test]
fn what_cannot_be_judged_is_no_success() {
    let lab = Lab::without_guests();
    let single = |seed| {
        let plan = plan("piszcz-2006", &["ext4"], 1, seed, "0.02");
        record(&lab, &plan, &[], |name, task, repeat| Some(noise(name, task, repeat, seed)))
    };
    let (one, other) = (single(1), single(2));
    let (one, other) = (one.as_str(), other.as_str());
    let told = compare(&lab, &[one, other]).ended_with(0);
    assert!(told.stdout.contains("shows no change"), "{}", told.text());
    compare(&lab, &[one, other, "--fail-on", "5%"]).ended_with(2).says(&["--fail-on: nothing could be judged"]);

    compare(&lab, &[one]).ended_with(2).says(&["compare one run with what?"]);
    compare(&lab, &["20990101-0000-aaaa", one]).ended_with(2).says(&["there is no run \"20990101-0000-aaaa\"", one]);
    compare(&lab, &[one, other, "--fail-on", "much"]).ended_with(2).says(&["5% or 0.05"]);
    compare(&lab, &[one, other, "--metric", "elapsd"]).ended_with(2).says(&["did you mean elapsed"]);
    compare(&lab, &[one, other, "--format", "svg"]).ended_with(2).says(&["table, markdown, csv, json"]);
}

#[test]
fn claims_are_judged_by_runs_of_their_own_suite_and_machine() {
    let lab = Lab::without_guests();
    let fs = ["ext2", "ext3", "jfs", "reiserfs", "xfs"];
    let claims = |machine: &str, seed: u64, xfs: f64| {
        let mut plan = plan("piszcz-2006", &fs, 1, seed, "1");
        plan.machine.name = machine.into();
        record(&lab, &plan, &[], |name, _, _| Some(if name == "xfs" { xfs } else { 1.0 }))
    };
    let (before, after, other) = (claims("p3-2006", 1, 2.0), claims("p3-2006", 2, 1.0), claims("modern", 3, 1.0));
    let (before, after, other) = (before.as_str(), after.as_str(), other.as_str());
    let judged = |arguments: &[&str]| {
        let text = compare(&lab, &[arguments, &["--claims", "--format", "json"]].concat()).ended_with(0).stdout;
        let text: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let claim =
            |id: &str| text["claims"].as_array().unwrap().iter().find(|claim| claim["id"] == id).unwrap().clone();
        ["P22", "P07", "P01", "H01", "J01"].map(|id| claim(id)["outcome"].as_str().unwrap().to_owned())
    };
    assert_eq!(judged(&[before, after]), ["holds", "reversed", "not-judged", "not-judged", "needs-crash-lab"]);
    assert_eq!(judged(&[after]), ["not-measured", "no-difference", "not-judged", "not-judged", "needs-crash-lab"]);
    assert_eq!(judged(&[other]), ["not-judged", "not-judged", "not-judged", "not-judged", "needs-crash-lab"]);
    assert_eq!(
        judged(&[other, "--anyway"]),
        ["not-measured", "no-difference", "no-difference", "not-measured", "needs-crash-lab"]
    );
    let told = compare(&lab, &[before, after, "--claims", "--study", "piszcz-2006"]).ended_with(0).stdout;
    for part in [format!("{after}, suite piszcz-2006 at scale 1, machine p3-2006"), format!("{before}, suite")] {
        assert!(told.contains(&part), "{part}: {told}");
    }
    let refused = compare(&lab, &[other, "--claims"]).ended_with(0).stdout;
    assert!(refused.contains("not judged") && refused.contains("--machine p3-2006"), "{refused}");
    compare(&lab, &[after, after, "--claims"]).ended_with(2).says(&["is named twice"]);
    compare(&lab, &[after, "--study", "piszcz-2006", "--anyway"]).ended_with(2).says(&["--anyway is for two runs"]);
}
