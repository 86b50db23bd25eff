//! Explanations at their tasks.

use std::collections::BTreeMap;

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, Part, PathTime, Profile};

use super::*;
use crate::tests;
use crate::why::find::{Explanation, Ledger, explain, ledger};
use crate::why::show::answer::Answer;

fn profile(paths: &[(&str, u64)], read: u64) -> Profile {
    let time = |(path, running): &(&str, u64)| {
        let awaited = Awaited { operation: DeviceOperation::Read, part: Some(Part::Directories) };
        let waiting = BTreeMap::from([(Some(awaited), read)]);
        (path.split(';').map(str::to_owned).collect(), PathTime { running: *running, waiting })
    };
    Profile { paths: paths.iter().map(time).collect(), ..Profile::default() }
}

fn ledgers() -> [Ledger; 2] {
    let none = Profile::default();
    let slow = profile(&[("cp;open;ext4:<img src=x>", 4_000_000_000)], 500_000_000);
    let fast = profile(&[("cp;open;xfs:find", 1_000_000_000)], 0);
    [ledger("ext4", 4_500_000_000, 0, [&slow, &none]), ledger("xfs", 1_000_000_000, 0, [&fast, &none])]
}

/// A report of the run with an explanation of task 001.
fn with_why<T>(run: &RunRecord, found: &Findings, then: impl FnOnce(Report) -> T) -> T {
    let ledgers = ledgers();
    let explanations: Vec<Explanation> = vec![explain(&ledgers[0], &ledgers[1], None)];
    let why = Answer {
        run,
        later: None,
        task: "001",
        chosen: None,
        ledgers: &ledgers,
        explanations: &explanations,
        figures: 12,
        is_kept: false,
        differs: None,
    };
    then(Report { whys: &[why], ..report(run, found) })
}

#[test]
fn an_explanation_stands_at_its_task_and_needs_no_network() {
    let run = whole(&["ext4", "xfs"], 2);
    let found = findings(&run);
    let text = with_why(&run, &found, |report| of(&[report]));
    check(&text);
    let card = text.split("<figure class=\"card spread\">").nth(1).expect("the task's card is the wide one");
    let card = card.split("</figure>").next().unwrap();
    assert!(card.contains("001") && card.contains("ext4 takes 4.50 s until durable, xfs 1.00 s: "), "{card}");
    for words in [
        "4.000000000",
        "waiting for reads",
        "reads of directories",
        "together",
        "equal to the last bit",
        "Flame graph of task 001",
    ] {
        assert!(card.contains(words), "{words:?} is missing");
    }
    assert_eq!(text.matches("<iframe").count(), 1);
    assert!(card.contains("src=\"data:image/svg+xml;base64,") && card.contains("sandbox=\"allow-scripts\""));
    assert!(!text.contains("<img src=x>") && !text.contains("http://") && !text.contains("https://"));
    assert!(!of(&[report(&run, &found)]).contains("class=\"why\""), "nothing without an explanation");
}

#[test]
fn texts_and_json_have_explanations_too() {
    let run = whole(&["ext4", "xfs"], 2);
    let found = findings(&run);
    for (format, words) in [("markdown", "4.000000000"), ("table", "Why: 001"), ("json", "\"durable\":4000000000")] {
        let text = with_why(&run, &found, |report| tests::written(&Reports::of(&[report]), format, 200));
        assert!(text.contains("ext4 takes 4.50 s until durable") && text.contains(words), "{format}: {text}");
    }
}
