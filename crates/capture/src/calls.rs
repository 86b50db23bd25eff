//! What a system call does to the files that it names.

use libc::{AT_FDCWD, c_int, c_long};

/// Number and arguments of a call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub number: c_long,
    pub arguments: [u64; 6],
}

/// How a file is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its name, kind, size or times: stat, access, readlink.
    Look,
    /// Opened to be read; a folder, to be listed.
    Read,
    Execute,
    /// Opened to be written, or cut.
    Write,
    /// Something new gets this name.
    Make,
    Remove,
    /// Its name is taken away, and another has it.
    Away,
    /// A file gets its name, and what had it is gone.
    Onto,
    /// Its mode, owner or times are set.
    Change,
}

impl Use {
    /// Whether something is other than before afterwards.
    pub fn changes(self) -> bool {
        !matches!(self, Use::Look | Use::Read | Use::Execute)
    }
}

/// Where the name of a file stands.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// The open folder that a relative name starts at; `AT_FDCWD` for the working directory.
    pub folder: c_int,
    /// Where the name is in the memory of the process; none for the open file `folder` itself.
    pub name: Option<u64>,
    /// Whether a symbolic link at the end is followed.
    pub follows: bool,
    pub with: Use,
    /// Opened with O_PATH, or not opened at all.
    pub is_open: bool,
}

/// What a call is, beside its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Files,
    Connect,
    Send,
    Bind,
    IoUring,
    Trace,
    OtherRoot(&'static str),
}

impl Call {
    pub fn kind(&self) -> Kind {
        const SEEN: u64 = (libc::CLONE_NEWNS | libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNET) as u64;
        match self.number {
            libc::SYS_connect => Kind::Connect,
            libc::SYS_sendto => Kind::Send,
            libc::SYS_bind => Kind::Bind,
            libc::SYS_io_uring_setup => Kind::IoUring,
            libc::SYS_ptrace => Kind::Trace,
            libc::SYS_chroot | libc::SYS_pivot_root => Kind::OtherRoot("changes its root folder (chroot)"),
            libc::SYS_mount | libc::SYS_umount2 | libc::SYS_fsopen | libc::SYS_open_tree | libc::SYS_move_mount => {
                Kind::OtherRoot("mounts or unmounts")
            }
            libc::SYS_unshare if self.arguments[0] & SEEN != 0 => {
                Kind::OtherRoot("makes namespaces of its own (unshare)")
            }
            libc::SYS_setns => Kind::OtherRoot("enters other namespaces (setns)"),
            libc::SYS_open_by_handle_at => Kind::OtherRoot("opens files by handle"),
            libc::SYS_init_module => Kind::OtherRoot("loads kernel modules"),
            _ => Kind::Files,
        }
    }

    fn folder(&self, argument: usize) -> c_int {
        self.arguments[argument] as c_int
    }

    fn flag(&self, argument: usize, flag: c_int) -> bool {
        self.arguments[argument] as c_int & flag != 0
    }

    /// The files that it names. `openat2` has its flags in memory, which `read` reads.
    pub fn touches(&self, read: impl Fn(u64) -> Option<u64>) -> Vec<Touch> {
        use Use::{Away, Change, Execute, Look, Make, Onto, Remove, Write};
        let with = |folder: c_int, name: usize, follows: bool, with: Use| Touch {
            folder,
            name: Some(self.arguments[name]),
            follows,
            with,
            is_open: matches!(with, Execute | Write),
        };
        let here = |name: usize, follows: bool, as_: Use| with(AT_FDCWD, name, follows, as_);
        let at = |name: usize, follows: bool, as_: Use| with(self.folder(name - 1), name, follows, as_);
        let opened = |folder: c_int, name: usize, flags: u64| vec![open(folder, self.arguments[name], flags as c_int)];
        let no_follow = |argument: usize| !self.flag(argument, libc::AT_SYMLINK_NOFOLLOW);
        match self.number {
            libc::SYS_open => opened(AT_FDCWD, 0, self.arguments[1]),
            libc::SYS_openat => opened(self.folder(0), 1, self.arguments[2]),
            libc::SYS_openat2 => opened(self.folder(0), 1, read(self.arguments[2]).unwrap_or(0)),
            libc::SYS_creat => opened(AT_FDCWD, 0, (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64),
            libc::SYS_execve => vec![here(0, true, Execute)],
            libc::SYS_execveat if self.flag(4, libc::AT_EMPTY_PATH) => vec![self.open_file(0, Execute)],
            libc::SYS_execveat => vec![at(1, no_follow(4), Execute)],
            libc::SYS_stat | libc::SYS_access | libc::SYS_chdir => vec![here(0, true, Look)],
            libc::SYS_lstat | libc::SYS_readlink => vec![here(0, false, Look)],
            libc::SYS_newfstatat | libc::SYS_faccessat2 => vec![at(1, no_follow(3), Look)],
            libc::SYS_statx => vec![at(1, no_follow(2), Look)],
            libc::SYS_faccessat => vec![at(1, true, Look)],
            libc::SYS_readlinkat => vec![at(1, false, Look)],
            libc::SYS_inotify_add_watch => vec![here(1, true, Look)],
            libc::SYS_rename => vec![here(0, false, Away), here(1, false, Onto)],
            libc::SYS_renameat | libc::SYS_renameat2 => {
                let exchanges = self.number == libc::SYS_renameat2 && self.flag(4, libc::RENAME_EXCHANGE as c_int);
                vec![at(1, false, Away), at(3, false, if exchanges { Away } else { Onto })]
            }
            libc::SYS_unlink | libc::SYS_rmdir => vec![here(0, false, Remove)],
            libc::SYS_unlinkat => vec![at(1, false, Remove)],
            libc::SYS_mkdir | libc::SYS_mknod => vec![here(0, false, Make)],
            libc::SYS_mkdirat | libc::SYS_mknodat => vec![at(1, false, Make)],
            libc::SYS_symlink => vec![here(1, false, Make)],
            libc::SYS_symlinkat => vec![at(2, false, Make)],
            libc::SYS_link => vec![here(0, false, Use::Read), here(1, false, Make)],
            libc::SYS_linkat if self.flag(4, libc::AT_EMPTY_PATH) => vec![at(3, false, Make)],
            libc::SYS_linkat => vec![at(1, self.flag(4, libc::AT_SYMLINK_FOLLOW), Use::Read), at(3, false, Make)],
            libc::SYS_truncate => vec![here(0, true, Write)],
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => vec![here(0, true, Change)],
            libc::SYS_lchown => vec![here(0, false, Change)],
            libc::SYS_fchmodat => vec![at(1, true, Change)],
            libc::SYS_fchownat if self.flag(4, libc::AT_EMPTY_PATH) => vec![self.open_file(0, Change)],
            libc::SYS_fchownat => vec![at(1, no_follow(4), Change)],
            libc::SYS_futimesat => vec![at(1, true, Change)],
            libc::SYS_utimensat => vec![at(1, no_follow(3), Change)],
            _ => Vec::new(),
        }
    }

    fn open_file(&self, argument: usize, with: Use) -> Touch {
        let is_open = with == Use::Execute;
        Touch { folder: self.folder(argument), name: None, follows: true, with, is_open }
    }
}

fn open(folder: c_int, name: u64, flags: c_int) -> Touch {
    let has = |flag: c_int| flags & flag == flag;
    let is_temporary = has(libc::O_TMPFILE);
    let reads = flags & libc::O_ACCMODE == libc::O_RDONLY && !has(libc::O_TRUNC) && !has(libc::O_CREAT);
    let with = match () {
        () if has(libc::O_PATH) || is_temporary => Use::Look,
        () if reads => Use::Read,
        () => Use::Write,
    };
    let follows = !has(libc::O_NOFOLLOW) && !has(libc::O_CREAT | libc::O_EXCL);
    let is_open = with != Use::Look;
    Touch { folder, name: Some(name), follows, with, is_open }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(number: c_long, arguments: [u64; 6]) -> Touch {
        let touches = Call { number, arguments }.touches(|_| None);
        assert_eq!(touches.len(), 1);
        touches[0]
    }

    #[test]
    fn an_open_is_what_its_flags_say() {
        let opened = |flags: c_int| only(libc::SYS_openat, [AT_FDCWD as u32 as u64, 1, flags as u64, 0, 0, 0]);
        assert_eq!(opened(libc::O_RDONLY | libc::O_CLOEXEC).with, Use::Read);
        assert_eq!(opened(libc::O_RDONLY | libc::O_TRUNC).with, Use::Write);
        assert_eq!(opened(libc::O_PATH).with, Use::Look);
        let made = opened(libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL);
        assert!(!made.follows && made.with == Use::Write);
        assert_eq!(opened(libc::O_TMPFILE | libc::O_RDWR).with, Use::Look);
        assert!(opened(libc::O_WRONLY | libc::O_CREAT).follows);
    }

    #[test]
    fn both_names_of_a_rename_are_seen() {
        let folders = [3, 10, 4, 20, 0, 0];
        let touches = Call { number: libc::SYS_renameat2, arguments: folders }.touches(|_| None);
        let seen: Vec<_> = touches.iter().map(|touch| (touch.folder, touch.name, touch.with)).collect();
        assert_eq!(seen, [(3, Some(10), Use::Away), (4, Some(20), Use::Onto)]);
    }

    #[test]
    fn a_call_about_an_open_file_has_no_name() {
        let empty = libc::AT_EMPTY_PATH as u64;
        assert!(only(libc::SYS_fchownat, [7, 1, 0, 0, empty, 0]).name.is_none());
        assert!(only(libc::SYS_execveat, [7, 1, 0, 0, empty, 0]).name.is_none());
    }
}
