//! Tells whether two disks of the kernel are one drive that is reached by two paths.

use std::fs;

use super::relatives::{fact, folder};

/// What names a drive wherever it is plugged in. All fields of a disk without a drive are empty: a loop device, a mapping,
/// a disk in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drive {
    wwid: String,
    serial: String,
    model: String,
    /// As the kernel has it, in sectors.
    size: String,
}

impl Drive {
    pub(super) fn of(disk: &str) -> Drive {
        // The parts of a drive that NVMe's own multipath joins have no node and no number: the kernel alone uses them.
        if !folder(disk).join("device").exists() || fact(disk, "dev").is_empty() {
            return Drive::default();
        }
        let first = |files: &[&str]| {
            let found = files.iter().map(|file| fact(disk, file)).find(|text| !text.is_empty());
            found.unwrap_or_default()
        };
        Drive {
            wwid: first(&["wwid", "device/wwid"]),
            serial: serial(disk),
            model: first(&["device/model"]),
            size: fact(disk, "size"),
        }
    }

    /// Whether anything tells it from others.
    pub(super) fn is_named(&self) -> bool {
        !self.wwid.is_empty() || !self.serial.is_empty()
    }

    /// Whether both are one. A serial alone is not enough: the name spaces of an NVMe drive have it in common, and drives of
    /// different makers may.
    pub(super) fn is(&self, other: &Drive) -> bool {
        match (self.wwid.is_empty(), other.wwid.is_empty()) {
            // Some bridges give all their disks one name. A path whose drive does not answer has no size.
            (false, false) => {
                let is_unknown = |drive: &Drive| matches!(drive.size.as_str(), "" | "0");
                self.wwid == other.wwid && (self.size == other.size || is_unknown(self) || is_unknown(other))
            }
            (true, true) => {
                let named = |drive: &Drive| (drive.serial.clone(), drive.model.clone(), drive.size.clone());
                !self.serial.is_empty() && named(self) == named(other)
            }
            _ => false,
        }
    }
}

/// The serial number of a drive, as the drive has it.
pub(super) fn serial(disk: &str) -> String {
    let found = ["device/serial", "serial"].iter().map(|file| fact(disk, file)).find(|text| !text.is_empty());
    found.or_else(|| page_80(disk)).unwrap_or_default()
}

/// The unit serial number of a SCSI disk: four bytes, then text.
fn page_80(disk: &str) -> Option<String> {
    let page = fs::read(folder(disk).join("device/vpd_pg80")).ok()?;
    Some(String::from_utf8_lossy(page.get(4..)?).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(wwid: &str, serial: &str, model: &str, size: &str) -> Drive {
        Drive { wwid: wwid.into(), serial: serial.into(), model: model.into(), size: size.into() }
    }

    #[test]
    fn two_paths_to_one_drive_are_told_from_two_drives() {
        let one = drive("naa.5000c500", "S1", "ST4000", "800");
        assert!(one.is(&drive("naa.5000c500", "", "", "0")), "a path that does not answer has the name still");
        assert!(!one.is(&drive("naa.5000c501", "S1", "ST4000", "800")), "a serial does not outweigh another name");
        assert!(!one.is(&drive("", "S1", "ST4000", "800")));
        let nameless = drive("", "S1", "ST4000", "800");
        assert!(nameless.is(&nameless.clone()) && nameless.is_named());
        for other in [("S2", "ST4000", "800"), ("S1", "ST8000", "800"), ("S1", "ST4000", "801"), ("", "ST4000", "800")]
        {
            assert!(!nameless.is(&drive("", other.0, other.1, other.2)), "{other:?}");
        }
        // Name spaces of one NVMe drive.
        assert!(!drive("eui.01", "S1", "X", "800").is(&drive("eui.02", "S1", "X", "800")));
    }

    #[test]
    fn disks_without_a_name_are_never_one() {
        for nameless in [Drive::default(), drive("", "", "QEMU HARDDISK", "800"), drive("", "", "", "8192")] {
            assert!(!nameless.is(&nameless.clone()) && !nameless.is_named());
        }
        // This machine's own.
        for name in super::super::relatives::devices().iter().filter(|name| name.starts_with("loop")) {
            assert_eq!(Drive::of(name), Drive::default(), "{name}");
        }
        assert_eq!(Drive::of("no-such-disk"), Drive::default());
    }
}
