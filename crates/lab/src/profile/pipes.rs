//! The pipes between the plugin and this program: its lines, and the word to go on.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

pub(crate) struct Pipes {
    pub lines: PathBuf,
    pub go: PathBuf,
    /// While it is open, what reads the lines waits for more.
    holder: File,
}

impl Pipes {
    /// Makes both in a folder.
    pub fn new(folder: &Path) -> Result<Pipes> {
        let [lines, go] = ["lines", "go"].map(|name| folder.join(name));
        for path in [&lines, &go] {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .with_context(|| format!("cannot make the pipe {}", path.display()))?;
        }
        let holder = end(&lines, OFlags::RDWR)?;
        Ok(Pipes { lines, go, holder })
    }

    /// The plugin's lines, which end when the plugin has ended and the pipes are closed; and what lets the guest go on.
    pub fn ends(&self) -> Result<(BufReader<File>, impl FnMut() -> Result<()> + use<>)> {
        let mut go = end(&self.go, OFlags::RDWR)?;
        let lines = BufReader::new(end(&self.lines, OFlags::RDONLY)?);
        Ok((lines, move || go.write_all(b"g").context("the guest cannot be told to go on")))
    }

    pub fn close(self) {
        drop(self.holder);
    }
}

fn end(path: &Path, flags: OFlags) -> Result<File> {
    let fd = open(path, flags | OFlags::CLOEXEC, Mode::empty());
    Ok(File::from(fd.with_context(|| format!("cannot open the pipe {}", path.display()))?))
}
