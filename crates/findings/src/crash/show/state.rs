//! One image that a power cut may leave, and what it holds.

use anyhow::Result;
use mountmark_crash::campaign::{Replay, Told};
use mountmark_crash::trace::{Event, Request};
use mountmark_crash::workload::Workload;
use mountmark_document::forms::{Block, Last, Object, Subject, Table};
use mountmark_model::heading;
use serde_json::json;

use crate::crash::say as words;
use crate::crash::say::explored;

#[derive(Clone, Copy, Debug)]
pub struct CrashState<'a> {
    pub configuration: &'a str,
    pub workload: &'a Workload,
    pub state: &'a Replay,
}

impl Subject for CrashState<'_> {
    const COMMAND: &'static str = "crash --state";
    const NAME: &'static str = "what one image holds";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

fn parts(shown: &CrashState) -> Vec<Block> {
    let CrashState { configuration, workload, state } = shown;
    let mut parts = vec![
        Block::Fact("file system".into(), heading(configuration).into_owned()),
        Block::Fact("workload".into(), workload.to_string()),
        Block::Fact("image".into(), state.id.to_string()),
        Block::Heading("The order of requests before the power cut".into()),
        Block::Table(requests(shown)),
        Block::Heading("What the image holds".into()),
    ];
    match state.seen.as_ref().and_then(|seen| seen.tree.as_ref()) {
        Some(tree) if tree.entries.is_empty() => parts.push(Block::Text("No file and no folder.".into())),
        Some(tree) => parts.extend(tree.entries.iter().map(|entry| Block::Item(words::entry(entry)))),
        None => parts.push(Block::Text("It could not be read.".into())),
    }
    if let Some(repaired) = state.seen.as_ref().and_then(|seen| seen.repaired.as_ref()) {
        parts.push(Block::Heading("After a full check with repairs".into()));
        parts.push(Block::Text(explored::after_repair(repaired)));
    }
    parts.push(Block::Heading("What is wrong with it".into()));
    match state.faults.as_slice() {
        [] => parts.push(Block::Text("It breaks no promise.".into())),
        faults => parts.extend(faults.iter().map(|fault| Block::Item(words::told(fault, workload)))),
    }
    parts
}

/// Requests and operations in their order, and whether the image holds each write.
fn requests(shown: &CrashState) -> Table {
    let CrashState { workload, state, .. } = shown;
    let row = |event: &Event| match event {
        Event::Mark(mark) => vec![words::mark(mark, workload), String::new(), String::new()],
        Event::Sent { number, request } => {
            let held = match request {
                Request::Write { length, .. } => words::held(state.order.held(*number).unwrap_or(0), *length),
                _ => String::new(),
            };
            vec![String::new(), words::request(*number, request), held]
        }
        Event::Done { number, error } => vec![String::new(), words::done(*number, *error), String::new()],
    };
    Table::new(["operation", "at the disk", "in the image"], state.order.events.iter().map(row), 1, Last::Words)
}

fn object(shown: &CrashState, out: &mut Object) -> Result<()> {
    let CrashState { configuration, workload, state } = shown;
    let sentence = |told: &Told| json!({ "fault": told.fault, "promised": told.promised, "sentence": words::fault(&told.fault, workload) });
    out.head(&json!({
        "configuration": configuration,
        "workload": workload.to_string(),
        "state": state.id,
        "extents": state.extents,
        "moment": state.moment,
        "trace": state.trace,
        "seen": state.seen,
    }))?;
    out.list("faults", state.faults.iter().map(sentence))
}
