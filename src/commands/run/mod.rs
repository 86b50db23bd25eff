//! `mountmark run`: makes a plan, opens a lab, runs cells, stores them, prints a table.

mod corpus;
mod dry;
mod elsewhere;
mod execute;
mod lab;
mod repeat;
mod sampled;
mod scripts;
mod shelf;
mod signals;
mod targets;
mod vary;
pub mod work;
mod works;

use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mountmark_lab::OpenLab;
use mountmark_lab::emulator::Profiler;
use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, Configuration, Disk, Machine, Plan, Program, Scale, Vary, heading};
use mountmark_plan::{Catalogue, Options, control};
use mountmark_record::RunRecord;
use mountmark_shelf::Shelved;

use crate::catalogue;
use crate::cluster::On;
use crate::common::{FormatOptions, StoreOptions, WrongUse, disk_size};
use corpus::Make;
pub use corpus::corpora;
pub use execute::{Session, check_jobs, jobs, show};
pub use lab::{LabOptions, labs};
use sampled::SamplingOptions;
pub use shelf::{ShelfOptions, own_shelf, place};
pub use signals::Stop;
pub use works::leave_out_programs;

/// File systems to compare unless `--fs` names others.
pub const DEFAULT_FILESYSTEMS: &str = "ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs";

/// The suite unless `--suite` names another.
pub const DEFAULT_SUITE: &str = "piszcz-2006";

/// The value of `--pauses` that keeps a study's pauses.
const STUDY: &str = "study";

/// The scale unless `--scale` gives another.
const DEFAULT_SCALE: &str = "0.02";

/// Run a suite on file systems and compare them
#[derive(Args, Clone)]
#[command(
    after_help = "Examples:\n  mountmark run\n  mountmark run --fs ext4,xfs,ext3:data=journal --repeat 5\n  mountmark run --study hans-2006                  a published study again, beside its figures\n  mountmark run --suite ./my-suite.toml --corpus ./my-files.tar.zst\n  mountmark run --fs ext4,xfs --vary ram=512MiB..2GiB:8\n  mountmark run --fs ext4,xfs --precision 2% --budget 30m    repeats until figures are that precise\n  mountmark run --fs ext4 --kernel 6.1 --disk hdd --format csv > ext4.csv\n  sudo mountmark run --lab host --fs ext4,xfs --image /data --size 4GiB\n  sudo mountmark run --lab host --fs ext4,xfs --device /dev/sdb\n  sudo mountmark run --lab host --fs ext4,xfs --device /dev/nvme1n1 --precondition\n  sudo mountmark run --lab host --dir /data\n  sudo mountmark run --lab host --fs ext4,xfs --memory 512MiB\n  mountmark run --lab host --suite ./my-suite.toml --dry-run     every command that would run as root\n\nThe figures of the virtual lab are seconds of the profile's machine: they are the same on every host and under every load, for one seed. Ctrl-C ends the run; the cells that were finished stay in the store, and `mountmark resume` runs the others."
)]
pub struct Arguments {
    /// File systems, separated by commas; `mountmark list filesystems` shows them with their variants.
    /// FS:VARIANT, FS:mount=OPTIONS and FS:mkfs=ARGUMENTS (joined by +) make and mount them otherwise, with \, for a
    /// comma inside; FS:OPTIONS#LABEL is called FS#LABEL in tables and sentences, which distinguishes two equal ones [default: ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs]
    #[arg(long, value_name = "LIST")]
    fs: Vec<String>,
    /// The suite: a name, the path of a TOML file of your own, or a job file of fio (FILE.fio, .job or .ini) [default:
    /// piszcz-2006]
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// Repeat a published study, NAME or NAME#RUN of `mountmark list studies`: its suites one after the other, on its
    /// machine, disk and file systems, with its repeats and sizes. A report beside its figures and claims follows.
    /// --suite takes one of its suites; what other options say stands in the place of the study's
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// Shrinks counts and sizes evenly: a number or a fraction; 1 is the suite's own size [default: 0.02]
    #[arg(long, value_name = "SCALE", allow_hyphen_values = true)]
    scale: Option<String>,
    /// Repeats of each configuration; with --precision or --budget the minimum [default: 3, with
    /// --precision 5]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    #[command(flatten)]
    sampling: SamplingOptions,
    /// Measure at several points of a parameter, and draw the curve: NAME=FROM..TO:POINTS, with ram, scale, disk-size or a
    /// parameter of the suite as NAME. Points are a constant factor apart, or a constant step if FROM is 0. They are
    /// rounded: memory to 128 MiB, disks to 1 MiB or what their model needs, sizes to 4 KiB, counts to whole numbers, scales
    /// to four digits
    #[arg(long, value_name = "RANGE")]
    vary: Vec<String>,
    /// Run a --vary of more than 1000 cells
    #[arg(long)]
    yes: bool,
    /// Seed of all random choices: the same seed gives the same files, orders and conditions
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Conditions that should not matter and still change figures (idle time before each test, free memory, the state of
    /// the disk, block groups, the date): drawn anew for each repeat, or the same for all
    #[arg(long, value_name = "CONDITIONS", value_parser = ways(), default_value = Way::Varied.name())]
    conditions: Way,
    /// The pauses that a study makes before each test: kept, or left out [default: study where idle time is free, none
    /// where it takes wall time]
    #[arg(long, value_name = "PAUSES", value_parser = [STUDY, "none"])]
    pauses: Option<String>,
    /// The files to work on instead of the suite's: a name, a tar (plain, gz, xz, zst) or a folder
    #[arg(long, value_name = "CORPUS")]
    corpus: Option<String>,
    /// Size of the file system under test [default: what the suite needs, and in a guest at least 2GiB]
    #[arg(long, value_name = "SIZE", visible_alias = "size", value_parser = disk_size)]
    disk_size: Option<Bytes>,
    /// Guests side by side [default: the number of processors; the host lab runs one cell at a time]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Labs under wall time: leave out the control, which is the first file system once more
    #[arg(long)]
    no_control: bool,
    /// Print a line for each step of each cell, with the wall time since the start
    #[arg(long, short)]
    verbose: bool,
    /// Print what would be done, a command a line, and do nothing: nothing is fetched, made, written or kept
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    shelf: ShelfOptions,
    /// Have other machines measure, and print the table here: slurm[:partition=..,account=..,time=..,workers=..,cpus=..,
    /// memory=..], or ssh:FILE with a node a line. They need a --shelf that all of them see
    #[arg(long, value_name = "ENGINE")]
    on: Option<On>,
    /// With --on slurm: start the workers and go; `mountmark campaign` has them
    #[arg(long, requires = "on")]
    detach: bool,
    #[command(flatten)]
    lab: LabOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn ways() -> impl TypedValueParser<Value = Way> {
    let names = Way::ALL.map(|way| PossibleValue::new(way.name()).help(way.about()));
    PossibleValuesParser::new(names).map(|name| Way::find(&name).expect("one of the possible values"))
}

pub fn run(arguments: Arguments) -> Result<u8> {
    arguments.format.check()?;
    if let Some(study) = &arguments.study {
        return repeat::run(&arguments, study);
    }
    let code = measured(&arguments, &|session, plan| session.begin(plan).map(Ok))?;
    Ok(code.unwrap_or_else(|code| code))
}

/// A run that `command_line` stands for, not shown when it is complete; or the exit code.
fn unseen(arguments: &Arguments, command_line: &str) -> Result<Result<RunRecord, u8>> {
    measured(arguments, &|session, plan| session.begin_unseen(plan, command_line))
}

/// What becomes of a plan, or an exit code.
type Ended<T> = Result<Result<T, u8>>;

/// Checks what the user wrote and runs it with `ending`.
fn measured<T>(arguments: &Arguments, ending: &dyn Fn(&Session, &Plan) -> Ended<T>) -> Ended<T> {
    let checked = checked(arguments)?;
    if arguments.dry_run {
        return Ok(Err(dry::run(arguments, checked)?));
    }
    arguments.lab.kind().check_rights()?;
    let store = arguments.store.open()?;
    let stop = Stop::on_signals()?;
    let ended = with_plan(arguments, checked, &stop, &|prepared, plan| {
        if let Some(on) = &arguments.on
            && let Some(code) = elsewhere::measure(arguments, on, prepared, plan, &stop)?
        {
            return Ok(Err(code));
        }
        let jobs = jobs(arguments.jobs, plan, None);
        let (verbose, format) = (arguments.verbose, &arguments.format);
        let Prepared { lab, profiler, .. } = *prepared;
        ending(&Session { lab, profiler, store: &store, jobs, stop: &stop, verbose, format, sitting: 1 }, plan)
    });
    stop.or(ended, Err(stop.code()))
}

/// What a user wrote, found to be sound.
struct Checked {
    options: Options,
    machine: Machine,
    catalogue: Catalogue,
    wanted: Vec<Configuration>,
    vary: Option<Vary>,
}

/// Checks all user input before anything is fetched or generated.
fn checked(arguments: &Arguments) -> Result<Checked> {
    let scale = arguments.scale.as_deref().unwrap_or(DEFAULT_SCALE);
    let scale: Scale = scale.parse().map_err(|error| WrongUse(format!("--scale: {error}")))?;
    check_jobs(arguments.jobs)?;
    arguments.lab.check()?;
    arguments.shelf.check(arguments.lab.lab)?;
    if let Some(on) = &arguments.on {
        elsewhere::check(arguments, on)?;
    }
    // Before all else: a device that must not be touched is refused, whatever else is wrong.
    let own = arguments.lab.kind().own_computer(&arguments.lab.place())?;
    let mut catalogue = catalogue::load()?;
    let machine = catalogue.get::<Machine>(&arguments.lab.machine())?.clone();
    let told = arguments.lab.options(&machine);
    let mut options = Options {
        fs: if arguments.fs.is_empty() { vec![DEFAULT_FILESYSTEMS.into()] } else { arguments.fs.clone() },
        suite: arguments.suite.clone().unwrap_or_else(|| DEFAULT_SUITE.into()),
        lab: arguments.lab.lab,
        own,
        machine: arguments.lab.machine(),
        disk: arguments.lab.disk(),
        disk_size: arguments.disk_size,
        kernel: told.kernel,
        scale,
        repeats: arguments.sampling.repeats(arguments.repeat, &arguments.vary)?,
        seed: arguments.seed,
        conditions: arguments.conditions,
        corpus: arguments.corpus.clone(),
    };
    let wanted = targets::fit(arguments, &mut options, &mut catalogue)?;
    catalogue.suite(&options.suite)?;
    if let Some(disk) = &options.disk {
        catalogue.get::<Disk>(disk)?;
    }
    if options.repeats == 0 {
        bail!(WrongUse("--repeat 0: give at least 1".into()));
    }
    let vary = vary::asked(arguments, &catalogue, &options, wanted.len())?;
    Ok(Checked { options, machine, catalogue, wanted, vary })
}

/// An open lab with a plan.
struct Prepared<'a> {
    /// With shelves, if there are any.
    lab: &'a dyn OpenLab,
    shelved: Option<&'a Shelved<'a>>,
    profiler: Option<&'a Profiler>,
}

/// Opens the lab, makes the plan, and prepares its cells for `ending`.
fn with_plan<T>(
    arguments: &Arguments,
    Checked { options, machine, catalogue, wanted, vary }: Checked,
    stop: &Stop,
    ending: &dyn Fn(&Prepared, &Plan) -> Ended<T>,
) -> Ended<T> {
    let is_guest = arguments.lab.capabilities().guest;
    let cache = mountmark_lab::cache::default_folder();
    let _in_use = mountmark_lab::cache::open(&cache)?;
    let kernel = if is_guest { &*options.kernel } else { "this machine's" };
    if !is_guest {
        say!("mountmark: the suite's commands run as root on this machine; --dry-run shows them");
        for line in arguments.lab.kind().about(&arguments.lab.place()) {
            say!("mountmark: {line}");
        }
    }
    say!("mountmark: preparing the lab (kernel {kernel}, cache {})", cache.display());
    let opened = arguments.lab.open_with_profiler(&machine)?;
    let profiler = opened.profiler();
    let shelved = arguments.shelf.over(arguments.lab.lab, opened.lab(), profiler.is_some())?;
    let lab = shelved.as_ref().map_or(opened.lab(), |shelved| shelved as &dyn OpenLab);
    let asked = Asked {
        unavailable: &|configuration| lab.unavailable(configuration),
        lacks: &|program| lab.lacks(program),
        make: mountmark_corpus::realise,
        is_stopped: &|| stop.load(Ordering::SeqCst),
    };
    let wanted = (&wanted[..], vary.as_ref());
    let Some(plan) = planned(arguments, options, &catalogue, wanted, &asked)? else { return Ok(Err(stop.code())) };
    for cell in &plan.cells {
        if stop.load(Ordering::SeqCst) {
            return Ok(Err(stop.code()));
        }
        lab.prepare(cell)?;
    }
    lab.precondition(stop, &mut |line| say!("mountmark: preconditioning {line}"))?;
    ending(&Prepared { lab, shelved: shelved.as_ref(), profiler }, &plan)
}

/// The configurations, and the parameter that is varied.
type Wanted<'a> = (&'a [Configuration], Option<&'a Vary>);

/// Callbacks of planning.
struct Asked<'a> {
    /// As [`mountmark_lab::OpenLab::unavailable`].
    unavailable: &'a dyn Fn(&Configuration) -> Result<Option<String>>,
    /// As [`mountmark_lab::OpenLab::lacks`].
    lacks: &'a dyn Fn(&Program) -> Result<Option<String>>,
    /// [`mountmark_corpus::realise`], or its dry variant.
    make: Make,
    /// Whether the user has requested an end.
    is_stopped: &'a dyn Fn() -> bool,
}

/// The plan, without what cannot run here; `None` if the user requested an end.
fn planned(
    arguments: &Arguments,
    mut options: Options,
    catalogue: &Catalogue,
    (wanted, vary): Wanted,
    asked: &Asked,
) -> Result<Option<Plan>> {
    let mut skipped = Vec::new();
    options.fs = Vec::new();
    for configuration in wanted {
        if (asked.is_stopped)() {
            return Ok(None);
        }
        match (asked.unavailable)(configuration)? {
            None => options.fs.push(configuration.name.clone()),
            Some(reason) => skipped.push((configuration.name.clone(), reason)),
        }
    }
    for (name, reason) in &skipped {
        say!("mountmark: {} is skipped: {reason}", heading(name));
    }
    if !arguments.lab.capabilities().exact_clock && !arguments.no_control {
        let runs: Vec<_> = wanted.iter().filter(|one| options.fs.contains(&one.name)).cloned().collect();
        if let Some(control) = control(&runs) {
            say!("mountmark: {control} is added: what differs between equals is chance (--no-control leaves it out)");
            options.fs.push(control);
        }
    }
    if options.fs.is_empty() {
        bail!("none of the file systems can run here");
    }
    let mut realise = corpora(asked.make);
    let mut plan = match vary {
        Some(vary) => mountmark_plan::plan_varied(catalogue, &options, vary, &mut realise)?,
        None => arguments.sampling.of(catalogue, &options, mountmark_plan::plan(catalogue, &options, &mut realise)?)?,
    };
    let keeps = arguments.pauses.as_ref().map_or(plan.lab.capabilities().exact_clock, |pauses| pauses == STUDY);
    if !keeps {
        plan.cells.iter_mut().for_each(|cell| cell.pause_seconds = 0.0);
    }
    scripts::check(&plan)?;
    let told = arguments.lab.options(&plan.machine);
    plan.memory_limit = told.memory;
    plan.precondition = told.precondition;
    if plan.precondition.is_some() {
        mountmark_plan::keep_written(&mut plan, catalogue)?;
    }
    if let Some(own) = &options.own {
        plan = mountmark_plan::on_targets(plan, &own.targets)?;
    }
    for (name, reason) in &plan.skipped {
        say!("mountmark: {} is skipped: {reason}", heading(name));
    }
    for (name, size, roomy) in plan.cramped() {
        say!("mountmark: {}", mountmark_findings::cramped(name, size, roomy));
    }
    plan.skipped.splice(0..0, skipped);
    works::check(&plan)?;
    leave_out_programs(&mut plan, asked.lacks)?;
    if plan.cells.is_empty() {
        bail!("none of the file systems can run this suite");
    }
    Ok(Some(plan))
}
