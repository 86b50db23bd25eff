//! The complete findings of runs: for a browser, as a picture, as Markdown, and as rows and keys for programs.

use anyhow::{Result, ensure};
use mountmark_document::forms::{Block, Object, Rows, Subject, number, opened};
use mountmark_document::markup::Markup;
use mountmark_document::writers::csv::REPORT as HEAD;
use mountmark_document::writers::json::REPORT as KEY;
use mountmark_model::Qualifier;
use mountmark_model::conditions::Way;
use mountmark_record::RunRecord;
use mountmark_stats::summary::Summary;
use serde::Serialize;
use serde_json::Value;

use crate::claims::find::JudgedClaim;
use crate::claims::show::worded::WordedClaim;
use crate::figures::find::Estimate;
use crate::found::Findings;
use crate::overview::say::opening::Opening;
use crate::reports::{page, picture};
use crate::run::say::again::again;
use crate::sections::{self, Section};
use crate::studies::show::worded::WordedStudy;
use crate::verdicts::show::worded::WordedFindings;
use crate::view::{Report, View, title};
use crate::why::show::answer as explained;
use crate::{claims, dependence, run};

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
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(blocks);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
    const PAGE: Option<fn(&Self) -> Result<Markup>> = Some(|reports| page::page(reports.runs, reports.claims));
    const PICTURE: Option<fn(&Self) -> Result<Markup>> = Some(picture);
}

fn picture(Reports { runs: reports, .. }: &Reports) -> Result<Markup> {
    ensure!(reports.len() == 1, "a picture shows one run, and here are {}: make one picture a run", reports.len());
    Ok(picture::picture(&View::new(&reports[0], 0, 1)))
}

fn blocks(Reports { runs: reports, claims: together }: &Reports) -> Vec<Block> {
    let mut out = Vec::new();
    if let Some(judged) = together {
        let runs: Vec<&RunRecord> = reports.iter().map(|report| report.run).collect();
        out.push(Block::Title(claims::say::title(judged)));
        out.push(Block::Heading(claims::say::HEADING.into()));
        out.extend(claims::show::section::together(&runs, &[], judged));
    }
    for report in *reports {
        let view = View::new(report, 0, 1);
        out.push(Block::Title(format!("{}: {}", report.run.plan.suite, title(&view))));
        out.push(Block::Text(Opening::of(report.findings).answer));
        out.extend(sections::ALL.iter().flat_map(|section| under(section, &view)));
    }
    out
}

/// A section below its heading; nothing if the run has nothing for it that is not drawn.
fn under(section: &Section, view: &View) -> Vec<Block> {
    let blocks = opened(&(section.blocks)(view));
    let heading = (!blocks.is_empty()).then(|| Block::Heading(section.heading.into()));
    heading.into_iter().chain(blocks).collect()
}

/// What was found in a run, without its figures.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
}

impl Subject for Verdicts<'_> {
    const COMMAND: &'static str = "show --verdict";
    const NAME: &'static str = "the verdicts of a run";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(verdicts);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> =
        Some(|subject, out| out.head(&WordedFindings::new(subject.findings)));
}

fn verdicts(Verdicts { run, findings }: &Verdicts) -> Vec<Block> {
    let report = Report::of(run, findings);
    let view = View::new(&report, 0, 1);
    let sections = sections::ALL.iter().filter(|section| section.is_verdict);
    let answer = Block::Text(Opening::of(findings).answer);
    std::iter::once(answer).chain(sections.flat_map(|section| under(section, &view))).collect()
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
