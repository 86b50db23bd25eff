//! The kinds of operations.

use serde::{Deserialize, Serialize};

/// One unit of work, timed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads one block from an open file.
    Read,
    /// Writes one block to an open file, created if missing.
    Write,
    /// Reads one block, changes it and writes it back in place (Bonnie's rewrite).
    Rewrite,
    /// Reserves space for one block (fallocate, the file's size grows).
    Fallocate,
    /// Cuts a file to half its size and grows it again (ftruncate, twice).
    Truncate,
    /// Makes a file durable (fsync); its latency is listed separately from all others.
    Fsync,
    /// Opens a file, reads it from start to end, and closes it.
    ReadFile,
    /// Creates or empties a file, writes it from start to end, and closes it.
    WriteFile,
    /// Opens a file, appends one block, and closes it.
    AppendFile,
    /// Copies a file within the kernel to a new name (copy_file_range).
    CopyFile,
    /// Creates a file that shares all blocks of another (FICLONE); not every file system can.
    ReflinkFile,
    /// Creates an empty file and closes it (O_CREAT, O_EXCL).
    Create,
    /// Opens a file for reading and closes it.
    Open,
    /// Reads a file's attributes by its name (fstatat).
    Stat,
    /// Reads all names of one directory.
    Readdir,
    /// Gives a file a new name in the same directory.
    Rename,
    /// Gives a file a second name (hard link).
    Link,
    /// Creates a symbolic link to a file.
    Symlink,
    /// Changes a file's mode.
    Chmod,
    /// Sets an extended attribute of 64 bytes, `user.mountmark`.
    Setxattr,
    /// Reads that attribute.
    Getxattr,
    /// Removes a file.
    Unlink,
    /// Creates an empty directory.
    Mkdir,
    /// Removes an empty directory.
    Rmdir,
}

impl Operation {
    /// All operations, in the order of reports.
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

    /// Whether it moves or reserves one block of an open file: the pattern then selects a block, otherwise a file.
    pub fn works_on_blocks(self) -> bool {
        matches!(
            self,
            Operation::Read | Operation::Write | Operation::Rewrite | Operation::Fallocate | Operation::Fsync
        )
    }
}
