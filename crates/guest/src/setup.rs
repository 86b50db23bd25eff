//! Early setup of the guest by its init: mounts, modules, clock, random numbers.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mountmark_job::{MODULES_FILE, kernel_options};
use rustix::mount::MountFlags;

/// The search path of programs.
pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Mounts the system directories that programs expect.
pub fn mount_system() -> Result<()> {
    let mounts = [
        ("proc", "/proc", "", "PROC_FS"),
        ("sysfs", "/sys", "", "SYSFS"),
        ("devtmpfs", "/dev", "", "DEVTMPFS"),
        ("tmpfs", "/run", "mode=755", "TMPFS"),
        ("tmpfs", "/tmp", "mode=1777", "TMPFS"),
    ];
    for (kind, target, options, option) in mounts {
        fs::create_dir_all(target)?;
        let options = CString::new(options)?;
        match rustix::mount::mount(kind, target, kind, MountFlags::empty(), Some(options.as_c_str())) {
            Err(rustix::io::Errno::NODEV) => bail!(kernel_options::lacks(option)),
            result => result.with_context(|| format!("cannot mount {kind} on {target}"))?,
        }
    }
    for (link, target) in [("/dev/fd", "/proc/self/fd"), ("/dev/stdin", "/proc/self/fd/0")] {
        let _ = std::os::unix::fs::symlink(target, link);
    }
    // GFS2 and OCFS2 need it; a kernel without configfs has neither.
    let _ = rustix::mount::mount("configfs", "/sys/kernel/config", "configfs", MountFlags::empty(), None);
    Ok(())
}

/// Raises the hard limit of open files to that of a usual system (process 1 starts with 4096). The soft limit stays.
pub fn allow_open_files() {
    const FILES: u64 = 65536;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.maximum.is_some_and(|maximum| maximum < FILES) {
        let raised = rustix::process::Rlimit { maximum: Some(FILES), ..limit };
        // If the kernel refuses, the limit is lower; the engine shares it out.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
    }
}

/// Loads the image's modules in order; returns a sentence for each optional one that failed.
pub fn load_modules() -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for line in fs::read_to_string(MODULES_FILE).unwrap_or_default().lines() {
        let (optional, entry) = match line.strip_prefix('?') {
            Some(entry) => (true, entry),
            None => (false, line),
        };
        let (path, parameters) = entry.split_once(' ').unwrap_or((entry, ""));
        let file = File::open(path).with_context(|| format!("the image lacks the kernel module {path}"))?;
        match rustix::system::finit_module(&file, &CString::new(parameters)?, 0) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            // Built for another processor: the image holds every implementation of an algorithm.
            Err(rustix::io::Errno::NODEV) if optional => {}
            Err(error) if optional => notes.push(format!("kernel module {path} did not load: {error}")),
            Err(error) => bail!("kernel module {path} did not load: {error}"),
        }
    }
    Ok(notes)
}

/// Seeds the kernel's random numbers: UUIDs, directory hash seeds, stack canaries.
pub fn seed_random(seed: u64) -> Result<()> {
    const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;
    const RNDRESEEDCRNG: libc::c_ulong = 0x5207;
    #[repr(C)]
    struct Pool {
        entropy_count: i32,
        buffer_size: i32,
        buffer: [u64; 4],
    }
    let file = fs::OpenOptions::new().write(true).open("/dev/urandom")?;
    let pool = Pool {
        entropy_count: 256,
        buffer_size: 32,
        buffer: [seed, !seed, seed.rotate_left(32), seed ^ 0x6d6f_756e_746d_6172],
    };
    // SAFETY: the struct has the layout of the kernel's rand_pool_info with 32 bytes behind it; the second call
    // takes no argument.
    unsafe {
        if libc::ioctl(file.as_raw_fd(), RNDADDENTROPY, &raw const pool) < 0
            || libc::ioctl(file.as_raw_fd(), RNDRESEEDCRNG, 0) < 0
        {
            return Err(io::Error::last_os_error()).context("cannot seed the kernel's random numbers");
        }
    }
    Ok(())
}

/// Gives a disk server real-time priority and exempts it from the OOM killer: it stands for hardware.
pub fn favour(process: u32) -> Result<()> {
    prefer(process as libc::pid_t)?;
    fs::write(format!("/proc/{process}/oom_score_adj"), "-1000")?;
    Ok(())
}

/// Gives the calling thread, which serves a disk, real-time priority.
pub fn favour_thread() -> Result<()> {
    prefer(0)
}

fn prefer(thread: libc::pid_t) -> Result<()> {
    let parameter = libc::sched_param { sched_priority: 50 };
    // SAFETY: a valid pointer for the call's length.
    if unsafe { libc::sched_setscheduler(thread, libc::SCHED_FIFO, &parameter) } != 0 {
        return Err(io::Error::last_os_error()).context("cannot favour the disk server");
    }
    Ok(())
}

/// The date of cells without varied conditions, 2006-01-01 as the machine's own clock has it; in seconds since 1970.
pub const START: i64 = 1_136_073_600;

/// Sets the wall clock to `date`, in seconds since 1970, or to the same second in every cell, also after a restore.
pub fn set_clock(date: Option<i64>) {
    let start = rustix::time::Timespec { tv_sec: date.unwrap_or(START), tv_nsec: 0 };
    let _ = rustix::time::clock_settime(rustix::time::ClockId::Realtime, start);
}

/// The block device of the pmem region at a physical address.
pub fn pmem_at(address: u64) -> Result<String> {
    wait_for(&format!("the pmem region at {address:#x}"), || {
        for entry in fs::read_dir("/sys/block").ok()?.flatten() {
            let name = entry.file_name().into_string().ok()?;
            let resource = entry.path().join("device/resource");
            let Ok(text) = fs::read_to_string(resource) else { continue };
            if u64::from_str_radix(text.trim().trim_start_matches("0x"), 16) == Ok(address) {
                return Some(name);
            }
        }
        None
    })
    .with_context(|| {
        let others = ["PCI", "BLK_DEV_PMEM"].map(|option| format!(", or {}", kernel_options::need_of(option))).concat();
        kernel_options::lacks("X86_PMEM_LEGACY") + &others
    })
}

/// Refuses a kernel that lacks the modelled disk `name`, before waiting for its server.
pub fn check_modelled(name: &str) -> Result<()> {
    let lacks = |what: &str| Path::new(what).symlink_metadata().is_err();
    if lacks(super::media::MEMORY) {
        bail!(kernel_options::lacks("DEVMEM"));
    }
    if lacks(&format!("/sys/block/{name}")) {
        bail!(kernel_options::lacks("BLK_DEV_NBD"));
    }
    std::os::unix::net::UnixStream::pair().map(drop).with_context(|| kernel_options::lacks("UNIX"))
}

/// Sets the block layer's attributes for this kind of disk.
pub fn tune_queue(name: &str, rotational: bool) -> Result<()> {
    let queue = format!("/sys/block/{name}/queue");
    let (flag, scheduler) = if rotational { ("1", "mq-deadline") } else { ("0", "none") };
    fs::write(format!("{queue}/rotational"), flag).with_context(|| format!("{queue}/rotational"))?;
    match fs::write(format!("{queue}/scheduler"), scheduler) {
        Err(error) if rotational && error.kind() == io::ErrorKind::InvalidInput => {
            bail!(kernel_options::lacks("MQ_IOSCHED_DEADLINE"))
        }
        result => result.with_context(|| format!("{queue}/scheduler = {scheduler}")),
    }
}

/// Polls `ask` until it answers, for at most 30 seconds of the guest's clock.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    for _ in 0..3000 {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        thread::sleep(Duration::from_millis(10));
    }
    bail!("waited 30 s for {what}")
}

#[cfg(test)]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    #[test]
    fn more_files_may_be_open() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root to raise a limit");
            return;
        }
        let limit = getrlimit(Resource::Nofile);
        let current = limit.current.map(|current| current.min(4096));
        setrlimit(Resource::Nofile, Rlimit { current, maximum: Some(4096) }).unwrap();
        allow_open_files();
        let found = getrlimit(Resource::Nofile);
        // A container's root may lack the right.
        if setrlimit(Resource::Nofile, limit).is_ok() {
            assert_eq!((found.current, found.maximum), (current, Some(65536)));
        }
    }
}
