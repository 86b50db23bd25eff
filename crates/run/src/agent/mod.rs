//! One cell, from mkfs to fsck, on the disks of whatever lab this is.
//!
//! The agent says what it measures as events and keeps nothing. It does not know whether it runs in a guest, which
//! clock it reads, or what becomes of its events.

mod command;
mod device;
mod figures;
mod probes;
mod settle;
mod source;
pub mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use mountmark_lab::{Device, Devices, Times};
use mountmark_model::{Cell, DeviceRecord, Event, Metric, Outcome, Task, protocol_task};

use command::{Finished, Keep};
use figures::Shared;
use probes::{Counters, now, seconds};

use crate::programs::{self, Printed};

/// The longest time for mkfs, mount, umount and fsck, in seconds of the lab's clock.
const STEP_LIMIT: f64 = 7200.0;

/// Measures `cell` on `devices`. A step that fails is an event; an error is an agent that cannot go on.
pub fn run_cell(cell: &Cell, devices: &Devices, emit: &mut dyn FnMut(Event)) -> Result<()> {
    let scratch = scratch_folder()?;
    let servers = [Some(&devices.test), devices.source.as_ref()];
    let servers = servers.into_iter().flatten().filter_map(|device| device.server);
    let servers: Vec<u32> = servers.chain(devices.trace.watcher()).collect();
    let result = Agent { cell, devices, scratch: scratch.clone(), servers, ended_parts: BTreeSet::new(), emit }.run();
    let _ = fs::remove_dir_all(scratch);
    result
}

/// In memory where there is such a folder, so that what a task prints does not touch a disk.
fn scratch_folder() -> Result<std::path::PathBuf> {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory } else { Path::new("/tmp") };
    let folder = base.join(format!("mountmark-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

struct Agent<'a> {
    cell: &'a Cell,
    devices: &'a Devices,
    scratch: std::path::PathBuf,
    servers: Vec<u32>,
    ended_parts: BTreeSet<String>,
    emit: &'a mut dyn FnMut(Event),
}

/// What is measured around a command.
struct Measured {
    finished: Finished,
    values: BTreeMap<String, f64>,
    device: DeviceRecord,
}

impl Agent<'_> {
    fn run(&mut self) -> Result<()> {
        self.stage("source");
        fs::create_dir_all(&self.devices.test_folder)?;
        fs::create_dir_all(&self.devices.source_folder)?;
        if let Some(source) = &self.devices.source {
            let layout = self.cell.second_disk.as_ref().map(|medium| medium.layout).unwrap_or_default();
            source::lay_out(self.devices, source, layout)?;
            if let Some(script) = &self.cell.source_prepare {
                self.untimed(script, &self.devices.source_folder).context("source_prepare failed")?;
            }
            rustix::fs::sync();
            source::unmount(&self.devices.source_folder)?;
        }
        (self.devices.measuring)(true);
        if let Some(source) = &self.devices.source {
            // Mounted again, so that nothing of it is cached.
            source::mount(source, &self.devices.source_folder)?;
        }
        let made = self.mkfs()? && self.mount()?;
        if made {
            self.capacity(&[Metric::CAPACITY, Metric::CAPACITY_BYTES, Metric::CAPACITY_DEVICE])?;
            for task in self.cell.tasks.iter().filter(|task| task.part_of.is_none()) {
                for iteration in 0..task.repeat {
                    if !self.task(task, iteration)? {
                        break;
                    }
                }
            }
            self.stage("capacity");
            self.remove_all()?;
            self.capacity(&[Metric::CAPACITY_RESIDUAL])?;
            self.umount()?;
            self.fsck()?;
        }
        if let Some(_source) = &self.devices.source {
            source::unmount(&self.devices.source_folder)?;
        }
        (self.devices.measuring)(false);
        Ok(())
    }

    fn mkfs(&mut self) -> Result<bool> {
        let command = self.cell.configuration.mkfs_command(&self.devices.test.path);
        self.step(protocol_task::MKFS, &command)
    }

    fn mount(&mut self) -> Result<bool> {
        let folder = self.devices.test_folder.display().to_string();
        let command = self.cell.configuration.mount_command(&self.devices.test.path, &folder);
        self.step(protocol_task::MOUNT, &command)
    }

    fn umount(&mut self) -> Result<bool> {
        let folder = self.devices.test_folder.display().to_string();
        self.step(protocol_task::UMOUNT, &["umount".to_owned(), folder])
    }

    /// One step of the protocol; false if it failed, which ends the cell with that as its outcome.
    fn step(&mut self, id: &str, command: &[String]) -> Result<bool> {
        self.settle(id)?;
        self.stage(id);
        let (program, arguments) = command.split_first().context("an empty command in the catalogue")?;
        let mut process = Command::new(program);
        process.args(arguments);
        self.set_environment(&mut process);
        let measured = self.measure(id, &mut process, STEP_LIMIT, Keep::Tail)?;
        let what = command.join(" ");
        let Some(reason) = measured.finished.failure(&what) else {
            self.device(id, 0, measured.device);
            self.sample(id, 0, measured.values);
            self.ended(id, Outcome::Ok);
            return Ok(true);
        };
        let outcome = Outcome::Failed { reason, detail: self.detail(&measured.finished.stderr) };
        self.ended(id, outcome.clone());
        self.ended("", outcome);
        Ok(false)
    }

    /// One task, once; false if it failed or is left out.
    fn task(&mut self, task: &Task, iteration: u32) -> Result<bool> {
        if let Some(reason) = &task.skip {
            self.ended_with_parts(task, &Outcome::Skipped { reason: reason.clone() });
            return Ok(false);
        }
        if let Some(script) = &task.prepare {
            self.stage("prepare");
            if let Err(error) = self.untimed(script, &self.devices.test_folder) {
                return self.failed(task, format!("prepare of task {}: {error:#}", task.id));
            }
        }
        if task.cold {
            self.stage("remount");
            if let Err(error) = self.remount() {
                return self.failed(task, format!("cannot remount before task {}: {error:#}", task.id));
            }
        }
        self.settle(&task.id)?;
        self.pause();
        self.stage(&task.id);
        let (mut process, keep) = self.process(task)?;
        let kills = probes::memory_kills();
        let mut measured = self.measure(&task.id, &mut process, task.limit_seconds, keep)?;
        let finished = &measured.finished;
        let mut failure = finished.failure(&format!("task {}", task.id));
        // The engine says in a sentence why it refuses.
        if task.workload.is_some() && finished.status.code() == Some(1) {
            failure = finished.stderr.lines().next_back().map(|said| format!("task {}: {said}", task.id)).or(failure);
        }
        if let Some(reason) = failure.as_mut().filter(|_| probes::memory_kills() > kills) {
            reason.push_str(": the machine ran out of memory");
        }
        let mut shared = Shared::default();
        if keep == Keep::All {
            for (kind, text) in [("stdout", &measured.finished.stdout), ("stderr", &measured.finished.stderr)] {
                self.output(task, iteration, kind, text);
            }
        }
        if failure.is_none() {
            match self.figures(task, iteration, &measured.finished) {
                Ok(found) => shared = found,
                Err(reason) => failure = Some(reason),
            }
        }
        if let Some(reason) = failure {
            let said = figures::tail(&measured.finished.stdout, &measured.finished.stderr);
            let outcome = Outcome::Failed { reason, detail: self.detail(&said) };
            self.ended_with_parts(task, &outcome);
            self.clean(task);
            return Ok(false);
        }
        measured.values.extend(shared.own);
        self.device(&task.id, iteration, measured.device);
        self.sample(&task.id, iteration, measured.values);
        let last = iteration + 1 == task.repeat;
        for (part, values) in shared.parts {
            match values {
                Ok(values) => {
                    self.sample(&part, iteration, values);
                    if last {
                        self.ended_once(&part, Outcome::Ok);
                    }
                }
                Err(outcome) => self.ended_once(&part, outcome),
            }
        }
        self.clean(task);
        if last {
            self.ended(&task.id, Outcome::Ok);
        }
        Ok(true)
    }

    /// What is started for a task, and what is kept of what it prints.
    fn process(&self, task: &Task) -> Result<(Command, Keep)> {
        let folder = &self.devices.test_folder;
        if let Some(job) = &task.fio {
            let path = self.scratch.join("job.fio");
            fs::write(&path, job).with_context(|| format!("cannot write {}", path.display()))?;
            let mut process = Command::new("fio");
            // Its own files (states, logs) lie beside the job, so that they are no work for the file system.
            process.arg("--output-format=json").arg("--eta=never").arg("--aux-path").arg(&self.scratch).arg(&path);
            process.current_dir(folder);
            self.set_environment(&mut process);
            return Ok((process, Keep::All));
        }
        if task.workload.is_some() {
            let mut process = workload::process(task, self.cell, folder, &self.scratch)?;
            self.set_environment(&mut process);
            return Ok((process, Keep::Tail));
        }
        let keep = if task.program.is_some() { Keep::All } else { Keep::Tail };
        Ok((self.shell(&task.run, folder), keep))
    }

    /// The figures of a task that has such; a sentence where there should be some and are not.
    fn figures(&mut self, task: &Task, iteration: u32, finished: &Finished) -> Result<Shared, String> {
        let cell = self.cell;
        let parts: Vec<&Task> = cell.tasks.iter().filter(|part| part.part_of.as_ref() == Some(&task.id)).collect();
        let program = task.program.as_deref().or(task.fio.as_ref().map(|_| "fio"));
        let found = if task.workload.is_some() {
            let (document, found) = workload::found(task, &self.scratch)?;
            self.output(task, iteration, "result", &document);
            found
        } else if let Some(program) = program {
            let printed = Printed { stdout: &finished.stdout, stderr: &finished.stderr };
            programs::parse(program, printed).map_err(|fault| format!("task {}: {fault}", task.id))?
        } else {
            return Ok(Shared::default());
        };
        figures::share(task, &parts, &found)
    }

    /// Says how a task ended, and that its parts ended like it.
    fn ended_with_parts(&mut self, task: &Task, outcome: &Outcome) {
        self.ended(&task.id, outcome.clone());
        let cell = self.cell;
        for part in cell.tasks.iter().filter(|part| part.part_of.as_ref() == Some(&task.id)) {
            let outcome = match outcome.clone() {
                // Once is enough for what was printed.
                Outcome::Failed { reason, .. } => Outcome::Failed { reason, detail: String::new() },
                other => other,
            };
            self.ended_once(&part.id, outcome);
        }
    }

    /// Says how a part ended, unless that was said of an earlier time.
    fn ended_once(&mut self, part: &str, outcome: Outcome) {
        if self.ended_parts.insert(part.to_owned()) {
            self.ended(part, outcome);
        }
    }

    fn clean(&mut self, task: &Task) {
        let Some(script) = &task.cleanup else { return };
        self.stage("cleanup");
        if let Err(error) = self.untimed(script, &self.devices.test_folder) {
            self.note(format!("cleanup of task {}: {error:#}", task.id));
        }
    }

    fn failed(&mut self, task: &Task, reason: String) -> Result<bool> {
        let detail = self.detail("");
        self.ended_with_parts(task, &Outcome::Failed { reason, detail });
        Ok(false)
    }

    /// Runs a command and takes all figures around it: until it returned, until durable, until settled.
    fn measure(&mut self, id: &str, command: &mut Command, limit: f64, keep: Keep) -> Result<Measured> {
        let begin = now();
        self.devices.trace.begin(begin);
        let before = Counters::read(&self.devices.test, &self.servers)?;
        let finished = command::run(command, &self.scratch, limit, keep)?;
        let sync_begin = now();
        self.sync(id)?;
        let sync_end = now();
        let sync = sync_end - sync_begin;
        let durable = Counters::read(&self.devices.test, &self.servers)?;
        let mut values = BTreeMap::new();
        before.until(&durable, &mut values);
        let settle_begin = now();
        let settled = self.settle_measured(id)?;
        let times = Times {
            returned: sync_begin - begin,
            durable: sync_end - begin,
            settled: settle_begin + settled.took - begin,
        };
        let device = match self.devices.trace.end(times) {
            Ok(record) => record,
            Err(reason) => {
                device::counted(self.devices.test.size, times, &before.device, &settled.counters.device, reason)
            }
        };
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
        put(Metric::SETTLE, seconds(settled.took));
        put(Metric::SETTLE_BUSY, seconds(settled.counters.busy.saturating_sub(durable.busy)));
        let (at_durable, at_rest) = (&durable.device, &settled.counters.device);
        let tail = (at_rest.written_sectors - at_durable.written_sectors) * 512;
        put(Metric::SETTLE_WRITTEN_BYTES, tail as f64);
        if let Some(written) = finished.written {
            put(Metric::TASK_WRITTEN_BYTES, written as f64);
            let total = (at_rest.written_sectors - before.device.written_sectors) * 512;
            if written > 0 {
                put(Metric::WRITE_AMPLIFICATION, total as f64 / written as f64);
            }
        }
        Ok(Measured { finished, values, device })
    }

    /// Makes durable what a step or task has done: the file system where it is mounted, the device where not.
    fn sync(&self, id: &str) -> Result<()> {
        let unmounted = [protocol_task::MKFS, protocol_task::UMOUNT, protocol_task::FSCK].contains(&id);
        if unmounted {
            let device = File::open(&self.devices.test.path)?;
            device.sync_all().with_context(|| format!("cannot flush {}", self.devices.test.path))
        } else {
            // A read-only or failed file system may refuse; the task's own outcome tells.
            if let Ok(folder) = File::open(&self.devices.test_folder) {
                let _ = rustix::fs::syncfs(folder);
            }
            Ok(())
        }
    }

    fn settle_measured(&mut self, after: &str) -> Result<settle::Settled> {
        let devices: Vec<&Device> = std::iter::once(&self.devices.test).chain(self.devices.source.as_ref()).collect();
        let settled = settle::settle(&devices, &self.servers, self.devices.exclusive)?;
        if let Some(unfinished) = &settled.unfinished {
            self.note(format!("{unfinished} after {after} still, {} s later", settle::LIMIT.as_secs()));
        }
        Ok(settled)
    }

    fn settle(&mut self, before: &str) -> Result<()> {
        self.stage("settle");
        rustix::fs::sync();
        self.settle_measured(&format!("the preparation of {before}")).map(drop)
    }

    fn pause(&self) {
        if self.cell.pause_seconds > 0.0 {
            thread::sleep(Duration::from_secs_f64(self.cell.pause_seconds));
        }
    }

    fn remount(&mut self) -> Result<()> {
        let test = self.devices.test_folder.display().to_string();
        let mount = self.cell.configuration.mount_command(&self.devices.test.path, &test);
        for command in [vec!["umount".to_owned(), test], mount] {
            let mut process = Command::new(&command[0]);
            process.args(&command[1..]);
            self.set_environment(&mut process);
            let finished = command::run(&mut process, &self.scratch, STEP_LIMIT, Keep::Tail)?;
            if let Some(reason) = finished.failure(&command.join(" ")) {
                anyhow::bail!("{reason}: {}", finished.stderr);
            }
        }
        if let Some(source) = &self.devices.source {
            source::unmount(&self.devices.source_folder)?;
            source::mount(source, &self.devices.source_folder)?;
        }
        Ok(())
    }

    fn capacity(&mut self, metrics: &[Metric]) -> Result<()> {
        let folder = &self.devices.test_folder;
        let data =
            rustix::fs::statvfs(folder).with_context(|| format!("cannot ask {} for its space", folder.display()))?;
        let available = data.f_bavail as f64 * data.f_frsize as f64;
        let percent = if data.f_blocks > 0 { 100.0 * data.f_bavail as f64 / data.f_blocks as f64 } else { 0.0 };
        let values = metrics.iter().map(|metric| {
            let value = match *metric {
                Metric::CAPACITY_BYTES => available,
                Metric::CAPACITY_DEVICE => 100.0 * available / self.devices.test.size as f64,
                _ => percent,
            };
            (metric.id.to_owned(), value)
        });
        let values = values.collect();
        self.sample(protocol_task::CAPACITY, 0, values);
        Ok(())
    }

    /// Removes every file of the tasks, so that what is then missing is the file system's own.
    fn remove_all(&mut self) -> Result<()> {
        let script = "find . -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .nilfs -exec rm -rf {} +";
        if let Err(error) = self.untimed(script, &self.devices.test_folder) {
            self.note(format!("removing all files: {error:#}"));
        }
        self.settle("removing all files")
    }

    fn fsck(&mut self) -> Result<()> {
        let filesystem = &self.cell.configuration.filesystem;
        let Some(fsck) = &filesystem.fsck else {
            let reason = filesystem.no_fsck.clone().unwrap_or_else(|| "no read-only check exists".to_owned());
            self.ended(protocol_task::FSCK, Outcome::Skipped { reason });
            return Ok(());
        };
        let command = self.cell.configuration.fsck_command(&self.devices.test.path).context("fsck has no command")?;
        self.settle(protocol_task::FSCK)?;
        self.stage(protocol_task::FSCK);
        let mut process = Command::new(&command[0]);
        process.args(&command[1..]);
        self.set_environment(&mut process);
        let measured = self.measure(protocol_task::FSCK, &mut process, STEP_LIMIT, Keep::Tail)?;
        let code = measured.finished.status.code();
        if code.is_some_and(|code| fsck.clean.contains(&code)) && measured.finished.timed_out.is_none() {
            self.device(protocol_task::FSCK, 0, measured.device);
            self.sample(protocol_task::FSCK, 0, measured.values);
            self.ended(protocol_task::FSCK, Outcome::Ok);
            return Ok(());
        }
        let meaning = code.and_then(|code| fsck.meaning.get(&code.to_string()));
        let said = match (meaning, measured.finished.failure(&command.join(" "))) {
            (Some(meaning), _) => format!("fsck after the tasks: {meaning} (exit code {})", code.unwrap_or(-1)),
            (None, Some(failure)) => format!("fsck after the tasks: {failure}"),
            (None, None) => "fsck after the tasks: exit code 0 does not mean clean here".to_owned(),
        };
        let outcome = Outcome::Failed { reason: said, detail: self.detail(&measured.finished.stderr) };
        self.ended(protocol_task::FSCK, outcome);
        Ok(())
    }

    fn untimed(&self, script: &str, folder: &Path) -> Result<()> {
        let mut process = self.shell(script, folder);
        let finished = command::run(&mut process, &self.scratch, STEP_LIMIT, Keep::Tail)?;
        match finished.failure("the command") {
            None => Ok(()),
            Some(reason) => anyhow::bail!("{reason}: {}", finished.stderr),
        }
    }

    fn shell(&self, script: &str, folder: &Path) -> Command {
        let mut process = Command::new("sh");
        process.arg("-c").arg(script).current_dir(folder);
        self.set_environment(&mut process);
        process
    }

    /// Tasks see the same few variables in every lab, and nothing of the user's.
    fn set_environment(&self, process: &mut Command) {
        process.env_clear();
        let fixed: [(&str, OsString); 6] = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("HOME", "/tmp".into()),
            ("LC_ALL", "C".into()),
            ("TEST", self.devices.test_folder.clone().into()),
            ("SOURCE", self.devices.source_folder.clone().into()),
            ("SEED", self.cell.seed.to_string().into()),
        ];
        process.envs(fixed);
        process.envs(self.cell.parameters.iter().map(|(name, value)| (name, value.to_string())));
    }

    /// What is worth keeping of a failure: what the command said, and the kernel.
    fn detail(&self, stderr: &str) -> String {
        let mut detail = stderr.to_owned();
        if self.devices.exclusive {
            let tail = mountmark_lab::kernel_log::telling_lines(&kernel_log(), 20);
            if !tail.is_empty() {
                detail = format!("{detail}\nkernel log:\n{tail}");
            }
        }
        detail
    }

    fn stage(&mut self, name: &str) {
        (self.emit)(Event::Stage { name: name.to_owned() });
    }

    fn sample(&mut self, task: &str, iteration: u32, values: BTreeMap<String, f64>) {
        (self.emit)(Event::Sample { task: task.to_owned(), iteration, values });
    }

    fn device(&mut self, task: &str, iteration: u32, record: DeviceRecord) {
        (self.emit)(Event::Device { task: task.to_owned(), iteration, record: Box::new(record) });
    }

    fn ended(&mut self, task: &str, outcome: Outcome) {
        (self.emit)(Event::Ended { task: task.to_owned(), outcome });
    }

    fn output(&mut self, task: &Task, iteration: u32, kind: &str, text: &str) {
        if let Some(event) = figures::output(task, iteration, kind, text) {
            (self.emit)(event);
        }
    }

    fn note(&mut self, text: String) {
        (self.emit)(Event::Note { text });
    }
}

/// The kernel's message buffer, as dmesg shows it.
fn kernel_log() -> String {
    const READ_ALL: libc::c_int = 3;
    let mut buffer = vec![0u8; 1 << 18];
    // SAFETY: the buffer is valid for the length given.
    let read = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), buffer.len() as libc::c_int) };
    buffer.truncate(usize::try_from(read).unwrap_or(0));
    String::from_utf8_lossy(&buffer).into_owned()
}
