//! `mountmark why`: runs cells of finished runs again with a profiler in the emulator, and tells where a task's time went.

mod cells;
mod choose;
mod largest;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_analyse::why::{Explanation, Kernels, Ledger, explain};
use mountmark_record::RunRecord;
use mountmark_report::{Answer, Why, words};

use super::run::{SILENCE_LIMIT, Stop};
use crate::common::{self, StoreOptions, WrongUse};
pub(super) use cells::Manner;
use cells::{Measured, Wanted, measure};
use choose::Chosen;
pub(super) use largest::{Explained, Outcome, explain as explain_largest};

/// Tell where a task's time went, and what makes one file system, kernel or option slower than another
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark why --task 016\n  mountmark why latest --task 016 --fs ext2,ext4\n  mountmark why 20260131-0902 --task mkfs --fs xfs --format json\n  mountmark why 20260131-0902 latest --task 016        what changed between two runs, such as of two kernels\n  mountmark why --task 016 --fs ext2 --format folded > ext2.folded\n\nThe guests run again with a profiler in the emulator, which executes nothing in them: their figures are the run's to the last bit, and it is checked that they are. A run that was made with --profile has its profiles in the store."
)]
pub struct Arguments {
    /// Name of the run, its first letters, or `latest`; with two runs, the change from the first to the second is explained
    #[arg(value_name = "RUN", default_value = "latest", num_args = 1..=2)]
    runs: Vec<String>,
    /// The task; also mkfs, mount, umount and fsck
    #[arg(long, value_name = "TASK")]
    task: String,
    /// Configurations of the run, separated by commas [default: the slowest and the fastest at this task]. Of two runs: one
    /// that both have, or one of each [default: the one that changed most]
    #[arg(long, value_name = "LIST")]
    fs: Vec<String>,
    /// Which repeat of the run, from 1 on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Leave out who calls a function, which takes less of this machine's time
    #[arg(long)]
    no_callers: bool,
    /// Manner side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// How to print: table, markdown, json, svg or folded, which flame-graph tools read [default: table]
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
    let runs: Vec<RunRecord> = arguments.runs.iter().map(|name| arguments.store.load(name)).collect::<Result<_>>()?;
    let (task, repeat) = (arguments.task.as_str(), arguments.repeat - 1);
    let (chosen, told) = match runs.as_slice() {
        [before, after] => {
            let (pair, told) = choose::pair([before, after], task, &arguments.fs, repeat)?;
            (pair.to_vec(), told)
        }
        runs => (choose::choose(&runs[0], task, &arguments.fs, repeat)?, None),
    };
    let store = arguments.store.open_read_only()?;
    let wanted = chosen.iter().map(|chosen| Wanted::of(&store, *chosen, vec![task]));
    let wanted: Vec<Wanted> = wanted.collect::<Result<_>>()?;
    let stop = Stop::on_signals()?;
    let guests = Manner {
        jobs: arguments.jobs,
        silence_limit: arguments.silence_limit,
        callers: !arguments.no_callers,
        stop: &stop,
    };
    let measured = || -> Result<Option<(Vec<Measured>, Option<Kernels>)>> {
        let Some(measured) = measure(&wanted, guests)? else { return Ok(None) };
        let kernels = match chosen.as_slice() {
            [one, other] if runs.len() == 2 && measured.iter().all(|measured| measured.fault.is_none()) => {
                kernels([one, other], guests)
            }
            _ => None,
        };
        Ok(Some((measured, kernels)))
    };
    let Some((measured, kernels)) = stop.or(measured(), None)? else { return Ok(stop.code()) };
    if let Some(fault) = measured.iter().find_map(|measured| measured.fault.as_ref()) {
        say!("mountmark: {fault}");
        return Ok(common::FAILED);
    }
    let mut ledgers: Vec<Ledger> = measured.iter().flat_map(|measured| measured.ledgers.clone()).collect();
    if let ([before, after], [one, other], [first, second]) =
        (runs.as_slice(), chosen.as_slice(), ledgers.as_mut_slice())
    {
        let releases = [one, other].map(|chosen| chosen.record.environment.kernel.as_str());
        let names = [one, other].map(|chosen| chosen.cell.configuration.name.as_str());
        [first.configuration, second.configuration] = words::sides([before, after], names, releases);
        if let Some(kernels) = &kernels {
            [*first, *second] = [kernels.ledger(0, first), kernels.ledger(1, second)];
        }
    }
    let explanations = explanations(&ledgers, kernels.as_ref());
    let why = Answer {
        run: &runs[0],
        later: runs.get(1),
        task,
        chosen: told.as_deref(),
        ledgers: &ledgers,
        explanations: &explanations,
        figures: measured.iter().filter_map(|measured| measured.figures).sum(),
        is_kept: measured.iter().any(|measured| measured.figures.is_none()),
        differs: measured.iter().find_map(|measured| measured.differs.as_deref()),
    };
    common::print(&common::written(&Why(&why), arguments.format.as_deref())?)?;
    Ok(common::DONE)
}

/// Each of these beside the fastest. `kernels` are those of the first two, if they differ.
pub(super) fn explanations<'a>(ledgers: &'a [Ledger], kernels: Option<&Kernels>) -> Vec<Explanation<'a>> {
    if let ([one, other], Some(_)) = (ledgers, kernels) {
        return vec![explain(one, other, kernels)];
    }
    let Some(fastest) = ledgers.iter().min_by_key(|ledger| ledger.total.durable) else { return Vec::new() };
    let others = ledgers.iter().filter(|ledger| !std::ptr::eq(*ledger, fastest));
    others.map(|ledger| explain(ledger, fastest, None)).collect()
}

/// The functions of the kernels of two cells; `None` if both have the same kernel.
fn kernels(chosen: [&Chosen; 2], guests: Manner) -> Option<Kernels> {
    let kernel = |chosen: &Chosen| {
        let environment = &chosen.record.environment;
        (environment.kernel.clone(), environment.kernel_image.clone())
    };
    if kernel(chosen[0]) == kernel(chosen[1]) {
        return None;
    }
    let functions = |chosen: &Chosen| -> Option<BTreeSet<String>> {
        // Without a kernel there is no list of its functions: the profiles have what was called.
        guests.profiler(chosen.run).ok()?.functions(chosen.cell, guests.stop).ok()?
    };
    let [one, other] = chosen.map(functions);
    Some(Kernels::new(one.zip(other).map(|(one, other)| [one, other])))
}
