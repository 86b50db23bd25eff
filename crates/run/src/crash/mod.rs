//! Power cuts: a guest runs workloads on a recorded disk and looks at what images of that disk hold; the host chooses
//! the images and judges.
//!
//! This is the host's part; the guest's is `crates/guest/src/witness`.

pub mod campaign;
pub mod explore;
pub mod explore_options;
mod holes;
pub mod log;
mod observation;
mod observation_cache;
mod recording;
mod rehearsal;
pub mod replay;
mod rounds;
pub mod witness_client;
