//! Where the time of a task goes, and what makes two times differ.

pub(crate) mod find;
pub(crate) mod page;
pub mod say;
pub(crate) mod show;

pub use find::*;
pub use show::Why;
pub use show::answer::Answer;
