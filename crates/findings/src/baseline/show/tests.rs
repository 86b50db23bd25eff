use crate::baseline::Gate;
use crate::changes::find::{Changes, changes};
use crate::options::Options;
use crate::tests::{failed, run, sample, written};

fn shown(changes: &Changes, format: &str) -> String {
    written(&Gate { changes, limit: 0.05, causes: &[] }, format, 200)
}

#[test]
fn what_fails_in_some_repeats_is_in_every_export() {
    let before = run(&["ext4", "xfs"], 2);
    let mut after = before.clone();
    after.cells[3].outcomes[3].outcome = failed("no space");
    let found = changes(&before, &after, None, &Options::default());
    for format in ["table", "markdown", "html"] {
        let text = shown(&found, format);
        assert!(text.contains("none is worse by more than 5 % and 1 is lost in some repeats."), "{text}");
        assert!(text.contains("lost in repeat 2"), "{text}");
    }
    let junit = shown(&found, "junit");
    assert!(junit.contains("<failure message=\"xfs, 002") && junit.contains("no figure in repeat 2"), "{junit}");
    let json: serde_json::Value = serde_json::from_str(&shown(&found, "json")).unwrap();
    assert_eq!(json["failures"].as_array().unwrap().len(), 1, "{json}");
    assert!(shown(&found, "csv").contains(",lost-in-some"));
}

#[test]
fn what_is_not_judged_is_no_good_news() {
    let [mut before, mut after] = [1, 2].map(|_| run(&["ext4"], 2));
    for (run, values) in [(&mut before, [0.0, 3.0]), (&mut after, [3.0, 0.0])] {
        run.plan.tasks.push(("errors".into(), "errors".into()));
        for (cell, value) in run.cells.iter_mut().zip(values) {
            cell.samples.push(sample("errors", "figure_less", value));
        }
    }
    let text = shown(&changes(&before, &after, None, &Options::default()), "table");
    assert!(text.contains("none is worse by more than 5 % and 1 is not judged."), "{text}");
    assert!(text.lines().any(|line| line.contains("errors") && line.contains("not judged")), "{text}");
}
