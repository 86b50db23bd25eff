//! Output of a run, for people and for programs.

use std::collections::BTreeSet;

use crate::lab::Lab;
use crate::made;

const TASKS: &str = r#"
[[task]]
id = "one"
title = "a title, with a comma"
run = "touch a"
repeat = 2

[[task]]
id = "two"
title = "fails"
run = "exit 1"
"#;

#[test]
fn every_format_has_every_sample() {
    let Some(lab) = Lab::with_guests("every_format_has_every_sample", 1) else { return };
    let suite = lab.suite("formats", TASKS);
    let ran = lab.run(&["--fs", "ext4,ext4:noatime", "--suite", &suite, "--repeat", "1"]).ended_with(1);
    let results = ran.results();
    let run = results.run["run"].as_str().expect("a name").to_owned();
    ran.says(&[&run, &lab.out().to_string_lossy()]);
    let samples = results.run["samples"].as_array().expect("samples").clone();
    assert!(samples.len() > 50, "{} samples", samples.len());
    let metrics = lab.command(&["list", "metrics"]).ended_with(0).stdout;
    let known: BTreeSet<&str> = metrics.lines().filter_map(|line| line.split(' ').next()).collect();
    for sample in &samples {
        let text = |name: &str| sample[name].as_str().unwrap_or_else(|| panic!("no {name}: {sample}"));
        assert!(sample["cell"].is_u64() && sample["value"].is_number() && !text("task").is_empty(), "{sample}");
        assert!(known.contains(text("metric")), "`list metrics` does not know that of {sample}");
        assert!(["s", "bytes", "%", "count", "ratio"].contains(&text("unit")), "{sample}");
    }
    for iteration in [0, 1] {
        assert!(samples.iter().any(|sample| sample["task"] == "one" && sample["iteration"] == iteration));
    }

    let out = lab.out().to_string_lossy().into_owned();
    let show =
        |run: &str, format: &str| lab.command(&["show", run, "--format", format, "--out", &out]).ended_with(0).stdout;
    let csv = show("latest", "csv");
    let mut lines = csv.lines();
    let columns = lines.next().expect("a head").split(',').count();
    assert_eq!(lines.clone().count(), samples.len());
    for (line, sample) in lines.zip(&samples) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), columns, "{line}");
        let value: f64 = fields[columns - 1].parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert_eq!(value.to_bits(), sample["value"].as_f64().unwrap().to_bits(), "{line}\n{sample}");
        assert_eq!(fields[columns - 3], sample["metric"], "{line}\n{sample}");
    }
    assert_eq!(show("latest", "json"), ran.stdout, "what was printed at the end of the run is what is kept");

    let markdown = show("latest", "markdown");
    assert!(markdown.contains("| --") || markdown.contains("|--") || markdown.contains("|:--"), "{markdown}");
    for format in ["table", "markdown"] {
        let text = show("latest", format);
        for word in ["ext4:noatime", "a title, with a comma", "formats", "virtual seconds", "failed"] {
            assert!(text.contains(word), "{word:?} is missing in {text}");
        }
        assert!(!text.contains('\u{1b}'), "colours where there is no terminal");
    }
    let runs = lab.command(&["runs", "--out", &out]).ended_with(0).stdout;
    assert!(runs.contains(&run) && runs.contains("formats") && runs.contains("done"), "{runs}");
    assert_eq!(show(&run[..run.len() - 2], "csv"), csv, "a run by the beginning of its name");
    let unknown = lab.command(&["show", "19990101", "--out", &out]);
    assert!([2, 3].contains(&unknown.code()), "{}", unknown.text());
    unknown.says(&["\"19990101\"", &run]);
}

#[test]
fn runs_are_deleted_by_name_and_a_wrong_name_deletes_none() {
    let lab = Lab::without_guests();
    let out = lab.out().to_string_lossy().into_owned();
    let listed = || lab.command(&["runs", "--out", &out]).ended_with(0).stdout;
    let [one, two, three] = [1, 2, 3].map(|seed| {
        let plan = made::plan("piszcz-2006", &["ext4"], 1, seed, "0.02");
        made::record(&lab, &plan, &[], |_, _, _| Some(1.0)).to_string()
    });
    let ran = lab.command(&["runs", "--delete", &one, "20990101-0000", "--out", &out]).ended_with(2);
    ran.says(&["20990101-0000"]);
    assert!(listed().contains(&one));
    let ran = lab.command(&["runs", "--delete", &one, &two, &one, "--out", &out]).ended_with(0);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    let left = listed();
    assert!(left.contains(&three) && !left.contains(&one) && !left.contains(&two), "{left}");
    // A metric's title is accepted like its name if it is unique.
    let show = |metric: &str| lab.command(&["show", &three, "--metric", metric, "--out", &out]);
    assert_eq!(show("Returned").ended_with(0).stdout, show("elapsed").ended_with(0).stdout);
    show("usable").ended_with(2).says(&["there is no metric \"usable\"", "capacity"]);
}

#[test]
fn options_that_would_mean_nothing_are_refused() {
    let lab = Lab::without_guests();
    let out = lab.out().to_string_lossy().into_owned();
    made::record(&lab, &made::plan("piszcz-2006", &["ext4", "xfs"], 1, 1, "0.02"), &[], |_, _, _| Some(1.0));
    for (arguments, says) in [
        (&["compare", "latest", "--study", "piszcz-2006", "--fail-on", "5%"][..], "--fail-on"),
        (&["compare", "latest", "--claims", "--metric", "durable"], "--metric"),
        (&["compare", "latest", "--claims", "--study", "piszcz-2006#1"], "of a whole study"),
        (&["show", "--verdict", "--metric", "durable"], "--verdict prints others"),
        (&["show", "--io", "--metric", "durable"], "--io prints others"),
        (&["show", "--raw", "001", "--format", "csv"], "cannot be written as csv"),
        (&["report", "--format", "csv", "--claims"], "leave --claims out"),
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--out", &out]);
        lab.command(&all).ended_with(2).says(&[says]);
    }
}
