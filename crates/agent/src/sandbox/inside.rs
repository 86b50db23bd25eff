//! The warden process: the first process of a name space, which starts one command and reports its end.
//!
//! It is a copy of the agent without an exec. It neither allocates memory nor takes a lock: in a test another thread
//! may have held one when the copy was made.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;

use mountmark_job::mark;
use mountmark_model::profile::Interval;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;

use super::{mounts, rights};
use crate::probes::now;
use crate::tree::Tree;

/// The OOM killer takes the command before the agent, the disks' servers and the user's programs.
const OOM_SCORE: &[u8] = b"500";

/// The warden's orders, laid out before it exists.
pub(super) struct Order {
    pub(super) program: CString,
    pub(super) arguments: Words,
    pub(super) environment: Words,
    pub(super) folder: CString,
    pub(super) standard: [RawFd; 3],
    /// Stays open in the command.
    pub(super) hand_down: Option<RawFd>,
    /// Mount point of the file system under test, if the command has its own mounts and must not change that one.
    pub(super) test: Option<CString>,
    /// The tree that becomes its root.
    pub(super) tree: Option<Tree>,
    /// A device that the command must not reach; it has its own mounts then.
    pub(super) hidden: Option<CString>,
    /// Mount points of file systems that hold settings, which the command must not change; it has its own mounts then.
    pub(super) settings: Vec<CString>,
}

/// Strings and pointers to them, in the form that exec requires.
pub(super) struct Words {
    _strings: Vec<CString>,
    pointers: Vec<*mut libc::c_char>,
}

impl Words {
    pub(super) fn new(strings: Vec<CString>) -> Words {
        let pointers = strings.iter().map(|word| word.as_ptr().cast_mut()).chain([std::ptr::null_mut()]).collect();
        Words { _strings: strings, pointers }
    }
}

/// The step at which the warden failed before it started the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Step {
    None,
    Rights,
    Mounts,
    Settings,
    Tree,
    Folder,
    Standard,
    Start,
}

/// A report of the warden: ready, failed, or the command's end.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Report {
    pub(super) failed: Step,
    pub(super) error: i32,
    /// Nanoseconds from before the command's start until it ended.
    pub(super) elapsed: u64,
    pub(super) status: i32,
    /// Whether processes of the command were left.
    pub(super) leftovers: bool,
    /// Whether the mount at the mount point of the file system under test has changed.
    pub(super) moved: bool,
    /// Bytes passed to write(2) and similar calls; negative if the kernel does not report them.
    pub(super) written: i64,
    pub(super) usage: libc::rusage,
}

impl Report {
    pub(super) const SIZE: usize = size_of::<Report>();

    pub(super) fn new() -> Report {
        // SAFETY: rusage is plain data for which all zeroes are valid.
        let usage = unsafe { std::mem::zeroed() };
        Report {
            failed: Step::None,
            error: 0,
            elapsed: 0,
            status: 0,
            leftovers: false,
            moved: false,
            written: -1,
            usage,
        }
    }

    fn send(&self, to: RawFd) {
        // SAFETY: the report has this length. If the write fails, the agent is gone and this process will end too.
        unsafe { libc::write(to, std::ptr::from_ref(self).cast(), Report::SIZE) };
    }
}

/// Carries out `order`: prepares, waits for a byte from `go`, runs the command, reports to `report`, and ends when the
/// other end of `go` is closed. All that the command left then ends with it.
pub(super) fn live(order: &Order, go: RawFd, report: RawFd) -> ! {
    let mut said = Report::new();
    if let Err((step, error)) = prepare(order, [go, report]) {
        said.failed = step;
        said.error = error.raw_os_error().unwrap_or(0);
        said.send(report);
        leave();
    }
    let before = order.test.as_ref().map(mounted_at);
    said.send(report);
    if heard(go) {
        if let Err(error) = run(order, &mut said) {
            said.failed = Step::Start;
            said.error = error;
        }
        // A file system that was shut down gives an error, but is still the same mount.
        let after = order.test.as_ref().map(mounted_at);
        said.moved = matches!(after, Some(Ok(_))) && after != before;
        said.send(report);
        if heard(go) {
            // All that it left has this process for a parent.
            // SAFETY: a plain system call.
            while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::__WALL) } > 0 {}
        }
    }
    leave()
}

fn leave() -> ! {
    // SAFETY: ends this process without the agent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// True at a byte, false at the end of the stream.
fn heard(from: RawFd) -> bool {
    let mut byte = 0u8;
    loop {
        // SAFETY: there is room for the one byte requested.
        match unsafe { libc::read(from, (&raw mut byte).cast(), 1) } {
            1 => return true,
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            _ => return false,
        }
    }
}

fn prepare(order: &Order, pipes: [RawFd; 2]) -> Result<(), (Step, io::Error)> {
    let checked = |step: Step, result: libc::c_int| match result {
        -1 => Err((step, io::Error::last_os_error())),
        _ => Ok(()),
    };
    // SAFETY: plain system calls with strings and numbers that outlive them.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // A command has the warden's rights, but must not read its memory or its open files.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        // Resets the agent's signal handling to the default, here and in the command.
        for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGBUS] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::setsid();
        for (to, from) in (0..).zip(order.standard) {
            checked(Step::Standard, libc::dup2(from, to))?;
        }
        if let Some(kept) = order.hand_down {
            checked(Step::Standard, libc::fcntl(kept, libc::F_SETFD, 0))?;
        }
        if order.test.is_some() {
            // Shows this name space's processes, and none of the agent's. A container may refuse it.
            let _ = libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, std::ptr::null());
        }
        if let Some(device) = &order.hidden {
            let (null, tmp) = (c"/dev/null".as_ptr(), c"/tmp".as_ptr());
            let nothing = std::ptr::null();
            checked(Step::Mounts, libc::mount(null, device.as_ptr(), nothing, libc::MS_BIND, nothing.cast()))?;
            checked(Step::Mounts, libc::mount(c"tmpfs".as_ptr(), tmp, c"tmpfs".as_ptr(), 0, nothing.cast()))?;
        }
        let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        libc::write(score, OOM_SCORE.as_ptr().cast(), OOM_SCORE.len());
        libc::close(score);
    }
    if order.test.is_some() {
        mounts::protect(&order.settings).map_err(|error| (Step::Settings, error))?;
    }
    if let Some(tree) = &order.tree {
        mounts::enter(tree).map_err(|error| (Step::Tree, error))?;
    }
    // SAFETY: as above.
    unsafe { checked(Step::Folder, libc::chdir(order.folder.as_ptr()))? };
    close_others([pipes[0], pipes[1], order.hand_down.unwrap_or(pipes[0])]);
    rights::drop_rights(order.hidden.is_some()).map_err(|error| (Step::Rights, error))
}

/// Closes all descriptors except the standard streams and `kept`: a copy of the agent's end of a pipe would keep the
/// pipe's reader from seeing its end.
fn close_others(mut kept: [RawFd; 3]) {
    /// Descriptors closed one by one if the kernel has no call for it (Linux before 5.9).
    const MOST: RawFd = 1024;
    kept.sort_unstable();
    let mut from = 3;
    for end in kept.into_iter().chain([RawFd::MAX]) {
        if from < end {
            // SAFETY: no code here uses the closed descriptors.
            unsafe {
                if libc::syscall(libc::SYS_close_range, from, end - 1, 0) != 0 {
                    for descriptor in from..end.min(MOST) {
                        libc::close(descriptor);
                    }
                }
            }
        }
        from = from.max(end.saturating_add(1));
    }
}

/// Identifies a mounted file system: its device, and the mount's number if the kernel has these (5.8).
fn mounted_at(path: &CString) -> Result<(u32, u32, u64), Errno> {
    let found = statx(CWD, path.as_c_str(), AtFlags::empty(), StatxFlags::TYPE | StatxFlags::MNT_ID)?;
    let numbered = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok((found.stx_dev_major, found.stx_dev_minor, if numbered { found.stx_mnt_id } else { 0 }))
}

/// Runs the command to its end; an error number if it cannot be started.
fn run(order: &Order, said: &mut Report) -> Result<(), i32> {
    let mut pid: libc::pid_t = 0;
    // SAFETY: the attributes are initialised before use; all strings and arrays end with a null and outlive the calls.
    unsafe {
        let mut attributes: libc::posix_spawnattr_t = std::mem::zeroed();
        libc::posix_spawnattr_init(&raw mut attributes);
        libc::posix_spawnattr_setflags(&raw mut attributes, libc::POSIX_SPAWN_SETPGROUP as libc::c_short);
        let begin = mark::begin(Interval::Returned, now);
        let error = libc::posix_spawn(
            &raw mut pid,
            order.program.as_ptr(),
            std::ptr::null(),
            &raw const attributes,
            order.arguments.pointers.as_ptr(),
            order.environment.pointers.as_ptr(),
        );
        if error != 0 {
            return Err(error);
        }
        // A process that writes into a pipe that the command read must see that the command is gone.
        libc::close(0);
        let mut info: libc::siginfo_t = std::mem::zeroed();
        // A process that has ended keeps its I/O counters until it is reaped.
        while libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
        {}
        said.elapsed = mark::end(Interval::Returned, now) - begin;
        said.written = written().unwrap_or(-1);
        libc::wait4(pid, &raw mut said.status, 0, &raw mut said.usage);
        // Reaps those that ended before; then either there is no child, or one that lives.
        let mut status = 0;
        said.leftovers = loop {
            match libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) {
                0 => break true,
                -1 => break false,
                _ => {}
            }
        };
    }
    Ok(())
}

/// Bytes that the command passed to write(2). It is this process's first child; its number is read from /proc, which
/// may be the agent's and then has another than this name space.
fn written() -> Option<i64> {
    let mut path = [0u8; 64];
    let mut text = [0u8; 512];
    let children = read(b"/proc/thread-self/children\0", &mut text)?;
    let digits = children.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(children.len());
    let parts: [&[u8]; 3] = [b"/proc/", &children[..digits], b"/io\0"];
    let mut at = 0;
    for part in parts {
        path.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    let io = read(&path[..at], &mut text)?;
    let line = io.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"wchar: "))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

/// The beginning of a file; `path` ends with a null.
fn read<'a>(path: &[u8], into: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path ends with a null, and no more is read than there is room for.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, into.as_mut_ptr().cast(), into.len());
        libc::close(file);
        length
    };
    into.get(..usize::try_from(length).ok()?)
}
