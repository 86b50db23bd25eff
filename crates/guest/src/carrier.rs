//! A disk under test that is a file on another file system, over a loop device: `dd`, `mkfs`, `mount -o loop`.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use mountmark_job::{
    Device,
    loops::{Loop, Use},
    plain,
};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::setup;

const FOLDER: &str = "/carrier";

/// Writes a file of `size` bytes on `disk`, as `dd` does from /dev/zero, and attaches it. Requests and counts are still
/// those of the drive below.
pub(super) fn carry(disk: Device, size: u64) -> Result<Device> {
    let words = plain::make_command(&disk.path);
    let made = Command::new(&words[0]).args(&words[1..]).env("PATH", setup::PATH).output();
    let made = made.with_context(|| format!("cannot start {}", words[0]))?;
    if !made.status.success() {
        bail!("{}: {}", words.join(" "), String::from_utf8_lossy(&made.stderr));
    }
    fs::create_dir_all(FOLDER)?;
    mount(&disk.path, FOLDER, plain::TYPE, MountFlags::empty(), None).context("cannot mount the disk of the file")?;
    let file = zeros(&Path::new(FOLDER).join("image"), size).context("cannot write the file for the loop device")?;
    let name = Loop::attach(&file, size, "test", Use::Mounted)?.name;
    // Commands see the loop device alone; the file stays open.
    unmount(FOLDER, UnmountFlags::DETACH).context("cannot hide the disk of the file")?;
    let backing = format!("/proc/self/fd/{}", file.into_raw_fd());
    Ok(Device { path: format!("/dev/{name}"), size, backing: Some(backing.into()), ..disk })
}

fn zeros(path: &Path, size: u64) -> Result<File> {
    let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
    let zeros = vec![0; 1 << 20];
    let mut left = size;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        file.write_all(&zeros[..part as usize])?;
        left -= part;
    }
    file.sync_all()?;
    Ok(file)
}
