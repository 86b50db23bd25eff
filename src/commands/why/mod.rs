//! `mountmark why`: runs cells of a finished run again with a profiler in the emulator, and tells where a task's time went.

mod cells;
mod choose;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_analyse::why::{Explanation, Ledger, explain};
use mountmark_lab::emulator::Profiler;
use mountmark_report::Why;

use super::run::{LabOptions, SILENCE_LIMIT, Stop};
use crate::common::{self, StoreOptions, WrongUse};
use cells::Measured;
use choose::Chosen;

/// Tell where a task's time went, and what makes one file system slower than another
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark why --task 016\n  mountmark why latest --task 016 --fs ext2,ext4\n  mountmark why 20260131-0902 --task mkfs --fs xfs --format json\n  mountmark why --task 016 --fs ext2 --format folded > ext2.folded\n\nThe guests run again with a profiler in the emulator, which executes nothing in them: their figures are the run's to the last bit, and it is checked that they are."
)]
pub struct Arguments {
    /// Name of the run, its first letters, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// The task; also mkfs, mount, umount and fsck
    #[arg(long, value_name = "TASK")]
    task: String,
    /// Configurations of the run, separated by commas [default: the slowest and the fastest at this task]
    #[arg(long, value_name = "LIST")]
    fs: Vec<String>,
    /// Which repeat of the run, from 1 on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Guests side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// How to print: table, markdown, json or folded, which flame-graph tools read [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    silence_limit: u64,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    common::format_of::<Why>(arguments.format.as_deref())?;
    if arguments.jobs == 0 {
        bail!(WrongUse("--jobs: at least one guest must run".into()));
    }
    let run = arguments.store.load(&arguments.run)?;
    let chosen = choose::choose(&run, &arguments.task, &arguments.fs, arguments.repeat - 1)?;
    let cells: Vec<_> = chosen.iter().map(|chosen| chosen.cell.clone()).collect();
    super::resume::check_inputs(&run, &cells, "cannot be explained")?;
    let stop = Stop::on_signals()?;
    let measured = || -> Result<Option<Vec<Measured>>> {
        let options = LabOptions::of(&run.plan, arguments.silence_limit).options(&run.plan.machine);
        let profiler = Profiler::open(options)?;
        cells::measure(&profiler, &chosen, &arguments.task, arguments.jobs, &stop)
    };
    let Some(measured) = stop.or(measured(), None)? else { return Ok(stop.code()) };
    if let Some(fault) = measured.iter().find_map(|measured| measured.fault.as_ref()) {
        say!("mountmark: {fault}");
        return Ok(common::FAILED);
    }
    let ledgers: Vec<Ledger> = measured.iter().filter_map(|measured| measured.ledger.clone()).collect();
    let fastest = ledgers.iter().min_by_key(|ledger| ledger.total.durable);
    let others = |fastest| ledgers.iter().filter(move |ledger| !std::ptr::eq(*ledger, fastest));
    let explanations: Vec<Explanation> =
        fastest.into_iter().flat_map(|fastest| others(fastest).map(move |ledger| explain(ledger, fastest))).collect();
    let why = Why {
        run: &run,
        task: &arguments.task,
        ledgers: &ledgers,
        explanations: &explanations,
        figures: measured.iter().map(|measured| measured.figures).sum(),
        differs: measured.iter().find_map(|measured| measured.differs.as_deref()),
    };
    common::print(&common::written(&why, arguments.format.as_deref())?)?;
    Ok(common::DONE)
}
