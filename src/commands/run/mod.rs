//! `mountmark run`: makes a plan, opens a lab, runs cells, stores them, prints a table.

mod advised;
mod corpus;
mod dry;
mod elsewhere;
mod execute;
pub mod held;
mod jobs;
mod lab;
mod prepare;
mod refusals;
mod repeat;
mod sampled;
mod scripts;
mod shelf;
mod signals;
mod targets;
mod vary;
pub mod work;
mod works;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use mountmark_cells::Plan;
use mountmark_model::Bytes;
use mountmark_model::conditions::Way;
use mountmark_record::RunRecord;

use crate::cluster::On;
use crate::common::{self, FormatOptions, StoreOptions, WrongUse, disk_size};
use crate::work_options::WorkOptions;
use advised::Answer;
pub use corpus::corpora;
pub use execute::{Session, show};
pub use jobs::{check_jobs, jobs};
pub use lab::{LabOptions, SideLab, labs};
use prepare::{Asked, Checked, Prepared, Wanted, checked, planned, with_plan};
use refusals::refuse_first;
use sampled::SamplingOptions;
pub use shelf::{ShelfOptions, first, named, own_shelf, wrong};
pub use signals::{Stop, TIME_IS_OVER};
pub use works::leave_out_programs;

/// File systems to compare unless `--fs` names others.
pub const DEFAULT_FILESYSTEMS: &str = "ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs";

/// The suite unless `--suite` names another.
pub const DEFAULT_SUITE: &str = "piszcz-2006";

/// The value of `--pauses` that keeps a study's pauses.
const STUDY: &str = "study";

/// Run a suite on file systems and compare them
#[derive(Args, Clone)]
#[command(
    after_help = "Examples:\n  mountmark run\n  mountmark run --fs ext4,xfs,ext3:data=journal --repeat 5\n  mountmark run --study hans-2006                  a published study again, beside its figures\n  mountmark run --suite ./my-suite.toml --corpus ./my-files.tar.zst\n  mountmark run --fs ext4,xfs -- sh -c 'for i in $(seq 1000); do echo $i > f$i; done; sync'\n  mountmark run --fs ext4,btrfs --package git --prepare 'git init -q .' -- git status\n  mountmark run --fs ext4 --with ./target/release/mytool --with ./data -- ./mytool data\n  mountmark run --fs ext4,xfs --vary ram=512MiB..2GiB:8\n  mountmark run --fs ext4,xfs --options defaults,mount=noatime --kernel 6.1,6.12 --disk ssd,hdd    all combinations\n  mountmark run --fs ext4,xfs --fill 0%,80%    empty and mostly full\n  mountmark run --fs ext4,xfs --disk hdd --age copy:seed:1000,seed:1000 --cold -- sh -c 'tar -cf - aged | wc -c'\n  mountmark run --fs ext4,xfs --precision 2% --budget 30m    repeats until figures are that precise\n  mountmark run --fs ext4 --kernel 6.1 --disk hdd --format csv > ext4.csv\n  sudo mountmark run --lab host --fs ext4,xfs --image /data --size 4GiB\n  sudo mountmark run --lab host --fs ext4,xfs --device /dev/sdb\n  sudo mountmark run --lab host --fs ext4,xfs --device /dev/nvme1n1 --precondition\n  sudo mountmark run --lab host --dir /data\n  sudo mountmark run --lab host --fs ext4,xfs --memory 512MiB\n  mountmark run --lab host --suite ./my-suite.toml --dry-run     every command that would run as root\n\nThe figures of the virtual lab are seconds of the modelled machine (--machine): they are the same on every host and under every load, for one seed. Ctrl-C ends the run; the cells that were finished stay in the store, and `mountmark resume` runs the others.",
    mut_arg("parameter", |parameter| parameter.help("Set a variable for the commands: NAME=VALUE, a number or a size; --vary NAME=FROM..TO:POINTS draws a curve over it"))
)]
pub struct Arguments {
    /// File systems, separated by commas; `mountmark list filesystems` shows them with their variants.
    /// FS:VARIANT, FS:mount=OPTIONS and FS:mkfs=ARGUMENTS (joined by +) make and mount them otherwise, with \, for a
    /// comma inside; FS:OPTIONS#LABEL is called FS#LABEL in tables and sentences, which distinguishes two equal ones. FS@LAYER,
    /// such as ext4@luks or xfs@lvm:stripes=4, has a layer of `mountmark list layers` below it [default: ext2,ext3,ext4,jfs,reiserfs,xfs,btrfs]
    #[arg(long, value_name = "LIST")]
    fs: Vec<String>,
    /// Make and mount each file system in several ways, separated by commas and written as behind its `:`; `defaults` is as it
    /// is: defaults,mount=noatime
    #[arg(long, value_name = "LIST")]
    options: Option<String>,
    #[command(flatten)]
    work: WorkOptions,
    /// Repeat a published study, NAME or NAME#RUN of `mountmark list studies`: its suites one after the other, on its
    /// machine, disk and file systems, with its repeats and sizes. A report beside its figures and claims follows.
    /// --suite takes one of its suites; what other options say stands in the place of the study's
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// Shrinks counts and sizes evenly: a number or a fraction; 1 is the suite's own size, and a command's [default: 0.02]
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
    /// Fill the file system to this share of its space before the tasks, with files of the corpus' kind, untimed; several with
    /// commas are crossed: 0%,80%
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    fill: Option<String>,
    /// Age the file system before the tasks by a history of file operations, untimed, in the folder `aged`: seed:N, a made-up
    /// source tree with N commits; git:PATH,commits=N, the last N of a repository; geriatrix:PROFILE,overwrites=N,size=SIZE,
    /// files of a profile (`mountmark list ageing`) that take SIZE (256 MiB), written over N times; copy: before one of
    /// them, the tree that it ends with on a new file system; none. Several with commas are crossed: none,copy:seed:1000,seed:1000
    #[arg(long, value_name = "HISTORY")]
    age: Option<String>,
    /// Run more than 1000 cells of what is varied or crossed
    #[arg(long)]
    yes: bool,
    /// Seed of all random choices: the same seed gives the same files, orders and conditions
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Conditions that should not matter and still change figures (idle time before each task, free memory, the state of
    /// the disk, block groups, the date): drawn anew for each repeat, or the same for all
    #[arg(long, value_name = "CONDITIONS", value_parser = ways(), default_value = Way::Varied.name())]
    conditions: Way,
    /// The pauses that a study makes before each task: kept, or left out [default: study where idle time is free, none
    /// where it takes wall time]
    #[arg(long, value_name = "PAUSES", value_parser = [STUDY, "none"])]
    pauses: Option<String>,
    /// The files to work on instead of the suite's: a name, a tar (plain, gz, xz, zst) or a folder
    #[arg(long, value_name = "CORPUS")]
    corpus: Option<String>,
    /// Size of the file system under test [default: what the suite needs, and in a guest at least 2GiB]
    #[arg(long, value_name = "SIZE", visible_alias = "size", value_parser = disk_size)]
    disk_size: Option<Bytes>,
    /// Guests side by side, fewer where memory does not suffice [default: the number of processors; the host lab runs one
    /// cell at a time]
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
    /// Say whether this run agrees with an answer that `mountmark advise --also FILE.json` wrote
    #[arg(long, value_name = "FILE.json")]
    advice: Option<PathBuf>,
    /// Another command has said what is done.
    #[arg(skip)]
    is_part: bool,
    /// How long it may take, cells that are under way included.
    #[arg(skip)]
    most: Option<Duration>,
    /// The words of this run, if they are not those of the command line.
    #[arg(skip)]
    said: Vec<String>,
}

pub fn ways() -> impl TypedValueParser<Value = Way> {
    let names = Way::ALL.map(|way| PossibleValue::new(way.name()).help(way.about()));
    PossibleValuesParser::new(names).map(|name| Way::find(&name).expect("one of the possible values"))
}

pub fn run(arguments: Arguments) -> Result<u8> {
    arguments.format.check()?;
    if let Some(study) = &arguments.study {
        if arguments.work.is_command() {
            bail!(WrongUse(format!("--study {study} has suites of its own; leave it or the command away")));
        }
        arguments.work.refuse_without_command()?;
        let given = [("--compare", arguments.work.is_compared()), ("--advice", arguments.advice.is_some())];
        refuse_first(&given, "a study has runs of its own; leave it or --study away")?;
        return repeat::run(&arguments, study);
    }
    let answer = arguments.advice.as_deref().map(Answer::load).transpose()?;
    let code = measured(&arguments, &|session, plan| {
        let mut answer = answer.clone();
        let held = [arguments.fill.as_deref(), arguments.age.as_deref()];
        answer.iter_mut().try_for_each(|answer| answer.check(plan, arguments.work.line(), held))?;
        let ended = session.begin_unseen(plan, &common::own_command_line())?;
        ended.map_or_else(
            |code| Ok(Err(code)),
            |run| {
                let code = execute::show(&run, session.store, session.format)?;
                answer.iter().for_each(|answer| answer.say(&run));
                Ok(Ok(code))
            },
        )
    })?;
    Ok(code.unwrap_or_else(|code| code))
}

/// As a line of its own, so that another command has the usual options.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// Measures a work once on file systems, with the profiler, and does not show it; or returns the exit code.
pub fn profiled(work: &WorkOptions, fs: &[String], jobs: usize, store: &StoreOptions) -> Ended<RunRecord> {
    let Line { mut arguments } = Line::parse_from(["run", "--profile", "--repeat", "1"]);
    arguments.fs = fs.to_vec();
    arguments.work = work.clone();
    // One guest at a time explains; as many as there are processors measure.
    arguments.jobs = (jobs > 1).then_some(jobs);
    arguments.store = store.clone();
    unseen(&arguments, &common::own_command_line())
}

/// Measures a work as these words after `run` say, and shows nothing; or the exit code if the user stopped it, and
/// [`TIME_IS_OVER`] if it takes longer than `most`.
///
/// # Errors
/// Words that are none of `run`.
pub fn collected(
    words: &[String],
    work: &WorkOptions,
    shelf: &ShelfOptions,
    store: &StoreOptions,
    most: Option<Duration>,
) -> Ended<RunRecord> {
    let words = std::iter::once("run").chain(words.iter().map(String::as_str));
    let Line { mut arguments } = Line::try_parse_from(words.clone()).map_err(|error| WrongUse(error.to_string()))?;
    arguments.work = work.clone();
    arguments.shelf = shelf.clone();
    arguments.store = store.clone();
    (arguments.is_part, arguments.most) = (true, most);
    arguments.said = words.map(str::to_owned).chain(work.words()).collect();
    measured(&arguments, &|session, plan| Ok(session.collect(plan)?.ok_or_else(|| session.stop.code())))
}

/// Refuses what [`collected`] would refuse, and several of what an answer is about one of.
///
/// # Errors
/// Also words that are none of `run`.
pub fn check_one_answer(words: &[String], work: &WorkOptions, shelf: &ShelfOptions, on: Option<&On>) -> Result<()> {
    let words = ["run", "--dry-run"].into_iter().chain(words.iter().map(String::as_str));
    let Line { mut arguments } = Line::try_parse_from(words).map_err(|error| WrongUse(error.to_string()))?;
    arguments.work = work.clone();
    arguments.shelf = shelf.clone();
    arguments.lab.check_one()?;
    if let Some(on) = on {
        elsewhere::check(&Arguments { dry_run: false, ..arguments.clone() }, on)?;
    }
    checked(&arguments).map(drop)
}

/// Measures what these words after `run` say, with the profiler or without, and does not show it; or returns the exit code.
///
/// # Errors
/// Words that are none of `run`.
pub fn of_words(
    words: &[String],
    profiled: bool,
    jobs: Option<usize>,
    (shelf, store): (&ShelfOptions, &StoreOptions),
) -> Ended<RunRecord> {
    let words = std::iter::once("run").chain(words.iter().map(String::as_str));
    let Line { mut arguments } = Line::try_parse_from(words).map_err(|error| WrongUse(error.to_string()))?;
    arguments.refuse_for_baseline()?;
    // Files of before keep --save: a check writes no suite.
    arguments.work = arguments.work.unsaved();
    arguments.set_profiled(profiled && arguments.lab.check_one_computer().is_ok());
    arguments.jobs = jobs;
    arguments.shelf = shelf.clone();
    arguments.store = store.clone();
    unseen(&arguments, &common::own_command_line())
}

impl Arguments {
    /// Why a profiler cannot look into the guests.
    pub fn check_profiled(&self) -> Result<()> {
        self.lab.check_one_computer()
    }

    /// With the profiler or without. Returns where the run is kept.
    pub fn set_profiled(&mut self, profiled: bool) -> StoreOptions {
        self.lab = self.lab.clone().with_profiler(profiled);
        self.store.clone()
    }
}

/// A run that `command_line` stands for, not shown when it is complete; or the exit code.
pub fn unseen(arguments: &Arguments, command_line: &str) -> Result<Result<RunRecord, u8>> {
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
    let _limit = arguments.most.map(|most| stop.after(most));
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
