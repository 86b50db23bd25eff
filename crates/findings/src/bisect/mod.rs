//! Which kernel of a row changed a figure.

pub(crate) mod find;
pub mod say;
pub(crate) mod show;

pub use find::*;
pub use show::Bisected;
