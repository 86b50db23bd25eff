//! Which file system, made and mounted how, a work should run on: what a search found, as an answer.

mod find;
mod say;
pub(crate) mod show;
pub use find::before::{Before, ground};
pub use find::decide::{decide, in_order, simplest};
pub use find::gains::{gain, gains, gains_in};
pub use find::speeds::{NoRatio, Speeds, Unmeasured, speeds, speeds_at, unmeasured};
pub use find::{
    Advice, Broken, Candidate, Foretold, LeftOut, MATTERS, OnMachines, Order, PowerCuts, Recipe, Screened, Tried, Turn,
    order,
};
pub use say::confirmed;
pub use show::Advised;

#[cfg(test)]
mod tests;
