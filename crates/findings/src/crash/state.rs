//! One image that a power cut may leave, and what it holds.

use anyhow::Result;
use mountmark_crash::campaign::{Again, Told};
use mountmark_crash::trace::{Event, Request};
use mountmark_crash::workload::Workload;
use mountmark_document::writers::json::Object;
use mountmark_document::writers::{Last, Part, Subject, Table};
use mountmark_model::heading;
use serde_json::json;

use crate::crash::{explored, say as words};

#[derive(Clone, Copy, Debug)]
pub struct CrashState<'a> {
    pub configuration: &'a str,
    pub workload: &'a Workload,
    pub state: &'a Again,
}

impl Subject for CrashState<'_> {
    const COMMAND: &'static str = "crash --state";
    const NAME: &'static str = "what one image holds";
    const PARTS: Option<fn(&Self) -> Vec<Part>> = Some(parts);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

fn parts(shown: &CrashState) -> Vec<Part> {
    let CrashState { configuration, workload, state } = shown;
    let mut parts = vec![
        Part::Labelled("file system".into(), heading(configuration).into_owned()),
        Part::Labelled("workload".into(), workload.to_string()),
        Part::Labelled("image".into(), state.id.to_string()),
        Part::Heading("The order of requests before the power cut".into()),
        Part::Table(requests(shown)),
        Part::Heading("What the image holds".into()),
    ];
    match state.seen.as_ref().and_then(|seen| seen.tree.as_ref()) {
        Some(tree) if tree.entries.is_empty() => parts.push(Part::Paragraph("No file and no folder.".into())),
        Some(tree) => parts.extend(tree.entries.iter().map(|entry| Part::Item(words::entry(entry)))),
        None => parts.push(Part::Paragraph("It could not be read.".into())),
    }
    if let Some(repaired) = state.seen.as_ref().and_then(|seen| seen.repaired.as_ref()) {
        parts.push(Part::Heading("After a full check with repairs".into()));
        parts.push(Part::Paragraph(explored::after_repair(repaired)));
    }
    parts.push(Part::Heading("What is wrong with it".into()));
    match state.faults.as_slice() {
        [] => parts.push(Part::Paragraph("It breaks no promise.".into())),
        faults => parts.extend(faults.iter().map(|fault| Part::Item(words::told(fault, workload)))),
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
    Table {
        head: ["operation", "at the disk", "in the image"].map(str::to_owned).into(),
        rows: state.order.events.iter().map(row).collect(),
        keys: 1,
        last: Last::Words,
    }
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
