//! An answer of before, and what changed since.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

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
    /// As [`ground`] has it.
    pub ground: Vec<Value>,
}

/// What of a written answer changes its speeds: those of two that have the same of all can be compared.
pub fn ground(answer: &Value) -> Vec<Value> {
    ["work", "machine", "disk", "scale", "seed", "room", "age"].map(|field| answer[field].clone()).into()
}

/// What changed between two answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changed {
    /// Name, version then, version now, of what both were measured with: a file system that was not asked has no version.
    pub versions: Vec<(String, String, String)>,
    /// Configurations, and their speed now over that then: of the two answers, and of what both were compared with.
    pub speeds: Vec<(String, f64)>,
}

/// What changed since the answer of before.
pub(crate) fn changed(advice: &Advice, before: &Before) -> Changed {
    let both = before.versions.iter().filter_map(|(name, then)| Some((name, then, advice.versions.get(name)?)));
    let versions =
        both.filter(|(_, then, now)| then != now).map(|(name, then, now)| (name.clone(), then.clone(), now.clone()));
    let is_same = serde_json::to_value(advice).is_ok_and(|advice| before.ground == ground(&advice));
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
