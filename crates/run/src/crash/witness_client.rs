//! Typed questions to a witness, on the host.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mountmark_crash::application::{Application, Asked};
use mountmark_crash::campaign::Seen;
use mountmark_crash::states::{Device, Extent};
use mountmark_crash::trace::{Event, Policy, Request, Trace};
use mountmark_crash::workload::Workload;
use mountmark_guest::questions::{Made, Question, Recorded, Rehearsed};
use mountmark_lab::emulator::{Answer, Witness, Witnesses};
use mountmark_model::{Bytes, Cell, Configuration, Disk};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A guest that takes longer for a recording or a file system has hung: instructions.
const LONG: u64 = 60_000_000_000;
/// The same for one image; most take some ten million.
const LOOK: u64 = 4_000_000_000;
/// Instructions of a second of the guest's clock.
const SECOND: u64 = 1_000_000_000;
/// How long after its deadline a guest may finish what it is asked: little beside the time of most answers.
const GRACE: Duration = Duration::from_secs(5);
/// Memory of a witness, in bytes.
const RAM: Bytes = Bytes(512 << 20);

/// The cell of a witness: a file system, its disk, and no tasks; with the programs of applications.
pub fn cell(configuration: &Configuration, disk: &Disk, size: Bytes, workloads: &[Workload]) -> Cell {
    let applications = || workloads.iter().filter_map(|workload| workload.application.as_deref());
    let packages = applications().flat_map(|application| &application.packages);
    let tools = applications().flat_map(|application| &application.tools);
    let whole = applications().flat_map(|application| &application.whole_packages);
    Cell {
        index: 0,
        repeat: 0,
        point: None,
        target: None,
        is_mounted: false,
        configuration: configuration.clone(),
        seed: 1,
        disk: disk.clone(),
        disk_size: size,
        on_loop: false,
        second_disk: None,
        source_prepare: None,
        ram: RAM,
        parameters: Default::default(),
        pause_seconds: 0.0,
        conditions: None,
        fill: None,
        age: None,
        tasks: Vec::new(),
        tools: together(&configuration.filesystem.tools, tools),
        packages: together(&configuration.filesystem.packages, packages),
        whole_packages: together(&[], whole),
        root: None,
        modules: Vec::new(),
    }
}

/// Each name once, in their order.
fn together<'n>(own: &'n [String], others: impl Iterator<Item = &'n String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in own.iter().chain(others) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

/// A witness with a file system of this configuration.
pub struct WitnessClient<'a> {
    lab: &'a Witnesses,
    cell: &'a Cell,
    stop: &'a AtomicBool,
    witness: Witness,
    /// What the disk holds instead of a new file system, after [`WitnessClient::place`]: an image, or zeros.
    placed: Option<Option<PathBuf>>,
    /// After this moment nothing new is asked.
    deadline: Option<Instant>,
}

/// What became of a question.
pub enum Reply<T> {
    Done(T),
    /// The guest is gone: what it had answered, and why.
    Gone {
        before: T,
        reason: String,
        log: String,
    },
    /// The user stopped it, or it was too late: see [`WitnessClient::is_stopped`].
    Interrupted,
}

impl<'a> WitnessClient<'a> {
    /// Boots a guest and makes its file system. `None` if `stop` was set first.
    pub fn start(lab: &'a Witnesses, cell: &'a Cell, stop: &'a AtomicBool) -> Result<Option<WitnessClient<'a>>> {
        let Some(witness) = lab.start(cell, stop)? else { return Ok(None) };
        let mut talk = WitnessClient { lab, cell, stop, witness, placed: None, deadline: None };
        match talk.ask::<Made>(&Question::Make, LONG)? {
            Reply::Done(made) => match made.into_iter().next().and_then(|made| made.error) {
                Some(error) => bail!("{}: {error}", cell.configuration.name),
                None => Ok(Some(talk)),
            },
            Reply::Gone { reason, log, .. } => bail!("{}: mkfs: {reason}\n{log}", cell.configuration.name),
            Reply::Interrupted => Ok(None),
        }
    }

    /// Starts anew after the guest is gone; false if `stop` was set first, or it is too late.
    pub fn restart(&mut self) -> Result<bool> {
        if self.is_late() {
            return Ok(false);
        }
        let Some(fresh) = WitnessClient::start(self.lab, self.cell, self.stop)? else { return Ok(false) };
        let WitnessClient { placed, deadline, .. } = std::mem::replace(self, fresh);
        deadline.into_iter().for_each(|deadline| self.end_at(deadline));
        if let Some(image) = placed {
            self.place(image.as_deref())?;
        }
        Ok(true)
    }

    /// After this moment nothing is asked any more; soon after it the guest is ended, whatever it does.
    pub fn end_at(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
        self.witness.end_at(deadline + GRACE);
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// Whether it was the user who stopped it.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Size of the disk in bytes, of several disks the sum.
    pub fn disk_size(&self) -> u64 {
        self.cell.disk_size.0 * u64::from(self.cell.configuration.disks())
    }

    /// Makes an image the base, or zeros. What it lacks up to the disk's end is zeros too.
    pub fn place(&mut self, image: Option<&Path>) -> Result<()> {
        const PIECE: u64 = 1 << 20;
        let shown = || image.map_or_else(String::new, |image| image.display().to_string());
        let file = image.map(mountmark_input::open).transpose().with_context(shown)?;
        let (mut piece, mut at) = (vec![0; PIECE as usize], 0);
        while at < self.disk_size() {
            let length = PIECE.min(self.disk_size() - at) as usize;
            let mut held = 0;
            while let Some(file) = file.as_ref().filter(|_| held < length) {
                match file.read_at(&mut piece[held..length], at + held as u64).with_context(shown)? {
                    0 => break,
                    read => held += read,
                }
            }
            piece[held..length].fill(0);
            self.witness.write(at, &piece[..length])?;
            at += length as u64;
        }
        self.placed = Some(image.map(Path::to_owned));
        Ok(())
    }

    /// Runs the first steps of an application, and asks its check when nothing is lost.
    pub fn rehearse(
        &mut self,
        application: &Application,
        steps: u16,
        asked: Asked,
    ) -> Result<Reply<Option<Rehearsed>>> {
        let question = Question::Rehearse { application: application.clone(), steps, asked };
        Ok(self.ask(&question, LONG)?.map(|lines| lines.into_iter().next()))
    }

    /// Runs a workload and returns what the disk saw, with the data.
    pub fn record(
        &mut self,
        workload: &Workload,
        policy: Policy,
        device: Device,
        idle: u32,
    ) -> Result<Reply<Option<Recorded>>> {
        let question = Question::Record { workload: workload.clone(), policy, device, idle };
        self.recorded(&question)
    }

    /// Shows images, in which an application's check may run, without the disk that is gone; what each holds, in their order.
    pub fn look(
        &mut self,
        states: Vec<Vec<Extent>>,
        asked: Option<Asked>,
        gone: Option<u32>,
    ) -> Result<Reply<Vec<Seen>>> {
        let check = asked.as_ref().map_or(0, |asked| SECOND * u64::from(asked.limit));
        let limit = (LOOK + check) * states.len() as u64;
        self.ask(&Question::Look { states, asked, gone }, limit)
    }

    /// Lets the file system recover an image, and returns what the disk saw, with the data of the recording before it.
    pub fn recover(&mut self, state: &[Extent], policy: Policy, device: Device) -> Result<Reply<Option<Recorded>>> {
        let question = Question::Recover { state: state.to_vec(), policy, device };
        self.recorded(&question)
    }

    /// Gives a fresh guest the data of a recording that another one made.
    pub fn replay(&self, data: &[u8]) -> Result<()> {
        self.witness.set_log(data)
    }

    /// Bytes of the base.
    pub fn base(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.witness.read(offset, bytes)
    }

    /// Asks for a recording, and fetches its data.
    fn recorded(&mut self, question: &Question) -> Result<Reply<Option<Recorded>>> {
        let mut reply = self.ask::<Recorded>(question, LONG)?.map(|lines| lines.into_iter().next());
        if let Reply::Done(Some(recorded)) = &mut reply {
            recorded.trace.data = self.witness.log(logged(&recorded.trace))?;
        }
        Ok(reply)
    }

    fn ask<T: DeserializeOwned>(&mut self, question: &impl Serialize, limit: u64) -> Result<Reply<Vec<T>>> {
        let parse = |lines: Vec<String>| -> Result<Vec<T>> {
            let read = |line: &String| serde_json::from_str(line).with_context(|| format!("the guest said {line:?}"));
            lines.iter().map(read).collect()
        };
        if self.is_late() {
            return Ok(Reply::Interrupted);
        }
        Ok(match self.witness.ask(&serde_json::to_vec(question)?, limit, self.stop)? {
            Answer::Whole(lines) => Reply::Done(parse(lines)?),
            Answer::Broken { lines, reason, log } => Reply::Gone { before: parse(lines)?, reason, log },
            Answer::Interrupted => Reply::Interrupted,
        })
    }
}

impl<T> Reply<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Reply::Done(value) => Reply::Done(change(value)),
            Reply::Gone { before, reason, log } => Reply::Gone { before: change(before), reason, log },
            Reply::Interrupted => Reply::Interrupted,
        }
    }
}

/// Bytes of data that a recording has.
fn logged(trace: &Trace) -> u64 {
    let ends = trace.events.iter().filter_map(|event| match event {
        Event::Sent { request: Request::Write { length, data, .. }, .. } => Some(data + length),
        _ => None,
    });
    ends.max().unwrap_or(0)
}
