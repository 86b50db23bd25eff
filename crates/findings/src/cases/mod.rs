//! Cases of a power cut that a study tells apart, by campaign.

pub(crate) mod say;
pub(crate) mod show;
