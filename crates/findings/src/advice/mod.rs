//! Which file system, made and mounted how, a work should run on: what a search found, as an answer.

mod find;
mod say;
pub(crate) mod show;
pub use find::{
    Advice, Before, Broken, Candidate, Foretold, GROUND, LeftOut, MATTERS, OnMachines, Order, PowerCuts, Recipe,
    Screened, Speeds, Tried, Turn, decide, gain, gains, in_order, order, speeds, speeds_at,
};
pub use say::confirmed;
pub use show::Advised;

#[cfg(test)]
mod tests;
