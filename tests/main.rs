//! All integration tests, in one binary.

mod browser;
mod compare;
mod corpora;
mod engines;
mod failures;
mod filesystems;
mod host;
mod input;
mod interrupt;
mod io;
mod kernels;
mod lab;
mod large;
mod made;
mod outputs;
mod places;
mod programs;
mod repeat;
mod report;
