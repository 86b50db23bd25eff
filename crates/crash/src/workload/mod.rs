//! Workloads: operations on files in order, of which each may be the last that returns.

mod bounds;
mod generate;
mod line;
mod shrink;

use serde::{Deserialize, Serialize};

use crate::application::{Application, Asked, Said};
use crate::log_writes::Log;
use crate::moment::Moment;

pub use bounds::{Fault, MOST_BYTES, MOST_OPS, check};
pub use generate::{Generator, LONGEST};
pub use line::WrongLine;
pub use shrink::smaller;

/// Operations in order. Those before `recorded` set the stage: they have returned before the first power cut, and the
/// last of them is a sync, so that all of them are durable ([`Workload::new`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    pub ops: Vec<Op>,
    /// Index of the first operation that a power cut may interrupt.
    pub recorded: u16,
    /// Runs instead of operations, of which there are none then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Box<Application>>,
    /// Was recorded elsewhere, so that nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Box<Log>>,
}

/// The name of what lies at a path, without its folder.
pub fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Workload {
    /// Operations that set the stage, and those that a power cut may interrupt. Where the stage does not end with a
    /// sync one is added: it runs and is recorded as any other, so nothing counts as durable that was not synced.
    pub fn new(name: String, mut stage: Vec<Op>, recorded: Vec<Op>) -> Workload {
        if stage.last().is_some_and(|last| *last != Op::Sync) {
            stage.push(Op::Sync);
        }
        let begin = u16::try_from(stage.len()).unwrap_or(u16::MAX);
        stage.extend(recorded);
        Workload { name, ops: stage, recorded: begin, ..Workload::default() }
    }

    /// The sync that made the stage durable, by its number; `None` if there is no stage: then the file system is empty.
    pub fn staging(&self) -> Option<u16> {
        self.recorded.checked_sub(1)
    }

    /// Whether operations say what files must hold.
    pub fn has_model(&self) -> bool {
        self.application.is_none() && self.log.is_none()
    }

    /// What an application's own check is asked of images of this moment.
    pub fn asked(&self, moment: Moment) -> Option<Asked> {
        self.application.as_ref().map(|application| application.asked(moment))
    }

    /// The options of the command line that name it, with what they are.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let Some(log) = &self.log else {
            let pauses = self.application.as_ref().and_then(|application| application.pauses);
            let pauses = pauses.map(|seed| ("--pauses", seed.to_string()));
            if let Some((application, said)) = self.said() {
                let one = |option, values: &[String]| {
                    values.iter().map(move |value| (option, value.clone())).collect::<Vec<_>>()
                };
                let prepare: Vec<String> = said.prepare.iter().cloned().collect();
                let mut all = one("--prepare", &prepare);
                all.extend(one("--then", &said.then));
                all.extend(one("--with", &said.with));
                all.extend(one("--package", &application.whole_packages));
                all.extend((said.times > 1).then(|| ("--times", said.times.to_string())));
                all.extend(one("--parameter", &said.parameters));
                let check = application.check.strip_prefix(&said.exports()).unwrap_or(&application.check);
                all.push(("--check", check.to_owned()));
                return all.into_iter().chain(pauses).collect();
            }
            return std::iter::once(("--workload", self.to_string())).chain(pauses).collect();
        };
        let others = [("--base", &log.base), ("--from", &log.from)];
        let others = others.into_iter().filter_map(|(option, value)| Some((option, value.clone()?)));
        std::iter::once(("--log", log.path.clone())).chain(others).collect()
    }

    /// The command line that it is, if no file has it.
    pub fn said(&self) -> Option<(&Application, &Said)> {
        let application = self.application.as_deref()?;
        Some((application, application.said.as_deref()?))
    }

    /// How long it is, beside others that show the same: an application is longer than any list of operations.
    pub fn length(&self) -> usize {
        self.ops.len() + self.application.as_ref().map_or(0, |application| MOST_OPS + application.steps.len())
    }
}

/// One operation. Paths are relative to the root of the file system under test. Offsets and lengths are multiples of
/// [`crate::tree::words::WORD`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Op {
    /// open(2) with O_CREAT and O_EXCL, mode 0644, and close.
    Create {
        path: String,
    },
    Mkdir {
        path: String,
    },
    Symlink {
        target: String,
        path: String,
    },
    /// mkfifo(3), mode 0644.
    Mkfifo {
        path: String,
    },
    /// mknod(2) of a device, mode 0644. Nothing opens it.
    Mknod {
        path: String,
        device: Device,
        major: u32,
        minor: u32,
    },
    /// open(2) with O_TMPFILE in `folder`, kept open as `handle`, a name such as `#1` that other operations may use as
    /// a path.
    Tmpfile {
        folder: String,
        handle: String,
    },
    /// Keeps a file open as `handle`, so that it can be used when its names are gone.
    Open {
        path: String,
        handle: String,
    },
    /// link(2), or linkat(2) of an open handle.
    Link {
        from: String,
        to: String,
    },
    Unlink {
        path: String,
    },
    Rmdir {
        path: String,
    },
    Rename {
        from: String,
        to: String,
        #[serde(default)]
        how: Renaming,
    },
    /// Writes words of this operation's number.
    Write {
        path: String,
        offset: u64,
        length: u64,
        #[serde(default)]
        how: Writing,
    },
    /// Opens with O_TRUNC and closes.
    Empty {
        path: String,
    },
    Truncate {
        path: String,
        size: u64,
    },
    Fallocate {
        path: String,
        mode: Fallocation,
        offset: u64,
        length: u64,
    },
    /// Shares all blocks of `from` with `to` (FICLONE), which must exist.
    Clone {
        from: String,
        to: String,
    },
    /// Sets `user.NAME`.
    SetXattr {
        path: String,
        name: String,
        value: String,
    },
    RemoveXattr {
        path: String,
        name: String,
    },
    Chmod {
        path: String,
        mode: u32,
    },
    Fsync {
        path: String,
    },
    Fdatasync {
        path: String,
    },
    /// msync(2) with MS_SYNC of the range, after a write by mmap.
    Msync {
        path: String,
        offset: u64,
        length: u64,
    },
    Sync,
    /// Drops clean pages, dentries and inodes from memory.
    Evict,
    /// Lets this many seconds pass, so that timers write back.
    Idle {
        seconds: u32,
    },
    /// Unmounts the file system; then the medium loses the sectors that have the last name of this path, in UTF-8 or
    /// UTF-16: they read as zeros. Nothing can follow it, and nothing is promised of the time after it.
    Lose {
        path: String,
    },
}

/// The devices that mknod(2) makes nodes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    Char,
    Block,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Renaming {
    #[default]
    Plain,
    /// RENAME_NOREPLACE.
    NoReplace,
    /// RENAME_EXCHANGE.
    Exchange,
    /// RENAME_WHITEOUT.
    Whiteout,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// pwrite(2).
    #[default]
    Buffered,
    /// pwrite(2) through O_DIRECT.
    Direct,
    /// Stores to a shared mapping.
    Mmap,
    /// pwrite(2) through O_SYNC.
    Sync,
    /// pwrite(2) through O_DSYNC.
    Dsync,
}

/// The modes of fallocate(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fallocation {
    /// Allocates, and extends the file.
    Extend,
    /// FALLOC_FL_KEEP_SIZE.
    Keep,
    /// FALLOC_FL_ZERO_RANGE, may extend the file.
    Zero,
    /// FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE.
    ZeroKeep,
    /// FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE.
    Punch,
    /// FALLOC_FL_COLLAPSE_RANGE.
    Collapse,
    /// FALLOC_FL_INSERT_RANGE.
    Insert,
}
