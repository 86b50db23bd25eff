//! Which file system, made and mounted how, a work should run on: what a search found, as an answer.

mod find;
mod say;
pub(crate) mod show;
pub use find::before::{Before, ground};
pub use find::decide::{decide, in_order};
pub use find::speeds::{NoRatio, Speeds, speeds, speeds_at};
pub use find::{
    Advice, Broken, Candidate, Foretold, LeftOut, MATTERS, OnMachines, Order, PowerCuts, Recipe, Screened, Tried, Turn,
    order,
};
pub use say::confirmed;
pub use show::Advised;

#[cfg(test)]
mod tests;
