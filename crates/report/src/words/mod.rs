//! All sentences about findings, made from typed findings. No other module of this crate, and none of `analyse`, words
//! findings; this folder computes no figure and does not know where its text is shown.

pub(crate) mod accord;
pub(crate) mod bisect;
pub(crate) mod cases;
pub(crate) mod changes;
pub(crate) mod claims;
pub(crate) mod conclusions;
pub(crate) mod crash;
pub(crate) mod curves;
pub(crate) mod dependence;
pub(crate) mod doubts;
mod explored;
pub(crate) mod header;
pub(crate) mod health;
pub(crate) mod matrix;
pub(crate) mod metric;
pub(crate) mod missing;
pub(crate) mod number;
pub(crate) mod opening;
pub(crate) mod precondition;
pub(crate) mod quantity;
pub(crate) mod remarks;
pub(crate) mod rule;
pub(crate) mod safety;
pub mod sampling;
pub(crate) mod section;
pub(crate) mod study;
pub(crate) mod verdict;
pub(crate) mod why;
pub(crate) mod worded_claim;
pub(crate) mod worded_findings;
pub(crate) mod worded_study;

pub use accord::unfit;
pub use bisect::{not_there, tried};
pub use changes::{incomparable, sentence as change};
pub use why::{changed_most, sides};

#[cfg(test)]
mod tests;
