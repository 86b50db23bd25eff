//! Reads a kernel log, and selects the lines of it that explain a failure.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Parts of messages that indicate a failure. A memory shortage prints pages of tables after its own.
const TELLING: [&str; 9] = [
    "Kernel panic",
    "BUG:",
    "Oops",
    "Out of memory",
    "invoked oom-killer",
    "general protection fault",
    "I/O error",
    "soft lockup",
    "blocked for more than",
];

/// At most ten lines that name a failure, then the last `count`.
pub fn telling_lines(log: &str, count: usize) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail = lines.len().saturating_sub(count);
    let named = lines[..tail].iter().filter(|line| TELLING.iter().any(|text| line.contains(text))).take(10);
    let mut out: Vec<&str> = named.copied().collect();
    if !out.is_empty() {
        out.push("...");
    }
    out.extend(&lines[tail..]);
    out.join("\n")
}

/// The last 256 KiB of the kernel log, decoded lossily.
pub fn read_log(path: &Path) -> String {
    const MOST: u64 = 256 << 10;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
        file.take(MOST).read_to_end(&mut bytes)
    });
    // An unreadable log must not lose the cell.
    read.map(|_| String::from_utf8_lossy(&bytes).replace('\r', "")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_kept_before_the_tables() {
        let mut log = "[ 1.0] quiet\n[ 2.0] Out of memory: Killed process 7 (tail)\n".to_owned();
        log += &"[ 3.0] a table\n".repeat(50);
        let text = telling_lines(&log, 5);
        assert!(text.starts_with("[ 2.0] Out of memory: Killed process 7 (tail)\n...\n[ 3.0] a table"), "{text}");
        assert_eq!(text.lines().count(), 7);
        assert_eq!(telling_lines("a\nb\n", 5), "a\nb");
        assert_eq!(telling_lines("", 5), "");
    }
}
