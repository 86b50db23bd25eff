//! What decides a choice and is no measurement: support, checksums, limits, as documents say.

pub(crate) mod show;
