//! The list of runs.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table};
use mountmark_model::Vary;
use mountmark_record::RunSummary;

use crate::run::say::varies_scale;

/// In display order.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a>(pub &'a [RunSummary]);

impl Subject for Runs<'_> {
    const COMMAND: &'static str = "runs";
    const NAME: &'static str = "a list of runs";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

/// One run per row; its name contains the start time. What runs varied has a column if one of them varied anything.
fn parts(Runs(runs): &Runs) -> Vec<Block> {
    if runs.is_empty() {
        return vec![Block::Text("There is no run yet.".into())];
    }
    let mut table = Table::new(HEAD, runs.iter().map(row), 1, Last::Words);
    if runs.iter().all(|run| run.vary.is_none()) {
        for line in std::iter::once(&mut table.head).chain(&mut table.rows) {
            line.remove(VARIED);
        }
    }
    vec![Block::Table(table)]
}

const HEAD: [&str; 9] = ["run", "status", "suite", "scale", "varied", "lab", "cells", "failed", "file systems"];

/// The column of what a run varied.
const VARIED: usize = 4;

fn row(run: &RunSummary) -> Vec<String> {
    vec![
        run.id.to_string(),
        run.status.to_string(),
        run.suite.clone(),
        if varies_scale(run.vary.as_ref()) { "varied".into() } else { run.scale.to_string() },
        run.vary.as_ref().map_or("-".into(), Vary::to_string),
        run.lab.clone(),
        format!("{}/{}", run.recorded, run.planned),
        run.failed.to_string(),
        run.configurations.join(", "),
    ]
}

fn rows(Runs(runs): &Runs, out: &mut Rows) -> Result<()> {
    out.head(
        "run,started,status,suite,scale,vary,lab,machine,kernel,seed,repeats,planned,recorded,failed,configurations",
    )?;
    for run in *runs {
        out.line([
            run.id.as_str(),
            &run.started.to_string(),
            &run.status.to_string(),
            &run.suite,
            &run.scale.to_string(),
            &run.vary.as_ref().map(Vary::to_string).unwrap_or_default(),
            &run.lab,
            &run.machine,
            &run.kernel,
            &run.seed.to_string(),
            &run.repeats.to_string(),
            &run.planned.to_string(),
            &run.recorded.to_string(),
            &run.failed.to_string(),
            &run.configurations.join(" "),
        ])?;
    }
    Ok(())
}

fn object(Runs(runs): &Runs, out: &mut Object) -> Result<()> {
    out.list("runs", *runs)
}
