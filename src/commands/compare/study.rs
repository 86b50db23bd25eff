//! Compares a run with a published study.

use anyhow::Result;
use mountmark_findings::studies::{StudyBeside, compare_study};
use mountmark_model::Study;
use mountmark_plan::Catalogue;

use super::Arguments;
use crate::catalogue;
use crate::common::{self, WrongUse};

pub fn run(arguments: &Arguments, run: &str, study: &str) -> Result<u8> {
    common::format_of::<StudyBeside>(arguments.format.as_deref())?;
    let catalogue = catalogue::load()?;
    let (study, study_run) = find(&catalogue, study)?;
    let record = arguments.store.load(run)?;
    let comparison = compare_study(&record, study, study_run.as_deref())
        .ok_or_else(|| WrongUse(format!("--study: {} has no run", study.name)))?;
    common::show(&StudyBeside(&comparison), arguments.format.as_deref())
}

/// The study for `name` or `name#run`.
pub fn find<'a>(catalogue: &'a Catalogue, text: &str) -> Result<(&'a Study, Option<String>)> {
    let (name, run) = match text.split_once('#') {
        Some((name, run)) => (name, Some(run)),
        None => (text, None),
    };
    let study = catalogue.get::<Study>(name)?;
    if let Some(run) = run.filter(|run| study.run(Some(run)).is_none()) {
        let known: Vec<String> = study.runs.iter().map(|known| format!("{name}#{}", known.id)).collect();
        return Err(WrongUse(format!("--study: {name} has no run {run:?}; there are {}", known.join(", "))).into());
    }
    Ok((study, run.map(str::to_owned)))
}
