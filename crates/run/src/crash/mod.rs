//! Power cuts: a guest runs workloads on a recorded disk and looks at what images of that disk hold; the host chooses
//! the images and judges.
//!
//! `witness` is the guest's part. It does not know what is promised or why it is shown an image.

pub mod again;
pub mod campaign;
pub mod course;
pub mod explore;
mod known;
pub mod log;
pub mod questions;
mod rehearsal;
mod rounds;
mod scene;
mod sight;
pub mod talk;
pub mod witness;
