//! What the host lab reads from the disk again, by programs of a file system of the user's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::host::{obstacle, run_tiny_on, text};

/// Ext4 whose mkfs reads the start of the device again, which tempts the kernel to cache it.
const READ_AGAIN: &str = r#"
name = "again"
about = "ext4, read when it is made"
mount_type = "ext4"
modules = []
mkfs = ["PROGRAMS/mkfs.again", "{device}"]
min_size = "8 MiB"

[fsck]
command = ["PROGRAMS/fsck.again", "{device}"]
clean = [0]
"#;

#[test]
fn what_was_written_and_read_is_read_from_the_disk_again() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("skipped: {obstacle}");
    }
    let programs = tempfile::Builder::new().prefix("programs").tempdir_in("/var/tmp").unwrap();
    for (name, script) in [
        ("mkfs.again", "mke2fs -q -F -t ext4 $1 && dd if=$1 of=/dev/null bs=1M count=4 status=none"),
        ("fsck.again", "dd if=$1 of=/dev/null bs=64k count=16 status=none"),
    ] {
        let path = programs.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let again = READ_AGAIN.replace("PROGRAMS", programs.path().to_str().unwrap());
    // On a disk, if this machine has one: a file in memory is never cold, and the record says so.
    for place in ["/var/tmp", "/dev/shm"] {
        let folder = tempfile::tempdir_in(place).unwrap();
        let catalogue = folder.path().join("mountmark/catalog/filesystems");
        fs::create_dir_all(&catalogue).unwrap();
        fs::write(catalogue.join("again.toml"), &again).unwrap();
        let mut command = run_tiny_on("again", folder.path(), 1);
        let output = command.env("XDG_CONFIG_HOME", folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let read = |task: &str| {
            let mut samples = result["samples"].as_array().unwrap().iter();
            let found = samples.find(|sample| sample["task"] == task && sample["metric"] == "read_bytes");
            found.expect("a sample")["value"].as_f64().unwrap()
        };
        assert!(read("mount") >= 4096.0, "{place}: {} bytes", read("mount"));
        assert!(read("fsck") >= 1_048_576.0, "{place}: {} bytes", read("fsck"));
        let in_memory = result["cells"].to_string().contains("stays in this machine's page cache");
        let folder = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(in_memory, kind_of(&folder) == "tmpfs", "{place}: {}", result["cells"]);
    }
}

/// The type of the file system that holds a folder.
fn kind_of(folder: &Path) -> String {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(folder).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
