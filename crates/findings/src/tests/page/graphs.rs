//! Graphs of a study's tests.

use mountmark_model::{Figure, Printed, Qualifier, Study};

use crate::studies::find::compare_study;
use crate::tests::page::{check, findings, of, report, whole};
use crate::view::Report;

const EVIL: &str = "<b>reiser4</b>";

/// A study of the run's two tests on two file systems, of which the run has one.
fn study(values: [[f64; 2]; 2]) -> Study {
    let mut study: Study = serde_json::from_value(serde_json::json!({
        "name": "mine", "about": "", "title": "Mine", "published": "here", "year": 2006, "suite": "tiny",
        "run": [{"id": "1", "about": "", "filesystems": ["ext4", EVIL]}],
    }))
    .unwrap();
    for (fs, of_fs) in ["ext4", EVIL].into_iter().zip(values) {
        for (task, value) in ["001", "002"].into_iter().zip(of_fs) {
            study.figures.push(Figure {
                run: "1".into(),
                fs: fs.into(),
                task: task.into(),
                metric: "elapsed".into(),
                unit: "s".into(),
                value: Printed::Number(value),
                qualifier: Qualifier::Exact,
                note: String::new(),
            });
        }
    }
    study
}

#[test]
fn both_sides_have_a_graph_with_all_their_lines() {
    let run = whole(&["ext4", "xfs"], 2);
    let found = findings(&run);
    let page = |values| {
        let compared = compare_study(&run, &study(values), None).unwrap();
        of(&[Report { study: Some(&compared), ..report(&run, &found) }])
    };
    let wide = page([[0.02, 119.0], [0.0, 7.0]]);
    check(&wide);
    let graphs = wide.split("class=\"graphs\"").nth(1).unwrap().split("</figure>").next().unwrap();
    assert_eq!(graphs.matches("<svg class=\"plot curves\"").count(), 2);
    assert_eq!(graphs.matches("class=\"at stroke").count(), 4, "two lines on each side");
    assert!(
        graphs.contains(">0.01 s<")
            && graphs.contains(">100 s<")
            && !graphs.contains(">1000 s<")
            && graphs.contains("ten times"),
        "{graphs}"
    );
    assert!(graphs.contains("&lt;b&gt;reiser4") && !graphs.contains(EVIL) && !graphs.contains("NaN"), "{graphs}");
    let narrow = page([[90.0, 119.0], [60.0, 70.0]]);
    assert!(!narrow.contains("ten times the one below") && narrow.contains("class=\"graphs\""));
}
