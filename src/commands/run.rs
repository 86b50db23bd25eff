//! `mountmark run`: a plan, a lab, cells, records, a table.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use mountmark_lab::Lab;
use mountmark_lab::emulator::{self, Emulator};
use mountmark_lab::host::{self, HostLab};
use mountmark_lab::image::kernel;
use mountmark_model::{Bytes, Cell, Disk, Lab as LabName, Machine, Plan, Scale};
use mountmark_plan::{Catalogue, CorpusRequest, CorpusSource, Options, configurations, control};
use mountmark_record::{CellRecord, Output, RunRecord, RunStatus, Sample, Store, TaskOutcome, Timestamp};
use mountmark_run::schedule::{self, CellResult};

use crate::common::{self, FormatOptions, StoreOptions, WrongUse};
use crate::progress::Progress;

/// File systems that are compared unless `--fs` names others.
pub const DEFAULT_FILESYSTEMS: &str = "ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs";

/// The computer of guests unless `--machine` names another.
const DEFAULT_MACHINE: &str = "modern";

/// Run a suite on file systems and compare them
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark run\n  mountmark run --fs ext4,xfs,ext3:data=journal --repeat 5\n  mountmark run --suite hans-2006 --machine celeron-2006 --scale 1\n  mountmark run --suite ./my-suite.toml --corpus ./my-files.tar.zst\n  mountmark run --fs ext4 --kernel 6.1 --disk hdd --format csv > ext4.csv\n  sudo mountmark run --lab host --fs ext4,xfs --image /data --size 4GiB\n\nThe figures of the virtual lab are seconds of the profile's machine: they are the same on every host and under every\nload, for one seed. Ctrl-C ends the run; the cells that were finished stay in the store."
)]
pub struct Arguments {
    /// File systems, separated by commas; `mountmark list filesystems` shows them with their variants.
    /// FS:VARIANT, FS:mount=OPTIONS and FS:mkfs=ARGUMENTS (joined by +) make and mount them otherwise
    #[arg(long, value_name = "LIST", default_value = DEFAULT_FILESYSTEMS)]
    fs: Vec<String>,
    /// The suite: a name, or the path of a TOML file of your own
    #[arg(long, value_name = "SUITE", default_value = "piszcz-2006")]
    suite: String,
    /// Shrinks counts and sizes evenly: a number or a fraction; 1 is the suite's own size
    #[arg(long, value_name = "SCALE", default_value = "0.02", allow_hyphen_values = true)]
    scale: String,
    /// How often each configuration is made and measured
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: u32,
    /// What everything random comes from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// The files to work on instead of the suite's: a name, a tar (plain, gz, xz, zst) or a folder
    #[arg(long, value_name = "CORPUS")]
    corpus: Option<String>,
    /// The disk under test instead of the machine's
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// Size of the file system under test instead of what the suite needs
    #[arg(long, value_name = "SIZE", visible_alias = "size")]
    disk_size: Option<String>,
    /// Guests side by side [default: the number of processors; the host lab runs one cell at a time]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Labs under wall time: leave out the control, which is the first file system once more
    #[arg(long)]
    no_control: bool,
    /// Say every step of every cell, with the wall time since the start
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    lab: LabOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
}

/// Where cells run.
#[derive(Args, Clone, Debug)]
pub struct LabOptions {
    /// Where cells run
    #[arg(long, value_name = "LAB", value_enum, default_value_t = LabChoice::Virtual)]
    pub lab: LabChoice,
    /// The computer of the virtual lab; `mountmark list machines`
    #[arg(long, value_name = "MACHINE", default_value = DEFAULT_MACHINE)]
    pub machine: String,
    /// The guest's kernel: a Debian version such as 6.12 or 6.1, a package name, PATH[,MODULES], or `host`
    #[arg(long, value_name = "KERNEL", default_value = kernel::DEFAULT)]
    pub kernel: String,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub silence_limit: u64,
    /// Host lab: the file that stands for the disk under test, empty or not there yet, or a folder in which to make it
    /// [default: /var/tmp]. A file that is made here has no name and is gone afterwards; yours is given back empty
    #[arg(long, value_name = "PATH")]
    pub image: Option<PathBuf>,
    /// Host lab: overwrite what the file after --image holds
    #[arg(long, requires = "image")]
    pub force_image: bool,
}

/// The labs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabChoice {
    /// An emulated guest whose clock counts instructions
    Virtual,
    /// The same guest under KVM, wall time
    Kvm,
    /// This machine's own kernel, as root, on loop devices, wall time
    Host,
}

impl LabOptions {
    /// The lab.
    pub fn open(&self, machine: &Machine) -> Result<Box<dyn Lab>> {
        if self.lab == LabChoice::Host {
            return Ok(Box::new(HostLab::open(host::Options {
                cache: mountmark_lab::cache::default_folder(),
                image: self.image.clone(),
                force_image: self.force_image,
                silence_limit: Duration::from_secs(self.silence_limit),
            })?));
        }
        Ok(Box::new(Emulator::open(emulator::Options {
            cache: mountmark_lab::cache::default_folder(),
            kernel: self.kernel.clone(),
            machine: machine.clone(),
            kvm: self.lab == LabChoice::Kvm,
            silence_limit: Duration::from_secs(self.silence_limit),
        })?))
    }

    fn name(&self) -> LabName {
        match self.lab {
            LabChoice::Virtual => LabName::Virtual,
            LabChoice::Kvm => LabName::Kvm,
            LabChoice::Host => LabName::Host,
        }
    }

    /// Refuses options that mean nothing in the lab, and a lab that this user may not use.
    pub fn check(&self) -> Result<()> {
        if self.lab != LabChoice::Host {
            if self.image.is_some() {
                bail!(WrongUse("--image is an option of --lab host; the other labs need no image".into()));
            }
            return Ok(());
        }
        if self.machine != DEFAULT_MACHINE || self.kernel != kernel::DEFAULT {
            bail!(WrongUse(
                "--machine and --kernel choose a guest; the host lab runs on this machine and its kernel".into()
            ));
        }
        host::check_rights()
    }
}

pub fn run(arguments: Arguments) -> Result<u8> {
    arguments.format.check()?;
    let scale: Scale = arguments.scale.parse().map_err(|error| WrongUse(format!("--scale: {error}")))?;
    let disk_size = match &arguments.disk_size {
        Some(text) => Some(text.parse::<Bytes>().map_err(|error| WrongUse(format!("--disk-size: {error}")))?),
        None => None,
    };
    if arguments.jobs == Some(0) {
        bail!(WrongUse("--jobs 0: give at least 1".into()));
    }
    let host = arguments.lab.lab == LabChoice::Host;
    if host && arguments.disk.is_some() {
        bail!(WrongUse("--disk chooses the disk of a guest; --image says where the host lab's disk lies".into()));
    }
    arguments.lab.check()?;
    let catalogue = Catalogue::load(None)?;
    let machine = catalogue.get::<Machine>(&arguments.lab.machine)?.clone();
    let mut options = Options {
        fs: arguments.fs.clone(),
        suite: arguments.suite.clone(),
        lab: arguments.lab.name(),
        machine: arguments.lab.machine.clone(),
        // A disk of any size: the real one is the file system's below the image.
        disk: if host { Some("ram".into()) } else { arguments.disk.clone() },
        disk_size,
        kernel: arguments.lab.kernel.clone(),
        scale,
        repeats: arguments.repeat,
        seed: arguments.seed,
        corpus: arguments.corpus.clone(),
    };
    // Everything that the user wrote is checked before anything is fetched or made.
    let wanted = configurations(&catalogue, &options.fs)?;
    catalogue.suite(&options.suite)?;
    if let Some(disk) = &options.disk {
        catalogue.get::<Disk>(disk)?;
    }
    if options.repeats == 0 {
        bail!(WrongUse("--repeat 0: give at least 1".into()));
    }
    let store = arguments.store.open()?;
    let stop = stop_on_signals()?;
    let cache = mountmark_lab::cache::default_folder();
    mountmark_lab::cache::make_folder(&cache)?;
    let kernel = if host { "this machine's" } else { &arguments.lab.kernel };
    eprintln!("mountmark: preparing the lab (kernel {kernel}, cache {})", cache.display());
    let lab = arguments.lab.open(&machine)?;
    let mut skipped = Vec::new();
    options.fs = Vec::new();
    for configuration in &wanted {
        match lab.unavailable(configuration)? {
            None => options.fs.push(configuration.name.clone()),
            Some(reason) => skipped.push((configuration.name.clone(), reason)),
        }
    }
    for (name, reason) in &skipped {
        eprintln!("mountmark: {name} is skipped: {reason}");
    }
    if arguments.lab.lab != LabChoice::Virtual && !arguments.no_control {
        let runs: Vec<_> = wanted.iter().filter(|one| options.fs.contains(&one.name)).cloned().collect();
        if let Some(control) = control(&runs) {
            eprintln!(
                "mountmark: {control} is added: what differs between equals is chance (--no-control leaves it out)"
            );
            options.fs.push(control);
        }
    }
    if options.fs.is_empty() {
        bail!("none of the file systems can run here");
    }
    let mut plan =
        mountmark_plan::plan(&catalogue, &options, &mut |request| realise(request, &cache).map_err(Into::into))?;
    for (name, reason) in &plan.skipped {
        eprintln!("mountmark: {name} is skipped: {reason}");
    }
    plan.skipped.splice(0..0, skipped);
    leave_out_programs(&mut plan, lab.as_ref())?;
    if host {
        host::describe(&mut plan);
    }
    if plan.cells.is_empty() {
        bail!("none of the file systems can run this suite");
    }
    for cell in &plan.cells {
        if stop.load(Ordering::SeqCst) {
            return Ok(stop.code());
        }
        lab.prepare(cell)?;
    }
    let jobs = match arguments.jobs {
        Some(more @ 2..) if host => {
            eprintln!("mountmark: --jobs {more}: the host lab runs one cell at a time, as its figures are wall time");
            1
        }
        None if host => 1,
        given => {
            let wanted = given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
            jobs_in_memory(wanted.min(plan.cells.len()), &plan)
        }
    };
    execute(&plan, lab.as_ref(), &store, jobs, &stop, &arguments)
}

/// Leaves out the tasks whose benchmark programs are not to be had here, and says so.
fn leave_out_programs(plan: &mut Plan, lab: &dyn Lab) -> Result<()> {
    let Some(tasks) = plan.cells.first().map(|cell| cell.tasks.clone()) else { return Ok(()) };
    for program in mountmark_plan::programs(&tasks) {
        if let Some(reason) = lab.lacks(program)? {
            eprintln!("mountmark: tasks of {} are skipped: {reason}", program.name);
            mountmark_plan::leave_out(plan, program, &reason);
        }
    }
    let runs = |cell: &Cell| cell.tasks.iter().any(|task| task.part_of.is_none() && task.skip.is_none());
    if !plan.cells.iter().any(runs) {
        bail!("no task of the suite {} can run here", plan.suite);
    }
    Ok(())
}

/// At most as many guests as this machine's memory holds even if they fill their disks, which live there.
fn jobs_in_memory(wanted: usize, plan: &Plan) -> usize {
    let need = plan.cells.iter().map(|cell| {
        let second = cell.second_disk.as_ref().map_or(0, |medium| medium.size.0 + medium.corpus.tar_bytes);
        cell.ram.0 + cell.disk_size.0 + second
    });
    let need = need.max().unwrap_or(0).max(1);
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let Some(available) = kib.map(|kib| kib << 10) else { return wanted };
    let (need_text, available_text) = (Bytes(need), Bytes(available));
    if need > available {
        eprintln!(
            "mountmark: a guest with full disks takes {need_text} of memory, and {available_text} are available: it may \
             be killed; a smaller --scale or corpus takes less"
        );
    }
    let fitting = usize::try_from(available / need).unwrap_or(wanted).clamp(1, wanted.max(1));
    if fitting < wanted {
        eprintln!(
            "mountmark: {fitting} at a time: {wanted} guests of up to {need_text} each would not fit in {available_text} of memory"
        );
    }
    fitting
}

/// Runs the plan, keeps each cell as it ends, and prints the result.
fn execute(plan: &Plan, lab: &dyn Lab, store: &Store, jobs: usize, stop: &Stop, arguments: &Arguments) -> Result<u8> {
    let environment = lab.environment(&plan.cells[0])?;
    let command_line = std::env::args().collect::<Vec<_>>().join(" ");
    let id = store.begin_run(plan, &environment, &command_line)?;
    let run_cells = |plan: &Plan| {
        let mut progress = Progress::new(plan, jobs, arguments.verbose);
        let result = schedule::run(lab, &plan.cells, jobs, stop, &mut |step| {
            if let schedule::Progress::Ended(cell, result) = &step {
                store.record_cell_with_outputs(&id, &record(cell, result, lab)?, &outputs(cell, result))?;
            }
            progress.show(&step);
            Ok(())
        });
        progress.finish();
        result
    };
    let mut result = run_cells(plan);
    // The virtual lab would give the same figures again.
    if plan.lab != LabName::Virtual && matches!(result, Ok(true)) {
        let again = in_doubt(plan, &store.load(&id)?);
        if !again.cells.is_empty() {
            eprintln!(
                "mountmark: {} cells have figures that do not fit the others; they are run again",
                again.cells.len()
            );
            result = run_cells(&again);
        }
    }
    let status = match &result {
        Ok(true) => RunStatus::Done,
        Ok(false) => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    };
    store.end_run(&id, status)?;
    let complete = result?;
    let run = store.load(&id)?;
    if !run.cells.is_empty() {
        common::print(&arguments.format.render(&run)?)?;
    }
    if !complete {
        eprintln!(
            "mountmark: interrupted; {} of {} cells are kept in run {}",
            run.cells.len(),
            plan.cells.len(),
            id.as_str()
        );
        return Ok(stop.code());
    }
    eprintln!("mountmark: run {} is kept in {}", id.as_str(), store.path().display());
    Ok(if run.cells.iter().any(CellRecord::has_failure) { common::FAILED } else { common::DONE })
}

/// The cells whose figures do not fit those of their equals, to be run once more behind the plan's own.
fn in_doubt(plan: &Plan, run: &RunRecord) -> Plan {
    let doubtful = mountmark_analyse::cells_in_doubt(run);
    let cells = plan.cells.iter().filter(|cell| doubtful.contains(&cell.index));
    let cells = cells.zip(plan.cells.len() as u32..).map(|(cell, index)| Cell { index, ..cell.clone() }).collect();
    Plan { cells, ..plan.clone() }
}

fn record(cell: &Cell, result: &CellResult, lab: &dyn Lab) -> Result<CellRecord> {
    let mut environment = lab.environment(cell)?;
    if !result.kernel.is_empty() {
        environment.kernel = result.kernel.clone();
    }
    let mut record = CellRecord::new(cell, &environment);
    record.started = timestamp(result.started);
    record.ended = timestamp(result.ended);
    record.outcome = result.outcome.clone();
    record.outcomes = result
        .tasks
        .iter()
        .map(|(task, outcome)| TaskOutcome { task: task.clone(), outcome: outcome.clone() })
        .collect();
    for (task, iteration, values) in &result.samples {
        record.samples.extend(values.iter().map(|(metric, value)| Sample {
            task: task.clone(),
            iteration: *iteration,
            metric: metric.clone(),
            value: *value,
        }));
    }
    record.notes = result.notes.clone();
    record.log = result.log.clone();
    Ok(record)
}

fn outputs(cell: &Cell, result: &CellResult) -> Vec<Output> {
    let outputs = result.outputs.iter().map(|(task, iteration, kind, text)| Output {
        cell: cell.index,
        task: task.clone(),
        iteration: *iteration,
        kind: kind.clone(),
        text: text.clone(),
    });
    outputs.collect()
}

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp(time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |passed| passed.as_millis() as i64))
}

/// Makes a corpus where the plan asks for one.
fn realise(request: &CorpusRequest, cache: &std::path::Path) -> Result<(PathBuf, mountmark_model::RealisedCorpus)> {
    let source = match &request.source {
        CorpusSource::Generated(corpus) => mountmark_corpus::CorpusSource::Catalogue(corpus.clone()),
        CorpusSource::Own(path) => mountmark_corpus::CorpusSource::Path(
            fs::canonicalize(path)
                .with_context(|| WrongUse(format!("--corpus {}: there is no such file or folder", path.display())))?,
        ),
    };
    let seed = request.seed.unwrap_or(0);
    mountmark_corpus::realise(&source, request.scale, seed, &cache.join("corpora"), &mut |progress| {
        if let mountmark_corpus::Progress::Skipped(path) = progress {
            eprintln!("mountmark: {} is no file, folder or link and is left out of the corpus", path.display());
        }
    })
}

/// Set by the first SIGINT or SIGTERM; the second ends the program at once, and its guests with it.
#[derive(Clone)]
struct Stop {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl std::ops::Deref for Stop {
    type Target = AtomicBool;
    fn deref(&self) -> &AtomicBool {
        &self.flag
    }
}

impl Stop {
    /// The exit code of a program that a signal ended.
    fn code(&self) -> u8 {
        128 + self.signal.load(Ordering::SeqCst) as u8
    }
}

fn stop_on_signals() -> Result<Stop> {
    let stop = Stop { flag: Arc::new(AtomicBool::new(false)), signal: Arc::new(AtomicUsize::new(0)) };
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // In this order: at the second signal the flag is already set.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.flag))?;
        signal_hook::flag::register(signal, Arc::clone(&stop.flag))?;
        signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
    }
    Ok(stop)
}
