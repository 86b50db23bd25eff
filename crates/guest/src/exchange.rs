//! Questions from the host and answers to it, through memory that both have mapped.
//!
//! The guest pauses its clock for each question, so that the host's speed shows nowhere.

use anyhow::{Context, Result};
use mountmark_job::{MEDIA_START, Region, question};

use super::media::Medium;
use super::ports::Ports;

/// The guest's end.
pub struct Exchange<'a> {
    ports: &'a Ports,
    medium: Medium,
    region: Region,
    /// Bytes of the present answer.
    said: u64,
}

impl Exchange<'_> {
    pub(super) fn open<'a>(ports: &'a Ports, region: &Region) -> Result<Exchange<'a>> {
        let medium = Medium::map(MEDIA_START + region.offset, region.size)?;
        Ok(Exchange { ports, medium, region: *region, said: 0 })
    }

    /// Hands the answer over and waits for the next question.
    pub fn question(&mut self) -> Result<Vec<u8>> {
        self.ports.pause();
        let length = self.medium.slice(0, question::HEAD).and_then(|head| head.try_into().ok()).map(u64::from_le_bytes);
        let question = length.and_then(|length| self.medium.slice(question::HEAD, length));
        let question = question.context("the host asked nothing")?.to_vec();
        self.said = 0;
        self.note_length()?;
        Ok(question)
    }

    /// Adds a line to the answer. The host can read it even if the guest ends before the whole answer is said.
    pub fn say(&mut self, line: &[u8]) -> Result<()> {
        let start = question::answer(&self.region) + question::HEAD + self.said;
        let length = line.len() as u64 + 1;
        let room = self.medium.slice_mut(start, length).context("the answer is too long for its memory")?;
        room[..line.len()].copy_from_slice(line);
        room[line.len()] = b'\n';
        self.said += length;
        self.note_length()
    }

    fn note_length(&mut self) -> Result<()> {
        let at = question::answer(&self.region);
        let head = self.medium.slice_mut(at, question::HEAD).context("the memory for answers is too small")?;
        head.copy_from_slice(&self.said.to_le_bytes());
        Ok(())
    }
}
