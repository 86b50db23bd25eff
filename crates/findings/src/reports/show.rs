//! The complete findings of runs: for a browser, as a picture, as Markdown, and as rows and keys for programs.

use anyhow::{Result, ensure};
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table, list, number};
use mountmark_document::markup::Markup;
use mountmark_document::number::{capital, ratio};
use mountmark_document::writers::csv::REPORT as HEAD;
use mountmark_document::writers::json::REPORT as KEY;
use mountmark_model::Qualifier;
use mountmark_model::conditions::Way;
use mountmark_record::RunRecord;
use mountmark_stats::summary::Summary;
use serde::Serialize;
use serde_json::Value;

use crate::claims::find::{ClaimOutcome, JudgedClaim};
use crate::claims::say::outcome;
use crate::claims::show::worded::WordedClaim;
use crate::figures::find::Estimate;
use crate::matrix::show::Choice;
use crate::reports::{html, picture};
use crate::run::say::again::again;
use crate::sections::{AGAIN, Section};
use crate::studies::find::StudyComparison;
use crate::studies::show::worded::WordedStudy;
use crate::verdicts::show::worded::WordedFindings;
use crate::view::{Report, View, title};
use crate::why::show::answer as explained;
use crate::{cases, claims, dependence, run, studies, verdicts, why};

/// One or more runs, in display order.
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a> {
    pub runs: &'a [Report<'a>],
    /// Verdicts on claims by several runs together, if requested; those by one run are with it.
    pub claims: Option<&'a [JudgedClaim]>,
}

impl<'a> Reports<'a> {
    /// Without claims that several runs judge.
    pub fn of(runs: &'a [Report<'a>]) -> Reports<'a> {
        Reports { runs, claims: None }
    }
}

impl Subject for Reports<'_> {
    const COMMAND: &'static str = "report";
    const NAME: &'static str = "a report of runs";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
    const PAGE: Option<fn(&Self) -> Result<Markup>> = Some(|reports| html::html(reports.runs, reports.claims));
    const PICTURE: Option<fn(&Self) -> Result<Markup>> = Some(picture);
}

fn picture(Reports { runs: reports, .. }: &Reports) -> Result<Markup> {
    ensure!(reports.len() == 1, "a picture shows one run, and here are {}: make one picture a run", reports.len());
    Ok(picture::picture(&View::new(&reports[0], 0, 1)))
}

fn parts(Reports { runs: reports, claims: together }: &Reports) -> Vec<Block> {
    let mut out = Vec::new();
    if let Some(judged) = together {
        let runs: Vec<&RunRecord> = reports.iter().map(|report| report.run).collect();
        out.push(Block::Title(claims::say::title(judged)));
        out.extend(claims(&runs, judged));
    }
    for report in *reports {
        let view = View::new(report, 0, 1);
        out.push(Block::Title(format!("{}: {}", report.run.plan.suite, title(&view))));
        out.extend(verdicts::show::sections(report.run, report.findings));
        out.push(Block::Heading(Section::MATRIX.heading.into()));
        out.extend(run::show::table(&view, Choice::usual(report.findings)));
        for why in report.whys {
            out.push(Block::Heading(why::say::asked(&explained::title(why))));
            out.extend(explained::sentences(why).into_iter().map(Block::Text));
            out.push(Block::Fact("figures".into(), why::say::figures(why.figures, why.is_kept, why.differs)));
            out.extend(explained::tables(why));
        }
        out.extend(report.study.map(study).unwrap_or_default());
        out.extend(report.claims.map(|judged| claims(&[report.run], judged)).unwrap_or_default());
        out.push(Block::Heading(AGAIN.into()));
        out.push(Block::Command(again(report.run)));
    }
    out
}

/// Only the summary: `mountmark compare --study` has every test.
fn study(compared: &StudyComparison) -> Vec<Block> {
    let mut out = Vec::new();
    out.push(Block::Heading(Section::STUDY.heading.into()));
    out.push(Block::Text(format!("{}, run {}.", compared.source, compared.study_run)));
    out.extend(studies::say::warnings(&compared.warnings).into_iter().map(Block::Item));
    let mut head = vec!["ratio to the group, published → this run".to_owned()];
    head.extend(compared.common.iter().cloned().chain(["mean tau".into(), "pairs in order".into()]));
    let row = |all: &studies::find::OverallComparison| {
        let text = |value: &Option<f64>| value.map_or("–".to_owned(), ratio);
        let scores = all.published_score.iter().zip(&all.measured_score);
        let scores = scores.map(|(published, measured)| format!("{} → {}", text(published), text(measured)));
        let tau = all.mean_tau.map_or("–".to_owned(), |tau| format!("{tau:.2}"));
        let pairs = format!("{} of {}", all.same, all.same + all.reversed + all.tied);
        std::iter::once(all.metric.clone()).chain(scores).chain([tau, pairs]).collect()
    };
    let rows: Vec<Vec<String>> = compared.overall.iter().map(row).collect();
    out.push(match rows.is_empty() {
        true => Block::Text(studies::say::NONE.into()),
        false => Block::Table(Table { head, rows, keys: 1, last: Last::Figure }),
    });
    out
}

fn claims(runs: &[&RunRecord], judged: &[JudgedClaim]) -> Vec<Block> {
    let counts: Vec<String> =
        ClaimOutcome::counts(judged).into_iter().map(|(found, count)| format!("{}: {count}", outcome(found))).collect();
    let mut out = Vec::new();
    list(&mut out, "Claims of published studies", &counts);
    out.extend(cases::say::hurried_at(judged).map(Block::Text));
    match runs {
        [run] => out.push(Block::Text(format!("Judged by this run: {}.", claims::say::judge(run)))),
        runs => {
            out.push(Block::Text(claims::say::SEVERAL.into()));
            out.extend(runs.iter().map(|run| Block::Item(claims::say::named(run))));
        }
    }
    let head = if runs.len() == 1 { "this run" } else { "verdict" };
    let named = |claim: &JudgedClaim| format!("{} {}", claim.id, claim.text);
    let row = |claim: &&JudgedClaim| {
        let (far, lacking) = if claim.is_partial() {
            (", as far as measured", claims::say::lacks(claim).join(" "))
        } else {
            ("", String::new())
        };
        let stretched = claims::say::stretched(claim).unwrap_or_default();
        let by = claims::say::by(claim, runs).map(|by| format!("{}: ", capital(&by))).unwrap_or_default();
        vec![
            named(claim),
            format!("{}{far}", outcome(claim.outcome)),
            [by + &claims::say::sentence(claim), stretched, lacking].join(" ").trim().to_owned(),
        ]
    };
    let (decided, open) = claims::say::by_reason(judged);
    let table = |head: &[&str], rows: Vec<Vec<String>>, keys: usize| {
        let head = head.iter().map(|head| (*head).to_owned()).collect();
        Block::Table(Table { head, rows, keys, last: Last::Words })
    };
    if !decided.is_empty() {
        out.push(table(&["claim", head, "why"], decided.iter().map(row).collect(), 2));
    }
    for group in open {
        out.push(Block::Text(group.reason));
        let row = |claim: &&JudgedClaim| vec![outcome(claim.outcome).to_owned(), named(claim)];
        out.push(table(&[head, "claim"], group.claims.iter().map(row).collect(), 1));
        out.extend(group.commands.into_iter().map(|command| Block::Command(command.to_owned())));
    }
    out
}

/// Medians in the same columns as published figures, so that both fit in one sheet. The column study is the suite, task
/// its id. A figure missing for a known reason has an empty value and the reason as its note.
fn rows(Reports { runs: reports, .. }: &Reports, out: &mut Rows) -> Result<()> {
    out.head(HEAD)?;
    for report in *reports {
        let view = View::new(report, 0, 1);
        let all = report.findings.tasks.iter().flat_map(|task| task.metrics.iter().map(move |found| (task, found)));
        for (task, found) in all {
            let is_shown = task.shown().is_some_and(|shown| shown.metric.id == found.metric.id);
            for (configuration, estimate) in found.estimates.iter().enumerate() {
                let (value, qualifier, note) = match estimate {
                    Some(found) => (number(found.summary.median), qualifier(&found.summary), note(found)),
                    // Once per task, not per metric.
                    None => match view.trouble(configuration, &task.id).filter(|_| is_shown) {
                        Some(word) => (String::new(), Qualifier::NotRun, word.to_owned()),
                        None => continue,
                    },
                };
                out.line([
                    report.run.plan.suite.as_str(),
                    report.run.id.as_str(),
                    view.name(configuration),
                    &task.id,
                    found.metric.id,
                    found.metric.unit_text(),
                    &value,
                    qualifier.word(),
                    &note,
                ])?;
            }
        }
    }
    Ok(())
}

fn qualifier(summary: &Summary) -> Qualifier {
    if summary.n == 1 { Qualifier::SingleRun } else { Qualifier::Exact }
}

/// Statistics beside the median; empty for a single figure.
fn note(estimate: &Estimate) -> String {
    let summary = &estimate.summary;
    if summary.n == 1 {
        return String::new();
    }
    let [mean, min, max] = [summary.mean, summary.min, summary.max].map(number);
    let depends = estimate.dependence.as_ref().map(|found| dependence::say::values(number, found));
    let depends = depends.map_or(String::new(), |values| format!("; depends on conditions: {values}"));
    format!("median of {}; mean {mean}; {min} to {max}{depends}", summary.n)
}

#[derive(Serialize)]
struct Found<'a> {
    run: &'a str,
    command: String,
    suite: &'a str,
    scale: f64,
    lab: &'static str,
    clock: String,
    machine: &'a str,
    kernel: &'a str,
    seed: u64,
    conditions: Way,
    mountmark: &'a str,
    findings: WordedFindings<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<WordedStudy<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<Vec<WordedClaim<'a>>>,
    /// Explanations of tasks, each as `why` writes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<Value>,
}

fn object(Reports { runs, claims }: &Reports, out: &mut Object) -> Result<()> {
    out.list(KEY, runs.iter().map(found))?;
    claims.map_or(Ok(()), |claims| out.list("claims", claims.iter().map(WordedClaim::new)))
}

fn found<'a>(report: &'a Report<'a>) -> Found<'a> {
    let plan = &report.run.plan;
    Found {
        run: report.run.id.as_str(),
        command: again(report.run),
        suite: &plan.suite,
        scale: plan.scale.factor(),
        lab: plan.lab.name(),
        clock: run::say::clock(report.run),
        machine: &plan.machine.name,
        kernel: &plan.kernel,
        seed: plan.seed,
        conditions: plan.conditions(),
        mountmark: &report.run.program,
        findings: WordedFindings::new(report.findings),
        study: report.study.map(WordedStudy::new),
        claims: report.claims.map(|claims| claims.iter().map(WordedClaim::new).collect()),
        why: report.whys.iter().map(explained::value).collect(),
    }
}
