//! What a run compares, in a word.

use std::collections::BTreeSet;

use crate::found::Findings;

/// What is compared, one and several of it: file systems, or configurations where one of them is there more than once.
pub(crate) fn kind(findings: &Findings) -> [&'static str; 2] {
    let name = |one: &String| one.split([':', '@', '#']).next().map(str::to_owned);
    let names: BTreeSet<Option<String>> = findings.configurations.iter().map(name).collect();
    match names.len() == findings.configurations.len() {
        true => ["file system", "file systems"],
        false => ["configuration", "configurations"],
    }
}
