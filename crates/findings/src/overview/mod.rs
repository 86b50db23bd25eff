//! What a report opens with: conclusions and the picture of places.

pub(crate) mod find;
pub(crate) mod opening;
pub(crate) mod page;
pub(crate) mod places;
pub(crate) mod say;
