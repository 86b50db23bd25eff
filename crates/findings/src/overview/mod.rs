//! What a report opens with: conclusions and the picture of places.

pub(crate) mod find;
pub(crate) mod page;
pub(crate) mod say;
pub(crate) mod show;
