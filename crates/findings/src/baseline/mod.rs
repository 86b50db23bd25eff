//! Whether figures that were kept still hold.

mod find;
pub(crate) mod show;

pub use find::Reason;
pub use show::Gate;
