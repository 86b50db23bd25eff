//! In the guest: makes the file system, runs workloads, looks at images. It judges nothing.

mod application;
mod look;
mod ops;
mod stand;
mod tree;

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mountmark_agent::protocol::Stand;
use mountmark_crash::campaign::Check;
use mountmark_crash::states::{Device, Extent};
use mountmark_crash::trace::{Mark, Policy};
use mountmark_crash::workload::{Op, Workload, last_name};
use mountmark_job::Places;
use mountmark_model::Cell;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use serde::Serialize;
use stand::call;

use super::questions::{Made, Question, Recorded, Rehearsed};
use crate::{Exchange, RecordedDisk};

/// Where the file system under test is mounted.
const FOLDER: &str = "/test";
/// The date at which workloads begin, in seconds since 1970.
const DATE: i64 = 1_136_073_600;
/// The date at which images are looked at: one date, so that like images lead to like ones.
const LATER: i64 = DATE + 86_400;

/// Long enough for what a new file system does after its first mount, such as to zero its tables.
const SETTLED: std::time::Duration = std::time::Duration::from_secs(90);

/// Answers questions until the host ends the guest.
pub fn answer(cell: &Cell, disk: &RecordedDisk, exchange: &mut Exchange) -> Result<()> {
    std::fs::create_dir_all(FOLDER)?;
    let mut paths = disk.devices.iter().map(|device| device.path.clone());
    let test = paths.next().context("there is no disk")?;
    let (test_folder, more) = (FOLDER.into(), paths.collect());
    let places = Places { test, more, source: String::new(), test_folder, source_folder: "/source".into() };
    std::fs::create_dir_all(places.below_folder())?;
    let stand = Stand::of(&cell.configuration, &places);
    let mut witness = Witness { cell, disk, stand, checked: HashMap::new() };
    loop {
        match serde_json::from_slice(&exchange.question()?).context("a damaged question")? {
            Question::Make => {
                let error = witness.make().err().map(|error| format!("{error:#}"));
                say(exchange, &Made { error })?;
            }
            Question::Rehearse { application, steps, asked } => {
                let verdict = witness.rehearse(&application, steps, &asked);
                say(exchange, &Rehearsed { verdict: verdict.map_err(|error| format!("{error:#}")) })?;
            }
            Question::Record { workload, policy, idle, device } => {
                say(exchange, &witness.record(&workload, policy, device, idle))?;
            }
            Question::Recover { state, policy, device } => say(exchange, &witness.recover(&state, policy, device)?)?,
            Question::Look { states, asked, gone } => {
                for state in &states {
                    say(exchange, &witness.look(state, asked.as_ref(), gone)?)?;
                }
                // The host reads the base while this waits.
                disk.set_back();
            }
        }
    }
}

fn say(exchange: &mut Exchange, answer: &impl Serialize) -> Result<()> {
    exchange.say(&serde_json::to_vec(answer)?)
}

/// A check, and the parts of the disk that it read.
type Checked = (Check, Vec<(u64, u64)>);

struct Witness<'a> {
    cell: &'a Cell,
    disk: &'a RecordedDisk,
    stand: Stand<'a>,
    /// Checks of images and what they read, by their digest and the disk that is gone, of which a check is a function.
    checked: HashMap<(u64, Option<u32>), Checked>,
}

impl Witness<'_> {
    fn make(&mut self) -> Result<()> {
        set_clock(DATE);
        self.disk.set_back();
        for step in self.stand.lay() {
            stand::take(&step.act)?;
        }
        stand::take(&self.stand.make())?;
        // File systems may go on making themselves after the first mount.
        self.mount(&self.stand.mount())
            .with_context(|| format!("the new {} cannot be mounted", self.cell.configuration.filesystem.name))?;
        std::thread::sleep(SETTLED);
        if let Some(error) = self.leave() {
            bail!("the new {} cannot be unmounted: {error}", self.cell.configuration.filesystem.name);
        }
        self.disk.keep();
        Ok(())
    }

    fn record(&mut self, workload: &Workload, policy: Policy, device: Device, idle: u32) -> Recorded {
        set_clock(DATE);
        self.disk.set_back();
        self.disk.record(policy, device, false);
        let mut done = Recorded::default();
        let mut runner = ops::Runner::new(Path::new(FOLDER));
        match self.come_up() {
            Ok(()) => {
                for (op, number) in workload.ops.iter().zip(0..) {
                    self.disk.mark(Mark::Begin(number));
                    let result = match op {
                        Op::Lose { path } => self.lose(path).inspect_err(|error| {
                            let reason =
                                if *error == Errno::NOENT { "no sector has that name" } else { "it is in use" };
                            done.error = Some(format!("{op}: {reason} ({error})"));
                        }),
                        _ => runner.run(number, op),
                    };
                    let result = result.map_or_else(Errno::raw_os_error, |()| 0);
                    self.disk.mark(Mark::End(number, result));
                    done.results.push(result);
                }
                let ran = workload.application.as_ref().map_or(Ok(()), |application| self.steps(application));
                std::thread::sleep(std::time::Duration::from_secs(idle.into()));
                let stopped = self.stop(&mut done.trace);
                let ran = ran.err().map(|error| format!("{error:#}"));
                done.error = done.error.or(ran).or(stopped);
                done.live = tree::look(Path::new(FOLDER));
            }
            Err(error) => {
                done.error = Some(format!("the new file system cannot be mounted: {error:#}"));
                let _ = self.stop(&mut done.trace);
            }
        }
        drop(runner);
        self.leave();
        self.disk.set_back();
        done
    }

    /// Unmounts; then the medium loses the last name of a path.
    fn lose(&self, path: &str) -> Result<(), Errno> {
        unmount(FOLDER, UnmountFlags::empty())?;
        for device in &self.disk.devices {
            rustix::fs::fsync(rustix::fs::open(&device.path, OFlags::RDWR, Mode::empty())?)?;
        }
        let name = last_name(path);
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        if self.disk.lose(&[name.into(), wide]) == 0 { Err(Errno::NOENT) } else { Ok(()) }
    }

    /// Records what the file system writes when it mounts an image.
    fn recover(&mut self, state: &[Extent], policy: Policy, device: Device) -> Result<Recorded> {
        self.disk.set_back();
        self.disk.apply(state)?;
        set_clock(LATER);
        self.disk.record(policy, device, true);
        // What cannot be mounted has written what it has written.
        if self.attach(device.gone()).is_ok() {
            let mount = self.after_cut();
            if !mount.before.is_empty() {
                call(&mount.before)?;
            }
            let _ = self.mount(&mount);
        }
        let mut done = Recorded::default();
        done.error = self.stop(&mut done.trace);
        self.leave();
        self.disk.set_back();
        Ok(done)
    }

    /// Ends the recording; why it cannot be used.
    fn stop(&self, trace: &mut mountmark_crash::trace::Trace) -> Option<String> {
        match self.disk.recorded() {
            Ok(recorded) => *trace = recorded,
            Err(error) => return Some(format!("{error:#}")),
        }
        None
    }
}

fn set_clock(date: i64) {
    let time = rustix::time::Timespec { tv_sec: date, tv_nsec: 0 };
    let _ = rustix::time::clock_settime(rustix::time::ClockId::Realtime, time);
}
