//! A label stands for its configuration wherever people read of it, and is explained once.

use mountmark_model::profile::Profile;
use mountmark_model::{Outcome, Study};
use mountmark_record::RunId;
use serde_json::{Value, json};

use crate::analysis::findings;
use crate::changes::show::RunBeside;
use crate::claims::find::{Judges, Reach, judge_claims};
use crate::claims::show::{Claims, ClaimsHead};
use crate::options::Options as Analysis;
use crate::reports::show::Reports;
use crate::reports::show::Verdicts;
use crate::tests::{of, run, written};
use crate::view::Report;
use crate::why::find::{Explanation, explain, ledger};
use crate::{changes, why};

const FULL: &str = r"ext4:mkfs=-O ^has_journal\,^metadata_csum+mount=noatime#bare";

/// Lines with the options of the label, beside commands, which need the whole name.
fn told(text: &str) -> usize {
    text.lines().filter(|line| line.contains("journal") && !line.contains("--fs ")).count()
}

#[test]
fn a_label_shortens_headings_in_every_form_and_is_explained_once() {
    let mut run = run(&[FULL, "xfs"], 3);
    run.cells[0].outcome = Outcome::Failed { reason: "the guest ended".into(), detail: "a panic".into() };
    let found = findings(&run, &Analysis::default());
    assert_eq!((&*found.configurations[0], &*found.headings[0]), (FULL, "ext4#bare"));
    let mut slower = run.clone();
    slower.id = RunId::new("20261122-0345-b2c3");
    slower.cells.iter_mut().flat_map(|cell| cell.samples.iter_mut()).for_each(|(_, value)| *value *= 2.0);
    let changes = changes::find::changes(&run, &slower, None, &Analysis::default());
    let reports = [Report::of(&run, &found)];
    let (reports, verdicts) = (Reports::of(&reports), Verdicts { run: &run, findings: &found });
    for (what, text) in [
        ("run", written(&of(&run, None), "table", 100)),
        ("run", written(&of(&run, None), "markdown", 100)),
        ("verdicts", written(&verdicts, "table", 100)),
        ("verdicts", written(&verdicts, "markdown", 100)),
        ("report", written(&reports, "table", 100)),
        ("picture", written(&reports, "svg", 100)),
        ("changes", written(&RunBeside(&changes), "table", 100)),
        ("changes", written(&RunBeside(&changes), "markdown", 100)),
    ] {
        let text = text.replace('\\', "");
        assert_eq!(told(&text), 1, "{what}: {text}");
        assert!(text.matches("ext4#bare").count() > 1, "{what}: {text}");
    }
    let page = written(&reports, "html", 100);
    assert_eq!(told(&page), 1, "{page}");
    assert!(page.matches("ext4#bare").count() > 5);

    // Programs get the name by which it is known, and the heading beside it.
    assert!(written(&of(&run, None), "csv", 100).contains("csum+mount=noatime#bare"));
    let json: Value = serde_json::from_str(&written(&of(&run, None), "json", 100)).unwrap();
    let of_first = &json["configurations"][0];
    assert_eq!((&of_first["name"], &of_first["heading"]), (&FULL.into(), &"ext4#bare".into()));
    let json: Value = serde_json::from_str(&written(&verdicts, "json", 100)).unwrap();
    assert_eq!((&json["configurations"][0], &json["headings"][0]), (&FULL.into(), &"ext4#bare".into()));
    let json: Value = serde_json::from_str(&written(&RunBeside(&changes), "json", 100)).unwrap();
    assert!(json["changes"].as_array().unwrap().iter().any(|change| change["configuration"] == FULL));
}

#[test]
fn claims_are_argued_by_labels() {
    let run = run(&[FULL, "xfs"], 3);
    let claim = |id: &str, on: &[&str]| json!({"id": id, "text": "So.", "clauses": [{"tasks": ["001"], "value": true, "on": on, "at_most": 1e9}]});
    let study: Study = serde_json::from_value(json!({
        "name": "mine", "about": "", "title": "Mine", "published": "here", "year": 2006, "suite": run.plan.suite, "tasks": {},
        "run": [{"id": "1", "about": "", "filesystems": [FULL]}],
        "claim": [claim("M1", &[FULL, "xfs"]), claim("M2", &["jfs:iocharset=utf8#journal"])],
    }))
    .unwrap();
    let judged = judge_claims(&Judges::of(&run), &[&study], &Reach::default());
    let head = ClaimsHead::new(&run, None, &[&study]);
    for format in ["table", "markdown"] {
        let text = written(&Claims { head: &head, claims: &judged }, format, 100).replace('\\', "");
        assert!(text.contains("001: ext4#bare 10.1, xfs 20.2"), "{text}");
        assert!(text.contains("jfs#journal has no figures in run "), "{text}");
        assert_eq!(text.matches("^has_journal").count(), 1, "the legend: {text}");
    }
}

#[test]
fn explanations_and_sides_are_named_by_labels() {
    let of = |name: &str, time: u64| ledger(name, time, 0, [&Profile::default(), &Profile::default()]);
    let (slow, fast) = (of(FULL, 200), of("xfs", 100));
    let found: Explanation = explain(&slow, &fast, None);
    let told = why::say::difference(&found);
    assert!(told.contains("ext4#bare") && !told.contains("journal"), "{told}");
    let run = run(&[FULL], 1);
    let sides = why::say::sides([&run, &run], [FULL, FULL], ["6.1", "6.12"]);
    assert_eq!(sides, ["ext4#bare (6.1)", "ext4#bare (6.12)"]);
}
