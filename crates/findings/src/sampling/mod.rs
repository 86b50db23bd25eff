//! Which configurations another repeat should measure, and how long the rest takes.

pub(crate) mod find;
pub mod say;

pub use find::*;
