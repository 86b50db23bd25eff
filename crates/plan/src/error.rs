//! What can be wrong with a catalogue or with options.

use thiserror::Error;

use crate::Kind;

/// Why there is no catalogue or no plan. All but `Corpus` and `Read` are mistakes in what the user wrote.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A catalogue file that cannot be understood or used; one line for each fault, each naming the file.
    #[error("{}", .faults.join("\n"))]
    File {
        /// `file:line:column: what is wrong and how to mend it`, or without line and column.
        faults: Vec<String>,
    },
    /// A file or folder that cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Its path.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A name that the catalogue does not have.
    #[error("there is no {} named {name:?}{}; `mountmark list {}` lists all", .kind.word(), nearest(.near), .kind.folder())]
    Unknown {
        /// What was looked for.
        kind: Kind,
        /// The name.
        name: String,
        /// Names that look like it, nearest first.
        near: Vec<String>,
    },
    /// A part of `--fs` that cannot be understood.
    #[error("--fs {text}: {reason}")]
    Configuration {
        /// The configuration as it was written.
        text: String,
        /// A sentence.
        reason: String,
    },
    /// Options that do not fit each other or the suite.
    #[error("{0}")]
    Options(String),
    /// Every configuration that was asked for has a reason not to run.
    #[error("nothing is left to run:\n{}", .0.iter().map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>().join("\n"))]
    AllSkipped(Vec<(String, String)>),
    /// The corpus could not be made.
    #[error("the corpus could not be made")]
    Corpus(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Names for a sentence: all of them, or the first and how many more there are. A stranger's file may have thousands,
/// and as many sentences about them.
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
