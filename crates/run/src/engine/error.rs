//! Why a workload was not started, or not finished.

use std::io;
use std::path::PathBuf;

use mountmark_model::QuantityError;
use thiserror::Error;

/// What stands in the way of a workload as a whole. An operation that fails is no such error: it is counted.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A quantity of a phase has no value.
    #[error("phase {phase}, {field}: {source}")]
    Quantity {
        /// The phase.
        phase: String,
        /// Its field.
        field: &'static str,
        /// Why.
        source: QuantityError,
    },
    /// A phase that asks for what cannot be, or what contradicts itself; the sentence says what to change.
    #[error("phase {phase}: {reason}")]
    Phase {
        /// The phase.
        phase: String,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The workload itself has a fault.
    #[error("{0}")]
    Workload(String),
    /// It needs more than there is, or what this file system or kernel does not do. Said before anything is written.
    #[error("phase {phase} cannot run here: {reason}")]
    CannotRun {
        /// The phase.
        phase: String,
        /// What is missing, with numbers, and what would mend it.
        reason: String,
    },
    /// A system call outside the measured loop failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// Such as "cannot open".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A worker process did not do its part.
    #[error("phase {phase}: worker process {worker} {reason}")]
    Worker {
        /// The phase.
        phase: String,
        /// From 0.
        worker: u32,
        /// What it did or said.
        reason: String,
    },
}

impl EngineError {
    pub(super) fn phase(phase: &str, reason: impl Into<String>) -> EngineError {
        EngineError::Phase { phase: phase.to_owned(), reason: reason.into() }
    }

    pub(super) fn cannot_run(phase: &str, reason: impl Into<String>) -> EngineError {
        EngineError::CannotRun { phase: phase.to_owned(), reason: reason.into() }
    }

    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> EngineError {
        let path = path.into();
        move |source| EngineError::Io { doing, path, source }
    }
}
