//! A run of the virtual lab beside one of a real machine.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table, list, number_or_empty};
use mountmark_document::number::ratio;
use mountmark_document::text::titled;
use mountmark_model::heading;
use serde::Serialize;

use crate::agreement::find::{AgreedTask, ModelAgreement};
use crate::agreement::say;
use crate::run::show::about::labels;
use crate::studies;
use crate::studies::say::tau_range;

#[derive(Clone, Copy, Debug)]
pub struct ModelBeside<'a>(pub &'a ModelAgreement);

impl Subject for ModelBeside<'_> {
    const COMMAND: &'static str = "compare --agreement";
    const NAME: &'static str = "the model beside a machine";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

const HEAD: &str =
    "model,machine,task,metric,unit,configuration,model_median,machine_median,tau,told,same,reversed,factor";

fn rows(ModelBeside(found): &ModelBeside, out: &mut Rows) -> Result<()> {
    out.head(HEAD)?;
    for task in &found.tasks {
        let counts = &task.counts;
        for (configuration, (model, machine)) in found.configurations.iter().zip(&task.figures) {
            out.line([
                &found.model,
                &found.machine,
                &counts.task,
                task.metric.id,
                task.metric.unit_text(),
                configuration,
                &number_or_empty(*model),
                &number_or_empty(*machine),
                &number_or_empty(counts.tau),
                &counts.told.to_string(),
                &counts.same.to_string(),
                &counts.reversed.to_string(),
                &number_or_empty(counts.factor),
            ])?;
        }
    }
    Ok(())
}

fn parts(ModelBeside(found): &ModelBeside) -> Vec<Block> {
    let mut out = vec![
        Block::Fact("model".into(), found.model.clone()),
        Block::Fact("machine".into(), found.machine.clone()),
        Block::Fact(
            "file systems".into(),
            found.configurations.iter().map(|name| heading(name)).collect::<Vec<_>>().join(", "),
        ),
        Block::Text(say::answer(found)),
    ];
    out.extend(say::marked(found).map(Block::Text));
    out.extend(labels(found.configurations.iter().map(String::as_str)));
    let head = ["test", "told apart", "same", "reversed", "order", "tau", "95 %", "machine/model"];
    let table = |steps: bool| {
        let rows: Vec<Vec<String>> = found.tasks.iter().filter(|task| task.step == steps).map(row).collect();
        (!rows.is_empty()).then(|| Block::Table(Table::new(head, rows, 1, Last::Repeated)))
    };
    out.extend(table(false));
    if let Some(steps) = table(true) {
        out.extend([Block::Heading("Steps of the protocol".into()), steps]);
    }
    list(&mut out, "Where the model misleads:", &say::misleading(found));
    let differs = found.differences.iter().map(|d| format!("{}: {} in the model, {} here", d.what, d.before, d.after));
    list(&mut out, "What differs between the runs:", &differs.collect::<Vec<_>>());
    list(&mut out, "How to read it:", &say::remarks());
    out
}

fn row(task: &AgreedTask) -> Vec<String> {
    let counts = &task.counts;
    let agreement = &task.agreement;
    let order = counts.agrees().map_or("-", |agrees| if agrees { "yes" } else { "no" });
    let tau = agreement.tau.map_or_else(|| studies::say::no_tau(agreement).into(), |tau| format!("{tau:.2}"));
    vec![
        titled(&counts.task, &task.title),
        counts.told.to_string(),
        counts.same.to_string(),
        counts.reversed.to_string(),
        order.into(),
        tau,
        agreement.interval.map_or("-".into(), tau_range),
        counts.factor.map_or("-".into(), ratio),
    ]
}

#[derive(Serialize)]
struct Worded<'a> {
    #[serde(flatten)]
    found: &'a ModelAgreement,
    sentence: String,
    misleading: Vec<String>,
    remarks: Vec<String>,
}

fn object(ModelBeside(found): &ModelBeside, out: &mut Object) -> Result<()> {
    let (sentence, misleading, remarks) = (say::answer(found), say::misleading(found), say::remarks());
    out.head(&Worded { found, sentence, misleading, remarks })
}
