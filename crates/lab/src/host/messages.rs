//! The kernel log while a cell runs (Documentation/ABI/testing/dev-kmsg).

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

pub struct Messages(Option<File>);

impl Messages {
    /// Starts after the message that is now the last.
    pub fn from_now_on() -> Messages {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok();
        Messages(file.filter(|file| rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).is_ok()))
    }

    /// The messages since then, of the whole machine.
    pub fn read(&mut self) -> String {
        let mut text = String::new();
        let Some(file) = &mut self.0 else { return text };
        // One record per read; 8 KiB is the kernel's maximum.
        let mut buffer = vec![0; 8192];
        for _ in 0..10_000 {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => text.extend(message(&String::from_utf8_lossy(&buffer[..length]))),
                // Older ones were overwritten; the following ones are still readable.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => break,
            }
        }
        text
    }
}

/// Formats `6,339,5140900,-;the text` and its continuation lines, which begin with a blank, as dmesg does.
fn message(record: &str) -> Option<String> {
    let (head, rest) = record.split_once(';')?;
    let microseconds: u64 = head.split(',').nth(2)?.parse().ok()?;
    let text = rest.lines().next()?;
    Some(format!("[{:5}.{:06}] {text}\n", microseconds / 1_000_000, microseconds % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_as_dmesg_shows_them() {
        let record = "6,339,5140900,-;EXT4-fs (loop0): mounted; quota: none\n SUBSYSTEM=block\n";
        assert_eq!(message(record).unwrap(), "[    5.140900] EXT4-fs (loop0): mounted; quota: none\n");
        assert_eq!(message("nonsense"), None);
    }
}
