//! Turns an agent's events into its cell's result, if they fit the plan.
//!
//! An agent runs beside commands by any author, so its events are checked like untrusted input: planned tasks only,
//! each figure once, finite numbers, an end for each task. One event that does not fit discredits all others: the cell
//! has failed, with a sentence, and none of its figures is kept. The run goes on.
//!
//! This file starts, waits for and stores nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;
use std::time::SystemTime;

use mountmark_lab::Ended;
use mountmark_model::protocol_task::{CAPACITY, FSCK, MKFS, MOUNT, UMOUNT};
use mountmark_model::{Cell, DeviceUse, Event, Metric, Outcome, Output, OutputKind, Sample, Subject, TaskOutcome};

/// Limit of an output in bytes: the agent's own limit, and the sentence between the halves.
const MOST_OUTPUT: usize = mountmark_agent::MOST_OUTPUT + 100;

/// A cell that has ended, with everything its agent reported.
#[derive(Clone, Debug)]
pub struct CellResult {
    pub index: u32,
    pub started: SystemTime,
    pub ended: SystemTime,
    pub outcome: Outcome,
    /// In the order they were taken.
    pub samples: Vec<Sample>,
    pub tasks: Vec<TaskOutcome>,
    /// Output of programs and results of the engine.
    pub outputs: Vec<Output>,
    /// Requests at the device under test.
    pub devices: Vec<DeviceUse>,
    pub notes: Vec<String>,
    /// Kernel release and version as the agent reported them.
    pub kernel: String,
    pub log: String,
    /// Wall seconds of the host until mkfs began.
    pub start_seconds: f64,
}

impl CellResult {
    /// A cell from which nothing was received.
    pub fn new(index: u32) -> CellResult {
        let now = SystemTime::now();
        CellResult {
            index,
            started: now,
            ended: now,
            outcome: Outcome::Ok,
            samples: Vec::new(),
            tasks: Vec::new(),
            outputs: Vec::new(),
            devices: Vec::new(),
            notes: Vec::new(),
            kernel: String::new(),
            log: String::new(),
            start_seconds: 0.0,
        }
    }
}

/// The plan of a task or a step, and the events received of it.
#[derive(Default)]
struct Planned {
    repeat: u32,
    /// Whether the plan leaves it out: it can end, but has no figures.
    is_left_out: bool,
    /// Whether it must have ended when the cell is done.
    must_end: bool,
    has_ended: bool,
    samples: HashSet<(u32, &'static str)>,
    sampled: BTreeSet<u32>,
    outputs: BTreeSet<(u32, OutputKind)>,
    devices: BTreeSet<u32>,
}

/// The name of a metric, if there is one. A cell has a hundred figures, and there are as many metrics.
fn known(metric: &str) -> Option<&'static str> {
    static KNOWN: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| Metric::ALL.iter().map(|metric| (metric.id, metric.id)).collect());
    KNOWN.get(metric).copied()
}

/// Whether these events are those of a whole cell; if not, why.
pub fn fits(cell: &Cell, events: &[Event]) -> Result<(), String> {
    let mut account = Account::new(cell);
    events.iter().for_each(|event| account.believe(event));
    match account.fault {
        Some(fault) => Err(fault),
        None if !account.done => Err("the agent ended before it was done".to_owned()),
        None => Ok(()),
    }
}

/// The events of a cell received so far.
pub struct Account {
    result: CellResult,
    planned: BTreeMap<String, Planned>,
    greeted: bool,
    /// Whether the agent reported that the cell as a whole has failed: then tasks may be missing.
    failed: bool,
    done: bool,
    fault: Option<String>,
}

impl Account {
    pub fn new(cell: &Cell) -> Account {
        // What somebody else has mounted is neither made nor checked.
        let steps: &[(&str, bool)] = match cell.is_mounted {
            true => &[],
            false => &[(MKFS, true), (MOUNT, true), (CAPACITY, false), (UMOUNT, true), (FSCK, true)],
        };
        let step = |must_end: bool| Planned { repeat: 1, must_end, ..Planned::default() };
        let steps = steps.iter().map(|(name, must_end)| ((*name).to_owned(), step(*must_end)));
        let whole = |id: &str| cell.tasks.iter().find(|task| task.id == id);
        let tasks = cell.tasks.iter().map(|task| {
            // A part has as many samples as the task whose part it is.
            let ran = task.part_of.as_deref().and_then(whole).unwrap_or(task);
            let planned = Planned {
                repeat: ran.repeat,
                is_left_out: task.skip.is_some() || ran.skip.is_some(),
                must_end: true,
                ..Planned::default()
            };
            (task.id.clone(), planned)
        });
        Account {
            result: CellResult::new(cell.index),
            planned: steps.chain(tasks).collect(),
            greeted: false,
            failed: false,
            done: false,
            fault: None,
        }
    }

    /// Stores an event, unless it or an earlier one cannot be true.
    pub fn take(&mut self, event: Event) {
        self.believe(&event);
        if self.fault.is_none() {
            self.store(event);
        }
    }

    fn believe(&mut self, event: &Event) {
        if self.fault.is_none()
            && let Err(fault) = self.check(event)
        {
            self.fault = Some(fault);
        }
    }

    /// In seconds: wall time of the host until mkfs began.
    pub fn set_start(&mut self, seconds: f64) {
        self.result.start_seconds = seconds;
    }

    /// The cell's result, once its lab has reported its end; `None` if it was interrupted.
    pub fn finish(mut self, ended: Ended) -> Option<CellResult> {
        let (outcome, log) = match ended {
            Ended::Interrupted => return None,
            Ended::Refused { reason, log } => {
                self.fault = Some(reason);
                (Outcome::Ok, log)
            }
            Ended::Outcome { outcome, log } => (outcome, log),
        };
        let mut result = self.result;
        result.outcome = outcome;
        if let Some(fault) = self.fault {
            let reason = format!("none of its figures is kept, since they cannot be believed: {fault}");
            result = CellResult {
                started: result.started,
                start_seconds: result.start_seconds,
                outcome: Outcome::Failed { reason, detail: String::new() },
                ..CellResult::new(result.index)
            };
        } else if result.outcome.is_ok() && !self.done {
            let reason = "the agent ended before it was done".to_owned();
            result.outcome = Outcome::Failed { reason, detail: String::new() };
        }
        Some(CellResult { log, ended: SystemTime::now(), ..result })
    }

    /// Says why no agent that keeps to the protocol can say this now.
    fn in_turn(&self, event: &Event) -> Result<(), String> {
        // A lab adds its own remarks, and an agent may fail before it can identify itself.
        let may_come_first = match event {
            Event::Hello { .. } | Event::Note { .. } => true,
            Event::Ended { task, .. } => *task == Subject::Cell,
            _ => false,
        };
        if self.done && !matches!(event, Event::Note { .. }) {
            return Err("the agent went on after its end".to_owned());
        }
        if !self.greeted && !may_come_first {
            return Err("the agent spoke before it said who it is".to_owned());
        }
        if self.greeted && matches!(event, Event::Hello { .. }) {
            return Err("the agent said twice who it is".to_owned());
        }
        Ok(())
    }

    /// Says why an event cannot be true.
    fn check(&mut self, event: &Event) -> Result<(), String> {
        self.in_turn(event)?;
        match event {
            Event::Hello { .. } => self.greeted = true,
            Event::Stage { .. } | Event::Note { .. } => {}
            Event::Sample { task, iteration, values } => self.sample(task, *iteration, values)?,
            Event::Output { task, iteration, kind, text } => {
                let planned = self.open(task, *iteration, "output")?;
                if text.len() > MOST_OUTPUT {
                    return Err(format!("an output of task {task} is {} bytes long", text.len()));
                }
                if !planned.outputs.insert((*iteration, *kind)) {
                    return Err(format!("the {} of task {task} came twice", kind.word()));
                }
            }
            Event::Device { task, iteration, .. } => {
                let planned = self.open(task, *iteration, "device record")?;
                if !planned.devices.insert(*iteration) {
                    return Err(format!("the device record of task {task} came twice"));
                }
            }
            Event::Ended { task: Subject::Cell, outcome } => self.failed |= outcome.is_failed(),
            Event::Ended { task: Subject::Task(task), outcome } => self.end(task, outcome)?,
            Event::Done => {
                self.done = true;
                let open = self.planned.iter().find(|(_, planned)| planned.must_end && !planned.has_ended);
                if let (Some((task, _)), false) = (open, self.failed) {
                    return Err(format!("the agent was done and had not said how task {task} ended"));
                }
            }
        }
        Ok(())
    }

    fn store(&mut self, event: Event) {
        let result = &mut self.result;
        let cell = result.index;
        match event {
            Event::Hello { kernel, .. } => result.kernel = kernel,
            Event::Note { text } => result.notes.push(text),
            Event::Sample { task, iteration, values } => {
                let sample = |(metric, value)| Sample { task: task.clone(), iteration, metric, value };
                result.samples.extend(values.into_iter().map(sample));
            }
            Event::Output { task, iteration, kind, text } => {
                result.outputs.push(Output { cell, task, iteration, kind, text });
            }
            Event::Device { task, iteration, record } => {
                result.devices.push(DeviceUse { cell, task, iteration, record: *record });
            }
            Event::Ended { task: Subject::Task(task), outcome } => result.tasks.push(TaskOutcome { task, outcome }),
            // Progress is not stored.
            Event::Stage { .. } | Event::Ended { task: Subject::Cell, .. } | Event::Done => {}
        }
    }

    /// The plan of a task that may report `what` now.
    fn open(&mut self, task: &str, iteration: u32, what: &str) -> Result<&mut Planned, String> {
        let Some(planned) = self.planned.get_mut(task) else {
            return Err(format!("a {what} came of task {task:?}, which is not in the plan"));
        };
        if planned.is_left_out {
            return Err(format!("a {what} came of task {task}, which the plan leaves out"));
        }
        if planned.has_ended {
            return Err(format!("a {what} of task {task} came after its end"));
        }
        if iteration >= planned.repeat {
            return Err(format!(
                "a {what} of task {task} came for time {}, and the plan has {}",
                u64::from(iteration) + 1,
                planned.repeat
            ));
        }
        Ok(planned)
    }

    fn sample(&mut self, task: &str, iteration: u32, values: &BTreeMap<String, f64>) -> Result<(), String> {
        let planned = self.open(task, iteration, "sample")?;
        // Capacity is sampled twice, each time with other figures.
        if !planned.sampled.insert(iteration) && task != CAPACITY {
            return Err(format!("a second sample came of task {task}, time {}", iteration + 1));
        }
        for (metric, value) in values {
            let Some(metric) = known(metric) else {
                return Err(format!("a sample of task {task} has the metric {metric:?}, which there is not"));
            };
            if !value.is_finite() || *value < 0.0 {
                return Err(format!("{metric} of task {task} is {value}, which it cannot be"));
            }
            if !planned.samples.insert((iteration, metric)) {
                return Err(format!("{metric} of task {task} came twice"));
            }
        }
        Ok(())
    }

    fn end(&mut self, task: &str, outcome: &Outcome) -> Result<(), String> {
        let Some(planned) = self.planned.get_mut(task) else {
            return Err(format!("task {task:?} ended, which is not in the plan"));
        };
        if planned.has_ended {
            return Err(format!("task {task} ended twice"));
        }
        if outcome.is_ok() && (planned.is_left_out || planned.sampled.len() < planned.repeat as usize) {
            return Err(format!(
                "task {task} was done, and samples of it came for {} of {} times",
                planned.sampled.len(),
                planned.repeat
            ));
        }
        planned.has_ended = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
