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
        if i64::try_from(value.0).is_err() {
            bail!(wrong(&format!("a suite holds numbers up to {}", i64::MAX)));
        }
        if all.insert(name.to_owned(), value).is_some() {
            bail!(wrong("it is given twice"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_suite_holds_is_refused_by_its_name() {
        let read = |text: &str| parameters(&[text.to_owned()]).map_err(|error| error.to_string());
        assert_eq!(read("N=9223372036854775807").unwrap()["N"], Bytes(i64::MAX as u64));
        let error = read("N=9223372036854775808").unwrap_err();
        assert!(error.starts_with("--parameter N=9223372036854775808: a suite holds numbers up to"), "{error}");
    }
}
