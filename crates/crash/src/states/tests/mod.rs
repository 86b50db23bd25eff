mod examples;
mod many;
mod properties;
mod simulate;
mod tape;

pub use properties::{steps, tape};
pub use tape::{Tape, image};
