//! Starts the command, stopped until it is traced.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use libc::{c_char, pid_t};

use crate::command::Command;
use crate::filter::Filter;
use crate::refusal::{Refusal, Result};

/// What the command prints to, when that is not what this process has.
pub struct Streams {
    pub output: Option<OwnedFd>,
    pub errors: Option<OwnedFd>,
}

/// A process that waits to be let go.
pub struct Child {
    pub id: pid_t,
    go: File,
    failed: File,
}

impl Child {
    /// Forks. The new process does nothing before [`Child::go`].
    pub fn new(command: &Command, streams: Streams) -> Result<Child> {
        let text = |text: &OsStr| {
            CString::new(text.as_bytes()).map_err(|_| Refusal::NotText(text.to_string_lossy().into_owned()))
        };
        let words = command.words.iter().map(|word| text(word)).collect::<Result<Vec<_>>>()?;
        let program = text(command.program.as_os_str())?;
        let folder = text(command.folder.as_os_str())?;
        let variables = command.environment.iter().map(|(name, value)| {
            let mut line = name.clone();
            line.push("=");
            line.push(value);
            text(&line)
        });
        let variables = variables.collect::<Result<Vec<_>>>()?;
        let mut shell = vec![c"/bin/sh".as_ptr(), program.as_ptr()];
        shell.extend(words.iter().skip(1).map(|word| word.as_ptr()));
        let (words, variables, shell) = (pointers(words.iter()), pointers(variables.iter()), ended(shell));
        let input = command.input.as_deref().unwrap_or("/dev/null".as_ref());
        let input = File::open(input).map_err(Refusal::input(format!("{}", input.display())))?;
        let (wait, go) = pipe().map_err(Refusal::input("a pipe"))?;
        let (failed, tell) = pipe().map_err(Refusal::input("a pipe"))?;
        let filter = Filter::new();
        let descriptors = Descriptors {
            wait: wait.as_raw_fd(),
            tell: tell.as_raw_fd(),
            input: input.as_raw_fd(),
            output: streams.output.as_ref().map_or(libc::STDOUT_FILENO, AsRawFd::as_raw_fd),
            errors: streams.errors.as_ref().map_or(libc::STDERR_FILENO, AsRawFd::as_raw_fd),
            go: go.as_raw_fd(),
        };
        // SAFETY: until it executes a program, the child only makes system calls, on data that was made before.
        match unsafe { libc::fork() } {
            -1 => Err(Refusal::NotStarted(command.line(), io::Error::last_os_error())),
            0 => {
                // SAFETY: as above; all pointers are to strings and lists that outlive the call.
                unsafe {
                    begin(&descriptors, &filter, &folder, &program, &words, &variables, &shell);
                }
            }
            id => Ok(Child { id, go, failed }),
        }
    }

    /// Lets it execute the command.
    pub fn go(&mut self) -> io::Result<()> {
        io::Write::write_all(&mut self.go, b"g")
    }

    /// Why it could not execute the command, once it has ended.
    pub fn failure(&mut self) -> Option<io::Error> {
        let mut error = [0; 4];
        self.failed.read_exact(&mut error).ok()?;
        Some(io::Error::from_raw_os_error(i32::from_ne_bytes(error)))
    }
}

struct Descriptors {
    wait: RawFd,
    tell: RawFd,
    input: RawFd,
    output: RawFd,
    errors: RawFd,
    go: RawFd,
}

fn ended(mut list: Vec<*const c_char>) -> Vec<*const c_char> {
    list.push(std::ptr::null());
    list
}

fn pointers<'a>(texts: impl Iterator<Item = &'a CString>) -> Vec<*const c_char> {
    ended(texts.map(|text| text.as_ptr()).collect())
}

/// A pipe that no executed program inherits.
fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors to `ends`, which nothing else owns.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

/// # Safety
/// Runs in a child after a fork: only system calls, no allocation. Lists end with a null pointer.
unsafe fn begin(
    descriptors: &Descriptors,
    filter: &Filter,
    folder: &CString,
    program: &CString,
    words: &[*const c_char],
    variables: &[*const c_char],
    shell: &[*const c_char],
) -> ! {
    // SAFETY: see above.
    unsafe {
        // The parent's end of the pipe, or its death would not be seen.
        libc::close(descriptors.go);
        let mut letter = 0u8;
        if libc::read(descriptors.wait, (&raw mut letter).cast(), 1) != 1 {
            libc::_exit(127);
        }
        // A session of its own: as in a guest, there is no terminal to read from.
        libc::setsid();
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        // Rust ignores it in this program.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let is_ready = libc::dup2(descriptors.input, 0) == 0
            && (descriptors.output == 1 || libc::dup2(descriptors.output, 1) == 1)
            && (descriptors.errors == 2 || libc::dup2(descriptors.errors, 2) == 2)
            && libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0
            && libc::chdir(folder.as_ptr()) == 0
            && filter.install();
        if is_ready {
            libc::execve(program.as_ptr(), words.as_ptr(), variables.as_ptr());
            // As execvp and shells do with a script without `#!`.
            if *libc::__errno_location() == libc::ENOEXEC {
                libc::execve(c"/bin/sh".as_ptr(), shell.as_ptr(), variables.as_ptr());
            }
        }
        let error = *libc::__errno_location();
        libc::write(descriptors.tell, (&raw const error).cast(), 4);
        libc::_exit(127);
    }
}
