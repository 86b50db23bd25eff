//! `mountmark resume`: runs the missing cells of an interrupted run.

mod wall;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_cells::{Plan, PlannedCell};
use mountmark_lab::host::options::WIPE;
use mountmark_lab::{OpenLab, SILENCE_LIMIT};
use mountmark_model::{Environment, Sitting};
use mountmark_plan::check_stored;
use mountmark_record::{RunRecord, RunStatus, Store};

use super::run::{LabOptions, Session, ShelfOptions, SideLab, Stop, check_jobs, jobs, show};
use crate::catalogue;
use crate::common::{FormatOptions, StoreOptions, WrongUse};

/// Finish an interrupted run: run the cells that it lacks
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark resume\n  mountmark resume 20260401-101500-k3f9 --jobs 1\n  sudo mountmark resume --wipe S4PNNX0R     a killed run left its file system on that disk\n\nFigures of the virtual lab do not depend on when they are taken. Under wall time a run resumes only with the same machine, kernel, tools, build and target, and later figures are not compared with earlier ones. Failed cells are kept."
)]
pub struct Arguments {
    /// The run: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    run: String,
    /// Guests side by side, fewer where memory does not suffice [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print a line for each step of each cell, with the wall time since the start
    #[arg(long, short)]
    verbose: bool,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    silence_limit: u64,
    /// Host lab: overwrite what the run's devices hold, such as a file system that the run left there, each by its serial
    /// number or a UUID on it, separated by commas; a refusal shows these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    wipe: Vec<String>,
    /// Run the missing cells with the profiler, as `mountmark run --profile` does
    #[arg(long)]
    profile: bool,
    /// Resume a run even if it seems to be under way on another machine
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    shelf: ShelfOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    arguments.format.check()?;
    check_jobs(arguments.jobs)?;
    // Found before the store is opened for writing, so that a wrong name creates no store.
    let run = arguments.store.load(&arguments.run)?;
    arguments.store.open_read_only()?.check_idle(&run.id, arguments.force)?;
    let rest = rest(&run)?;
    arguments.shelf.check(rest.lab, false)?;
    if !rest.cells.is_empty() && !rest.lab.capabilities().exact_clock {
        wall::is_own(&run, arguments.store.open_read_only()?.path())?;
    }
    let store = arguments.store.open()?;
    let stop = Stop::on_signals()?;
    stop.or(go_on(&arguments, &run, &rest, &store, &stop), stop.code())
}

fn go_on(arguments: &Arguments, run: &RunRecord, rest: &Plan, store: &Store, stop: &Stop) -> Result<u8> {
    if rest.cells.is_empty() {
        // It was killed between its last cell and its end.
        store.resume_run(&run.id, arguments.force)?;
        store.end_run(&run.id, RunStatus::Done)?;
        return show(&store.load(&run.id)?, store, &arguments.format);
    }
    let cache = mountmark_lab::cache::default_folder();
    let _in_use = mountmark_lab::cache::open(&cache)?;
    let options = LabOptions::of(rest, arguments.silence_limit).with_profiler(arguments.profile);
    let options = LabOptions { given: options.given.with(&WIPE, &arguments.wipe), ..options };
    options.check()?;
    if !options.capabilities().guest {
        wall::make_ready(run, &options, &cache)?;
    }
    let sides = rest.sides.iter().enumerate().map(|(at, label)| {
        let (kernel, machine) = rest.computer(at);
        SideLab { label: label.clone(), kernel: kernel.to_owned(), machine: machine.clone() }
    });
    let opened = options.open_sides(&rest.machine, &sides.collect::<Vec<_>>())?;
    let shelved = arguments.shelf.over(rest.lab, opened.lab(), opened.profiler().is_some())?;
    let lab = shelved.as_ref().map_or(opened.lab(), |shelved| shelved as &dyn OpenLab);
    for cell in &rest.cells {
        if stop.load(std::sync::atomic::Ordering::SeqCst) {
            return Ok(stop.code());
        }
        lab.prepare(&cell.whole())?;
    }
    if let Some(difference) = incomparable(run, &|cell| lab.environment(&cell.whole()))? {
        return Err(unlike(run, &difference));
    }
    // Nobody knows what the disk was used for meanwhile.
    lab.precondition(stop, &mut |line| say!("mountmark: preconditioning {line}"))?;
    let jobs = jobs(arguments.jobs, rest, None);
    let (verbose, format) = (arguments.verbose, &arguments.format);
    let sitting = 1 + sittings(run).map(|sitting| sitting.number).max().unwrap_or(0);
    Session { lab, profiler: opened.profiler(), store, jobs, stop, verbose, format, sitting }
        .go_on(&run.id, rest, arguments.force)
}

/// New cells would be unlike the run's.
fn unlike(run: &RunRecord, difference: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "run {} cannot be resumed: {difference}. Its figures and those of new cells could not be compared; run it anew: {}",
        run.id.as_str(),
        mountmark_findings::again(run)
    )
}

/// The sittings of a run's cells.
fn sittings(run: &RunRecord) -> impl Iterator<Item = &Sitting> {
    run.cells.iter().filter_map(|cell| cell.environment.sitting.as_ref())
}

/// The plan with the missing cells; rejects a run that has ended or cannot continue.
fn rest(run: &RunRecord) -> Result<Plan> {
    let id = run.id.as_str();
    if run.status == RunStatus::Done {
        bail!(WrongUse(format!("run {id} is complete: all of its {} cells have ended", run.plan.cells.len())));
    }
    let there: BTreeSet<u32> = run.cells.iter().map(|cell| cell.index).collect();
    let mut rest = run.plan.clone();
    rest.cells.retain(|cell| !there.contains(&cell.index));
    if rest.cells.is_empty() && !run.plan.is_open() {
        return Ok(rest);
    }
    check_inputs(run, &rest.cells, "cannot be resumed")?;
    if rest.cells.is_empty() {
        // Further repeats are made like those that are there.
        rest.cells.clone_from(&run.plan.cells);
    }
    Ok(rest)
}

/// Rejects a stored run whose plan is not sound, or whose kernel or corpora are not there as they were: cells of it
/// would be measured on others. `verdict` is what that means for the run.
pub(super) fn check_inputs(run: &RunRecord, cells: &[PlannedCell], verdict: &str) -> Result<()> {
    let id = run.id.as_str();
    check_stored(&run.plan).with_context(|| format!("run {id} {verdict}"))?;
    let kernels = run.plan.computers.iter().map(|computer| &computer.kernel);
    for kernel in std::iter::once(&run.plan.kernel).chain(kernels) {
        is_regular(kernel).with_context(|| format!("run {id} {verdict}"))?;
    }
    let sources = catalogue::module_sources();
    let named = cells.iter().filter_map(|cell| cell.configuration.base().filesystem.module_source.as_ref());
    if let Some(source) = named.into_iter().find(|source| !sources.contains(source)) {
        bail!(WrongUse(format!(
            "run {id} {verdict}: a module would be built on this machine from Debian's package {source}, which no file system of \
             this machine's catalogue names"
        )));
    }
    let corpora = mountmark_lab::cache::default_folder().join("corpora");
    let mut checked = BTreeSet::new();
    for age in cells.iter().filter_map(|cell| cell.age.as_ref()) {
        if checked.insert((&age.path, &age.sha256)) && !mountmark_corpus::history_is_kept(age, &corpora) {
            bail!(
                "run {id} {verdict}: its history {} is not in {} as it was; run it anew: {}",
                age.path,
                corpora.display(),
                mountmark_findings::again(run)
            );
        }
    }
    for medium in cells.iter().filter_map(|cell| cell.second_disk.as_ref()) {
        let tar = &medium.tar;
        if checked.insert((tar, &medium.corpus.sha256))
            && !mountmark_corpus::is_kept(Path::new(tar), &medium.corpus, &corpora)
        {
            bail!(
                "run {id} {verdict}: its corpus {tar} is not in {} as it was; run it anew: {}",
                corpora.display(),
                mountmark_findings::again(run)
            );
        }
    }
    Ok(())
}

/// Rejects a kernel by path that is not a regular file: a store may be untrusted, and the file that it names is read.
fn is_regular(kernel: &str) -> Result<()> {
    let Some((image, _)) = kernel.contains('/').then(|| kernel.split_once(',').unwrap_or((kernel, ""))) else {
        return Ok(());
    };
    mountmark_input::open(Path::new(image)).map(drop).with_context(|| format!("cannot read its kernel {image}"))
}

/// Why new cells could not be compared with the run's: each configuration has its own image, and all of its cells must
/// be measured with the same one. `now` returns the environment of a cell if measured today.
fn incomparable(run: &RunRecord, now: &dyn Fn(&PlannedCell) -> Result<Environment>) -> Result<Option<String>> {
    for name in &run.plan.configurations {
        let Some(cell) = run.plan.cells.iter().find(|cell| cell.configuration.name == *name) else { continue };
        // The run's own environment is that of its first cell, ended or not.
        let of_run = (run.plan.cells.first() == Some(cell)).then_some(&run.environment);
        let recorded =
            run.cells.iter().filter(|record| record.configuration == *name).map(|record| &*record.environment);
        let then: Vec<&Environment> = of_run.into_iter().chain(recorded).collect();
        if then.is_empty() {
            continue;
        }
        let now = now(cell)?;
        let differs = |then: &Environment| match run.plan.lab.capabilities().exact_clock {
            true => difference(name, then, &now),
            false => difference(name, then, &now).or_else(|| wall::difference(then, &now)),
        };
        if let Some(difference) = then.into_iter().find_map(differs) {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// A difference between two environments of a configuration that may change figures.
pub(super) fn difference(name: &str, then: &Environment, now: &Environment) -> Option<String> {
    let pairs = [("kernel", &then.kernel, &now.kernel), ("emulator", &then.emulator, &now.emulator)];
    for (what, then, now) in pairs {
        if then != now {
            return Some(format!("its {what} was {then}, and is {now} now"));
        }
    }
    if !then.kernel_image.is_empty() && then.kernel_image != now.kernel_image {
        return Some(format!("its kernel {} was built again since", now.kernel));
    }
    if then.image == now.image {
        return None;
    }
    for (package, was) in &then.packages {
        let is = now.packages.get(package).map_or("missing", String::as_str);
        if is != was {
            return Some(format!("its guests of {name} had the package {package} {was}, which is {is} now"));
        }
    }
    // The image contains this program, too.
    Some(format!("its guests of {name} ran another build of mountmark ({}) than this one", then.mountmark))
}

#[cfg(test)]
pub(in crate::commands) mod tests;
