//! Figures of published studies beside those of a run.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;

pub use find::*;
pub use show::StudyBeside;
