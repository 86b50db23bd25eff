//! `--parameter`: variables that a command sees.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use mountmark_model::Bytes;
use mountmark_plan::parameter_fault;

use crate::common::WrongUse;

/// The parameters by name, each given as `NAME=VALUE`.
pub(super) fn parameters(given: &[String]) -> Result<BTreeMap<String, Bytes>> {
    let mut all = BTreeMap::new();
    for text in given {
        let wrong = |reason: &str| WrongUse(format!("--parameter {text}: {reason}"));
        let (name, value) = text.split_once('=').ok_or_else(|| wrong("give a name and a value, such as N=1000"))?;
        if let Some(fault) = parameter_fault(name) {
            bail!(wrong(&fault));
        }
        let value: Bytes = value.parse().map_err(|error| wrong(&format!("{error}")))?;
        if all.insert(name.to_owned(), value).is_some() {
            bail!(wrong("it is given twice"));
        }
    }
    Ok(all)
}
