//! The oracle against trees that are known to be legal or not, and against simulated file systems.

mod cases;
mod durable;
mod journal;
mod journal_fs;
mod together;
