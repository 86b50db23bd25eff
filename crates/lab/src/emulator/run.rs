//! One cell in its guest, or in two: from the media to the outcome.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use mountmark_job::kernel_log::{read_log, telling_lines};
use mountmark_job::{Job, Share, Token};
use mountmark_model::{Cell, Event, Outcome};

use super::cell::{image_key, plain_job};
use super::contents;
use super::hardware::Clock;
use super::layout::Layout;
use super::profiler::PluginArguments;
use super::qemu::{self, Qemu, Ram};
use super::{Emulator, snapshot};
use crate::cache::lock::Scratch;
use crate::event_receiver::{EventReceiver, Expected, Heard};
use crate::image::Image;
use crate::lab::Ended;

/// A guest to be.
pub(super) struct Guest<'a> {
    pub cell: &'a Cell,
    pub share: Share,
    pub image: &'a Image,
    pub layout: &'a Layout,
    pub media: &'a OwnedFd,
}

impl Emulator {
    /// Starts a guest, paused. Returns its first lines, and how to recognise the further ones. `None`
    /// if `stop` was set before. With a plugin if there is one.
    fn start(
        &self,
        guest: &Guest,
        folder: &Path,
        plug: Option<&PluginArguments>,
        stop: &AtomicBool,
    ) -> Result<Option<(Qemu, Vec<String>, Expected)>> {
        let Guest { cell, share, image, layout, media } = *guest;
        let hardware = self.hardware(cell, image, layout)?;
        if let Some(plug) = plug {
            (plug.on_media)(media.try_clone()?, layout.test);
        }
        if let (Some(region), Some(source), true) = (&layout.corpus, &cell.second_disk, share != Share::Contents) {
            qemu::fill(media, region.offset, Path::new(&source.tar))?;
        }
        if let (Some(region), Some(age), true) = (&layout.history, &cell.age, share != Share::Tasks) {
            qemu::fill(media, region.offset, Path::new(&age.path))?;
        }
        let job = folder.join("job.json");
        let token = Token::new()?;
        let expected = Expected {
            token: token.clone(),
            kernel: self.kernel.release.clone(),
            // The kernel subtracts its own share before it counts: much of a small machine.
            memory: hardware.ram / 4..=hardware.ram,
        };
        let text = Job {
            more: layout.more.clone(),
            source: layout.source,
            corpus: layout.corpus,
            undo: layout.undo,
            history: layout.history,
            share,
            ..plain_job(token, image_key(cell), layout.test)
        };
        text.write(&job)?;
        let serial = folder.join("kernel.log");
        match self.clock {
            Clock::Instructions { .. } => {
                let Some(snapshot) = self.snapshot(&hardware, image, stop)? else { return Ok(None) };
                let plugin = plug.map(|plug| plug.argument.as_str());
                let guest = snapshot::restore(&hardware, &snapshot, media, &serial, &job, plugin)?;
                Ok(Some((guest, snapshot.lines, expected)))
            }
            Clock::Kvm => {
                let mut guest = Qemu::start(&hardware, &Ram::Anonymous, media, &serial, Some(&job), false, None)?;
                let limit = Duration::from_secs(60);
                let booted = guest.qmp.wait_for("STOP", limit, stop).context("the guest did not boot under KVM")?;
                Ok(booted.then_some((guest, Vec::new(), expected)))
            }
        }
    }

    /// Runs one cell, with a plugin if there is one.
    pub(super) fn run_with(
        &self,
        cell: &Cell,
        plug: Option<&PluginArguments>,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Ended> {
        let (image, layout) = (self.image(cell)?, Layout::of(cell)?);
        let media = qemu::media(layout.total)?;
        let guest = |share| Guest { cell, share, image: &image, layout: &layout, media: &media };
        if !(self.lab.capabilities().exact_clock && contents::are_apart(cell)) {
            return self.run_guest(&guest(Share::Whole), plug, stop, on_event);
        }
        // The same agent in two guests is one to the run.
        let mut greeted = 0;
        let mut once = |event| {
            greeted += u32::from(matches!(event, Event::Hello { .. }));
            if greeted != 2 || !matches!(event, Event::Hello { .. }) {
                on_event(event);
            }
        };
        match self.contents(cell, stop, &mut once)? {
            Ok(contents) => contents.put(&media, &mut once)?,
            Err(ended) => return Ok(ended),
        }
        self.run_guest(&guest(Share::Tasks), plug, stop, &mut once)
    }

    /// Runs a guest to its end.
    pub(super) fn run_guest(
        &self,
        guest: &Guest,
        plug: Option<&PluginArguments>,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Ended> {
        let folder = Scratch::for_guest()?;
        let serial = folder.path().join("kernel.log");
        let started = self.start(guest, folder.path(), plug, stop)?;
        let Some((mut guest, first, expected)) = started else { return Ok(Ended::Interrupted) };
        guest.qmp.run("cont", serde_json::json!({}))?;
        let mut watch = EventReceiver::new(expected);
        for line in first {
            watch.take(&line, on_event);
        }
        let end = match watch.listen(&guest.lines, stop, self.options.silence_limit, on_event) {
            Heard::End | Heard::Fault => None,
            Heard::Interrupted => return Ok(Ended::Interrupted),
            Heard::Silent => Some(watch.silence("the guest", self.options.silence_limit)),
        };
        if let Some(reason) = watch.fault {
            guest.end();
            return Ok(Ended::Refused { reason, log: read_log(&serial) });
        }
        let killed = guest.killed();
        let said = guest.end();
        let log = read_log(&serial);
        if watch.done && end.is_none() {
            return Ok(Ended::Outcome { outcome: watch.outcome.unwrap_or(Outcome::Ok), log });
        }
        let reason = match (watch.outcome.as_ref().and_then(|outcome| outcome.reason().map(str::to_owned)), end) {
            (Some(reason), _) => reason,
            (None, Some(hung)) => hung,
            (None, None) if killed.is_some() => format!("{}{}", killed.unwrap_or_default(), watch.stage_text()),
            (None, None) if log.contains("Kernel panic") => {
                format!("the guest's kernel panicked{}", watch.stage_text())
            }
            (None, None) => format!("the guest ended before it was done{}", watch.stage_text()),
        };
        let detail = format!("{}\n{}", telling_lines(&log, 30), qemu::without_warnings(&said)).trim().to_owned();
        Ok(Ended::Outcome { outcome: Outcome::Failed { reason, detail }, log })
    }
}
