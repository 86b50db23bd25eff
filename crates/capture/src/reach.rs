//! What a command reaches beyond files: addresses and devices.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::refusal::{Refusal, Result};

/// Devices that a guest has as this machine has them.
const COMMON: &[&str] = &["null", "zero", "full", "random", "urandom", "tty", "ptmx"];

/// Who is at the other end of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Network(String),
    /// A socket with a name in the file system.
    File(PathBuf),
    /// A socket with a name of Linux's own.
    Abstract(String),
    /// Parts of the kernel.
    Other,
}

/// Reads a `struct sockaddr`.
pub fn address(bytes: &[u8]) -> Address {
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    if bytes.len() < 2 {
        return Address::Other;
    }
    match i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
        libc::AF_INET if bytes.len() >= 8 => {
            let host = Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
            Address::Network(SocketAddr::from((host, word(2))).to_string())
        }
        libc::AF_INET6 if bytes.len() >= 24 => {
            let host: [u8; 16] = bytes[8..24].try_into().expect("sixteen bytes");
            Address::Network(SocketAddr::from((Ipv6Addr::from(host), word(2))).to_string())
        }
        libc::AF_UNIX => match &bytes[2..] {
            [] => Address::Other,
            [0, name @ ..] => Address::Abstract(format!("@{}", String::from_utf8_lossy(name))),
            name => {
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                Address::File(PathBuf::from(OsStr::from_bytes(name)))
            }
        },
        libc::AF_VSOCK => Address::Network("the host of this machine (vsock)".to_owned()),
        _ => Address::Other,
    }
}

/// Refuses to open what a guest does not have. `path` is a real path.
pub fn check_open(path: &Path, program: &str) -> Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let kind = metadata.file_type();
    let (program, path_) = (program.to_owned(), path.to_owned());
    if kind.is_fifo() && !path.starts_with("/proc") {
        return Err(Refusal::Pipe { program, path: path_ });
    }
    let below = path.strip_prefix("/dev").ok().map(|below| below.to_string_lossy().into_owned());
    let below = below.unwrap_or_default();
    if below.starts_with("dri") || below.starts_with("nvidia") || below == "kfd" {
        return Err(Refusal::Gpu { program, path: path_ });
    }
    let is_device = kind.is_char_device() || kind.is_block_device();
    if is_device && !COMMON.contains(&below.as_str()) && !below.starts_with("pts/") {
        return Err(Refusal::Device { program, path: path_ });
    }
    Ok(())
}

/// What procfs and sysfs say is said of a process by its number; a note is about all.
pub fn without_numbers(path: &Path) -> PathBuf {
    path.iter()
        .map(|part| if part.as_bytes().iter().all(u8::is_ascii_digit) { OsStr::new("N") } else { part })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let mut bytes = vec![0; 16];
        bytes[..8].copy_from_slice(&[2, 0, 1, 187, 192, 0, 2, 7]);
        assert_eq!(address(&bytes), Address::Network("192.0.2.7:443".to_owned()));
        let mut bytes = vec![0; 28];
        bytes[..4].copy_from_slice(&[10, 0, 0, 53]);
        bytes[23] = 1;
        assert_eq!(address(&bytes), Address::Network("[::1]:53".to_owned()));
        assert_eq!(address(b"\x01\0/run/x\0yz"), Address::File("/run/x".into()));
        assert_eq!(address(b"\x01\0\0bus"), Address::Abstract("@bus".to_owned()));
        assert_eq!(address(b"\x10\0\0\0"), Address::Other);
        assert_eq!(address(b"\x02"), Address::Other);
    }

    #[test]
    fn common_devices_are_opened_and_others_named() {
        for path in ["/dev/null", "/dev/urandom", "/etc/passwd", "/dev/none"] {
            check_open(Path::new(path), "cat").unwrap();
        }
        let other = ["/dev/vda", "/dev/sda", "/dev/kmsg", "/dev/mem"].map(Path::new);
        let Some(device) = other.into_iter().find(|path| path.exists()) else {
            eprintln!("skipped: this machine has none of {other:?}");
            return;
        };
        let error = check_open(device, "dd").unwrap_err().to_string();
        assert_eq!(error, format!("dd opens the device {}, which a guest does not have", device.display()));
    }

    #[test]
    fn numbers_of_processes_are_not_kept() {
        assert_eq!(without_numbers(Path::new("/proc/17/task/18/maps")), Path::new("/proc/N/task/N/maps"));
    }
}
