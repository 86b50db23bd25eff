//! The kinds of operations.

use serde::{Deserialize, Serialize};

/// What is done once and timed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// One block is read from an open file.
    Read,
    /// One block is written to an open file, which is made where it is missing.
    Write,
    /// One block is read, changed and written back where it was (Bonnie's rewrite).
    Rewrite,
    /// Room for one block is reserved (fallocate, the file's size grows).
    Fallocate,
    /// A file is cut to half its size and grown again (ftruncate, twice).
    Truncate,
    /// A file is made durable (fsync); its latency is listed apart from all others.
    Fsync,
    /// A file is opened, read from start to end, and closed.
    ReadFile,
    /// A file is made or emptied, written from start to end, and closed.
    WriteFile,
    /// A file is opened, lengthened by one block, and closed.
    AppendFile,
    /// A file is copied within the kernel to a new name (copy_file_range).
    CopyFile,
    /// A file is made that shares all blocks of another (FICLONE); not every file system can.
    ReflinkFile,
    /// An empty file is made and closed (O_CREAT, O_EXCL).
    Create,
    /// A file is opened for reading and closed.
    Open,
    /// A file's attributes are read by its name (fstatat).
    Stat,
    /// All names of one directory are read.
    Readdir,
    /// A file gets a new name in the same directory.
    Rename,
    /// A file gets a second name (hard link).
    Link,
    /// A symbolic link to a file is made.
    Symlink,
    /// A file's mode is changed.
    Chmod,
    /// An extended attribute of 64 bytes, `user.mountmark`, is set.
    Setxattr,
    /// That attribute is read.
    Getxattr,
    /// A file is removed.
    Unlink,
    /// An empty directory is made.
    Mkdir,
    /// An empty directory is removed.
    Rmdir,
}

impl Operation {
    /// Every operation, in the order of reports.
    pub const ALL: [Operation; 24] = [
        Operation::Read,
        Operation::Write,
        Operation::Rewrite,
        Operation::Fallocate,
        Operation::Truncate,
        Operation::Fsync,
        Operation::ReadFile,
        Operation::WriteFile,
        Operation::AppendFile,
        Operation::CopyFile,
        Operation::ReflinkFile,
        Operation::Create,
        Operation::Open,
        Operation::Stat,
        Operation::Readdir,
        Operation::Rename,
        Operation::Link,
        Operation::Symlink,
        Operation::Chmod,
        Operation::Setxattr,
        Operation::Getxattr,
        Operation::Unlink,
        Operation::Mkdir,
        Operation::Rmdir,
    ];

    /// The name in files: `read-file`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Rewrite => "rewrite",
            Operation::Fallocate => "fallocate",
            Operation::Truncate => "truncate",
            Operation::Fsync => "fsync",
            Operation::ReadFile => "read-file",
            Operation::WriteFile => "write-file",
            Operation::AppendFile => "append-file",
            Operation::CopyFile => "copy-file",
            Operation::ReflinkFile => "reflink-file",
            Operation::Create => "create",
            Operation::Open => "open",
            Operation::Stat => "stat",
            Operation::Readdir => "readdir",
            Operation::Rename => "rename",
            Operation::Link => "link",
            Operation::Symlink => "symlink",
            Operation::Chmod => "chmod",
            Operation::Setxattr => "setxattr",
            Operation::Getxattr => "getxattr",
            Operation::Unlink => "unlink",
            Operation::Mkdir => "mkdir",
            Operation::Rmdir => "rmdir",
        }
    }

    /// Whether it moves or reserves one block of an open file: the pattern then chooses a block, otherwise a file.
    pub fn works_on_blocks(self) -> bool {
        matches!(
            self,
            Operation::Read | Operation::Write | Operation::Rewrite | Operation::Fallocate | Operation::Fsync
        )
    }
}
