//! `mountmark baseline`: exact figures in a file of one's own repository, and whether they still hold.

mod file;
mod ledger;

use std::path::{Component, Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mountmark_findings::baseline::{Gate, Reason};
use mountmark_findings::changes::{ChangeOutcome, Changes, changes};
use mountmark_findings::why::{Ledger, explain, say};
use mountmark_lab::SILENCE_LIMIT;
use mountmark_lab::emulator::Profiler;
use mountmark_model::Metric;
use mountmark_record::RunRecord;

use super::compare::runs::share;
use super::run::{self, ShelfOptions, Stop};
use super::why::{self, ProfileOptions, Wanted};
use crate::common::{self, StoreOptions, WrongUse};
use crate::{plan_file, written};
use file::Baseline;

/// Keep exact figures in a file, and check that they still hold, for CI
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark baseline save bench.toml --fs ext4,xfs --with ./target/release/mytool -- ./mytool --all\n  mountmark baseline check bench.toml --fail-on 2%\n  mountmark baseline check bench.toml --old ../main          measure another checkout beside this one\n  mountmark baseline check bench.toml --also comment.md --also checks.xml\n\nExit codes of check: 0 nothing is worse by more than the limit, 1 something is, 2 wrong use, 3 the figures cannot be compared."
)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Save(Box<Save>),
    Check(Box<Check>),
}

/// Measure, and write the figures to a file
#[derive(Args)]
struct Save {
    /// The file, such as bench.toml
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    run: run::Arguments,
}

/// Measure the same again, and compare
#[derive(Args)]
struct Check {
    /// The file that `baseline save` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// By how much a figure may be worse: 2%, 0.02
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    fail_on: f64,
    /// Measure this other checkout too, and compare with that instead of the file's figures: its folder in which you would
    /// type the command
    #[arg(long, value_name = "FOLDER")]
    old: Option<PathBuf>,
    /// Guests side by side, fewer where memory does not suffice [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// How to print: table, markdown, csv, json, html or junit [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Write it to this file too, in the format of its ending: .md, .xml for JUnit, .json, .csv, .html
    #[arg(long, value_name = "FILE")]
    also: Vec<PathBuf>,
    #[command(flatten)]
    shelf: ShelfOptions,
    #[command(flatten)]
    store: StoreOptions,
}

/// Options of `run` that `save` always refuses, beside those of other labs.
pub const NEVER: [&str; 11] =
    ["vary", "compare", "precision", "budget", "study", "on", "detach", "dry-run", "format", "metric", "advice"];

/// Options of `save` that say how, and not what, is measured: with a value, and without.
const HOW: [&str; 8] = ["--out", "--jobs", "--shelf", "--verify", "--sign", "--trust", "--save", "--advice"];
const HOW_ALONE: [&str; 5] = ["--verbose", "-v", "--fresh", "--profile", "--no-callers"];

pub fn run(arguments: Arguments) -> Result<u8> {
    match arguments.verb {
        Verb::Save(save) => self::save(*save),
        Verb::Check(check) => self::check(&check),
    }
}

fn save(Save { file, mut run }: Save) -> Result<u8> {
    run.refuse_for_baseline()?;
    run.refuse_printing("baseline save prints no figures; leave it away")?;
    let words = words(&file)?;
    Baseline::check(&file)?;
    let folder = from_file(&file)?;
    let profiler = Profiler::available().and_then(|_| run.check_profiled());
    if let Err(reason) = &profiler {
        say!("mountmark: {} will have figures alone, and a check names no cause: {reason:#}", file.display());
    }
    let store = run.set_profiled(profiler.is_ok());
    let measured = match run::unseen(&run, &common::own_command_line())? {
        Ok(measured) => measured,
        Err(code) => return Ok(code),
    };
    if let Some(cell) = measured.cells.iter().find(|cell| cell.has_failure()) {
        let mut failures = cell.outcomes.iter().filter(|one| one.outcome.is_failed());
        let failed = failures.find_map(|one| Some((&one.task, one.outcome.reason()?)));
        let (task, reason) = failed.map_or(("the cell", "it ended early"), |(task, reason)| (task.as_str(), reason));
        say!("mountmark: no baseline is written, as {task} failed on {}: {reason}", cell.configuration);
        return Ok(common::FAILED);
    }
    let stop = Stop::on_signals()?;
    let Some(ledgers) = ledgers(&measured, &store, &stop, &|_, _| profiler.is_ok())? else { return Ok(stop.code()) };
    let baseline = Baseline::of(&measured, folder, words, &ledgers)?;
    let text = baseline.text()?;
    written::write_whole(&file, &text)?;
    let cells = measured.cells.len();
    say!("mountmark: {} has the figures of {}", file.display(), mountmark_model::counted(cells, "cell"));
    Ok(common::DONE)
}

fn check(arguments: &Check) -> Result<u8> {
    common::format_of::<Gate>(arguments.format.as_deref())?;
    let also = written::also::<Gate>(&arguments.also, &Gate::STARTS)?;
    // What an earlier check said is not what this one says, whatever becomes of it.
    for (path, _) in also.iter().filter(|(path, _)| path.is_file()) {
        fs::write(path, "").with_context(|| format!("cannot write {}", path.display()))?;
    }
    run::check_jobs(arguments.jobs)?;
    let baseline = Baseline::read(&arguments.file)?;
    let file = arguments.file.canonicalize().context("the baseline's file is gone")?;
    let here = file.parent().unwrap_or(Path::new("/")).join(&baseline.folder);
    let old = arguments.old.as_deref().map(checkout).transpose()?;
    let store = StoreOptions { out: Some(std::path::absolute(arguments.store.folder())?) };
    let shelf = arguments.shelf.clone().with_whole_paths()?;
    let stop = Stop::on_signals()?;
    // Without a profile of before, one of now explains nothing.
    let profiled = (baseline.has_ledgers() || old.is_some()) && Profiler::available().is_ok();
    let measured = |folder: &Path| {
        env::set_current_dir(folder).map_err(|error| {
            WrongUse(format!("{}: its command is given in {}: {error}", arguments.file.display(), folder.display()))
        })?;
        let words = kept(baseline.words.iter().cloned());
        run::of_words(&words, profiled, arguments.jobs, (&shelf, &store))
            .with_context(|| format!("{}", arguments.file.display()))
    };
    let now = match measured(&here)? {
        Ok(now) => now,
        Err(code) => return Ok(code),
    };
    let old = old.as_deref().map(measured).transpose()?;
    let before = match compared(&baseline, &arguments.file, &now, old)? {
        Ok(before) => before,
        Err(code) => return Ok(code),
    };
    let found = changes(&before, &now, None, &mountmark_findings::Options::of_gate(arguments.fail_on));
    if !found.is_judged() {
        say!("mountmark: nothing could be judged: {}", unjudged(&found));
        return Ok(common::CANNOT_RUN);
    }
    let causes = causes(&baseline, (&before, &now), (&found, arguments.fail_on), &store, &stop).or_else(unknown);
    let Some(causes) = causes? else { return Ok(stop.code()) };
    let gate = Gate { changes: &found, limit: arguments.fail_on, causes: &causes };
    let failures = gate.failures();
    for failure in &failures {
        say!("mountmark: regression: {failure}");
    }
    for (path, format) in also {
        written::write_also(&path, format, &gate)?;
    }
    common::show(&gate, arguments.format.as_deref())?;
    Ok(if failures.is_empty() { common::DONE } else { common::FAILED })
}

/// What the figures of `now` are compared with, those of another checkout if it was measured; or an exit code.
fn compared(
    baseline: &Baseline,
    file: &Path,
    now: &RunRecord,
    old: Option<Result<RunRecord, u8>>,
) -> Result<Result<RunRecord, u8>> {
    let Some(old) = old else {
        if let Some(reason) = baseline.differs(now)? {
            say!("mountmark: the figures of {} cannot be compared: {reason}", file.display());
            say!(
                "mountmark: measure the other side with today's lab (--old FOLDER, another checkout), or save the baseline anew"
            );
            return Ok(Err(common::CANNOT_RUN));
        }
        return Ok(Ok(baseline.run(now)));
    };
    if let Some((_, sentence)) = old.as_ref().ok().and_then(|before| common::other_work(before, now)) {
        say!("mountmark: {sentence}");
        return Ok(Err(common::CANNOT_RUN));
    }
    Ok(old)
}

/// The folder of another checkout.
fn checkout(old: &Path) -> Result<PathBuf> {
    let wrong = |reason: String| WrongUse(format!("--old {}: {reason}", old.display()));
    let whole = old.canonicalize().map_err(|error| wrong(error.to_string()))?;
    if whole.is_dir() { Ok(whole) } else { Err(wrong("it is no folder".into()).into()) }
}

fn unjudged(found: &Changes) -> &'static str {
    if found.changes.is_empty() {
        "the runs have no figure in common"
    } else {
        "one repeat under varied conditions shows no change; save it with --repeat 3, or with --conditions fixed"
    }
}

/// The figures are judged all the same.
fn unknown(reason: anyhow::Error) -> Result<Option<Vec<Reason>>> {
    say!("mountmark: the cause is not known: {reason:#}");
    Ok(Some(Vec::new()))
}

/// Why what fails became slower, as far as that is known; `None` if the user stopped it.
fn causes(
    baseline: &Baseline,
    (before, now): (&RunRecord, &RunRecord),
    (found, limit): (&Changes, f64),
    store: &StoreOptions,
    stop: &Stop,
) -> Result<Option<Vec<Reason>>> {
    let beyond = found.beyond(limit);
    let is_wanted = |configuration: &str, task: &str| {
        beyond.iter().any(|change| change.configuration == configuration && change.task == task)
    };
    let is_kept = before.id.as_str() == baseline.run(now).id.as_str();
    if is_kept && !baseline.has_ledgers() && !found.beyond(limit).is_empty() {
        bail!(
            "the file has no profiles; save it anew, of one kernel and machine, where the emulator can profile, which is QEMU 10"
        );
    }
    let Some(after) = ledgers(now, store, stop, &is_wanted)? else { return Ok(None) };
    let measured = if is_kept { Some(Vec::new()) } else { ledgers(before, store, stop, &is_wanted)? };
    let Some(measured) = measured else { return Ok(None) };
    let mut out = Vec::new();
    // What failed is no longer time.
    for change in beyond.into_iter().filter(|change| change.outcome != ChangeOutcome::LostInSome) {
        let is_it =
            |(task, ledger): &&(String, Ledger)| *task == change.task && ledger.configuration == change.configuration;
        let Some((task, ledger)) = after.iter().find(is_it) else { continue };
        let of_before = match is_kept {
            true => baseline.ledger(&ledger.configuration, task),
            false => measured.iter().find(is_it).map(|(_, ledger)| ledger.clone()),
        };
        let Some(mut one) = of_before else { continue };
        let mut other = if is_kept { ledger::kept(ledger) } else { ledger.clone() };
        let configuration = ledger.configuration.clone();
        let mut until = "until durable";
        // While the disk writes what was left to it, a slower program may cost nothing more: then the one figure changes.
        if change.metric.id == Metric::ELAPSED.id {
            (one, other, until) = (one.until_returned(), other.until_returned(), "until it returned");
        }
        one.configuration = format!("{configuration} before");
        other.configuration = format!("{configuration} now");
        let sentence = say::difference_until(&explain(&one, &other, None), until);
        out.push(Reason { task: task.clone(), configuration, metric: change.metric.id, sentence });
    }
    Ok(Some(out))
}

/// Where the time of tasks went in a profiled run's first repeat, each with its task; `None` if the user stopped it.
fn ledgers(
    run: &RunRecord,
    store: &StoreOptions,
    stop: &Stop,
    is_wanted: &dyn Fn(&str, &str) -> bool,
) -> Result<Option<Vec<(String, Ledger)>>> {
    let store = store.open_read_only()?;
    let mut wanted = Vec::new();
    for name in &run.plan.configurations {
        let tasks = run.plan.cells.iter().find(|cell| cell.configuration.name == *name).map(|cell| &cell.tasks);
        let whole = tasks.into_iter().flatten().filter(|task| task.part_of.is_none()).map(|task| task.id.as_str());
        for task in whole.filter(|task| is_wanted(name, task)) {
            // A task without a time has no ledger.
            if let Ok(chosen) = why::one(run, task, name, 0) {
                wanted.push((task, Wanted::of(&store, chosen, vec![task])?));
            }
        }
    }
    let guests = ProfileOptions { jobs: 1, silence_limit: SILENCE_LIMIT, callers: true, stop };
    let (tasks, wanted): (Vec<&str>, Vec<Wanted>) = wanted.into_iter().unzip();
    let Some(measured) = why::measure(&wanted, guests)? else { return Ok(None) };
    let found = tasks.into_iter().zip(measured);
    Ok(Some(found.filter_map(|(task, one)| Some((task.to_owned(), one.ledgers.into_iter().next()?))).collect()))
}

/// The words of `save` that say what is measured.
fn words(file: &Path) -> Result<Vec<String>> {
    let mut words = plan_file::own_words()?.into_iter().skip_while(|word| word != "save").skip(1);
    if words.next().as_deref() != file.to_str() {
        bail!(WrongUse("name the file first: mountmark baseline save FILE --fs ext4 -- COMMAND".into()));
    }
    Ok(kept(words))
}

/// Those that say what is measured.
fn kept(mut words: impl Iterator<Item = String>) -> Vec<String> {
    let (mut kept, mut is_command) = (Vec::new(), false);
    while let Some(word) = words.next() {
        is_command |= word == "--";
        let name = word.split('=').next().unwrap_or_default();
        if is_command || !HOW.contains(&name) && !HOW_ALONE.contains(&name) {
            kept.push(word);
        } else if name == word && HOW.contains(&name) {
            words.next();
        }
    }
    kept
}

/// The current folder, from the file's own.
fn from_file(file: &Path) -> Result<String> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |error: std::io::Error| WrongUse(format!("{}: {error}", parent.display()));
    let (parent, here) = (parent.canonicalize().map_err(wrong)?, env::current_dir()?.canonicalize()?);
    let alike = parent.components().zip(here.components()).take_while(|(one, other)| one == other).count();
    let up = parent.components().skip(alike).map(|_| Component::ParentDir.as_os_str().to_owned());
    let down = here.components().skip(alike).map(|part| part.as_os_str().to_owned());
    let path: PathBuf = up.chain(down).collect();
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(if text.is_empty() { ".".to_owned() } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_how_is_measured_is_not_kept() {
        let words = "--fs ext4 --save tool.toml --jobs=2 --advice=a.json --fresh --profile --no-callers --with ./tool -- ./tool --save x";
        let kept = kept(words.split(' ').map(str::to_owned));
        assert_eq!(kept.join(" "), "--fs ext4 --with ./tool -- ./tool --save x");
    }
}
