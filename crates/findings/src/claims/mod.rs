//! Claims of studies, judged by a run and by the figures of the study itself.

pub(crate) mod find;
pub(crate) mod say;
pub(crate) mod show;

pub use find::*;
pub use show::{Claims, ClaimsHead};
