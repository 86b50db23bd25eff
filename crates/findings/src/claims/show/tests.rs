use super::*;
use crate::claims::find::{Counts, JudgedClause, MissingReason, Subject};
use crate::{registry, tests};

fn claim(id: &str, outcome: ClaimOutcome) -> JudgedClaim {
    let is_measured = outcome != ClaimOutcome::NotMeasured;
    JudgedClaim {
        study: "mine-2006".into(),
        id: id.into(),
        run: "r".into(),
        text: "A claim that is long enough to need a second line on a terminal of eighty columns, and more.".into(),
        note: Some("what to note".into()),
        outcome,
        complete: is_measured,
        undecidable: None,
        answered: None,
        clauses: vec![JudgedClause {
            clause: serde_json::from_value(serde_json::json!({"tasks": ["001"], "order": "xfs > ext4"})).unwrap(),
            outcome,
            counts: Counts { holds: 1, ..Counts::default() },
            figures: vec![(Subject::One("001".into()), vec![("\"ext4\"".into(), 2.0), ("xfs".into(), 1.0)])],
            comparisons: Vec::new(),
        }],
        missing: if is_measured { Vec::new() } else { vec![MissingReason::FileSystems(vec!["xfs".into()])] },
        commands: if is_measured { Vec::new() } else { vec!["mountmark run --fs xfs".into()] },
        own_figures: Some(ClaimOutcome::Holds),
        own_complete: true,
        stretched: None,
        cuts: None,
    }
}

fn rendered(format: &str) -> String {
    let study: Study = serde_json::from_value(serde_json::json!({
        "name": "mine-2006", "about": "", "title": "Mine", "year": 2006, "published": "here"
    }))
    .unwrap();
    let head = ClaimsHead::new(&tests::run(&["ext4"], 1), None, &[&study]);
    let missing = |id: &str| claim(id, ClaimOutcome::NotMeasured);
    let judged = [claim("M01", ClaimOutcome::Holds), missing("M02"), claim("M03", ClaimOutcome::Holds), missing("M04")];
    tests::written(&Claims { head: &head, claims: &judged }, format, 80)
}

#[test]
fn the_table_fits_and_counts() {
    let text = rendered("table");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("4 claims: holds 2, not measured 2."), "{text}");
    assert_eq!(text.matches("    mountmark run --fs xfs\n").count(), 1, "{text}");
    assert!(text.contains("mine-2006: Mine, here\n"), "{text}");
    assert_eq!(text.matches("not measured").count(), 3, "in the count, and at each claim once: {text}");
}

#[test]
fn a_reason_that_claims_share_stands_once() {
    for format in ["table", "markdown"] {
        let text = rendered(format);
        assert_eq!(text.matches("xfs has no figures in run r.").count(), 1, "{format}: {text}");
    }
}

#[test]
fn each_format_holds_each_claim() {
    for format in ["table", "markdown", "csv", "json"] {
        let text = rendered(format);
        assert!(
            ["M01", "M02", "M03", "M04"].iter().all(|id| text.contains(id)) && text.ends_with('\n'),
            "{format}: {text}"
        );
    }
    let json: serde_json::Value = serde_json::from_str(&rendered("json")).unwrap();
    assert_eq!(json["summary"]["holds"], 2);
    assert_eq!(json["claims"][1]["outcome"], "not-measured");
    let csv = rendered("csv");
    assert!(csv.contains("\"001: xfs 1.00, \"\"ext4\"\" 2.00 (s).\"\n"), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    let unknown = registry::Format::find::<Claims>(Some("tabel"));
    assert!(unknown.err().unwrap().to_string().contains("did you mean table?"));
}
