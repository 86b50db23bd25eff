//! A run beside an earlier one.

use clap::Args;

/// Options of the comparison of two runs.
#[derive(Args)]
pub struct Options {}
