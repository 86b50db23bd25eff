//! Holds other devices that reach the sectors of the one under test, for as long as a run has that.
//!
//! The kernel answers for the uses of a device itself when it is opened with O_EXCL, and keeps new ones away. It does not
//! know that a loop device shares the sectors of the disk that it lies on: that disk is free while the loop device is held, and
//! the other way round. So both are held. The same holds for a drive that the kernel has twice, by two paths.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::facts::{Opened, Relation};
use super::gather::exclusive;
use super::mounts::as_number;
use super::relatives::{self, fact};

/// The devices of these that the kernel does not hold with the one under test, by their names; what hinders for the others.
pub(super) fn take(family: &[(String, Relation)]) -> BTreeMap<String, Result<File, Opened>> {
    let is_other = |(name, relation): &&(String, Relation)| match relation {
        Relation::Backing => true,
        // A disk is given to nobody who wants it all while one of its partitions is held.
        Relation::Path => relatives::whole(name).is_none(),
        _ => false,
    };
    let others = family.iter().filter(is_other);
    others.map(|(name, _)| (name.clone(), held(name).map_err(|error| Opened::of(&error)))).collect()
}

fn held(name: &str) -> io::Result<File> {
    let file = exclusive(&node(name))?;
    is_device(&file, &fact(name, "dev"))?;
    Ok(file)
}

/// An error if an open file is not the device of this number: its node may be another's.
pub(super) fn is_device(file: &File, number: &str) -> io::Result<()> {
    let is = as_number(file.metadata()?.rdev());
    match is == number {
        true => Ok(()),
        false => Err(io::Error::other(format!("its node leads to the device {is}, and it is {number}"))),
    }
}

/// Where the node of a device is.
pub(super) fn node(name: &str) -> PathBuf {
    // The kernel writes a slash in a name so.
    Path::new("/dev").join(name.replace('!', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_another_device_holds_nothing() {
        assert_eq!(node("cciss!c0d0"), Path::new("/dev/cciss/c0d0"));
        let null = File::open("/dev/null").unwrap();
        assert!(is_device(&null, "1:3").is_ok());
        assert!(is_device(&null, "8:16").unwrap_err().to_string().contains("leads to the device 1:3"));
        assert!(held("no-such-device").is_err());
    }
}
