//! The step between two kernels or commits at which a task became slower.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Subject, Table};
use mountmark_document::markup::Markup;
use mountmark_document::writers;
use mountmark_record::RunRecord;
use serde_json::json;

use crate::bisect::find::{Bisection, Tried};
use crate::bisect::say as words;
use crate::figures::say::quantity::quantity;
use crate::figures::say::subject;
use crate::run::show::about::labels;
use crate::why;
use crate::why::show::answer::{Answer, value};
use crate::why::show::told;

#[derive(Clone, Copy, Debug)]
pub struct Bisected<'a> {
    pub found: &'a Bisection,
    /// The runs of its pair.
    pub runs: [&'a RunRecord; 2],
    /// Where the time went before and after; `None` if that was not asked for or could not be told.
    pub why: Option<&'a Answer<'a>>,
}

impl Subject for Bisected<'_> {
    const COMMAND: &'static str = "bisect";
    const NAME: &'static str = "the step at which a task became slower";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const PAGE: Option<fn(&Self) -> Result<Markup>> = Some(|found| {
        let drawn = found.why.map(why::page::flames).unwrap_or_default();
        Ok(writers::html::page(&parts(found), Self::NAME, Self::COMMAND, &drawn))
    });
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

fn parts(Bisected { found, runs, why }: &Bisected) -> Vec<Block> {
    let mut out = vec![Block::Heading(words::title(found)), Block::Text(words::step(found))];
    if !found.hidden.is_empty() {
        out.push(Block::Text(words::hidden(&found.hidden)));
    }
    // An explanation has them, too.
    if why.is_none() {
        out.push(Block::Fact("before".into(), why::say::run(runs[0])));
        out.push(Block::Fact("after".into(), why::say::run(runs[1])));
    }
    out.extend(labels([found.configuration.as_str()]));
    out.extend(words::change(*runs).map(|change| Block::Fact("change".into(), change)));
    let row = |tried: &Tried| {
        let figure = tried.figure.map_or(String::new(), |figure| quantity(found.metric, figure));
        vec![tried.name.clone(), figure, tried.run.clone().unwrap_or_default(), words::verdict(tried)]
    };
    let head = ["tried", subject(found.metric), "run", "verdict"];
    out.push(Block::Table(Table::new(head, found.tried.iter().map(row), 1, Last::Words)));
    if let Some(answer) = why {
        out.extend(told(answer));
    }
    out
}

fn object(Bisected { found, runs, why }: &Bisected, out: &mut Object) -> Result<()> {
    let [good, bad] = found.pair.map(|at| &found.tried[at].name);
    out.head(&json!({
        "configuration": found.configuration,
        "task": found.task,
        "metric": found.metric.id,
        "good": good,
        "bad": bad,
        "runs": runs.map(|run| run.id.as_str()),
        "figures": found.figures(),
        "hidden": found.hidden,
        "sentence": words::step(found),
        "change": words::change(*runs),
        "why": why.map(value),
    }))?;
    out.list("tried", &found.tried)
}
