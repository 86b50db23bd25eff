//! Runs one task of the suite: prepares, measures, finds its figures, cleans up.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use mountmark_model::{Outcome, OutputKind, Stage, Task};

use super::command::Keep;
use super::figures::{self, PartFigures, Shared};
use super::ground::CallFailed;
use super::measure::{Measurable, Measured};
use super::perform::one_command;
use super::{Agent, probes, workload};
use crate::programs::{self, Printed};
use crate::protocol::{TaskSteps, fio_command};

impl Agent<'_> {
    /// Runs a task once; false if it failed or is left out.
    pub(super) fn task(&mut self, steps: &TaskSteps, iteration: u32) -> Result<bool> {
        let task = steps.task;
        if let Some(reason) = &task.skip {
            self.ended_with_parts(task, &Outcome::Skipped { reason: reason.clone() });
            return Ok(false);
        }
        if !self.prepared(steps)? {
            return Ok(false);
        }
        if let Some(restart) = &steps.restart {
            return self.restart(steps, restart, iteration);
        }
        self.ready(&task.id, iteration, self.cell.pause_seconds)?;
        let job = self.job(task)?;
        let kills = probes::memory_kills();
        let mut measured = self.measure(&task.id, &job, task.limit_seconds)?;
        if let Some(path) = self.lost_disk() {
            let reason = format!("the server of {path} ended during task {}: there is no disk any more", task.id);
            let detail = self.detail("");
            self.cell_ended(Outcome::Failed { reason: reason.clone(), detail });
            self.mounted = false;
            return self.failed(task, reason);
        }
        let mut failure = self.failure_of(task, &measured, kills);
        let mut shared = Shared::default();
        self.outputs(task, iteration, &measured.finished);
        if failure.is_none() {
            match self.figures(task, iteration, &mut measured) {
                Ok(found) => shared = found,
                Err(reason) => failure = Some(reason),
            }
        }
        if let Some(reason) = failure {
            let outcome = Outcome::Failed { reason, detail: self.detail(&measured.finished.said()) };
            self.ended_with_parts(task, &outcome);
            self.clean(steps.cleanup.as_ref());
            return Ok(false);
        }
        measured.values.extend(shared.own);
        self.device(&task.id, iteration, measured.device);
        self.sample(&task.id, iteration, measured.values);
        let last = iteration + 1 == task.repeat;
        self.parts(shared.parts, iteration, last);
        self.clean(steps.cleanup.as_ref());
        if last {
            self.ended(&task.id, Outcome::Ok);
        }
        Ok(true)
    }

    /// What a task needs before it can run: its disk, its mount, its own preparation, and cold caches. False if it failed.
    fn prepared(&mut self, steps: &TaskSteps) -> Result<bool> {
        let task = steps.task;
        if let Some(path) = self.lost_disk() {
            return self.failed(task, format!("task {}: the server of {path} has ended", task.id));
        }
        if !self.mounted {
            // The folder under the mount point belongs to another file system.
            return self.failed(task, format!("task {}: the file system could not be mounted again before", task.id));
        }
        if let Some(step) = &steps.prepare {
            self.stage(Stage::Prepare);
            if let Err(error) = self.take(step) {
                let reason = format!("prepare of task {}: {error:#}", task.id);
                return self.failed_saying(task, reason, CallFailed::said(&error));
            }
        }
        if !steps.remount.is_empty() {
            self.stage(Stage::Remount);
            if let Err(error) = self.take_all(&steps.remount) {
                let reason = format!("cannot remount before task {}: {error:#}", task.id);
                let said = CallFailed::said(&error);
                if !self.mounted {
                    let detail = self.detail(said);
                    self.cell_ended(Outcome::Failed { reason: reason.clone(), detail });
                }
                return self.failed_saying(task, reason, said);
            }
            if self.is_spoilt_by_mount(&task.id) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why what ran is a failure; `kills` are the kernel's for want of memory before it ran.
    fn failure_of(&self, task: &Task, measured: &Measured, kills: u64) -> Option<String> {
        let finished = &measured.finished;
        let mut failure = self.failure(&format!("task {}", task.id), finished);
        // The engine gives its reason for refusing in a sentence.
        if task.workload.is_some() && finished.status.code() == Some(1) {
            failure = finished.stderr.lines().next_back().map(|said| format!("task {}: {said}", task.id)).or(failure);
        }
        failure = failure.or_else(|| Some(format!("task {}: {}", task.id, measured.unwritten.as_ref()?)));
        // A part killed by the OOM killer may leave no trace in the exit code. On a shared kernel the victim may be
        // unrelated.
        if probes::memory_kills() > kills && (failure.is_some() || self.devices.exclusive) {
            let reason = failure.get_or_insert_with(|| format!("task {}: a process of it was killed", task.id));
            reason.push_str(": out of memory");
        }
        failure
    }

    /// The samples of a task's parts, and their ends after its last iteration.
    fn parts(&mut self, parts: Vec<PartFigures>, iteration: u32, last: bool) {
        for (part, values) in parts {
            match values {
                // It lacked a figure in an earlier iteration.
                Ok(_) if self.ended_parts.contains(&part) => {}
                Ok(values) => {
                    self.sample(&part, iteration, values);
                    if last {
                        self.ended_once(&part, Outcome::Ok);
                    }
                }
                Err(outcome) => self.ended_once(&part, outcome),
            }
        }
    }

    /// The command of a task, and how much of its output is kept.
    pub(super) fn job(&mut self, task: &Task) -> Result<Measurable> {
        let folder = &self.devices.test_folder;
        if let Some(job) = &task.fio {
            workload::forget(self.scratch.path());
            let path = self.new_fio_folder()?.join("job.fio");
            fs::write(&path, job).with_context(|| format!("cannot write {}", path.display()))?;
            let mut process = one_command(&[fio_command(&self.fio_folder)], &[])?;
            process.current_dir(folder);
            self.set_environment(&mut process);
            return Ok(Measurable {
                command: process,
                keep: Keep::All,
                of_suite: true,
                in_tree: false,
                unmounted: false,
                gets_scratch: false,
                stays: None,
            });
        }
        if task.workload.is_some() {
            let mut process = workload::process(task, self.cell, folder, self.scratch.path(), self.generation)?;
            self.generation = self.generation.saturating_add(workload::generations(task));
            self.set_environment(&mut process);
            return Ok(Measurable {
                command: process,
                keep: Keep::Ends,
                of_suite: true,
                in_tree: false,
                unmounted: false,
                gets_scratch: true,
                stays: None,
            });
        }
        let is_read = |part: &Task| part.printed.is_some() && part.part_of.as_ref() == Some(&task.id);
        let keep = if task.program.is_some() || self.cell.tasks.iter().any(is_read) { Keep::All } else { Keep::Ends };
        Ok(Measurable {
            command: self.shell(&task.run, folder),
            keep,
            of_suite: true,
            in_tree: true,
            unmounted: false,
            gets_scratch: false,
            stays: None,
        })
    }

    /// A new folder for fio's own files, in case a command changed the last one.
    fn new_fio_folder(&self) -> Result<&Path> {
        let folder = &*self.fio_folder;
        if let Err(error) = fs::remove_dir_all(folder).or_else(|_| fs::remove_file(folder))
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error).with_context(|| format!("cannot remove {}", folder.display()));
        }
        fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// The figures of a task that prints any; a sentence if they should exist and do not.
    fn figures(&mut self, task: &Task, iteration: u32, measured: &mut Measured) -> Result<Shared, String> {
        let cell = self.cell;
        let parts: Vec<&Task> = cell.tasks.iter().filter(|part| part.part_of.as_ref() == Some(&task.id)).collect();
        let program = task.program.as_deref().or(task.fio.as_ref().map(|_| "fio"));
        let found = if task.workload.is_some() {
            let found = workload::found(task, self.scratch.path())?;
            found.notes.into_iter().for_each(|note| self.note(note));
            let figures = found.figures?;
            self.output(task, iteration, OutputKind::Result, &found.document);
            // The process itself passed little but this document to write(2): rings and mappings bypass it.
            measured.put_written(found.written);
            figures
        } else if let Some(program) = program {
            let finished = &measured.finished;
            let printed = Printed { stdout: &finished.stdout, stderr: &finished.stderr };
            programs::parse(program, printed).map_err(|fault| format!("task {}: {fault}", task.id))?
        } else if parts.iter().any(|part| part.printed.is_some()) {
            let printed = Printed { stdout: &measured.finished.stdout, stderr: &measured.finished.stderr };
            let found = |part: &&Task| {
                let failed = |reason| Outcome::Failed { reason, detail: String::new() };
                let wanted = part.printed.as_ref()?;
                Some((part.id.clone(), programs::printed_figure(wanted, printed).map_err(failed)))
            };
            return Ok(Shared { parts: parts.iter().filter_map(found).collect(), ..Shared::default() });
        } else {
            return Ok(Shared::default());
        };
        for (figure, note) in found.iter().filter_map(|figure| Some((figure, figure.note.as_ref()?))) {
            self.note(format!("task {}, {}: {note}; it is judged by latency", task.id, figure.name));
        }
        figures::share(task, &parts, &found)
    }

    /// Sends a task's outcome, and the same for its parts.
    fn ended_with_parts(&mut self, task: &Task, outcome: &Outcome) {
        self.ended(&task.id, outcome.clone());
        let cell = self.cell;
        for part in cell.tasks.iter().filter(|part| part.part_of.as_ref() == Some(&task.id)) {
            let outcome = match outcome.clone() {
                // The output is stored only once.
                Outcome::Failed { reason, .. } => Outcome::Failed { reason, detail: String::new() },
                other => other,
            };
            self.ended_once(&part.id, outcome);
        }
    }

    /// Sends a part's outcome, unless an earlier iteration did.
    fn ended_once(&mut self, part: &str, outcome: Outcome) {
        if self.ended_parts.insert(part.to_owned()) {
            self.ended(part, outcome);
        }
    }

    pub(super) fn failed(&mut self, task: &Task, reason: String) -> Result<bool> {
        self.failed_saying(task, reason, "")
    }

    /// The task has failed, and a command of it printed this.
    fn failed_saying(&mut self, task: &Task, reason: String, said: &str) -> Result<bool> {
        let detail = self.detail(said);
        self.ended_with_parts(task, &Outcome::Failed { reason, detail });
        Ok(false)
    }

    /// The path of a disk whose server has ended: from then on it is not the lab's disk that answers there, if any
    /// does.
    pub(super) fn lost_disk(&self) -> Option<&str> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let looked = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let has_ended = |server: u32| {
            let server = Pid::from_raw(server as i32)?;
            waitid(WaitId::Pid(server), looked).ok()?
        };
        let lost = self.disks().into_iter().find(|disk| disk.server.and_then(has_ended).is_some());
        lost.map(|disk| disk.path.as_str())
    }
}
