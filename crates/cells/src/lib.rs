//! A plan whose cells share what they have alike.
//!
//! A [`Cell`](mountmark_model::Cell) is all that an agent needs, kilobytes of it. Those of a plan differ in little more than
//! seeds, and a plan may have 100,000: here each thing is held once ([`PlannedCell`]), and stored once (`stored.rs`).

mod cell;
mod plan;
mod pool;
mod stored;
mod tasks;

pub use cell::{Alike, PlannedCell};
pub use plan::Plan;
pub use pool::{Known, Pool};
pub use tasks::Tasks;
