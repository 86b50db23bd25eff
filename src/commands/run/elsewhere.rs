//! A run whose cells other machines measure: a campaign fills the shelf, and the run takes all from there.

use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::Bytes;
use mountmark_shelf::{Access, Folder};
use serde_json::Value;

use super::jobs::need;
use super::{Arguments, Prepared, Stop};
use crate::cluster::{self, Campaign, Ended, On};
use crate::common::{self, WrongUse};
use crate::plan_file;

const NO_KEYS: &str = "cells of this lab have no keys";

/// Refuses what cannot be measured elsewhere, before anything is fetched.
pub fn check(arguments: &Arguments, on: &On) -> Result<()> {
    if arguments.shelf.written().is_none() {
        bail!(WrongUse(
            "--on needs --shelf FOLDER, a folder that all machines see, to collect what they measure".into()
        ));
    }
    if arguments.sampling.is_sampled() || arguments.dry_run {
        bail!(WrongUse("--on needs a plan whose cells are known before: no --precision, --budget or --dry-run".into()));
    }
    if arguments.shelf.fresh() {
        bail!(WrongUse(
            "--on with --fresh: workers measure what is not on the shelf; name an empty one to measure all".into()
        ));
    }
    if arguments.detach && !on.outlives() {
        bail!(WrongUse("--detach: workers by ssh end with this process; start it in tmux or by nohup instead".into()));
    }
    plan_file::text(cluster::PLAN_TEXT, &words(arguments)?)?;
    on.engine().map(drop)
}

/// Has the plan's cells measured; an exit code if the run ends with that.
pub fn measure(arguments: &Arguments, on: &On, prepared: &Prepared, plan: &Plan, stop: &Stop) -> Result<Option<u8>> {
    let memory = on.memory.as_ref().and_then(|memory| memory.parse().ok());
    check_memory(plan, memory).map_err(|error| WrongUse(format!("--on {}: {error}", on.text)))?;
    let path = arguments.shelf.written().context("checked before")?;
    let shelf = Folder::open(&path, Access::Write)?;
    let shelved = prepared.shelved.context(NO_KEYS)?;
    let key = |cell: &PlannedCell| shelved.key_of(&cell.whole())?.context(NO_KEYS);
    let keys = plan.cells.iter().map(key).collect::<Result<Vec<_>>>()?;
    let place = (path.as_path(), arguments.shelf.trusted());
    let mut campaign = Campaign::begin(place, &on.text, &words(arguments)?, keys, &first_parts(prepared, plan)?)?;
    let watched = cluster::watch(&mut campaign, &shelf, on, arguments.detach, stop);
    if watched.is_err() && campaign.stored.started == 0 {
        campaign.forget();
    }
    match watched? {
        Ended::Complete => {}
        Ended::Left => return Ok(Some(common::DONE)),
        Ended::Cancelled => return Ok(Some(stop.code())),
    }
    // The lab looks again at what is there.
    plan.cells.iter().try_for_each(|cell| prepared.lab.prepare(&cell.whole()))?;
    Ok(None)
}

/// The parts of the key of a plan's first cell.
fn first_parts(prepared: &Prepared, plan: &Plan) -> Result<Value> {
    let cell = plan.cells.first().context("a plan has a cell")?;
    Ok(prepared.lab.key(&cell.whole())?.context(NO_KEYS)?.parts)
}

/// The words of the run without `--on` and `--detach`, with the shelves and keys if the environment named them.
fn words(arguments: &Arguments) -> Result<Vec<String>> {
    let (mut words, mut command): (Vec<String>, Vec<String>) = Default::default();
    let given: Vec<String> = match arguments.said.is_empty() {
        true => plan_file::own_words()?.into_iter().skip(1).collect(),
        false => arguments.said.clone(),
    };
    let mut given = given.into_iter();
    while let Some(word) = given.next() {
        match word.as_str() {
            "--on" | "--save" => drop(given.next()),
            "--detach" => {}
            _ if word.starts_with("--on=") => {}
            "--" => command = std::iter::once(word).chain(given.by_ref()).collect(),
            _ => words.push(word),
        }
    }
    let named = |words: &[String], name: &str| words.iter().any(|word| word.split('=').next() == Some(name));
    for pair in arguments.shelf.words().chunks(2).filter(|pair| !named(&words, &pair[0])).collect::<Vec<_>>() {
        words.extend_from_slice(pair);
    }
    words.extend(command);
    Ok(words)
}

/// Refuses to work on cells that are not the campaign's: this machine has another emulator, kernel, package or program.
pub fn compare(prepared: &Prepared, plan: &Plan, path: &Path) -> Result<()> {
    let text = mountmark_input::text(path, 64 << 20)
        .with_context(|| format!("this machine does not see the campaign's folder: cannot read {}", path.display()))?;
    let expected: Value = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    let own = first_parts(prepared, plan)?;
    let names = own.as_object().into_iter().flat_map(|parts| parts.keys());
    let other: Vec<&str> = names.filter(|name| own[*name] != expected[*name]).map(String::as_str).collect();
    if !other.is_empty() {
        bail!(
            "this machine would measure other cells than the campaign's, as its {} differ; it measures none. Install the same \
             versions on all machines, and share the cache (MOUNTMARK_CACHE)",
            other.join(", ")
        );
    }
    Ok(())
}

/// Refuses to start a guest for which there is too little memory.
pub fn check_memory(plan: &Plan, memory: Option<Bytes>) -> Result<()> {
    let need = need(plan);
    match memory {
        Some(memory) if memory.0 < need => bail!(
            "a guest of this plan takes up to {}, and this worker may take {memory}; it measures nothing",
            Bytes(need)
        ),
        _ => Ok(()),
    }
}
