//! A store of an older program is read without changing it, and every figure that was printed from it then is printed
//! now.
//!
//! `fixtures/older` contains the store of two runs (ext4 and xfs, two repeats, three tasks, seeds 1 and 2) and what the
//! program of that time printed for the first one: `show --metric elapsed`, `show --format json`, and `report` in three
//! formats.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use serde_json::Value;

use crate::lab::{Lab, Results};

/// The two runs of the store.
const RUNS: [&str; 2] = ["20261122-1435-9739", "20261122-1436-a7f1"];

/// A lab whose results store is the old one.
fn with_store() -> Lab {
    let lab = Lab::without_guests();
    fs::create_dir(lab.out()).expect("a folder");
    fs::write(lab.out().join("results.sqlite"), unpacked("results.sqlite")).expect("a store");
    lab
}

/// Unpacks a fixture.
fn unpacked(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/older/{name}.gz", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = Vec::new();
    let file = fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("a packed file");
    bytes
}

fn unpacked_text(name: &str) -> String {
    String::from_utf8(unpacked(name)).expect("a text")
}

/// Output of a command for the old store.
fn printed(lab: &Lab, arguments: &[&str]) -> String {
    let out = lab.out().to_string_lossy().into_owned();
    lab.command(&[arguments, &["--out", &out]].concat()).ended_with(0).stdout
}

/// Numbers with a fraction in a text: figures, which do not repeat by chance.
fn in_text(text: &str) -> BTreeSet<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|word| word.trim_matches('.'));
    words.filter(|word| word.matches('.').count() == 1).map(|word| word.parse::<f64>().unwrap().to_bits()).collect()
}

/// Numbers with a fraction anywhere in a document.
fn in_json(value: &Value, into: &mut BTreeSet<u64>) {
    match value {
        Value::Number(number) => {
            into.extend(number.as_f64().filter(|number| number.fract() != 0.0).map(f64::to_bits));
        }
        Value::Array(all) => all.iter().for_each(|one| in_json(one, into)),
        Value::Object(all) => all.values().for_each(|one| in_json(one, into)),
        _ => {}
    }
}

/// Asserts that all of `then` are in `now`.
#[track_caller]
fn assert_kept(what: &str, then: &BTreeSet<u64>, now: &BTreeSet<u64>, least: usize) {
    let lost: Vec<f64> = then.difference(now).map(|bits| f64::from_bits(*bits)).collect();
    assert!(then.len() >= least && lost.is_empty(), "{what}: of {} figures these are lost: {lost:?}", then.len());
}

#[test]
fn an_older_store_has_the_same_figures() {
    let lab = with_store();
    let [first, _] = RUNS;
    let parsed = |text: &str| Results { run: serde_json::from_str(text).expect("JSON") };
    let then = parsed(&unpacked_text("show.json")).figures();
    assert!(then.len() > 200, "{}", then.len());
    assert_eq!(parsed(&printed(&lab, &["show", first, "--format", "json"])).figures(), then);
    let now = printed(&lab, &["show", first, "--metric", "elapsed"]);
    assert_kept("show", &in_text(include_str!("fixtures/older/show.txt")), &in_text(&now), 10);

    let report = |format: &str| printed(&lab, &["report", first, "--format", format, "--output", "-"]);
    let rows = |text: &str| text.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>().join("\n");
    let then = in_text(&rows(include_str!("fixtures/older/report.md")));
    assert_kept("markdown", &then, &in_text(&rows(&report("markdown"))), 10);
    assert_kept("csv", &in_text(&unpacked_text("report.csv")), &in_text(&report("csv")), 200);
    let of = |text: &str| {
        let mut numbers = BTreeSet::new();
        in_json(&serde_json::from_str(text).expect("JSON"), &mut numbers);
        numbers
    };
    assert_kept("json", &of(&unpacked_text("report.json")), &of(&report("json")), 300);
}

#[test]
fn an_older_store_is_shown_and_compared_in_every_format() {
    let lab = with_store();
    let before = fs::read(lab.out().join("results.sqlite")).unwrap();
    let runs = printed(&lab, &["runs"]);
    assert!(RUNS.iter().all(|run| runs.contains(run)), "{runs}");
    for run in RUNS {
        for format in ["table", "json", "csv", "markdown"] {
            assert!(printed(&lab, &["show", run, "--format", format]).contains("write"), "{format}");
        }
        for format in ["html", "markdown", "csv", "json", "svg"] {
            let text = printed(&lab, &["report", run, "--format", format, "--output", "-"]);
            assert!(text.contains("xfs") && text.contains("write"), "{format}: {text}");
        }
        assert!(!printed(&lab, &["show", run, "--io"]).is_empty());
    }
    let compared = printed(&lab, &["compare", RUNS[0], RUNS[1]]);
    assert!(compared.contains("Of 20 figures, 0 worse"), "{compared}");
    assert_eq!(fs::read(lab.out().join("results.sqlite")).unwrap(), before, "reading has changed it");
}

#[test]
fn an_export_says_what_it_leaves_out_and_is_never_empty() {
    let lab = with_store();
    let out = lab.out().to_string_lossy().into_owned();
    let show = |more: &[&str]| lab.command(&[&["show", RUNS[0], "--out", &out, "--format"], more].concat());
    show(&["github-action-benchmark"]).ended_with(0).says(&["leaves out 6 of 20 figures, of which more is better"]);
    assert!(!show(&["bencher"]).ended_with(0).stderr.contains("leaves out"));
    show(&["bencher", "--metric", "lost"]).ended_with(2).says(&["has no figure that is asked for"]);
    show(&["github-action-benchmark", "--metric", "rate"])
        .ended_with(2)
        .says(&["nothing is left of", "--format bencher"]);
}
