//! Measures a command: until it returned, until durable, until settled.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use mountmark_job::mountinfo::is_mount_point;
use mountmark_job::{Device, Times, mark};
use mountmark_model::profile::Interval;
use mountmark_model::{DeviceRecord, Metric, Stage};

use super::command::{Finished, Keep, Kept};
use super::probes::{Counters, DeviceCounters, now, seconds};
use super::served::Until;
use super::{Agent, device, settle};

pub(super) struct Measurable {
    pub(super) command: Command,
    /// How much of its output is kept.
    pub(super) keep: Keep,
    /// Whether it belongs to a suite and so has its own mounts. The protocol's steps change the agent's.
    pub(super) of_suite: bool,
    /// Whether it finds programs in the suite's tree, if there is one.
    pub(super) in_tree: bool,
    /// Whether the file system is not mounted when it has returned: the device is flushed then.
    pub(super) unmounted: bool,
    /// Whether it is the engine, which exchanges its job and results in the agent's folder.
    pub(super) gets_scratch: bool,
    /// How long programs that it leaves running stay, if they do.
    pub(super) stays: Option<Until>,
}

impl Measurable {
    /// A step of the protocol.
    pub(super) fn step(command: Command, unmounted: bool) -> Measurable {
        Measurable {
            command,
            keep: Keep::Ends,
            of_suite: false,
            in_tree: false,
            unmounted,
            gets_scratch: false,
            stays: None,
        }
    }

    /// What it is called in notes; `id` is the task's or the step's.
    fn called(&self, id: &str) -> String {
        if self.of_suite { format!("task {id}") } else { id.to_owned() }
    }
}

/// Figures of a command.
pub(super) struct Measured {
    pub(super) finished: Finished,
    pub(super) values: BTreeMap<String, f64>,
    /// Bytes written to the device until settled.
    device_written: u64,
    pub(super) device: DeviceRecord,
    /// Why its data may not be on the medium.
    pub(super) unwritten: Option<String>,
}

impl Measured {
    /// Sets the bytes written, if known, and from them the write amplification.
    pub(super) fn put_written(&mut self, bytes: Option<u64>) {
        let amplification = bytes.filter(|bytes| *bytes > 0).map(|bytes| self.device_written as f64 / bytes as f64);
        for (metric, value) in [
            (Metric::TASK_WRITTEN_BYTES, bytes.map(|bytes| bytes as f64)),
            (Metric::WRITE_AMPLIFICATION, amplification),
        ] {
            match value {
                Some(value) => self.values.insert(metric.id.to_owned(), value),
                None => self.values.remove(metric.id),
            };
        }
    }
}

impl Agent<'_> {
    /// Runs a command and takes all its figures: until it returned, until durable, until settled.
    pub(super) fn measure(&mut self, id: &str, job: &Measurable, limit: f64) -> Result<Measured> {
        let kept = Kept::new(self.scratch.path(), job.keep)?;
        let confined = job.of_suite.then(|| self.confined(job.in_tree));
        let hand_down = job.gets_scratch.then(|| self.scratch.as_fd());
        let mut ready = self.ground.start(&job.command, kept, None, confined, hand_down)?;
        if job.stays.is_some() {
            ready.stay();
        }
        mark::task_begins(id);
        let begin = now();
        self.devices.trace.begin(begin);
        self.devices.more.iter().for_each(|member| member.trace.begin(begin));
        let before = self.counters()?;
        ready.go()?;
        let finished = ready.wait(limit)?;
        let sync_begin = mark::begin(Interval::Sync, now);
        let unwritten = self.sync(job.unmounted)?;
        let sync_end = mark::end(Interval::Sync, now);
        mark::task_ended();
        let sync = sync_end - sync_begin;
        let durable = self.counters()?;
        if job.unmounted {
            self.take_back()?;
        }
        let mut values = BTreeMap::new();
        before.until(&durable, &mut values);
        let settle_begin = now();
        let mut settled = self.settle_measured(id)?;
        self.add_more(&mut settled.counters)?;
        match job.stays {
            Some(until) => self.served.push((until, ready)),
            None => {
                ready.end()?;
                self.note_leftovers(&job.called(id), &finished);
            }
        }
        let times = Times {
            returned: sync_begin - begin,
            durable: sync_end - begin,
            settled: settle_begin + settled.took - begin,
        };
        let device = self.disk_record(times, &before, &settled.counters);
        let fua = device.more.iter().fold(device.fua, |sum, one| Some(sum? + one.fua?));
        // Requests of several disks have no one order.
        let layout = device.more.is_empty().then(|| device.layout_score()).flatten();
        put_usage(&mut values, &finished, sync);
        let mut put = |metric: Metric, value: f64| values.insert(metric.id.to_owned(), value);
        put(Metric::SETTLE, seconds(settled.took));
        put(Metric::SETTLE_BUSY, seconds(settled.counters.busy.saturating_sub(durable.busy)));
        let (at_durable, at_rest) = (&durable.device, &settled.counters.device);
        let tail = (at_rest.written_sectors - at_durable.written_sectors) * 512;
        put(Metric::SETTLE_WRITTEN_BYTES, tail as f64);
        let seen =
            [(Metric::FUA_WRITES, fua.map(|fua| fua as f64)), (Metric::LAYOUT_SCORE, layout.map(|one| 100.0 * one))];
        values.extend(seen.into_iter().filter_map(|(metric, value)| Some((metric.id.to_owned(), value?))));
        let device_written = (at_rest.written_sectors - before.device.written_sectors) * 512;
        let mut measured = Measured { finished, values, device_written, device, unwritten };
        measured.put_written(measured.finished.written);
        Ok(measured)
    }

    /// The counters of all disks below the file system under test.
    /// What the disks did in a task with these counters before and after it.
    fn disk_record(&self, times: Times, before: &Counters, after: &Counters) -> DeviceRecord {
        let counted = |reason| device::counted(self.devices.test.size, times, &before.device, &after.device, reason);
        let mut device = self.devices.trace.end(times).unwrap_or_else(counted);
        // Of disks whose requests nobody sees, the first stands for all.
        device.more = self.devices.more.iter().filter_map(|member| member.trace.end(times).ok()).collect();
        device
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::read(&self.devices.test, &self.servers)?;
        self.add_more(&mut counters)?;
        Ok(counters)
    }

    fn add_more(&self, counters: &mut Counters) -> Result<()> {
        for member in &self.devices.more {
            counters.device.add(&DeviceCounters::read(&member.device.name)?);
        }
        Ok(())
    }

    /// Makes a step's or task's data durable: syncs the file system if it is mounted, and the one below, else the device. A
    /// sentence if a file system could not.
    fn sync(&self, unmounted: bool) -> Result<Option<String>> {
        let below = self.below.as_deref().filter(|folder| is_mount_point(folder));
        if unmounted && below.is_none() {
            self.ground.flush(&self.top)?;
            return Ok(None);
        }
        let sync = |folder: &Path| File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        let synced = if unmounted { Ok(()) } else { sync(&self.devices.test_folder) };
        Ok(match synced.and_then(|()| below.map_or(Ok(()), sync)) {
            // A read-only mount has nothing to write.
            Err(error) if error.raw_os_error() != Some(libc::EROFS) => {
                Some(format!("what it wrote could not be made durable: {error}"))
            }
            _ => None,
        })
    }

    /// Waits before `what` is measured: until the machine has settled, then for a pause, then for the idle time of its
    /// conditions.
    pub(super) fn ready(&mut self, what: &str, iteration: u32, pause_seconds: f64) -> Result<()> {
        self.settle(what)?;
        if pause_seconds > 0.0 {
            thread::sleep(Duration::from_secs_f64(pause_seconds));
        }
        self.idle(what, iteration);
        self.stage(Stage::Measured(what.to_owned()));
        Ok(())
    }

    fn settle_measured(&mut self, after: &str) -> Result<settle::Settled> {
        let settled = self.ground.settle(&self.disks(), &self.servers, self.devices.exclusive)?;
        self.rest.clone_from(&settled.rest);
        if let Some(unfinished) = &settled.unfinished {
            self.note(format!("{unfinished} after {after} still, {} s later", settle::LIMIT.as_secs()));
        }
        Ok(settled)
    }

    pub(super) fn settle(&mut self, before: &str) -> Result<()> {
        self.stage(Stage::Settle);
        self.ground.sync();
        if self.is_at_rest()? {
            return Ok(());
        }
        self.settle_measured(&format!("the preparation of {before}")).map(drop)
    }

    /// Whether the devices have done nothing since the machine last settled. Then waiting once more shows nothing new: on a
    /// real machine a cell of three small tasks took 15.4 s with such waits, and 10.9 s without.
    fn is_at_rest(&self) -> Result<bool> {
        Ok(self.rest.is_some() && self.rest == settle::work_of(&self.disks())?)
    }

    pub(super) fn disks(&self) -> Vec<&Device> {
        let more = self.devices.more.iter().map(|member| &member.device);
        std::iter::once(&self.devices.test).chain(more).chain(self.devices.source.as_ref()).collect()
    }
}

/// What a command took that returned, and the sync after it, which took `sync` nanoseconds.
fn put_usage(values: &mut BTreeMap<String, f64>, finished: &Finished, sync: u64) {
    let usage = &finished.usage;
    let time = |value: libc::timeval| value.tv_sec as f64 + value.tv_usec as f64 / 1e6;
    let (user, system) = (time(usage.ru_utime), time(usage.ru_stime));
    let elapsed = seconds(finished.elapsed);
    let mut put = |metric: Metric, value: f64| values.insert(metric.id.to_owned(), value);
    put(Metric::ELAPSED, elapsed);
    put(Metric::SYNC, seconds(sync));
    put(Metric::DURABLE, seconds(finished.elapsed + sync));
    put(Metric::USER, user);
    put(Metric::SYSTEM, system);
    put(Metric::CPU_PERCENT, if elapsed > 0.0 { 100.0 * (user + system) / elapsed } else { 0.0 });
    put(Metric::MINOR_FAULTS, usage.ru_minflt as f64);
    put(Metric::MAJOR_FAULTS, usage.ru_majflt as f64);
    put(Metric::VOLUNTARY_SWITCHES, usage.ru_nvcsw as f64);
    put(Metric::INVOLUNTARY_SWITCHES, usage.ru_nivcsw as f64);
    put(Metric::PEAK_MEMORY, usage.ru_maxrss as f64 * 1024.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_can_be_told_by_others() {
        let finished = Finished { written: Some(10), ..Finished::default() };
        let device = DeviceRecord::default();
        let mut measured = Measured { finished, values: BTreeMap::new(), device_written: 300, device, unwritten: None };
        let names = ["task_written_bytes", "write_amplification"];
        for (told, found) in [(Some(10), [Some(10.0), Some(30.0)]), (Some(0), [Some(0.0), None]), (None, [None, None])]
        {
            measured.put_written(told);
            assert_eq!(names.map(|name| measured.values.get(name).copied()), found);
        }
    }
}
