//! Options of a file system that are worth trying.

use serde::{Deserialize, Serialize};

use crate::facts::is_day;

/// An option that a search tries, beside what a file system has by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningOption {
    /// As behind a `:` of `--fs`: a variant, `mount=lazytime`, `mkfs=-O fast_commit`.
    pub option: String,
    /// What it does, in a sentence's end.
    pub about: String,
    /// What it costs when something goes wrong; `None` if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// Whether it is tried by itself alone, as it does not go with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Where that is written: a document and its version.
    pub source: String,
    /// The day on which it was read there: `2026-11-27`.
    pub date: String,
}

impl TuningOption {
    /// What is wrong with it, a sentence.
    pub fn fault(&self) -> Option<String> {
        let wrong = |reason: &str| Some(format!("option {}: {reason}", self.option));
        match self {
            TuningOption { about, .. } if about.is_empty() => wrong("it has no `about`; say what it does"),
            TuningOption { source, .. } if source.is_empty() => wrong("it has no source; say where it is written"),
            TuningOption { date, .. } if !is_day(date) => wrong("give a day such as 2026-11-27 as its date"),
            _ => None,
        }
    }
}
