//! Where things are in a guest, known before it runs.

use mountmark_disk::DiskModel;
use mountmark_model::Cell;

use crate::devices::Places;

/// Exists in every image and nowhere else: one module a line, in loading order, `?` before those that may fail.
pub const MODULES_FILE: &str = "/etc/mountmark-modules";
/// Where guests mount the file system under test, and the second disk.
pub const TEST_FOLDER: &str = "/test";
pub const SOURCE_FOLDER: &str = "/source";
/// The first loop device of a guest, which has no other.
pub const LOOP: &str = "/dev/loop0";

/// Where a cell's disks are in its guest.
pub fn places(cell: &Cell) -> Places {
    let device = |model: &DiskModel, index: usize| match model.has_drive() {
        true => format!("/dev/nbd{index}"),
        false => "/dev/pmemN".to_owned(),
    };
    Places {
        test: if cell.on_loop { LOOP.to_owned() } else { device(&cell.disk.model, 0) },
        more: (1..cell.configuration.disks() as usize).map(|at| device(cell.disk.model_of(at), 1 + at)).collect(),
        source: cell.second_disk.as_ref().map_or_else(String::new, |medium| device(&medium.disk.model, 1)),
        test_folder: TEST_FOLDER.into(),
        source_folder: SOURCE_FOLDER.into(),
    }
}

/// The size of a disk for a file of `size` bytes: ext2's inode tables take a 64th, its map of the file a thousandth.
pub fn carrier_room(size: u64) -> u64 {
    size + size / 16 + (64 << 20)
}
