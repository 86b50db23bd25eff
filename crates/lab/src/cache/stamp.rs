//! Detects whether a file has changed since it was checked.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Changes when a file is written, replaced or copied. The time of change (ctime) cannot be set back, so an equal stamp
/// means equal contents, unless the disk itself has lost them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds since 1970.
    modified: [i64; 2],
    changed: [i64; 2],
}

impl Stamp {
    pub fn of(path: &Path) -> io::Result<Stamp> {
        fs::metadata(path).map(|data| Stamp::from(&data))
    }
}

impl From<&Metadata> for Stamp {
    fn from(data: &Metadata) -> Stamp {
        Stamp {
            size: data.len(),
            device: data.dev(),
            inode: data.ino(),
            modified: [data.mtime(), data.mtime_nsec()],
            changed: [data.ctime(), data.ctime_nsec()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_shows_even_when_the_time_is_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let (stamp, time) = (Stamp::of(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        assert_eq!(Stamp::of(&path).unwrap(), stamp);
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, "two").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert_ne!(Stamp::of(&path).unwrap(), stamp);
    }
}
