//! The filter of system calls: those that name a file or reach out stop the process for the tracer, all others run as
//! they do without it.

use libc::{c_long, sock_filter, sock_fprog};

/// What the filter tells the tracer of a call by another architecture than x86-64.
pub const FOREIGN: u16 = 1;

const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// Numbers from here on are calls of the x32 ABI.
const X32: u32 = 0x4000_0000;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Calls that always stop.
const STOPPED: [c_long; 56] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_creat,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_chdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_mknod,
    libc::SYS_mknodat,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_truncate,
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_io_uring_setup,
    libc::SYS_ptrace,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_fsopen,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_inotify_add_watch,
    libc::SYS_init_module,
];

/// Calls by which the C library and Rust ask about an open file, with this flag and an empty name; far more often than
/// about a name. The number is that of the argument with the flags.
const OPEN_FILE: [(c_long, u32); 2] = [(libc::SYS_newfstatat, 3), (libc::SYS_statx, 2)];

/// The filter's program.
pub struct Filter(Vec<sock_filter>);

impl Filter {
    pub fn new() -> Filter {
        let stop = || statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE);
        let allow = || statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
        let foreign = || statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE | u32::from(FOREIGN));
        let mut program = vec![
            load(ARCHITECTURE),
            jump(libc::BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
            foreign(),
            load(NUMBER),
            jump(libc::BPF_JGE, X32, 0, 1),
            foreign(),
        ];
        for number in STOPPED {
            program.extend([jump(libc::BPF_JEQ, number as u32, 0, 1), stop()]);
        }
        for (number, argument) in OPEN_FILE {
            program.extend([
                jump(libc::BPF_JEQ, number as u32, 0, 4),
                load(ARGUMENTS + 8 * argument),
                jump(libc::BPF_JSET, libc::AT_EMPTY_PATH as u32, 0, 1),
                allow(),
                stop(),
            ]);
        }
        // Only with an address does it name whom it is sent to.
        program.extend([
            jump(libc::BPF_JEQ, libc::SYS_sendto as u32, 0, 6),
            load(ARGUMENTS + 8 * 4),
            jump(libc::BPF_JEQ, 0, 0, 2),
            load(ARGUMENTS + 8 * 4 + 4),
            jump(libc::BPF_JEQ, 0, 1, 0),
            stop(),
            allow(),
            allow(),
        ]);
        Filter(program)
    }

    /// Puts it on this thread and all that it starts. Allocates nothing, so that it may be called after a fork.
    pub fn install(&self) -> bool {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the kernel reads `program` and its instructions during the call, and changes neither.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) == 0
        }
    }
}

fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn jump(test: u32, value: u32, when_true: u8, when_false: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: when_true, jf: when_false, k: value }
}
