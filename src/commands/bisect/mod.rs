//! `mountmark bisect`: the kernel or commit at which a task became slower, found in as few cells as halves need.

mod commits;
mod kernels;
mod trial;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_findings::bisect::{Bisected, Bisection, Verdict};
use mountmark_lab::SILENCE_LIMIT;
use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, Lab, Machine, Scale, protocol_task};
use mountmark_plan::{Catalogue, Options, configurations};
use mountmark_record::RunRecord;

use super::compare::runs::share;
use super::run::{DEFAULT_SUITE, LabOptions, ShelfOptions, Stop, labs};
use super::why::{self, Looked, ProfileOptions, Wanted};
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};
use crate::work_options::WorkOptions;
use trial::{Journal, Trial, whole};

/// Find the kernel, or the commit of a kernel's source, at which a task became slower, and explain why
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark bisect --good 6.1 --bad 6.12 --task mount --fs reiserfs\n  mountmark bisect --good 6.1.0-42-amd64 --bad 6.1 --suite hans-2006 --task treecopy --fs ext4 --fail-on 1%\n  mountmark bisect --good-commit v6.12 --bad-commit HEAD --build 'make -j8' --task mount --fs xfs\n  mountmark bisect --good 6.1 --bad 6.12 --fs ext4 --with ./mytool -- ./mytool --all\n  mountmark bisect --good-commit v6.12 --bad-commit HEAD --build 'make O=../lab -j8' --kernel-path ../lab --task 016 --fs ext4\n\nOne cell decides, since figures of the virtual lab repeat to the bit under fixed conditions. A kernel counts as the end that its figure is nearer to. What cannot be built, booted or measured is skipped. Cells that the store has already are not measured again: after Ctrl-C the same command goes on.\nExit code 1 if the ends do not differ, or if the step lies among kernels that were skipped.",
    mut_arg("compare", |compare| compare.hide(true))
)]
pub struct Arguments {
    /// The last kernel known to be fast: one of Debian, such as 6.1 or 6.1.0-42-amd64
    #[arg(long, value_name = "KERNEL", requires = "bad", required_unless_present = "good_commit")]
    good: Option<String>,
    /// A newer kernel of Debian that is slow
    #[arg(long, value_name = "KERNEL", requires = "good")]
    bad: Option<String>,
    /// The same in your own git tree, as for `git bisect`: the older commit
    #[arg(long, value_name = "COMMIT", requires_all = ["bad_commit", "build"], conflicts_with = "good")]
    good_commit: Option<String>,
    /// The newer commit
    #[arg(long, value_name = "COMMIT", requires = "good_commit")]
    bad_commit: Option<String>,
    /// A shell command that builds a commit, run in the tree. Exit code 0: it is built; 1 to 127, such as 125: the commit is
    /// skipped; more: the search ends
    #[arg(long, value_name = "COMMAND", requires = "good_commit")]
    build: Option<String>,
    /// The git tree, without changes that are not committed [default: the current folder]
    #[arg(long, value_name = "FOLDER", requires = "good_commit")]
    tree: Option<PathBuf>,
    /// What was built, as `run --kernel` takes it and seen from the tree [default: the tree]
    #[arg(long, value_name = "PATH[,MODULES]", requires = "good_commit")]
    kernel_path: Option<String>,
    /// The task; also mkfs, mount, umount and fsck [default: the command, where one is measured]
    #[arg(long, value_name = "TASK", required_unless_present = "command")]
    task: Option<String>,
    /// The file system, made and mounted as after `run --fs`
    #[arg(long, value_name = "FS")]
    fs: String,
    /// The smallest change between both ends to look for: 3%, 0.03
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = limit)]
    fail_on: f64,
    /// Look for a change to the better, too
    #[arg(long)]
    any: bool,
    /// Do not explain the step with `mountmark why`
    #[arg(long)]
    no_why: bool,
    #[command(flatten)]
    work: WorkOptions,
    /// Shrinks counts and sizes evenly: a number or a fraction; 1 is the suite's own size, and a command's [default: 0.02]
    #[arg(long, value_name = "SCALE", allow_hyphen_values = true)]
    scale: Option<String>,
    /// Seed of all random choices: the same seed gives the same files, orders and conditions
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// The files to work on instead of the suite's: a name, a tar or a folder
    #[arg(long, value_name = "CORPUS")]
    corpus: Option<String>,
    /// The computer of the virtual lab; `mountmark list machines`
    #[arg(long, value_name = "MACHINE", default_value_t = LabOptions::usual().machine())]
    machine: String,
    /// The disk under test instead of the machine's
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// Size of the file system under test [default: what the suite needs, and at least 2GiB]
    #[arg(long, value_name = "SIZE", visible_alias = "size", value_parser = common::disk_size)]
    disk_size: Option<Bytes>,
    /// The virtual lab alone: wall time would need many repeats of each kernel
    #[arg(long, value_name = "LAB", value_parser = labs(), default_value = Lab::DEFAULT.name(), hide = true)]
    lab: Lab,
    /// Seconds of wall time that a guest may be silent before it counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    silence_limit: u64,
    #[command(flatten)]
    shelf: ShelfOptions,
    /// How to print: table, markdown, json or html [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

/// A share above 0.
fn limit(text: &str) -> Result<f64, String> {
    match share(text)? {
        0.0 => Err("every two kernels differ by more than nothing: give a share such as 3%".into()),
        share => Ok(share),
    }
}

/// How a search ended.
enum Ended {
    /// The last good and the first bad one, in the journal; names of those between, which could not be tried.
    Found {
        pair: [usize; 2],
        hidden: Vec<String>,
    },
    /// The ends are not as they were said to be: a sentence.
    NotThere(String),
    Stopped,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    common::format_of::<Bisected>(arguments.format.as_deref())?;
    if !arguments.lab.capabilities().exact_clock {
        bail!(WrongUse(format!(
            "--lab {}: one cell decides nothing under wall time; leave it out, and the virtual lab is used",
            arguments.lab.name()
        )));
    }
    let scale = arguments.work.scale(arguments.scale.as_deref())?;
    let mut catalogue = catalogue::load()?;
    let work = arguments.work.fit(&mut catalogue)?;
    if work.compared.is_some() {
        bail!(WrongUse("--compare: bisect looks for the kernel at which one thing changed; leave it away".into()));
    }
    let suite = work.suite.as_deref().unwrap_or(DEFAULT_SUITE);
    let task = task(&catalogue, suite, arguments.task.as_deref())?;
    let machine = catalogue.get::<Machine>(&arguments.machine)?;
    mountmark_plan::disk(&catalogue, machine, arguments.disk.as_deref())?;
    let wanted = configurations(&catalogue, std::slice::from_ref(&arguments.fs))?;
    let [configuration] = wanted.as_slice() else {
        bail!(WrongUse(format!("--fs {}: one file system is looked at; name one", arguments.fs)));
    };
    let tree = commits::Tree::of(&arguments)?;
    // Last, as they write.
    arguments.shelf.check(arguments.lab, false)?;
    work.save()?;
    let store = arguments.store.open()?;
    let stop = Stop::on_signals()?;
    let trial = Trial {
        catalogue: &catalogue,
        options: options(&arguments, suite, scale),
        configuration,
        machine,
        task: &task,
        work: &work,
        silence_limit: arguments.silence_limit,
        shelf: arguments.shelf.clone(),
        // A commit's kernel is gone when the next one is built.
        profile: tree.is_some() && !arguments.no_why,
        store: &store,
        stop: &stop,
    };
    let mut journal = Journal::new(trial, arguments.fail_on, arguments.any);
    let search = || {
        let _in_use = mountmark_lab::cache::open(&mountmark_lab::cache::default_folder())?;
        let ended = match (&tree, &arguments.good, &arguments.bad) {
            (Some(tree), ..) => tree.search(&mut journal)?,
            (None, Some(good), Some(bad)) => kernels::search(&mut journal, [good, bad])?,
            (None, ..) => bail!(WrongUse("name both ends: --good and --bad".into())),
        };
        end(&arguments, journal, ended, &stop)
    };
    stop.or(search(), stop.code())
}

fn end(arguments: &Arguments, journal: Journal, ended: Ended, stop: &Stop) -> Result<u8> {
    match ended {
        Ended::Found { pair, hidden } => tell(arguments, journal, pair, hidden),
        Ended::NotThere(sentence) => {
            say!("mountmark: {sentence}");
            Ok(common::FAILED)
        }
        Ended::Stopped => {
            say!("mountmark: interrupted; cells that have ended are kept, and the same command goes on");
            Ok(stop.code())
        }
    }
}

/// One cell, whose kernel each trial names.
fn options(arguments: &Arguments, suite: &str, scale: Scale) -> Options {
    Options {
        fs: vec![arguments.fs.clone()],
        suite: suite.to_owned(),
        lab: arguments.lab,
        own: None,
        machine: arguments.machine.clone(),
        disk: arguments.disk.clone(),
        disk_size: arguments.disk_size,
        kernel: String::new(),
        scale,
        repeats: 1,
        seed: arguments.seed,
        conditions: Way::Fixed,
        corpus: arguments.corpus.clone(),
        fill: None,
        age: None,
    }
}

/// The task that is looked at; of a command the first, unless another is asked for.
fn task(catalogue: &Catalogue, suite: &str, asked: Option<&str>) -> Result<String> {
    let suite = catalogue.suite(suite)?;
    let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT, protocol_task::FSCK];
    let tasks: Vec<&str> = suite.tasks.iter().map(|task| task.id.as_str()).chain(steps).collect();
    let task = asked.or(tasks.first().copied()).unwrap_or_default();
    if tasks.contains(&task) {
        return Ok(task.to_owned());
    }
    bail!(WrongUse(format!("--task: suite {} has no task {task:?}; there are: {}", suite.name, tasks.join(", "))))
}

/// Prints what was found, and why; returns the exit code.
fn tell(arguments: &Arguments, journal: Journal, pair: [usize; 2], hidden: Vec<String>) -> Result<u8> {
    let run = |at: usize| journal.runs[at].clone().context("a kernel with a figure has a run");
    let runs: Vec<RunRecord> = pair.into_iter().map(run).collect::<Result<_>>()?;
    let task = journal.trial.task.to_owned();
    let looked = match arguments.no_why {
        true => None,
        false => match look(&runs, &journal.trial) {
            _ if journal.trial.stop.is_set() => return Ok(journal.trial.stop.code()),
            Ok(Looked::Found(looked)) => Some(looked),
            Ok(Looked::Stopped) => return Ok(journal.trial.stop.code()),
            Ok(Looked::Fault(reason)) => not_told(&reason),
            Err(error) => not_told(&format!("{error:#}")),
        },
    };
    let found = Bisection {
        configuration: journal.trial.configuration.name.clone(),
        task: task.clone(),
        metric: journal.metric.context("the ends have figures")?,
        tried: journal.tried,
        pair,
        hidden,
    };
    let explanations = looked.as_ref().map(|looked| looked.explanations()).unwrap_or_default();
    let answer = looked.as_ref().map(|looked| looked.answer(&runs, whole(&runs[0], &task), None, &explanations));
    let bisected = Bisected { found: &found, runs: [&runs[0], &runs[1]], why: answer.as_ref() };
    common::show(&bisected, arguments.format.as_deref())?;
    Ok(if found.hidden.is_empty() { common::DONE } else { common::FAILED })
}

fn not_told<T>(reason: &str) -> Option<T> {
    say!("mountmark: the cause is not known: {reason}");
    None
}

/// Where the time of the task went before and after. Of commits only profiles in the store can tell.
fn look(runs: &[RunRecord], trial: &Trial) -> Result<Looked> {
    let Trial { task, store, stop, silence_limit, profile: kept, .. } = *trial;
    let task = whole(&runs[0], task);
    let (chosen, _) = why::pair([&runs[0], &runs[1]], task, &[], 0)?;
    let wanted = chosen.map(|chosen| Wanted::of(store, chosen, vec![task]));
    let wanted: Vec<Wanted> = wanted.into_iter().collect::<Result<_>>()?;
    if kept && !wanted.iter().all(Wanted::is_kept) {
        return Ok(Looked::Fault("a cell's profiles were too large for the store, and its kernel is gone".into()));
    }
    say!("mountmark: where the time went, before and after");
    why::look(runs, &wanted, ProfileOptions { jobs: 1, silence_limit, callers: true, stop })
}

/// The last one of a verdict.
fn last(journal: &Journal, verdict: Verdict) -> usize {
    journal.tried.iter().rposition(|tried| tried.verdict == verdict).unwrap_or_default()
}
