//! What became of files in the cases that studies tell apart, and what that says of their claims.

use std::collections::BTreeMap;

use anyhow::Result;
use mountmark_crash::cases::{CaseSeen, ClaimSeen};
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table};
use mountmark_model::{FileOutcome, heading};

use crate::cases::say as words;
use crate::run::show::about::labels;

#[derive(Clone, Debug)]
pub struct Cases<'a> {
    pub cases: Vec<CaseSeen<'a>>,
    pub claims: Vec<ClaimSeen<'a>>,
    /// Configurations whose time ended before all their images were made.
    pub hurried: Vec<&'a str>,
}

impl Subject for Cases<'_> {
    const COMMAND: &'static str = "crash show --cases";
    const NAME: &'static str = "what power cuts leave of files";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

fn parts(subject: &Cases) -> Vec<Block> {
    let configurations: Vec<&str> =
        subject.cases.first().map(|case| case.seen.iter().map(|(name, _)| *name).collect()).unwrap_or_default();
    let mut head = vec!["case".to_owned(), "the power fails".to_owned()];
    head.extend(configurations.iter().map(|name| heading(name).into_owned()));
    let row = |seen: &CaseSeen| {
        let fates = seen.seen.iter().map(|(_, fates)| fates_cell(fates.as_ref()));
        [seen.case.id.clone(), seen.case.text.clone()].into_iter().chain(fates).collect()
    };
    let table = Table::new(head, subject.cases.iter().map(row), 2, Last::Figure);
    let mut parts = vec![Block::Text(words::ABOUT.into()), Block::Table(table)];
    parts.extend(labels(configurations));
    parts.extend(words::hurried(&subject.hurried).map(Block::Text));
    parts.push(Block::Heading(words::CLAIMS.into()));
    parts.extend(subject.claims.iter().map(|claim| Block::Item(words::claim(claim))));
    parts
}

/// One line for each fate.
fn fates_cell(fates: Option<&BTreeMap<FileOutcome, usize>>) -> String {
    match fates {
        None => words::NOT_TRIED.to_owned(),
        Some(fates) if fates.is_empty() => words::NO_IMAGES.to_owned(),
        Some(fates) => {
            let lines: Vec<String> =
                fates.iter().map(|(fate, images)| format!("{} {images}", words::fate(*fate))).collect();
            lines.join("\n")
        }
    }
}

fn rows(subject: &Cases, out: &mut Rows) -> Result<()> {
    out.head("study,case,workload,file,when,configuration,fate,images")?;
    for CaseSeen { study, case, seen } in &subject.cases {
        let when = case.when.map(words::when).unwrap_or_default();
        for (configuration, fates) in seen {
            for (fate, images) in fates.iter().flatten() {
                let images = images.to_string();
                let fate = words::fate(*fate);
                out.line([*study, &case.id, &case.workload, &case.file, when, configuration, fate, &images])?;
            }
        }
    }
    Ok(())
}

fn object(subject: &Cases, out: &mut Object) -> Result<()> {
    out.list("cases", subject.cases.iter())?;
    out.list("claims", subject.claims.iter())?;
    out.list("hurried", subject.hurried.iter())
}
