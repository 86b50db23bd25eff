//! Figures of a run, by task and configuration.

pub(crate) mod basis;
pub(crate) mod cut;
pub(crate) mod find;
pub(crate) mod plot;
pub(crate) mod quantity;
pub(crate) mod rate;
pub(crate) mod say;
pub(crate) mod series;
pub(crate) mod sharing;
pub(crate) mod sums;
