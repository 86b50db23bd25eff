//! Options, and catalogues with definitions of a test's own.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use mountmark_model::conditions::Way;
use mountmark_model::{Lab, Scale};
use mountmark_plan::{Catalogue, Options};

/// A file system of a user's own.
pub const FILE_SYSTEM: &str = r#"
name = "mine"
about = "mine"
mount_type = "mine"
modules = []
mkfs = ["mkfs.mine", "{options}", "{device}"]
min_size = "8 MiB"
no_fsck = "None."
"#;

/// A machine without anything special, whose disks are `memory`.
const MACHINE: &str = r#"
name = "plain"
about = "plain"
shift = 0
ram = "1 GiB"
disk = "memory"
second_disk = "memory"
sources = []
"#;

const DISK: &str = "name = \"memory\"\nabout = \"memory\"\nsources = []\nmodel = \"ram\"\n";

/// The corpus `small`, for `corpora/small.toml`.
pub const CORPUS: &str = r#"
name = "small"
about = "small"
sources = []
kind = "tree"
files = 100
directories = 10
total = "100 MiB"
max_depth = 3
sizes = { distribution = "log-uniform", min = 1, max = "10 MiB" }
"#;

/// The built-in catalogue with the machine `plain`, its disk, and these files.
pub fn catalogue(files: &[(&str, &str)]) -> Catalogue {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [("machines/plain.toml", MACHINE), ("disks/memory.toml", DISK)].iter().chain(files) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Catalogue::load(Some(folder.path())).unwrap()
}

/// One repeat of a suite at its own scale, in the virtual lab under fixed conditions.
pub fn options(fs: &str, suite: &str, machine: &str) -> Options {
    Options {
        fs: vec![fs.into()],
        suite: suite.into(),
        lab: Lab::Virtual,
        own: None,
        machine: machine.into(),
        disk: None,
        disk_size: None,
        kernel: "6.12".into(),
        scale: Scale::ONE,
        repeats: 1,
        seed: 1,
        conditions: Way::Fixed,
        corpus: None,
        fill: None,
        age: None,
    }
}
