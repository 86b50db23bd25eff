//! Power cuts: a guest runs workloads on a recorded disk and looks at what images of that disk hold; the host chooses
//! the images and judges.
//!
//! `witness` is the guest's part. It does not know what is promised or why it is shown an image.

pub mod campaign;
pub mod explore;
pub mod explore_options;
pub mod log;
mod observation;
mod observation_cache;
pub mod questions;
mod recording;
mod rehearsal;
pub mod replay;
mod rounds;
pub mod witness;
pub mod witness_client;
