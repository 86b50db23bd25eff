//! A stopped thread of the command: its call, its memory, its open files.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use libc::{c_int, c_long, c_void, pid_t};

use crate::calls::Call;

/// Longest name that the kernel takes.
const LONGEST: usize = libc::PATH_MAX as usize;
const PAGE: u64 = 4096;

/// A thread that is stopped and traced by this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread(pub pid_t);

impl Thread {
    fn ask(self, request: libc::c_uint, address: usize, data: usize) -> io::Result<c_long> {
        // SAFETY: requests with pointers are made below, with memory of the size that they write.
        let result = unsafe { libc::ptrace(request, self.0, address as *mut c_void, data as *mut c_void) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    pub fn seize(self, options: c_int) -> io::Result<()> {
        self.ask(libc::PTRACE_SEIZE, 0, options as usize).map(drop)
    }

    /// Lets it run, with a signal. A thread that was killed meanwhile is waited for like any other.
    pub fn go_on(self, signal: c_int) {
        let _ = self.ask(libc::PTRACE_CONT, 0, signal as usize);
    }

    /// Lets it run until its call has returned.
    pub fn finish_call(self) {
        let _ = self.ask(libc::PTRACE_SYSCALL, 0, 0);
    }

    /// Lets it stay stopped, as a signal wants it.
    pub fn stay(self) {
        let _ = self.ask(libc::PTRACE_LISTEN, 0, 0);
    }

    /// The number that came with an event.
    pub fn message(self) -> Option<u64> {
        let mut message = 0u64;
        self.ask(libc::PTRACE_GETEVENTMSG, 0, (&raw mut message) as usize).ok()?;
        Some(message)
    }

    /// The call that it is about to make, and what the filter said of it.
    pub fn call(self) -> Option<(Call, u32)> {
        // SAFETY: all zeroes are a valid value of this plain data.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        self.ask(libc::PTRACE_GET_SYSCALL_INFO, size_of_val(&info), (&raw mut info) as usize).ok()?;
        if info.op != libc::PTRACE_SYSCALL_INFO_SECCOMP {
            return None;
        }
        // SAFETY: `op` says that this is the part that the kernel wrote.
        let seccomp = unsafe { info.u.seccomp };
        Some((Call { number: seccomp.nr as c_long, arguments: seccomp.args }, seccomp.ret_data))
    }

    /// What the call that it stopped after returned.
    pub fn result(self) -> Option<i64> {
        // SAFETY: as in `call`.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        self.ask(libc::PTRACE_GET_SYSCALL_INFO, size_of_val(&info), (&raw mut info) as usize).ok()?;
        if info.op != libc::PTRACE_SYSCALL_INFO_EXIT {
            return None;
        }
        // SAFETY: as in `call`.
        Some(unsafe { info.u.exit.sval })
    }

    /// Has the call not made, and fail with `error`.
    pub fn refuse_call(self, error: c_int) -> io::Result<()> {
        // SAFETY: all zeroes are a valid value of this plain data, which the kernel overwrites.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        self.ask(libc::PTRACE_GETREGS, 0, (&raw mut registers) as usize)?;
        registers.orig_rax = u64::MAX;
        registers.rax = i64::from(-error) as u64;
        self.ask(libc::PTRACE_SETREGS, 0, (&raw mut registers) as usize).map(drop)
    }

    /// Bytes of its memory, as many as are there.
    pub fn memory(self, address: u64, into: &mut [u8]) -> usize {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: into.len() };
        // SAFETY: the kernel writes to `into`, within its length.
        let read = unsafe { libc::process_vm_readv(self.0, &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(read).unwrap_or(0)
    }

    /// A name in its memory. None if it cannot be read: then the call fails as well.
    pub fn name(self, address: u64) -> Option<OsString> {
        let mut name = Vec::new();
        while name.len() < LONGEST {
            let mut part = [0; 512];
            let at = address.checked_add(name.len() as u64)?;
            // No further than the page, whose successor may not be there.
            let length = part.len().min((PAGE - at % PAGE) as usize);
            let read = self.memory(at, &mut part[..length]);
            if read == 0 {
                return None;
            }
            if let Some(end) = part[..read].iter().position(|byte| *byte == 0) {
                name.extend(&part[..end]);
                return Some(OsString::from_vec(name));
            }
            name.extend(&part[..read]);
        }
        None
    }

    /// Where a link of procfs leads.
    fn link(self, name: &str) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/{name}", self.0)).ok()
    }

    /// The folder or file that is open as `descriptor`, or the working directory.
    pub fn open_file(self, descriptor: c_int) -> Option<PathBuf> {
        let path = match descriptor {
            libc::AT_FDCWD => self.link("cwd"),
            _ => self.link(&format!("fd/{descriptor}")),
        };
        path.filter(|path| path.is_absolute())
    }

    /// What it calls itself.
    pub fn label(self) -> String {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", self.0)).unwrap_or_default();
        let name = name.trim_end();
        if name.is_empty() { "a program".to_owned() } else { name.to_owned() }
    }

    /// The process that it belongs to.
    pub fn process(self) -> Option<pid_t> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
    }
}
