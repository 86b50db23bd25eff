//! What programs printed, and what the engine found, task by task. `show --raw` prints it as it is where no format is asked
//! for.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Subject, Table};
use mountmark_model::heading;
use mountmark_record::{CellRecord, Output, RunRecord};
use serde_json::{Value, json};

use crate::run::show::about::about;

#[derive(Clone, Copy, Debug)]
pub struct Outputs<'a> {
    pub run: &'a RunRecord,
    pub outputs: &'a [Output],
}

impl Subject for Outputs<'_> {
    const COMMAND: &'static str = "show --raw";
    const NAME: &'static str = "what programs printed";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> =
        Some(|subject, out| out.list("outputs", subject.outputs.iter().map(|output| value(subject.run, output))));
}

fn cell_of<'a>(run: &'a RunRecord, output: &Output) -> Option<&'a CellRecord> {
    run.cells.iter().find(|cell| cell.index == output.cell)
}

fn parts(Outputs { run, outputs }: &Outputs) -> Vec<Block> {
    let row = |output: &Output| {
        let cell = cell_of(run, output);
        let name =
            cell.map_or_else(String::new, |cell| format!("{} #{}", heading(&cell.configuration), cell.repeat + 1));
        vec![output.task.clone(), name, output.kind.word().to_owned(), output.text.trim_end().to_owned()]
    };
    let head = ["task", "file system", "stream", "text"];
    let mut parts = about(run);
    parts.push(Block::Table(Table::new(head, outputs.iter().map(row), 3, Last::Words)));
    parts
}

fn value(run: &RunRecord, output: &Output) -> Value {
    let cell = cell_of(run, output);
    json!({
        "task": output.task,
        "configuration": cell.map(|cell| &cell.configuration),
        "repeat": cell.map(|cell| cell.repeat),
        "iteration": output.iteration,
        "kind": output.kind,
        "text": output.text,
    })
}
