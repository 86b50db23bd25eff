//! Whether orders of file systems survive the model's own error: for which machines they hold.

pub(crate) mod find;
pub(crate) mod say;
pub(crate) mod show;
