//! Why a command cannot be recorded, as a sentence.

use std::io;
use std::path::PathBuf;

use mountmark_model::Bytes;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("no command was given")]
    NoCommand,
    #[error("{0}: command not found")]
    NotFound(String),
    #[error("{0}: cannot be run: {1}")]
    NotStarted(String, io::Error),
    #[error(
        "the working directory {0} cannot be the place of a file system under test; run the command in a folder of its own"
    )]
    WorkingFolder(PathBuf),
    #[error("{program} is a set-user-ID program ({path}): it would get rights here that recording takes away")]
    SetUserId { program: String, path: PathBuf },
    #[error("{program} has capabilities of its own ({path}): it would get rights here that recording takes away")]
    Capabilities { program: String, path: PathBuf },
    #[error("{path} is {what}: guests run programs for 64-bit x86 only")]
    Architecture { path: PathBuf, what: String },
    #[error(
        "{program} makes a system call of another architecture (int 0x80 or x32): guests run programs for 64-bit x86 only"
    )]
    ForeignCall { program: String },
    #[error("{path} is run and cannot be read, so it cannot be packed")]
    Unreadable { path: PathBuf },
    #[error("{program} uses the network: it reaches {address}, and a guest has no network")]
    Network { program: String, address: String },
    #[error("{program} talks to a daemon that the command did not start, at {address}: a guest does not have it")]
    Daemon { program: String, address: String },
    #[error("{program} opens {path}: a guest has no GPU")]
    Gpu { program: String, path: PathBuf },
    #[error("{program} opens the device {path}, which a guest does not have")]
    Device { program: String, path: PathBuf },
    #[error("{program} opens the named pipe {path}: who is at its other end is not recorded")]
    Pipe { program: String, path: PathBuf },
    #[error("{program} traces or debugs other programs (ptrace): that cannot be recorded")]
    Tracer { program: String },
    #[error("{program} {what}: it then sees other files than this machine's, which cannot be recorded")]
    OtherRoot { program: String, what: &'static str },
    #[error("the command needs {} of memory, and a guest has {} for it at most", Bytes(*needed), Bytes(*most))]
    Memory { needed: u64, most: u64 },
    #[error(
        "{program} uses io_uring, whose files recording cannot see. It was refused to it, and then the command {ended}: it does not run without"
    )]
    IoUring { program: String, ended: String },
    #[error("the files that the command needs are larger than {}: {largest}. --limit takes another size", Bytes(*limit))]
    TooLarge { limit: u64, largest: String },
    #[error("{0} was changed by another program while the command ran")]
    Changed(PathBuf),
    #[error("{0} is not text that a suite can hold (UTF-8)")]
    NotText(String),
    #[error("{what}: {error}")]
    Input { what: String, error: io::Error },
    #[error(
        "this kernel does not let a program be traced: {0}. In a container that takes its default rights (SYS_PTRACE); elsewhere kernel.yama.ptrace_scope must be 0 or 1"
    )]
    Forbidden(io::Error),
    #[error("programs can be recorded on 64-bit x86 only")]
    Machine,
    #[error("interrupted")]
    Interrupted,
}

impl Refusal {
    /// For `map_err`: what was tried.
    pub(crate) fn input(what: impl Into<String>) -> impl FnOnce(io::Error) -> Refusal {
        let what = what.into();
        move |error| Refusal::Input { what, error }
    }
}

pub type Result<T> = std::result::Result<T, Refusal>;
