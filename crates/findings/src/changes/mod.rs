//! What changed between two runs.

pub(crate) mod find;
pub mod say;
pub(crate) mod show;

pub use find::{
    Change, ChangeOutcome, ChangeRemark, Changes, Difference, Failure, Incomparable, changes, differences, incomparable,
};
pub use show::RunBeside;
