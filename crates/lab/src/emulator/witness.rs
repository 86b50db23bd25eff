//! Guests that answer questions about a recorded disk, one after the other, while the host changes the disk between
//! them. This file does not know what is asked.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_job::{
    CrashRegions, Job, Region, Token,
    kernel_log::{read_log, telling_lines},
    question,
};
use mountmark_model::{Cell, Configuration, Environment};
use mountmark_trace::recording::{Device, Unit, poison};
use serde_json::json;

use super::cell::plain_job;
use super::layout::{ALIGNMENT, Layout, MEDIA_ROOM};
use super::qemu::{self, Qemu};
use super::{Emulator, snapshot};
use crate::cache::lock::Scratch;
use crate::lab::{OpenLab, Options};

/// Room for copies of what is written in one recording, in bytes. It is sparse.
const LOG: u64 = 1 << 30;
/// Room for a question and its answer, in bytes. It is sparse.
const EXCHANGE: u64 = 256 << 20;
/// Most bytes of all disks of a guest: they and what lies behind them have the room of media.
pub const MOST_DISKS: u64 = MEDIA_ROOM - 2 * ALIGNMENT - LOG - EXCHANGE;
/// Longest time between two looks at a guest that is at work.
const LOOK: Duration = Duration::from_secs(1);

/// The virtual lab, for power cuts.
pub struct Witnesses {
    lab: Emulator,
    device: Device,
}

/// A guest that waits for a question.
pub struct Witness {
    guest: Qemu,
    media: OwnedFd,
    test: Region,
    regions: CrashRegions,
    serial: PathBuf,
    silence_limit: Duration,
    /// When a guest that has not answered yet is ended.
    deadline: Option<Instant>,
    _folder: Scratch,
}

/// What became of a question.
#[derive(Debug)]
pub enum Answer {
    /// All its lines.
    Whole(Vec<String>),
    /// The guest ended or hung, or was ended; these lines came before.
    Broken { lines: Vec<String>, reason: String, log: String },
    /// The user stopped it, or there is no more time: the guest was ended.
    Interrupted,
}

impl Witnesses {
    /// Finds QEMU and the kernel.
    pub fn open(options: Options) -> Result<Witnesses> {
        Ok(Witnesses {
            lab: Emulator::open(mountmark_model::Lab::DEFAULT, options)?,
            device: Device::honest(Unit::Sector),
        })
    }

    /// The same, with what a tar has in the guests' memory: programs of a user's own, and their libraries.
    pub fn with_brought(self, tar: Option<PathBuf>) -> Witnesses {
        Witnesses { lab: Emulator { brought: tar, ..self.lab }, ..self }
    }

    /// The same, with disks that offer what this device offers, and fail where it does.
    pub fn with_device(self, device: Device) -> Witnesses {
        Witnesses { device, ..self }
    }

    /// Why a configuration cannot run, in a sentence; `None` if it can.
    pub fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.lab.make_available(configuration)
    }

    /// Makes all that a guest needs before it can start.
    pub fn prepare(&self, cell: &Cell) -> Result<()> {
        self.lab.prepare(cell)
    }

    pub fn environment(&self, cell: &Cell) -> Result<Environment> {
        self.lab.environment(cell)
    }

    /// Starts a guest with the disk of `cell`, which holds poison. `None` if `stop` was set before it had booted.
    pub fn start(&self, cell: &Cell, stop: &AtomicBool) -> Result<Option<Witness>> {
        let lab = &self.lab;
        let folder = Scratch::for_guest()?;
        let image = lab.image(cell)?;
        let layout = Layout::of(cell)?;
        let (test, regions) = layout.for_crash(LOG, EXCHANGE, self.device);
        let hardware = lab.hardware(cell, &image, &layout)?;
        let media = qemu::media(hardware.media)?;
        // An array is made as if its disks held zeros, of which copies and parity are right as they are.
        if layout.more.is_empty() {
            fill(&media, &test)?;
        }
        let job = folder.path().join("job.json");
        let text = Job { crash: Some(regions), ..plain_job(Token::new()?, asked_cell(cell), test) };
        text.write(&job)?;
        let serial = folder.path().join("kernel.log");
        let silence_limit = lab.options.silence_limit;
        let Some(snapshot) = lab.snapshot(&hardware, &image, stop)? else { return Ok(None) };
        let guest = snapshot::restore(&hardware, &snapshot, &media, &serial, &job, None)?;
        let deadline = None;
        let mut witness = Witness { guest, media, test, regions, serial, silence_limit, deadline, _folder: folder };
        // It starts its disk and then asks for the first question.
        match witness.listen(u64::MAX, stop)? {
            Answer::Whole(_) => Ok(Some(witness)),
            Answer::Broken { reason, log, .. } => bail!("the guest did not start: {reason}\n{log}"),
            Answer::Interrupted => Ok(None),
        }
    }
}

/// The cell as a witness gets it: with all that checks, repairs and attaches what lies on its disks, which others have no
/// use for.
fn asked_cell(cell: &Cell) -> Cell {
    Cell { configuration: cell.configuration.clone(), ..super::image_key(cell) }
}

impl Witness {
    /// From now on a guest that has not answered at this time is ended.
    pub fn end_at(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Asks and waits for the answer. A guest that takes more than `limit` instructions for it has hung.
    pub fn ask(&mut self, question: &[u8], limit: u64, stop: &AtomicBool) -> Result<Answer> {
        let start = self.regions.exchange.offset;
        let length = question.len() as u64;
        if question::HEAD + length > question::answer(&self.regions.exchange) {
            bail!("a question of {length} bytes is too long");
        }
        write(&self.media, start, &length.to_le_bytes())?;
        write(&self.media, start + question::HEAD, question)?;
        self.listen(limit, stop)
    }

    /// Bytes of the disk under test as the guest left them.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        read(&self.media, self.test.offset + offset, bytes)
    }

    /// Changes the disk under test. The guest must not have changed it since its last answer, nor keep it open.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.test.size) {
            bail!("beyond the end of the disk");
        }
        write(&self.media, self.test.offset + offset, bytes)
    }

    /// Copies of what was written in the last recording.
    pub fn log(&self, length: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length.min(LOG) as usize];
        read(&self.media, self.regions.log.offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Gives a guest the data of a recording that another one made.
    pub fn set_log(&self, data: &[u8]) -> Result<()> {
        write(&self.media, self.regions.log.offset, data)
    }

    fn listen(&mut self, limit: u64, stop: &AtomicBool) -> Result<Answer> {
        let mut last = (self.guest.qmp.instructions().unwrap_or(0), Instant::now());
        let begun = last.0;
        self.guest.qmp.run("cont", json!({}))?;
        let reason = loop {
            match self.guest.qmp.heard("STOP", LOOK, stop) {
                Ok(Some(true)) => return Ok(Answer::Whole(self.lines()?)),
                Ok(Some(false)) => {
                    self.guest.end();
                    return Ok(Answer::Interrupted);
                }
                Ok(None) if self.deadline.is_some_and(|deadline| Instant::now() > deadline) => {
                    self.guest.end();
                    return Ok(Answer::Interrupted);
                }
                Ok(None) => {}
                // QEMU is gone, since the guest is.
                Err(_) => break self.end_reason(),
            }
            let Ok(now) = self.guest.qmp.instructions() else { break self.end_reason() };
            if now - begun > limit {
                break format!("it was not done after {} billion instructions", limit / 1_000_000_000);
            }
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > self.silence_limit {
                break format!("it did nothing for {} s", self.silence_limit.as_secs());
            }
        };
        let lines = self.lines().unwrap_or_default();
        self.guest.end();
        Ok(Answer::Broken { lines, reason, log: telling_lines(&read_log(&self.serial), 30) })
    }

    /// Why the guest is gone.
    fn end_reason(&mut self) -> String {
        if let Some(killed) = self.guest.killed() {
            return killed;
        }
        let said = self.guest.lines.try_iter().find_map(|line| {
            let event = line.get(line.find('{')?..)?;
            match serde_json::from_str(event) {
                Ok(mountmark_model::Event::Ended { outcome, .. }) => outcome.reason().map(str::to_owned),
                _ => None,
            }
        });
        match said {
            Some(reason) => reason,
            None if read_log(&self.serial).contains("Kernel panic") => "the guest's kernel panicked".into(),
            None => "the guest ended".into(),
        }
    }

    fn lines(&self) -> Result<Vec<String>> {
        let at = self.regions.exchange.offset + question::answer(&self.regions.exchange);
        let mut head = [0; question::HEAD as usize];
        read(&self.media, at, &mut head)?;
        let length = u64::from_le_bytes(head).min(EXCHANGE / 2 - question::HEAD);
        let mut bytes = vec![0; length as usize];
        read(&self.media, at + question::HEAD, &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }
}

/// Fills the disk with poison.
fn fill(media: &OwnedFd, region: &Region) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < region.size {
        let length = (region.size - at).min(buffer.len() as u64);
        poison::fill(at, &mut buffer[..length as usize]);
        write(media, region.offset + at, &buffer[..length as usize])?;
        at += length;
    }
    Ok(())
}

fn write(media: &OwnedFd, offset: u64, bytes: &[u8]) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        done += rustix::io::pwrite(media, &bytes[done..], offset + done as u64).context("out of memory for a disk")?;
    }
    Ok(())
}

fn read(media: &OwnedFd, offset: u64, bytes: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pread(media, &mut bytes[done..], offset + done as u64)
            .context("cannot read the guest's memory")?
        {
            0 => bail!("beyond the end of the guest's memory"),
            read => done += read,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_gets_what_recovers_the_file_system_that_has_the_folder() {
        let mut cell: Cell = toml::from_str(include_str!("key/cell.toml")).unwrap();
        cell.configuration.below = Some(Box::new(cell.configuration.clone()));
        let asked = asked_cell(&cell).configuration;
        assert!(asked.base().before_mount_command("disk").is_some() && asked.base().repair_command("disk").is_some());
        assert_eq!(asked.base().layers, cell.configuration.base().layers, "attach_degraded too");
        assert_eq!(super::super::image_key(&cell).configuration.base().before_mount_command("disk"), None);
    }
}
