//! Errors that keep a workload from starting or finishing.

use std::io;
use std::path::PathBuf;

use mountmark_model::QuantityError;
use thiserror::Error;

/// An error of a workload as a whole. A failed operation is not such an error: it is counted.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A quantity of a phase has no value.
    #[error("phase {phase}, {field}: {error}")]
    Quantity {
        phase: String,
        /// The field's name in the suite.
        field: &'static str,
        error: QuantityError,
    },
    /// A phase that asks for the impossible or contradicts itself; the sentence says what to change.
    #[error("phase {phase}: {reason}")]
    Phase {
        phase: String,
        /// What is wrong and how to correct it.
        reason: String,
    },
    /// The workload itself has a fault.
    #[error("{0}")]
    Workload(String),
    /// It needs more than there is, or a feature that this file system or kernel lacks. Found before anything is
    /// written.
    #[error("phase {phase} cannot run here: {reason}")]
    CannotRun {
        phase: String,
        /// What is missing, with numbers, and how to correct it.
        reason: String,
    },
    /// A system call outside the measured loop failed.
    #[error("{doing} {}: {error}", path.display())]
    Io {
        /// Such as "cannot open".
        doing: &'static str,
        path: PathBuf,
        /// Said above, so no source: a chain of errors would have it twice.
        error: io::Error,
    },
    /// A worker process failed.
    #[error("phase {phase}: worker process {worker} {reason}")]
    Worker {
        phase: String,
        /// From 0.
        worker: u32,
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
        move |error| EngineError::Io { doing, path, error }
    }
}
