//! The machine as its kernel reports it.

use std::fs;

use anyhow::{Context, Result};

/// `uname -r` and `-v`.
pub fn kernel_version() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.release().to_string_lossy(), name.version().to_string_lossy())
}

/// `MemTotal` in bytes.
pub fn memory() -> Result<u64> {
    field("MemTotal:").context("no MemTotal in /proc/meminfo")
}

/// `MemAvailable` in bytes.
pub fn available_memory() -> Option<u64> {
    field("MemAvailable:")
}

fn field(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}
