//! Names and sentences that look like markup.

use mountmark_document::writers;
use mountmark_model::Outcome;
use mountmark_record::{RunRecord, TaskOutcome};

use crate::figures::find::basis::Category;
use crate::found::Findings;
use crate::missing::find::{Missing, Repeats, TaskName};
use crate::overview::find::Conclusion;
use crate::remarks::find::Remark;
use crate::reports::show::Reports;
use crate::tests::page::{check, findings, formats, of, report, whole};
use crate::verdicts::find::verdict::{NotJudged, Verdict, VerdictOutcome};

const EVIL: &str = "</script><img src=x onerror=alert(1)>\"'&\u{1b}[31m\u{202e}";

/// Hostile text wherever a run has text.
fn evil() -> (RunRecord, Findings) {
    let mut run = whole(&["ext4", EVIL], 2);
    let mut found = findings(&run);
    run.plan.suite = EVIL.into();
    run.plan.suite_about = EVIL.into();
    run.plan.machine.name = EVIL.into();
    run.plan.kernel = EVIL.into();
    run.command_line = format!("mountmark run --suite {EVIL}");
    run.plan.decisions = vec![EVIL.into()];
    run.plan.skipped = vec![(EVIL.into(), EVIL.into())];
    for cell in &mut run.cells {
        cell.notes = vec![EVIL.into()];
        cell.environment.packages.insert(EVIL.into(), EVIL.into());
        cell.outcomes.push(TaskOutcome {
            task: EVIL.into(),
            outcome: Outcome::Failed { reason: EVIL.into(), detail: EVIL.into() },
        });
    }
    for task in &mut found.tasks {
        task.category = Category::Work(EVIL.into());
        task.title = EVIL.into();
        if !task.step {
            task.id = EVIL.into();
        }
        for metric in &mut task.metrics {
            let outcome = VerdictOutcome::NotJudged { reason: NotJudged::OneRepeat };
            metric.verdict = Some(Verdict { order: vec![0, 1], ..Verdict::of(outcome) });
        }
    }
    found.categories[0].category = Category::Work(EVIL.into());
    found.conclusions = vec![Conclusion::Overall { tests: 2 }, Conclusion::Category(0)];
    found.remarks = vec![Remark::UnknownBaseline(EVIL.into())];
    let (configuration, repeats, reason): (String, _, String) = (EVIL.into(), Repeats::All, EVIL.into());
    let task = Some(TaskName { id: EVIL.into(), title: EVIL.into() });
    found.missing = vec![Missing::Task { configuration, task, skipped: false, repeats, reason }];
    (run, found)
}

#[test]
fn what_comes_from_a_run_is_never_markup() {
    let (run, found) = evil();
    let text = of(&[report(&run, &found)]);
    check(&text);
    assert!(!text.contains("<img"), "an image from a name");
    assert_eq!(text.matches("</script").count(), 2, "the data and the script");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "control characters");
    assert!(text.matches("&lt;img src=x").count() > 50);
    // The script reads the names unchanged.
    let data = text.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data[0]["configurations"][1], EVIL);

    for document in formats() {
        let text = document.write(&Reports::of(&[report(&run, &found)]), &writers::Options::default()).unwrap();
        assert!(document.is_ours(&text[..text.floor_char_boundary(4096)]), "{} knows its own", document.name());
        // Such as `report --format markdown >> notes.md`.
        assert!(!document.is_ours(&format!("Notes of mine.\n{text}")), "{}", document.name());
        match document.name() {
            "svg" => check(&text),
            "json" => assert_eq!(
                serde_json::from_str::<serde_json::Value>(&text).unwrap()["mountmark_reports"][0]["findings"]["configurations"]
                    [1],
                EVIL
            ),
            _ => {}
        }
        // In Markdown an escaped sign, and one in a code block, is text.
        let text = text.replace("\\<", "");
        let text = text.split("```").next().unwrap_or_default();
        assert!(
            !["svg", "html", "markdown"].contains(&document.name()) || !text.contains("<img"),
            "{}",
            document.name()
        );
    }
}
