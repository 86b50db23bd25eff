//! The machine's memory as its kernel reports it.

use std::fs;

/// `MemTotal` in bytes.
pub fn total() -> Option<u64> {
    field("MemTotal:")
}

/// `MemAvailable` in bytes.
pub fn available() -> Option<u64> {
    field("MemAvailable:")
}

fn field(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}
