//! Runs the cells of a plan in a lab and stores the results, for a new or a resumed run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use mountmark_cells::{Plan, PlannedCell};
use mountmark_lab::OpenLab;
use mountmark_lab::emulator::Profiler;
use mountmark_model::{DISTURBED, Environment, Sample, counted};
use mountmark_record::{
    CellRecord, CellToRecord, Profiles, RunId, RunRecord, RunStatus, SampleReader, Store, Timestamp,
};
use mountmark_run::schedule::{self, CellResult};

use super::Stop;
use crate::common::{self, FormatOptions};
use crate::next;
use crate::progress::Progress;

/// The resources of a run, and how to show its result.
pub struct Session<'a> {
    pub lab: &'a dyn OpenLab,
    /// The lab's profiler, if cells run with it.
    pub profiler: Option<&'a Profiler>,
    /// Receives each cell when it ends.
    pub store: &'a Store,
    /// Number of cells at the same time.
    pub jobs: usize,
    /// Set when the user requests an end.
    pub stop: &'a Stop,
    /// Whether to print every step.
    pub verbose: bool,
    /// How to print the figures at the end.
    pub format: &'a FormatOptions,
    /// Number of times that the run was begun or resumed, this one included.
    pub sitting: u32,
}

impl Session<'_> {
    /// A new run of a plan that `command_line` stands for, not shown when it is complete; or an exit code.
    pub fn begin_unseen(&self, plan: &Plan, command_line: &str) -> Result<Result<RunRecord, u8>> {
        self.ended(&self.enter(plan, command_line)?, plan)
    }

    /// A new run in the store.
    fn enter(&self, plan: &Plan, command_line: &str) -> Result<RunId> {
        let environment = self.environment(plan, &plan.cells[0])?;
        Ok(self.store.begin_run(plan, &environment, command_line)?)
    }

    /// Runs a plan and stores it without printing it; `None` if the user requested an end.
    pub fn collect(&self, plan: &Plan) -> Result<Option<RunRecord>> {
        let id = self.enter(plan, &common::own_command_line())?;
        let is_complete = self.cells(&id, plan)?;
        self.store.end_run(&id, if is_complete { RunStatus::Done } else { RunStatus::Interrupted })?;
        Ok(if is_complete { Some(self.store.load(&id)?) } else { None })
    }

    /// Runs the missing cells of a run; returns the exit code. `force`: even if another process seems to do so.
    pub fn go_on(&self, id: &RunId, plan: &Plan, force: bool) -> Result<u8> {
        let there = self.store.resume_run(id, force)?;
        let mut rest = plan.clone();
        rest.cells.retain(|cell| !there.contains(&cell.index));
        self.run(id, &rest)
    }

    /// Runs the plan's cells, stores each as it ends, and prints the result.
    fn run(&self, id: &RunId, plan: &Plan) -> Result<u8> {
        match self.ended(id, plan)? {
            Ok(run) => show(&run, self.store, self.format),
            Err(code) => Ok(code),
        }
    }

    /// The same, printed only if the user requested an end, with an exit code.
    fn ended(&self, id: &RunId, plan: &Plan) -> Result<Result<RunRecord, u8>> {
        let mut result = if plan.is_open() { self.sample(id) } else { self.cells(id, plan) };
        let mut is_sure = true;
        // An exact clock would give the same figures again.
        if !plan.lab.capabilities().exact_clock && matches!(result, Ok(true)) {
            let run = self.store.load(id)?;
            let mut again = in_doubt(&run);
            self.within_budget(&run, &mut again);
            if !again.cells.is_empty() {
                let (cells, they) =
                    if again.cells.len() == 1 { ("cell has", "it is") } else { ("cells have", "they are") };
                say!(
                    "mountmark: {} {cells} figures that do not fit the others, or were disturbed; {they} run again",
                    again.cells.len()
                );
                let begin = Instant::now();
                let ran = self.cells(id, &again);
                self.also_used(id, begin.elapsed())?;
                match ran {
                    // The plan is complete all the same.
                    Ok(ended) => is_sure = ended,
                    Err(error) => result = Err(error),
                }
            }
        }
        let status = match &result {
            Ok(true) => RunStatus::Done,
            Ok(false) => RunStatus::Interrupted,
            Err(_) => RunStatus::Failed,
        };
        let ended = self.store.end_run(id, status);
        if result.is_err() {
            let resume = self.resume(id);
            say!(
                "mountmark: run {id} has failed and keeps what has ended; when its cause is removed, {resume} the others"
            );
        }
        // Of two errors, report the first.
        let complete = result?;
        ended?;
        let run = self.store.load(id)?;
        if complete && is_sure {
            return Ok(Ok(run));
        }
        if !run.cells.is_empty() {
            common::print(&self.format.render(&run)?)?;
        }
        if !complete {
            say!(
                "mountmark: interrupted; run {id} keeps {} of {}; {} the others",
                counted(run.cells.len(), "cell"),
                run.plan.cells.len(),
                self.resume(id)
            );
            return Ok(Err(self.stop.code()));
        }
        say!("mountmark: interrupted while cells were run again; run {id} has all that were planned");
        Ok(Err(self.stop.code()))
    }

    /// The environment of a cell, with this sitting under wall time.
    fn environment(&self, plan: &Plan, cell: &PlannedCell) -> Result<Environment> {
        let sitting = (!plan.lab.capabilities().exact_clock).then(|| mountmark_lab::sitting(self.sitting));
        Ok(Environment { sitting, ..self.lab.environment(&cell.whole())? })
    }

    /// The command that resumes a run, if it would run anything.
    fn resume(&self, id: &RunId) -> String {
        format!("{} resume {id}{} runs", next::program(), common::out_option(self.store.path()))
    }

    /// What the profiler recorded of a cell, with the names that tasks have in records; or why it is not to be kept.
    fn profiles(&self, plan: &Plan, cell: &PlannedCell) -> Result<Option<Profiles>, String> {
        let Some(profiler) = self.profiler else { return Ok(None) };
        let mut profiles = profiler.take(&cell.whole())?;
        profiles.iter_mut().for_each(|profile| profile.task = plan.recorded(cell, &profile.task));
        Profiles::pack(&profiles).map(Some).map_err(|error| error.to_string())
    }

    /// True if all ended, false if the user requested an end.
    fn cells(&self, id: &RunId, plan: &Plan) -> Result<bool> {
        let mut progress = Progress::new(plan, self.jobs, self.verbose);
        let result = self.measure(id, plan, &plan.cells, &mut progress);
        progress.finish();
        self.remark();
        self.stop.or(result, false)
    }

    /// Says what the lab remarks.
    pub(super) fn remark(&self) {
        for remark in self.lab.remarks() {
            say!("mountmark: {remark}");
        }
    }

    /// The same for some cells of a plan, with progress that goes on.
    pub(super) fn measure(
        &self,
        id: &RunId,
        plan: &Plan,
        cells: &[PlannedCell],
        progress: &mut Progress,
    ) -> Result<bool> {
        let (mut ended, mut since, mut reader) = (Vec::new(), Instant::now(), SampleReader::default());
        let ran = schedule::run(self.lab, cells, self.jobs, self.stop, &mut |step| {
            let mut is_measured = false;
            match step {
                schedule::Progress::Ended(cell, result) => {
                    let one = self.ended_cell(plan, cell, result, &mut reader)?;
                    is_measured = one.record.environment.taken.is_none();
                    if ended.is_empty() {
                        since = Instant::now();
                    }
                    ended.push(one);
                }
                step => progress.show(&step),
            }
            let is_time = ended.len() >= TOGETHER || !ended.is_empty() && since.elapsed() >= LONGEST;
            if is_measured || is_time { self.keep(id, &mut ended, progress) } else { Ok(()) }
        });
        let kept = self.keep(id, &mut ended, progress);
        ran.and_then(|complete| kept.map(|()| complete))
    }

    fn ended_cell(
        &self,
        plan: &Plan,
        cell: &PlannedCell,
        mut result: Box<CellResult>,
        reader: &mut SampleReader,
    ) -> Result<EndedCell> {
        name_recorded(plan, cell, &mut result);
        let mut record = record(cell, &mut result, self.environment(plan, cell)?, reader);
        let profiles = self.profiles(plan, cell).unwrap_or_else(|reason| {
            record.notes.push(format!("the cell's profiles are not kept: {reason}"));
            None
        });
        Ok(EndedCell { cell: cell.clone(), record, profiles, result })
    }

    /// Stores cells, and then says that they have ended.
    fn keep(&self, id: &RunId, ended: &mut Vec<EndedCell>, progress: &mut Progress) -> Result<()> {
        if ended.is_empty() {
            return Ok(());
        }
        let cells: Vec<CellToRecord> = ended.iter().map(EndedCell::to_record).collect();
        self.store.record_cells(id, &cells)?;
        for EndedCell { cell, result, .. } in ended.drain(..) {
            progress.show(&schedule::Progress::Ended(&cell, result));
        }
        Ok(())
    }
}

/// How many cells are stored at once, and how long the first of them waits. These are cells that a shelf has, which are taken
/// from there again if they are lost with this process: what was measured is stored as it ends.
const TOGETHER: usize = 100;
const LONGEST: Duration = Duration::from_millis(500);

/// A cell that has ended and is not stored yet.
struct EndedCell {
    cell: PlannedCell,
    record: CellRecord,
    profiles: Option<Profiles>,
    /// Without what the record has.
    result: Box<CellResult>,
}

impl EndedCell {
    fn to_record(&self) -> CellToRecord<'_> {
        let EndedCell { record: cell, result, profiles, .. } = self;
        CellToRecord { cell, outputs: &result.outputs, devices: &result.devices, profiles: profiles.as_ref() }
    }
}

/// Prints the findings of a complete run, its location and next steps; returns the exit code.
pub fn show(run: &RunRecord, store: &Store, format: &FormatOptions) -> Result<u8> {
    common::print(&format.render(run)?)?;
    let size = store.profile_size(&run.id)?;
    let profiles = if size.0 > 0 { format!(", with profiles of {size}") } else { String::new() };
    say!("mountmark: run {} is kept in {}{profiles}", run.id.as_str(), store.path().display());
    // Other formats are for programs.
    if matches!(format.format.as_deref(), None | Some("table")) {
        next::say_next(run, store);
    }
    Ok(if run.cells.iter().any(CellRecord::has_failure) { common::FAILED } else { common::DONE })
}

/// Cells with doubtful figures, and cells that the machine disturbed, to be run once more after the plan's own.
fn in_doubt(run: &RunRecord) -> Plan {
    let plan = &run.plan;
    let is_disturbed = |cell: &&CellRecord| cell.notes.iter().any(|note| note.starts_with(DISTURBED));
    let mut doubtful: BTreeSet<u32> = run.cells.iter().filter(is_disturbed).map(|cell| cell.index).collect();
    // On a machine that is always busy another try is disturbed too; the notes say it.
    if doubtful.len() * 2 > run.cells.len() {
        let (one, all) = (doubtful.len(), counted(run.cells.len(), "cell"));
        let (was, their) = if one == 1 { ("was", "its") } else { ("were", "their") };
        say!("mountmark: {one} of {all} {was} disturbed by other work of this machine; {their} notes say by what");
        doubtful.clear();
    }
    doubtful.extend(mountmark_findings::cells_in_doubt(run));
    // A resumed run may have measured some of them again already.
    let (own, again): (Vec<&CellRecord>, Vec<&CellRecord>) =
        run.cells.iter().partition(|cell| plan.is_planned(cell.index));
    let is_done = |cell: &&&CellRecord| again.iter().any(|done| what(done) == what(cell));
    let done: BTreeSet<u32> = own.iter().filter(is_done).map(|cell| cell.index).collect();
    let cells = plan.cells.iter().filter(|cell| doubtful.contains(&cell.index) && !done.contains(&cell.index));
    let next = run.cells.iter().map(|cell| cell.index + 1).max().unwrap_or(0).max(plan.cells.len() as u32);
    let cells = cells.zip(next..).map(|(cell, index)| PlannedCell { index, ..cell.clone() }).collect();
    Plan::with_cells((**plan).clone(), cells)
}

/// What a cell measured: names in records tell the point of a varied parameter.
fn what(cell: &CellRecord) -> (u32, &str, Option<&str>) {
    (cell.repeat, &cell.configuration, cell.samples.first().map(|sample| sample.task))
}

/// Gives tasks and steps the names that they have in records.
fn name_recorded(plan: &Plan, cell: &PlannedCell, result: &mut CellResult) {
    if cell.point.is_none() {
        return;
    }
    let samples = result.samples.iter_mut().map(|found| &mut found.task);
    let tasks = result.tasks.iter_mut().map(|found| &mut found.task);
    let outputs = result.outputs.iter_mut().map(|found| &mut found.task);
    let devices = result.devices.iter_mut().map(|found| &mut found.task);
    samples.chain(tasks).chain(outputs).chain(devices).for_each(|task| *task = plan.recorded(cell, task));
}

fn record(
    cell: &PlannedCell,
    result: &mut CellResult,
    mut environment: Environment,
    reader: &mut SampleReader,
) -> CellRecord {
    if !result.kernel.is_empty() {
        environment.name_kernel(&result.kernel);
    }
    let mut record = CellRecord::new(cell, &environment);
    record.started = timestamp(result.started);
    record.ended = timestamp(result.ended);
    record.outcome = result.outcome.clone();
    record.outcomes = result.tasks.clone();
    for Sample { task, iteration, metric, value } in std::mem::take(&mut result.samples) {
        reader.push((&task, iteration, &metric), value);
    }
    record.samples = reader.end();
    record.notes = std::mem::take(&mut result.notes);
    record.log = std::mem::take(&mut result.log);
    record
}

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp(time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |passed| passed.as_millis() as i64))
}
