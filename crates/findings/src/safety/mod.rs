//! What is lost when the power fails, as the tasks of a run saw it.

pub(crate) mod find;
pub(crate) mod say;
pub(crate) mod show;

#[cfg(test)]
mod tests;
