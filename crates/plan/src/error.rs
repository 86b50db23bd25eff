//! Errors in a catalogue or in options.

use std::fmt;

use thiserror::Error;

use crate::Kind;

/// Why there is no catalogue or no plan. All except `Corpus` and `Read` are mistakes in the user's input.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A catalogue file that is invalid or unusable; one line per fault, each naming the file.
    #[error("{}", .faults.join("\n"))]
    File {
        /// `file:line:column: fault and correction`, or without line and column.
        faults: Vec<String>,
    },
    #[error("cannot read {path}")]
    Read { path: String, source: std::io::Error },
    /// A name that is not in the catalogue.
    #[error("there is no {} named {name:?}{}; `mountmark list {}` lists all", .kind.word(), nearest(.near), .kind.folder())]
    Unknown {
        kind: Kind,
        name: String,
        /// Similar names, nearest first.
        near: Vec<String>,
    },
    /// An invalid part of `--fs`.
    #[error("--fs {text}: {reason}")]
    Configuration {
        /// The configuration as written.
        text: String,
        /// As a sentence.
        reason: String,
    },
    /// Options that contradict each other or the suite.
    #[error("{0}")]
    Options(String),
    /// A disk that is too small for something.
    #[error("{reason}")]
    TooSmall {
        /// MiB that would do.
        enough: u64,
        /// As a sentence, which names them.
        reason: String,
    },
    /// Every requested configuration has a reason not to run.
    #[error("nothing is left to run:\n{}", .0.iter().map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>().join("\n"))]
    AllSkipped(Vec<(String, String)>),
    #[error(transparent)]
    Corpus(Box<dyn std::error::Error + Send + Sync>),
}

/// A fault of a file, which is named `file`.
pub(crate) fn fault(file: &dyn fmt::Display, sentence: impl fmt::Display) -> PlanError {
    PlanError::File { faults: vec![format!("{file}: {sentence}")] }
}

/// Names for a sentence: all of them, or the first and the number of others. A foreign file may have thousands.
pub(crate) fn listed(names: &[&str]) -> String {
    const MOST: usize = 50;
    let more = names.len().saturating_sub(MOST);
    let first = names[..names.len() - more].join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

fn nearest(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!(": did you mean {one}?"),
        [first @ .., last] => format!(": did you mean {} or {last}?", first.join(", ")),
    }
}
