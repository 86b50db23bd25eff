//! The second disk: its file system and the corpus on it, laid out before anything is measured.
//!
//! It is ext2, the plainest file system there is: no journal of its own takes part in a copy from it or to it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use mountmark_lab::{CorpusData, Device, Devices};
use mountmark_model::Source;

/// Makes the second disk's file system and puts the corpus there. It is mounted afterwards.
pub fn lay_out(devices: &Devices, source: &Device, layout: Source) -> Result<()> {
    call(&["mke2fs", "-q", "-F", "-t", "ext2", &source.path])?;
    mount(source, &devices.source_folder)?;
    let Some(corpus) = &devices.corpus else { return Ok(()) };
    match layout {
        Source::None => {}
        Source::Tar => {
            let path = devices.source_folder.join("corpus.tar");
            let mut file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            write_corpus(corpus, &mut file)?;
        }
        Source::Tree => {
            let folder = devices.source_folder.join("tree");
            fs::create_dir_all(&folder)?;
            let mut tar = Command::new("tar")
                .args(["-x", "-f", "-", "-C"])
                .arg(&folder)
                .stdin(Stdio::piped())
                .spawn()
                .context("cannot start tar")?;
            let written = write_corpus(corpus, tar.stdin.as_mut().expect("piped"));
            let status = tar.wait()?;
            written?;
            if !status.success() {
                bail!("tar could not unpack the corpus onto the second disk ({status})");
            }
        }
    }
    Ok(())
}

/// Mounts the second disk.
pub fn mount(source: &Device, folder: &Path) -> Result<()> {
    call(&["mount", "-i", "-t", "ext2", &source.path, &folder.display().to_string()])
}

/// Unmounts the second disk.
pub fn unmount(folder: &Path) -> Result<()> {
    call(&["umount", &folder.display().to_string()])
}

fn write_corpus(corpus: &CorpusData, to: &mut impl Write) -> Result<()> {
    match corpus {
        CorpusData::Mapped(mapped) => {
            for part in mapped.bytes().chunks(1 << 20) {
                to.write_all(part).context("the corpus does not fit on the second disk")?;
            }
        }
        CorpusData::File(path) => {
            let mut file = File::open(path).with_context(|| format!("cannot read the corpus {}", path.display()))?;
            let mut buffer = vec![0; 1 << 20];
            loop {
                let read = file.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                to.write_all(&buffer[..read]).context("the corpus does not fit on the second disk")?;
            }
        }
    }
    Ok(())
}

fn call(command: &[&str]) -> Result<()> {
    let output = Command::new(command[0])
        .args(&command[1..])
        .output()
        .with_context(|| format!("cannot start {}", command[0]))?;
    if !output.status.success() {
        bail!("{} failed on the second disk: {}", command.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
