//! What a power cut may leave on a disk, and whether a file system kept its promises.
//!
//! A workload runs while the disk's server records every request ([`trace`]). From the recording follow all images that
//! a device with a volatile write cache may hold after a power cut ([`states`]). A guest mounts such an image and says
//! what it finds ([`tree`]); [`oracle`] compares that with what the workload did ([`workload`]) and what the file system
//! promises. Some mistakes show in the recording itself ([`stateless`]). A log of the kernel's dm-log-writes is a
//! recording too ([`log_writes`]), and an application has its own check ([`application`]). This crate computes only: it
//! does not know how a disk is served, how an image is mounted, or where findings are kept.

pub mod application;
pub mod campaign;
pub mod cases;
pub mod log_writes;
pub mod model;
pub mod moment;
pub mod oracle;
pub mod order;
pub mod record;
pub mod scenario;
mod seen;
pub mod stateless;
pub mod states;
pub mod tree;
pub mod verdict;
pub mod workload;

pub use mountmark_trace::recording as trace;
