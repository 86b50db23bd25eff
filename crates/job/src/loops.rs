//! Loop devices: a file as a block device (include/uapi/linux/loop.h).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::FileId;

const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
/// The kernel detaches the device when its last user has closed it.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// I/O bypasses the page cache of the file below.
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// How long the kernel may take to detach a device after its last user has closed it.
const DETACH_LIMIT: Duration = Duration::from_secs(20);

/// `struct loop_info64`
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// Who uses a loop device, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A run of this machine: past the page cache of the file below where its file system can, detached with its last
    /// user.
    Run,
    /// `mount -o loop`: through that page cache. It stays attached while nothing has it open, so that its own cache is
    /// dropped as that of a disk.
    Mounted,
}

/// An attached loop device. Dropping it detaches that of a run, unless another process has it open.
#[derive(Debug)]
pub struct Loop {
    /// Such as `loop3`.
    pub name: String,
    /// Whether I/O bypasses the page cache of the file below.
    pub direct: bool,
    /// Identifies the device among all others.
    mark: String,
    /// The file below, to reach its pages.
    image: File,
    /// Keeps the device attached; read-only, as newer kernels refuse to mount a device that another process may write.
    held: File,
}

impl Loop {
    /// Attaches the first `size` bytes of `image`. `mark`, of at most 63 bytes, identifies the device.
    pub fn attach(image: &File, size: u64, mark: &str, used: Use) -> Result<Loop> {
        let flags = match used {
            Use::Run => LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            Use::Mounted => 0,
        };
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control").context(
            "cannot open /dev/loop-control; load the kernel's loop module (modprobe loop), or use --lab virtual",
        )?;
        // Another process may take the free device first, so this is repeated.
        for _ in 0..64 {
            // SAFETY: takes no argument and returns a number.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(io::Error::last_os_error()).context("the kernel has no free loop device");
            }
            let path = format!("/dev/loop{number}");
            let device = OpenOptions::new().read(true).write(true).open(&path).with_context(|| {
                format!("cannot open {path}; in a container, give it the loop devices, or use --lab virtual")
            })?;
            let config = LoopConfig {
                fd: u32::try_from(image.as_raw_fd()).context("a file descriptor is not negative")?,
                block_size: 0,
                info: LoopInfo { flags, sizelimit: size, file_name: name(mark), ..LoopInfo::empty() },
                reserved: [0; 8],
            };
            // SAFETY: the argument is a valid loop_config that outlives the call.
            if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) } < 0 {
                let error = io::Error::last_os_error();
                if error.raw_os_error() == Some(libc::EBUSY) {
                    continue;
                }
                return Err(error)
                    .with_context(|| format!("cannot attach the image to {path} (Linux 5.8 or newer can)"));
            }
            let held = File::open(&path).with_context(|| format!("cannot open {path}"))?;
            let direct = status(&held)?.flags & LO_FLAGS_DIRECT_IO != 0;
            let (name, mark) = (format!("loop{number}"), mark.to_owned());
            return Ok(Loop { name, direct, mark, image: image.try_clone()?, held });
        }
        bail!("cannot get hold of a free loop device: others are always faster");
    }

    /// Such as `/dev/loop3`.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// A path by which root's other processes reach the file below, which may have no name.
    pub fn backing(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.image.as_raw_fd()).into()
    }

    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Closes and detaches it; false if another process still has it open.
    pub fn detach(self) -> bool {
        drop(self.held);
        is_detached_soon(&self.name, &self.mark)
    }
}

impl LoopInfo {
    fn empty() -> LoopInfo {
        LoopInfo {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            sizelimit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: 0,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        }
    }
}

fn status(device: &File) -> io::Result<LoopInfo> {
    let mut info = LoopInfo::empty();
    // SAFETY: the kernel writes a loop_info64 to a valid place.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}

/// A mark in the kernel's form.
fn name(mark: &str) -> [u8; 64] {
    let mut name = [0; 64];
    let length = mark.len().min(63);
    name[..length].copy_from_slice(&mark.as_bytes()[..length]);
    name
}

/// The loop device `name`, if it is attached.
fn info(name: &str) -> Option<LoopInfo> {
    // Check the path first: opening a device that is being detached would hold it.
    if !Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists() {
        return None;
    }
    status(&File::open(format!("/dev/{name}")).ok()?).ok()
}

/// The first attached loop device that `is_wanted` accepts.
fn find(is_wanted: impl Fn(&LoopInfo) -> bool) -> Option<String> {
    let devices = fs::read_dir("/sys/block").ok()?;
    let names = devices.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("loop")).find(|name| info(name).is_some_and(|info| is_wanted(&info)))
}

/// A loop device in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Such as `loop3`.
    pub name: String,
    /// Device and inode of the file below, as the kernel numbers them.
    pub file: (u64, u64),
    /// The block device below, as `8:1`, if it lies on one.
    pub on_device: Option<String>,
}

/// All loop devices in use; none if this user may not open them.
pub fn attached() -> Vec<Attached> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let found = names.filter(|name| name.starts_with("loop")).filter_map(|name| {
        let info = info(&name)?;
        let on_device = (info.rdevice != 0).then(|| decode(info.rdevice));
        Some(Attached { file: (info.device, info.inode), name, on_device })
    });
    found.collect()
}

/// The loop device with this mark, if it is attached. Its number alone is not enough: when a run's device is gone, the
/// user's own on the same file may get it.
pub fn marked(mark: &str) -> Option<String> {
    find(|info| info.file_name == name(mark))
}

/// The loop device attached to this file, if any.
pub fn device_of(file: &FileId) -> Option<String> {
    find(|info| info.inode == file.inode && info.device == encode(file.device))
}

/// The marks of all loop devices on this file.
pub fn marks_of(file: &FileId) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let infos = names.filter(|name| name.starts_with("loop")).filter_map(|name| info(&name));
    let on_it = infos.filter(|info| info.inode == file.inode && info.device == encode(file.device));
    on_it.map(|info| String::from_utf8_lossy(&info.file_name).trim_end_matches('\0').to_owned()).collect()
}

/// Waits until a loop device is detached; false if something still has it open. Until then the file may be written: by
/// a process, or by the kernel, which unmounts after the last process of a name space has ended.
pub fn is_detached_soon(device: &str, mark: &str) -> bool {
    let end = Instant::now() + DETACH_LIMIT;
    while info(device).is_some_and(|info| info.file_name == name(mark)) {
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Detaches the loop device `device` if it has this mark; false if another process still has it open.
pub fn clear(device: &str, mark: &str) -> Result<bool> {
    let opened = File::open(format!("/dev/{device}")).with_context(|| format!("cannot open /dev/{device}"))?;
    // While it is open here it cannot become another one.
    if !status(&opened).is_ok_and(|info| info.file_name == name(mark)) {
        return Ok(true);
    }
    // SAFETY: takes no argument.
    if unsafe { libc::ioctl(opened.as_raw_fd(), LOOP_CLR_FD, 0) } < 0 {
        let error = io::Error::last_os_error();
        // Its last user was faster.
        if error.raw_os_error() != Some(libc::ENXIO) {
            return Err(error).with_context(|| format!("cannot detach /dev/{device}"));
        }
    }
    // The kernel detaches it when the last user closes it, and this is one.
    drop(opened);
    Ok(is_detached_soon(device, mark))
}

/// `st_dev` as LOOP_GET_STATUS64 has it: the kernel's huge_encode_dev, which is new_encode_dev.
fn encode(device: u64) -> u64 {
    let (major, minor) = (u64::from(libc::major(device)), u64::from(libc::minor(device)));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// The opposite: major and minor number.
fn decode(device: u64) -> String {
    format!("{}:{}", (device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_the_kernels() {
        assert_eq!(std::mem::size_of::<LoopInfo>(), 232);
        assert_eq!(std::mem::size_of::<LoopConfig>(), 304);
    }

    #[test]
    fn device_numbers_are_the_kernels() {
        assert_eq!(encode(libc::makedev(254, 3)), 0xfe03);
        assert_eq!((decode(0xfe03), decode(0x10_0823)), ("254:3".to_owned(), "8:291".to_owned()));
        assert_eq!(encode(libc::makedev(0, 0x123)), 0x0010_0023);
    }
}
