//! `mountmark why`: runs cells of finished runs again with a profiler in the emulator, and tells where a task's time went.

mod cells;
mod choose;
mod largest;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_findings::why::{Answer, Explanation, Kernels, Ledger, Why, explain};
use mountmark_lab::SILENCE_LIMIT;
use mountmark_record::RunRecord;

use super::run::Stop;
use crate::common::{self, StoreOptions, WrongUse};
use crate::work_options::WorkOptions;
pub(super) use cells::{ProfileOptions, Wanted, measure};
use choose::Chosen;
pub(super) use choose::{one, pair};
pub(super) use largest::{Explained, Outcome, explain as explain_largest};

/// Show where a task's time went, and what makes one file system, kernel or option slower than another
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark why --task 016\n  mountmark why latest --task 016 --fs ext2,ext4\n  mountmark why 20260131-0902 --task mkfs --fs xfs --format json\n  mountmark why 20260131-0902 latest --task 016        what changed between two runs, such as of two kernels\n  mountmark why --task 016 --fs ext2 --format folded > ext2.folded\n  mountmark why --fs ext4,xfs --with ./mytool -- ./mytool --all     measure a command, and explain it\n\nThe guests run again with a profiler in the emulator, which executes nothing in them. `why` checks that their figures equal the run's to the last bit. A run that was made with --profile has its profiles in the store. The profiler needs QEMU 10 or newer.",
    mut_arg("suite", |suite| suite.help("Measure this suite and explain it, instead of a run: a name, the path of a TOML file of your own, or a job file of fio (FILE.fio, .job or .ini)"))
)]
pub struct Arguments {
    /// Name of the run, its first letters, or `latest`, and RUN#SIDE of one that compares; with two runs, the change from
    /// the first to the second is explained [default: latest]
    #[arg(value_name = "RUN", num_args = 0..=2)]
    runs: Vec<String>,
    /// The task; also mkfs, mount, umount and fsck [default: the command, where one is measured]
    #[arg(long, value_name = "TASK", required_unless_present = "command")]
    task: Option<String>,
    /// Configurations of the run, separated by commas [default: the slowest and the fastest at this task]. Of two runs: one
    /// that both have, or one of each [default: the one that changed most]. Of a command: file systems to measure it on,
    /// as after `run --fs`
    #[arg(long, value_name = "LIST")]
    fs: Vec<String>,
    /// Which repeat of the run to explain, from 1 on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Leave out who calls a function, which takes less of this machine's time
    #[arg(long)]
    no_callers: bool,
    /// Guests side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// How to print: table, markdown, json, html, svg or folded, which flame-graph tools read [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    silence_limit: u64,
    #[command(flatten)]
    work: WorkOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    common::format_of::<Why>(arguments.format.as_deref())?;
    if arguments.jobs == 0 {
        bail!(WrongUse("--jobs: at least one guest must run".into()));
    }
    let (runs, fs) = match arguments.work.is_given() {
        true if !arguments.runs.is_empty() => {
            let run = arguments.runs.join(" ");
            bail!(WrongUse(format!("{run} has its cells, and a command is measured anew: leave one of the two away")));
        }
        true => match super::run::profiled(&arguments.work, &arguments.fs, arguments.jobs, &arguments.store)? {
            Ok(run) => (sides(run), Vec::new()),
            Err(code) => return Ok(code),
        },
        false => {
            arguments.work.refuse_without_command()?;
            if arguments.work.is_compared() {
                bail!(WrongUse(
                    "--compare: a run has its cells; say what to measure: a command, after --, or a --suite".into()
                ));
            }
            let names = if arguments.runs.is_empty() { vec!["latest".to_owned()] } else { arguments.runs.clone() };
            (names.iter().map(|name| arguments.store.load(name)).collect::<Result<_>>()?, arguments.fs.clone())
        }
    };
    // Of a command the first task, unless another is asked for.
    let first = runs[0].plan.tasks.first().map_or("", |(id, _)| id.as_str());
    let (task, repeat) = (arguments.task.as_deref().unwrap_or(first), arguments.repeat - 1);
    let (chosen, told) = match runs.as_slice() {
        [before, after] => {
            let (pair, told) = choose::pair([before, after], task, &fs, repeat)?;
            (pair.to_vec(), told)
        }
        runs => (choose::choose(&runs[0], task, &fs, repeat)?, None),
    };
    let store = arguments.store.open_read_only()?;
    let wanted = chosen.iter().map(|chosen| Wanted::of(&store, *chosen, vec![task]));
    let wanted: Vec<Wanted> = wanted.collect::<Result<_>>()?;
    let stop = Stop::on_signals()?;
    let guests = ProfileOptions {
        jobs: arguments.jobs,
        silence_limit: arguments.silence_limit,
        callers: !arguments.no_callers,
        stop: &stop,
    };
    let found = match stop.or(look(&runs, &wanted, guests), Looked::Stopped)? {
        Looked::Found(found) => found,
        Looked::Stopped => return Ok(stop.code()),
        Looked::Fault(fault) => {
            say!("mountmark: {fault}");
            return Ok(common::FAILED);
        }
    };
    let explanations = found.explanations();
    let answer = found.answer(&runs, task, told.as_deref(), &explanations);
    common::show(&Why(&answer), arguments.format.as_deref())
}

/// The two sides of a run that compares two; else the run.
fn sides(run: RunRecord) -> Vec<RunRecord> {
    let sides = match &run.plan.sides[..] {
        [one, other] => [one, other].into_iter().filter_map(|side| run.clone().of_side(side)).collect(),
        _ => Vec::new(),
    };
    if sides.is_empty() { vec![run] } else { sides }
}

/// Where the time of a task went on some cells.
pub(super) struct Found {
    ledgers: Vec<Ledger>,
    kernels: Option<Kernels>,
    /// As [`cells::Measured::figures`], of all.
    figures: usize,
    is_kept: bool,
    differs: Option<String>,
}

/// What became of a look at cells.
pub(super) enum Looked {
    Found(Box<Found>),
    /// A cell with the profiler was not as the run has it: a sentence.
    Fault(String),
    /// The user stopped it.
    Stopped,
}

/// Looks at the cells of a run, or at one of each of two runs, in that order.
pub(super) fn look(runs: &[RunRecord], wanted: &[Wanted], guests: ProfileOptions) -> Result<Looked> {
    let Some(measured) = measure(wanted, guests)? else { return Ok(Looked::Stopped) };
    if let Some(fault) = measured.iter().find_map(|measured| measured.fault.clone()) {
        return Ok(Looked::Fault(fault));
    }
    let mut ledgers: Vec<Ledger> = measured.iter().flat_map(|measured| measured.ledgers.clone()).collect();
    let mut of_both = None;
    if let ([before, after], [one, other], [first, second]) = (runs, wanted, ledgers.as_mut_slice()) {
        let pair = [one, other];
        let releases = pair.map(|wanted| wanted.chosen.record.environment.kernel.as_str());
        let names = pair.map(|wanted| wanted.chosen.cell.configuration.name.as_str());
        [first.configuration, second.configuration] =
            mountmark_findings::why::say::sides([before, after], names, releases);
        of_both = kernels(pair, guests);
        if let Some(kernels) = &of_both {
            [*first, *second] = [kernels.ledger(0, first), kernels.ledger(1, second)];
        }
    }
    Ok(Looked::Found(Box::new(Found {
        ledgers,
        kernels: of_both,
        figures: measured.iter().filter_map(|measured| measured.figures).sum(),
        is_kept: measured.iter().any(|measured| measured.figures.is_none()),
        differs: measured.into_iter().find_map(|measured| measured.differs),
    })))
}

impl Found {
    pub fn explanations(&self) -> Vec<Explanation<'_>> {
        explanations(&self.ledgers, self.kernels.as_ref())
    }

    /// `told`: why these cells were chosen, if the user has not.
    pub fn answer<'a>(
        &'a self,
        runs: &'a [RunRecord],
        task: &'a str,
        told: Option<&'a str>,
        explanations: &'a [Explanation<'a>],
    ) -> Answer<'a> {
        Answer {
            run: &runs[0],
            later: runs.get(1),
            task,
            chosen: told,
            ledgers: &self.ledgers,
            explanations,
            figures: self.figures,
            is_kept: self.is_kept,
            differs: self.differs.as_deref(),
        }
    }
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
fn kernels(pair: [&Wanted; 2], guests: ProfileOptions) -> Option<Kernels> {
    let kernel = |wanted: &Wanted| {
        let environment = &wanted.chosen.record.environment;
        (environment.kernel.clone(), environment.kernel_image.clone())
    };
    if kernel(pair[0]) == kernel(pair[1]) {
        return None;
    }
    let functions = |wanted: &Wanted| -> Option<BTreeSet<String>> {
        // Without the kernel there is no list of its functions: the profiles have what was called.
        let Chosen { run, cell, record } = wanted.chosen;
        let (profiler, cell) = (guests.profiler(run).ok()?, &cell.whole());
        let now = || Some(profiler.plain().environment(cell).ok()?.kernel_image);
        // Kept profiles are of a kernel that may have been built again since.
        let is_it = !wanted.is_kept() || now()? == record.environment.kernel_image;
        is_it.then(|| profiler.functions(cell, guests.stop).ok()).flatten()?
    };
    let [one, other] = pair.map(functions);
    Some(Kernels::new(one.zip(other).map(|(one, other)| [one, other])))
}
