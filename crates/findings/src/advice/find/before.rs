//! An answer of before, and what changed since.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::advice::find::Advice;

/// An answer of before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Before {
    /// What it said.
    pub sentence: String,
    /// The release of its kernel.
    pub kernel: String,
    /// Its configuration, as `--fs` takes it.
    pub name: String,
    /// As [`Advice::versions`]; empty if an older program answered.
    pub versions: BTreeMap<String, String>,
    /// Speeds of its configurations, as [`Tried::speed`]; empty if an older program answered.
    pub speeds: BTreeMap<String, f64>,
    /// Its fields of [`GROUND`], as texts.
    pub ground: Vec<String>,
}

/// Fields of [`Advice`] of which each changes speeds: answers that have the same of all can be compared.
pub const GROUND: [&str; 7] = ["work", "machine", "disk", "scale", "seed", "room", "age"];

/// What changed between two answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changed {
    /// Name, version then, version now; of what was not there then, or is not now, an empty one.
    pub versions: Vec<(String, String, String)>,
    /// Configurations, and their speed now over that then: of the two answers, and of what both were compared with.
    pub speeds: Vec<(String, f64)>,
}

/// What changed since the answer of before.
pub(crate) fn changed(advice: &Advice, before: &Before) -> Changed {
    let names: BTreeSet<&String> = match before.versions.is_empty() {
        true => BTreeSet::new(),
        false => before.versions.keys().chain(advice.versions.keys()).collect(),
    };
    let of = |versions: &BTreeMap<String, String>, name: &String| versions.get(name).cloned().unwrap_or_default();
    let versions = names.into_iter().filter_map(|name| {
        let (then, now) = (of(&before.versions, name), of(&advice.versions, name));
        (then != now).then(|| (name.clone(), then, now))
    });
    let null = || "null".to_owned();
    let own = |option: &Option<String>| option.clone().unwrap_or_else(null);
    let Advice { work, machine, disk, scale, seed, room, age, .. } = advice;
    let texts = [work.clone(), machine.clone(), disk.clone(), scale.clone(), seed.to_string(), own(room), own(age)];
    let is_same = before.ground == texts;
    let now = |name: &String| advice.tried.iter().find(|one| is_same && one.configuration == *name)?.speed;
    let mut named: Vec<&String> = vec![&advice.answer.name, &before.name, &advice.simplest];
    named.extend(advice.second.iter().map(|second| &second.configuration));
    let mut speeds: Vec<(String, f64)> = Vec::new();
    for name in named {
        let ratio = before.speeds.get(name).zip(now(name)).map(|(then, now)| now / then);
        if let Some(ratio) = ratio.filter(|_| speeds.iter().all(|(known, _)| known != name)) {
            speeds.push((name.clone(), ratio));
        }
    }
    Changed { versions: versions.collect(), speeds }
}
