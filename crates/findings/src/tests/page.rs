use std::collections::BTreeSet;

use mountmark_document::writers::Options;
use mountmark_model::promises::Promises;
use mountmark_model::{Metric, Outcome, protocol_task};
use mountmark_record::{RunRecord, Sample};
use mountmark_stats::summary::Summary;

use crate::doubts::find::Doubt;
use crate::figures::find::basis::{Basis, Category};
use crate::figures::find::{Estimate, MetricFindings, Point, TaskFindings};
use crate::found::Findings;
use crate::overview::find::Conclusion;
use crate::rankings::find::rank::{CategoryFindings, Lead, Overall, Rank};
use crate::registry::{Format, SUBJECTS};
use crate::remarks::find::Remark;
use crate::reports::page;
use crate::reports::show::Reports;
use crate::safety::find::AfterCut;
use crate::tests;
use crate::tests::run;
use crate::view::Report;

mod graphs;
mod hostile;
mod large;
mod why;

/// Hand-made findings from a record: the analysis is not tested here.
pub(crate) fn findings(run: &RunRecord) -> Findings {
    let names = &run.plan.configurations;
    let step = |id: &str| (id.to_owned(), id.to_owned(), true);
    let mut ids = vec![step(protocol_task::MKFS), step(protocol_task::MOUNT)];
    ids.extend(run.plan.tasks.iter().map(|(id, title)| (id.clone(), title.clone(), false)));
    ids.extend([step(protocol_task::UMOUNT), step(protocol_task::CAPACITY)]);
    let tasks = ids
        .into_iter()
        .map(|(id, title, step)| TaskFindings {
            metrics: Metric::ALL.iter().filter_map(|metric| figures(run, &id, metric)).collect(),
            category: if step { Category::Steps } else { Category::Work(format!("kind of {}", id.len() % 2)) },
            id,
            title,
            step,
            restarts: false,
            is_measured: true,
            judged_by: Some(&Metric::DURABLE),
        })
        .collect();
    let ranking: Vec<Rank> = (0..names.len())
        .map(|configuration| Rank {
            configuration,
            score: 1.0 + configuration as f64,
            interval: None,
            stability: Some(0.9),
            resampled: Some(0.9),
        })
        .collect();
    Findings {
        effects: None,
        run: run.id.as_str().into(),
        configurations: names.clone(),
        headings: names.clone(),
        baseline: 0,
        repeats: run.plan.repeats,
        measured: run.plan.repeats as usize,
        level: 0.95,
        matters: 0.01,
        main: &Metric::DURABLE,
        tasks,
        categories: vec![CategoryFindings {
            category: Category::Work("kind of 1".into()),
            basis: Basis::Durable,
            ranking: ranking.clone(),
            lead: Some(Lead::First { everywhere: true }),
            unranked: vec![],
        }],
        overall: Overall {
            composite: vec![None; names.len()],
            geometric_mean: vec![Some(1.5); names.len()],
            basis: Basis::Durable,
            ranking,
            lead: Some(Lead::First { everywhere: true }),
            unranked: vec![],
        },
        safety: vec![
            AfterCut {
                promises: Promises::least(),
                undocumented: None,
                lost: 0.0,
                known: None,
                without_layers: false,
                flushes: None,
                faults: Vec::new()
            };
            names.len()
        ],
        conclusions: vec![
            Conclusion::Overall { tests: 9 },
            Conclusion::Tally { tests: 9, wins: vec![], tied: 9, none: 0, rest: 0 },
        ],
        robustness: None,
        curves: None,
        doubts: vec![Doubt {
            configuration: 0,
            task: "001".into(),
            metric: "durable".into(),
            repeat: 0,
            value: 10.0,
            others: 5.0,
            again: false,
        }],
        missing: vec![],
        remarks: vec![Remark::Scores],
    }
}

fn figures(run: &RunRecord, task: &str, metric: &'static Metric) -> Option<MetricFindings> {
    let estimates: Vec<Option<Estimate>> = run
        .plan
        .configurations
        .iter()
        .map(|name| {
            let cells = run.cells.iter().filter(|cell| cell.configuration == *name);
            let points: Vec<Point> = cells
                .flat_map(|cell| cell.samples.iter().map(move |sample| (cell.repeat, sample)))
                .filter(|(_, sample)| sample.task == task && sample.metric == metric.id)
                .map(|(repeat, sample)| Point {
                    repeat,
                    iteration: sample.iteration,
                    value: sample.value,
                    doubtful: false,
                })
                .collect();
            estimate(points)
        })
        .collect();
    let is_there = estimates.iter().any(Option::is_some);
    is_there.then_some(MetricFindings { metric, estimates, verdict: None, best: vec![0] })
}

fn estimate(points: Vec<Point>) -> Option<Estimate> {
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let (first, last) = (*values.first()?, *values.last()?);
    let summary = Summary {
        n: values.len(),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        median: values[values.len() / 2],
        min: first,
        max: last,
        cv: Some(0.01),
    };
    Some(Estimate { summary, median_interval: None, ratio: Some(1.25), ratio_interval: None, dependence: None, points })
}

/// A run whose tasks also have durable times.
pub(crate) fn whole(names: &[&str], repeats: u32) -> RunRecord {
    let mut run = run(names, repeats);
    for cell in &mut run.cells {
        let more: Vec<Sample> = cell
            .samples
            .iter()
            .filter(|sample| sample.metric == "elapsed")
            .flat_map(|sample| {
                let make = |metric: &str, value| Sample { metric: metric.into(), value, ..sample.owned() };
                [
                    make("durable", sample.value * 1.5),
                    make("sync", sample.value * 0.5),
                    make("settle", sample.value),
                    make("cpu_percent", 42.0),
                ]
            })
            .collect();
        cell.samples.extend(more);
    }
    run
}

pub(crate) fn of(reports: &[Report]) -> String {
    page::page(reports, None).unwrap().into_string()
}

pub(crate) fn formats() -> impl Iterator<Item = Format> {
    SUBJECTS.iter().find(|subject| subject.command == "report").unwrap().formats()
}

pub(crate) fn report<'a>(run: &'a RunRecord, findings: &'a Findings) -> Report<'a> {
    Report::of(run, findings)
}

fn page(run: &RunRecord) -> String {
    of(&[report(run, &findings(run))])
}

/// Checks that elements are closed in order, ids are unique, and references refer to existing ids.
pub(crate) fn check(text: &str) {
    const EMPTY: [&str; 4] = ["meta", "!DOCTYPE", "br", "wbr"];
    let (mut open, mut ids, mut wanted) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if rest.starts_with("!--") {
            rest = &rest[rest.find("-->").expect("a comment ends")..];
            continue;
        }
        let tag = &rest[..rest.find('>').expect("a tag ends")];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "in {tag}");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap();
        for part in tag.split("\" ").flat_map(|part| part.split_once("=\"")) {
            let (attribute, value) = (part.0.rsplit(' ').next().unwrap(), part.1.trim_end_matches(['"', '/']));
            match attribute {
                "id" => assert!(ids.insert(value), "{value} is there twice"),
                "aria-labelledby" | "for" | "data-copy" => wanted.extend(value.split(' ')),
                "href" => wanted.extend(value.strip_prefix('#')),
                _ => {}
            }
        }
        if !tag.ends_with('/') && !EMPTY.contains(&name) {
            open.push(name);
        }
        // Their contents are not markup.
        if ["script", "style"].contains(&name) {
            rest = &rest[rest.find(&format!("</{name}>")).expect("an end")..];
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    let lost: Vec<&&str> = wanted.difference(&ids).collect();
    assert!(lost.is_empty(), "no element has {lost:?}");
}

#[test]
fn pages_are_well_formed_whatever_a_run_lacks() {
    let mut runs =
        vec![whole(&["ext4", "xfs", "jfs"], 3), whole(&["ext4"], 1), run(&["ext4", "xfs"], 1), whole(&[], 1)];
    // Nothing was measured.
    let mut empty = run(&["ext4", "xfs"], 2);
    empty.cells.clear();
    runs.push(empty);
    // Passes every filter.
    let mut odd = whole(&["ext4", "xfs"], 2);
    for ((_, value), odd) in
        odd.cells[0].samples.iter_mut().zip([f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MAX, 1e-300].into_iter().cycle())
    {
        *value = odd;
    }
    runs.push(odd);
    let found: Vec<Findings> = runs.iter().map(findings).collect();
    let reports: Vec<Report> = runs.iter().zip(&found).map(|(run, found)| report(run, found)).collect();
    for one in &reports {
        let text = of(&[*one]);
        check(&text);
        assert!(!text.contains("width:NaN") && !text.contains("width:inf"), "a length that is no number");
        for format in formats() {
            let text = format.write(&Reports::of(&[*one]), &Options::default()).unwrap();
            assert!(text.ends_with('\n'), "{}", format.name());
        }
    }
    check(&of(&reports));
}

#[test]
fn sections_have_what_they_are_for() {
    let mut run = whole(&["ext4", "xfs", "jfs"], 3);
    run.cells[1].outcomes[3].outcome =
        Outcome::Failed { reason: "cp ended with 1".into(), detail: "No space left".into() };
    let text = page(&run);
    for id in ["conclusions", "compared", "matrix", "all", "rankings", "tests", "steps", "tails", "trouble", "method"] {
        assert!(text.contains(&format!("id=\"{id}\"")) && text.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    for words in [
        "several come first, in no order that is shown, in 9.",
        "each test counts the same",
        "cp ended with 1",
        "No space left",
        "virtual lab",
        "--seed 7",
    ] {
        assert!(text.contains(words), "{words:?} is missing");
    }
    // A test that every file system failed has a row too.
    let mut found = findings(&run);
    let unmeasured = found.tasks.iter_mut().find(|task| task.id == "002").unwrap();
    (unmeasured.metrics, unmeasured.is_measured) = (Vec::new(), false);
    let text = of(&[report(&run, &found)]);
    let matrix = text.split("matrix-table").nth(1).unwrap().split("</table>").next().unwrap();
    let row = matrix.split("copy a tree").nth(1).unwrap().split("</tr>").next().unwrap();
    assert_eq!(row.matches("<td").count(), 3);
    assert_eq!(row.matches("failed").count(), 1);
    assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("@import"), "it needs a network");
}

#[test]
fn the_best_is_marked_as_the_findings_say() {
    let run = whole(&["ext4", "xfs", "jfs"], 3);
    let mut found = findings(&run);
    for best in [vec![1], vec![0, 2], vec![]] {
        found.tasks.iter_mut().flat_map(|task| &mut task.metrics).for_each(|metric| metric.best = best.clone());
        let text = of(&[report(&run, &found)]);
        let matrix = text.split("matrix-table").nth(1).unwrap().split("</table>").next().unwrap();
        let row = matrix.split("touch 10,000 files").nth(1).unwrap().split("</tr>").next().unwrap();
        let cells = row.split("<td").skip(1).enumerate();
        let starred: Vec<usize> = cells.filter(|(_, cell)| cell.contains("class=\"best\"")).map(|(at, _)| at).collect();
        assert_eq!(starred, best);
    }
}

#[test]
fn csv_has_the_columns_of_published_figures() {
    let run = whole(&["ext4", "a,b"], 3);
    let text = tests::written(&Reports::of(&[report(&run, &findings(&run))]), "csv", 100);
    let mut lines = text.lines();
    let published = include_str!("../../../../catalog/studies/piszcz-2006.csv");
    assert_eq!(lines.next(), published.lines().find(|line| !line.starts_with('#')));
    assert!(text.contains("tiny,20261121-0345-a1b2,ext4,001,elapsed,s,"), "{text}");
    assert!(text.contains(",\"a,b\",001,") && text.contains(",median of 3; mean "), "{text}");
}
