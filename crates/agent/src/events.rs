//! Events that the agent sends.

use std::collections::BTreeMap;
use std::path::Path;

use mountmark_model::{DeviceRecord, Event, Outcome, OutputKind, Stage, Subject, Task};

use super::command::Finished;
use super::{Agent, cause, figures};

/// Limit in bytes of a cell's stored outputs. The host refuses a cell that sends much more.
const MOST_PRINTED: usize = 32 << 20;

impl Agent<'_> {
    /// A failure's detail: the command's stderr and the kernel's messages.
    pub(super) fn detail(&self, stderr: &str) -> String {
        let mut detail = stderr.to_owned();
        if self.devices.exclusive {
            let tail = mountmark_job::kernel_log::telling_lines(&kernel_log(), 20);
            if !tail.is_empty() {
                detail = format!("{detail}\nkernel log:\n{tail}");
            }
        }
        detail
    }

    /// Why `what` failed, if it did.
    pub(super) fn failure(&self, what: &str, finished: &Finished) -> Option<String> {
        Some(self.explained(finished.failure(what)?))
    }

    /// A reason, with the kernel's own for a mount that failed or a damaged file system: mount(8) has several in one
    /// sentence, and errno(3) tells nothing of damage.
    pub(super) fn explained(&self, reason: String) -> String {
        if !self.devices.exclusive {
            return reason;
        }
        match cause::of_kernel(&reason, Path::new(&self.devices.test.path), kernel_log) {
            Some(told) => format!("{}. The kernel says: {told}", reason.trim_end_matches('.')),
            None => reason,
        }
    }

    pub(super) fn stage(&mut self, name: Stage) {
        (self.emit)(Event::Stage { name });
    }

    pub(super) fn sample(&mut self, task: &str, iteration: u32, mut values: BTreeMap<String, f64>) {
        values.retain(|metric, value| {
            let is_figure = value.is_finite() && *value >= 0.0;
            if !is_figure {
                self.note(format!("{metric} of task {task} came out as {value}, which is left out"));
            }
            is_figure
        });
        (self.emit)(Event::Sample { task: task.to_owned(), iteration, values });
    }

    pub(super) fn device(&mut self, task: &str, iteration: u32, record: DeviceRecord) {
        (self.emit)(Event::Device { task: task.to_owned(), iteration, record: Box::new(record) });
    }

    pub(super) fn ended(&mut self, task: &str, outcome: Outcome) {
        (self.emit)(Event::Ended { task: Subject::Task(task.to_owned()), outcome });
    }

    pub(super) fn cell_ended(&mut self, outcome: Outcome) {
        (self.emit)(Event::Ended { task: Subject::Cell, outcome });
    }

    pub(super) fn output(&mut self, task: &Task, iteration: u32, kind: OutputKind, text: &str) {
        let Some(event) = figures::output(task, iteration, kind, text) else { return };
        self.printed += text.len().min(figures::MOST_OUTPUT);
        if self.printed > MOST_PRINTED {
            let most = MOST_PRINTED >> 20;
            return self.note(format!("what programs print is kept up to {most} MiB a cell; the rest is left out"));
        }
        (self.emit)(event);
    }

    /// What a task's command printed.
    pub(super) fn outputs(&mut self, task: &Task, iteration: u32, finished: &Finished) {
        for (kind, text) in finished.outputs() {
            self.output(task, iteration, kind, text);
        }
    }

    /// Sends a remark once, however often a task is repeated.
    pub(super) fn note(&mut self, text: String) {
        if self.noted.insert(text.clone()) {
            (self.emit)(Event::Note { text });
        }
    }
}

/// The kernel's message buffer, as in dmesg.
fn kernel_log() -> String {
    const READ_ALL: libc::c_int = 3;
    let mut buffer = vec![0u8; 1 << 18];
    // SAFETY: the buffer is valid for the length given.
    let read = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), buffer.len() as libc::c_int) };
    buffer.truncate(usize::try_from(read).unwrap_or(0));
    String::from_utf8_lossy(&buffer).into_owned()
}
