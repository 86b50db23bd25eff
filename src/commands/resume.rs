//! `mountmark resume`: the cells that an interrupted run lacks.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_model::{Environment, Lab as LabName, Plan};
use mountmark_record::{RunRecord, RunStatus, Store};

use super::run::{LabOptions, SILENCE_LIMIT, Session, Stop, jobs};
use crate::common::{FormatOptions, StoreOptions, WrongUse};

/// Run the cells that an interrupted run lacks
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark resume\n  mountmark resume 20260401-101500-k3f9 --jobs 1\n\nOnly runs of the virtual lab can be resumed: its figures do not depend on when they are taken. Cells that failed are kept as they are."
)]
pub struct Arguments {
    /// The run: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    run: String,
    /// Guests side by side [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Say every step of every cell, with the wall time since the start
    #[arg(long, short)]
    verbose: bool,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    silence_limit: u64,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    arguments.format.check()?;
    if arguments.jobs == Some(0) {
        bail!(WrongUse("--jobs 0: give at least 1".into()));
    }
    // Found before the store is opened to write, so that a name that is wrong makes no store.
    let run = arguments.store.load(&arguments.run)?;
    let rest = rest(&run)?;
    let store = arguments.store.open()?;
    let stop = Stop::on_signals()?;
    stop.or(go_on(&arguments, &run, &rest, &store, &stop))
}

fn go_on(arguments: &Arguments, run: &RunRecord, rest: &Plan, store: &Store, stop: &Stop) -> Result<u8> {
    let lab = LabOptions::of(rest, arguments.silence_limit).open(&rest.machine)?;
    for cell in &rest.cells {
        if stop.load(std::sync::atomic::Ordering::SeqCst) {
            return Ok(stop.code());
        }
        lab.prepare(cell)?;
    }
    // Each configuration has an image of its own; the run's environment is that of its first cell.
    let first = run.plan.cells.first().map(|cell| (cell, &run.environment));
    let recorded = run.cells.iter().filter_map(|record| {
        let cell = run.plan.cells.iter().find(|cell| cell.index == record.index)?;
        Some((cell, &record.environment))
    });
    let mut seen = BTreeSet::new();
    for (cell, then) in first.into_iter().chain(recorded) {
        if seen.insert(&cell.configuration.name)
            && let Some(difference) = difference(then, &lab.environment(cell)?)
        {
            bail!(
                "run {} cannot be resumed: {difference}. Its figures and those of new cells could not be compared; run \
                 it anew: {}",
                run.id.as_str(),
                run.command_line
            );
        }
    }
    let jobs = jobs(arguments.jobs, rest);
    let (verbose, format) = (arguments.verbose, &arguments.format);
    Session { lab: lab.as_ref(), store, jobs, stop, verbose, format }.go_on(&run.id, rest)
}

/// The plan with the cells that the run lacks; refuses a run that lacks none, and one that cannot go on.
fn rest(run: &RunRecord) -> Result<Plan> {
    let id = run.id.as_str();
    if run.plan.lab != LabName::Virtual {
        bail!(WrongUse(format!(
            "run {id} measured wall time: cells of another hour could not be compared with it; only runs of the virtual \
             lab can be resumed"
        )));
    }
    let there: BTreeSet<u32> = run.cells.iter().map(|cell| cell.index).collect();
    let mut rest = run.plan.clone();
    rest.cells.retain(|cell| !there.contains(&cell.index));
    if run.status == RunStatus::Running {
        bail!(WrongUse(format!("run {id} is under way")));
    }
    if rest.cells.is_empty() {
        bail!(WrongUse(format!("run {id} is complete: all of its {} cells have ended", run.plan.cells.len())));
    }
    let tars = rest.cells.iter().filter_map(|cell| cell.second_disk.as_ref()).map(|medium| &medium.tar);
    if let Some(tar) = tars.into_iter().find(|tar| !Path::new(tar).is_file()) {
        bail!("run {id} cannot be resumed: its corpus {tar} is gone; run it anew: {}", run.command_line);
    }
    Ok(rest)
}

/// What in two environments may change figures.
fn difference(then: &Environment, now: &Environment) -> Option<String> {
    let pairs = [("kernel", &then.kernel, &now.kernel), ("emulator", &then.emulator, &now.emulator)];
    for (what, then, now) in pairs {
        if then != now {
            return Some(format!("its {what} was {then}, and is {now} now"));
        }
    }
    if !then.kernel_image.is_empty() && then.kernel_image != now.kernel_image {
        return Some(format!("its kernel {} was built again since", now.kernel));
    }
    // The image holds this program and the packages.
    (then.image != now.image).then(|| {
        format!("its guests ran another build of mountmark ({}) or of its packages than this one", then.mountmark)
    })
}
