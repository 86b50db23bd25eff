//! Input during measurement: events of an agent, output of programs, and what a drive says of itself.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use mountmark_agent::programs::{Printed, parse};
use mountmark_cells::PlannedCell;
use mountmark_lab::{Ended, OpenLab};
use mountmark_model::{Cell, Configuration, Environment, Event, Outcome, Program, Subject};
use mountmark_record::{CellRecord, CellToRecord, DeviceUse, Output, RunRecord, RunStatus};
use mountmark_run::schedule::{self, CellResult, Progress};

use super::{kept, show};
use crate::seeds;

/// A lab whose agent sends the same text in every cell.
struct Said<'a>(&'a str);

impl OpenLab for Said<'_> {
    fn title(&self) -> String {
        "said".into()
    }

    fn unavailable(&self, _: &Configuration) -> Result<Option<String>> {
        Ok(None)
    }

    fn lacks(&self, _: &Program) -> Result<Option<String>> {
        Ok(None)
    }

    fn prepare(&self, _: &Cell) -> Result<()> {
        Ok(())
    }

    fn run(&self, _: &Cell, _: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let mut outcome = Outcome::Failed { reason: "it ended".into(), detail: String::new() };
        // An invalid event ends the cell: only the agent sends events.
        for event in self.0.lines().map_while(|line| serde_json::from_str::<Event>(line).ok()) {
            if let Event::Ended { task: Subject::Cell, outcome: told } = &event {
                outcome = told.clone();
            }
            on_event(event);
        }
        Ok(Ended::Outcome { outcome, log: String::new() })
    }

    fn environment(&self, _: &Cell) -> Result<Environment> {
        Ok(Environment::default())
    }
}

/// Turns an agent's lines into a cell's result, stores it and shows it.
pub(super) fn events(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let plan = &kept::RECORD.plan;
    let mut record = RunRecord { status: RunStatus::Done, cells: Vec::new(), ..kept::RECORD.clone() };
    let (mut devices, mut outputs) = (Vec::new(), Vec::new());
    let never = AtomicBool::new(false);
    let ended = schedule::run(&Said(&text), &plan.cells[..2], 1, &never, &mut |step| {
        if let Progress::Ended(cell, result) = step {
            record.cells.push(kept_cell(cell, &result, &mut devices, &mut outputs));
        }
        Ok(())
    });
    black_box(ended.map_err(|error| format!("{error:#}")).is_ok());
    let (store, _file) = kept::empty_store();
    let run = store.begin_run(plan, &Environment::default(), "mountmark run").expect("a sound plan");
    // A cell rejected by the store is not shown.
    let mut sound = true;
    for cell in &record.cells {
        let of_cell = |devices: &[DeviceUse]| devices.iter().filter(|one| one.cell == cell.index).cloned().collect();
        let (devices, outputs): (Vec<DeviceUse>, Vec<Output>) =
            (of_cell(&devices), outputs.iter().filter(|one: &&Output| one.cell == cell.index).cloned().collect());
        let kept =
            store.record_cells(&run, &[CellToRecord { cell, outputs: &outputs, devices: &devices, profiles: None }]);
        sound &= kept.map_err(|error| error.to_string()).is_ok();
    }
    if sound {
        kept::read_back(&store);
        show::everything(&record, &devices, &outputs);
    }
}

/// Stores a cell like `mountmark run`.
fn kept_cell(
    cell: &PlannedCell,
    result: &CellResult,
    devices: &mut Vec<DeviceUse>,
    outputs: &mut Vec<Output>,
) -> CellRecord {
    let mut record = CellRecord::new(cell, &Environment { kernel: result.kernel.clone(), ..Environment::default() });
    record.outcome = result.outcome.clone();
    record.outcomes = result.tasks.clone();
    record.samples = result.samples.clone().into();
    record.notes = result.notes.clone();
    outputs.extend(result.outputs.iter().cloned());
    devices.extend(result.devices.iter().cloned());
    record
}

/// The first line is the program's name, the rest is its output.
pub(super) fn programs(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some((program, stdout)) = text.split_once('\n') else { return };
    match parse(program, Printed { stdout, stderr: "" }) {
        Ok(figures) => {
            let sound =
                |figure: &mountmark_agent::programs::Figure| figure.values.values().all(|value| value.is_finite());
            assert!(figures.iter().all(sound), "a figure that is no number: {figures:?}");
        }
        Err(error) => drop(black_box(error.to_string())),
    }
}

/// Typical events of a cell.
pub(super) fn streams() -> Vec<(String, Vec<u8>)> {
    let mut text = String::new();
    let record = &kept::RECORD;
    let mut say = |event: Event| text += &(serde_json::to_string(&event).expect("an event is JSON") + "\n");
    say(Event::Hello { protocol: mountmark_model::PROTOCOL, kernel: "6.12.1 #1 SMP".into(), memory: 1 << 31 });
    for sample in &record.cells[0].samples {
        let (task, iteration) = (sample.task.to_owned(), sample.iteration);
        say(Event::Stage { name: task.clone().into() });
        say(Event::Sample { task: task.clone(), iteration, values: [(sample.metric.to_owned(), sample.value)].into() });
        say(Event::Ended { task: task.into(), outcome: Outcome::Ok });
    }
    for output in kept::outputs() {
        let Output { task, iteration, kind, text, .. } = output;
        say(Event::Output { task, iteration, kind, text });
    }
    say(Event::Device { task: "touch".into(), iteration: 0, record: Box::new(kept::device()) });
    say(Event::Note { text: "tar is 1.35".into() });
    say(Event::Ended { task: Subject::Cell, outcome: Outcome::Ok });
    say(Event::Done);
    vec![("cell".into(), text.into())]
}

/// Real outputs of programs, each preceded by the program's name.
pub(super) fn outputs() -> Vec<(String, Vec<u8>)> {
    let files = seeds::kept("crates/agent/src/programs/data", "");
    let name = |file: &str| match file.split(['-', '.']).next() {
        Some("bonnie") => "bonnie++".to_owned(),
        other => other.unwrap_or_default().to_owned(),
    };
    files.into_iter().flat_map(|file| seeds::headed(&name(&file.0.clone()), vec![file])).collect()
}

/// What smartctl or nvme prints, which nobody may believe.
pub(super) fn health(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    for health in mountmark_lab::parsers::health(text) {
        assert!(health.temperature.is_none_or(|celsius| (-60..=200).contains(&celsius)), "{health:?}");
        black_box(health.or(Default::default()).is_known());
    }
}

/// What drives say.
pub(super) fn healths() -> Vec<(String, Vec<u8>)> {
    seeds::kept("crates/lab/src/host/device/samples", ".json")
}
