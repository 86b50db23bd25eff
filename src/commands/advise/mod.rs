//! `mountmark advise`: which file system, made and mounted how, a work should run on.
//!
//! It leaves out by fact what cannot meet the needs, screens options, narrows down over repeats, asks when the answer would be
//! another, and says why. Each step is a run of `mountmark run` on one disk size and one seed, so that the shelf has
//! what was measured before: the same command goes on after Ctrl-C.

pub mod again;
mod candidates;
mod cuts;
mod race;
mod recipe;
mod runs;
mod scale;
mod search;
mod turns;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_findings::Survive;
use mountmark_findings::advice::{Advice, Advised, Candidate, OnMachines};
use mountmark_findings::why::{explain, say};
use mountmark_lab::SILENCE_LIMIT;
use mountmark_lab::emulator::Profiler;
use mountmark_model::facts::Topic;
use mountmark_model::{Bytes, Configuration, FileSystem};
use mountmark_plan::{Catalogue, configurations, fill_percent};
use mountmark_record::RunRecord;

use super::run::{LabOptions, ShelfOptions, Stop, held};
use super::why::{self, ProfileOptions};
use crate::catalogue;
use crate::cluster::On;
use crate::common::{self, StoreOptions, WrongUse};
use crate::work_options::WorkOptions;
use crate::written;
use race::Track;
use search::Search;

/// Say which file system, made and mounted how, a work should run on, and why
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark advise --suite varmail\n  mountmark advise --suite fileserver --disk hdd --need snapshots --survive rename --room 80%\n  mountmark advise --with ./target/release/mytool -- ./mytool --all\n  mountmark advise --suite oltp --fs ext4,xfs --budget 1h --also answer.html\n  mountmark advise --again answer.json --kernel sid      next month, with a newer kernel\n\nIt leaves out what cannot meet the needs, screens the options that the catalogue marks as worth trying, measures the best ones in more and more repeats, cuts their power while a guest syncs as the work does, and asks in which situations the answer would be another. A difference counts if it is shown after the whole search. If nothing is better, the answer is ext4 as it is, or the first of --fs. What was measured stays on the shelf: the same command goes on after Ctrl-C.\nExit code 1 if nothing meets the needs or the work fails everywhere.",
    mut_arg("suite", |suite| suite.help("The suite: a name, the path of a TOML file of your own, or a job file of fio (FILE.fio, .job or .ini)")),
    mut_arg("compare", |compare| compare.hide(true))
)]
pub struct Arguments {
    #[command(flatten)]
    work: WorkOptions,
    /// File systems to choose from, separated by commas, each with layers behind an @ if it is to have them: ext4@luks,xfs@luks.
    /// The first is taken if nothing is better [default: all that are maintained and made for the disk of one machine]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fs: Vec<String>,
    /// What has to survive a power cut: fsync (what a returned fsync covers), rename (that, and a file replaced by a rename is
    /// whole), everything-returned (mounted with sync), nothing
    #[arg(long, value_name = "WHAT", default_value = "fsync", value_parser = survive)]
    survive: Wanted,
    /// What it must have, separated by commas: checksums, snapshots, shrinking, reflink, quota, case-folding, encryption,
    /// compression
    #[arg(long, value_name = "FACTS", value_delimiter = ',', value_parser = candidates::need)]
    need: Vec<Topic>,
    /// How full it is when the work begins, such as 80%
    #[arg(long, value_name = "SHARE", visible_alias = "fill")]
    room: Option<String>,
    /// Which history it has when the work begins, as after `run --age`
    #[arg(long, value_name = "HISTORY")]
    age: Option<String>,
    /// Also what is left out otherwise: unmaintained file systems; weaker-promises, options that take away what the defaults
    /// promise after a power cut
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["unmaintained", candidates::WEAKER])]
    allow: Vec<String>,
    /// Repeat the search of an answer that --also FILE.json wrote, and say what has changed. Options given here replace those of
    /// that search, such as --kernel sid
    #[arg(long, value_name = "FILE.json")]
    again: Option<PathBuf>,
    /// How long it may take: what does not fit is said to be not asked
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = common::duration)]
    budget: Duration,
    /// Shrinks counts and sizes evenly: a number or a fraction; 1 is the suite's own size, and a command's [default: the
    /// largest that the budget has time for]
    #[arg(long, value_name = "SCALE", allow_hyphen_values = true)]
    scale: Option<String>,
    /// Seed of all random choices
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// The computer of the virtual lab; `mountmark list machines`
    #[arg(long, value_name = "MACHINE", default_value_t = LabOptions::usual().machine())]
    machine: String,
    /// The disk under test instead of the machine's
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// Size of the disk, in every situation [default: what the work needs, and at least 2GiB]
    #[arg(long, value_name = "SIZE", visible_alias = "size", value_parser = common::disk_size)]
    disk_size: Option<Bytes>,
    /// The guest's kernel, as after `run --kernel`
    #[arg(long, value_name = "KERNEL", default_value = mountmark_lab::image::kernel::DEFAULT)]
    kernel: String,
    /// Guests side by side, fewer where memory does not suffice [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    #[command(flatten)]
    shelf: ShelfOptions,
    /// Have other machines measure, as after `run --on`; power cuts and profiles are made here. They need a --shelf that all of
    /// them see
    #[arg(long, value_name = "ENGINE")]
    on: Option<On>,
    /// Print what would be asked and what is left out by fact, and measure nothing
    #[arg(long)]
    dry_run: bool,
    /// How to print: table, markdown, json or html [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Write it to this file too, in the format of its ending: .md, .json, .html
    #[arg(long, value_name = "FILE")]
    also: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreOptions,
}

/// What has to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted(Option<Survive>);

fn survive(text: &str) -> Result<Wanted, String> {
    match text {
        "nothing" => Ok(Wanted(None)),
        _ => text.parse().map(|found| Wanted(Some(found))).map_err(|reason: String| format!("{reason}, nothing")),
    }
}

/// Refuses what no answer can be about.
fn fits(arguments: &Arguments) -> Result<()> {
    if !arguments.work.is_given() {
        bail!(WrongUse("say what the work is: --suite NAME, or a command after --".into()));
    }
    if arguments.work.is_compared() {
        bail!(WrongUse("--compare: advice is about file systems; use mountmark run for two builds".into()));
    }
    if arguments.budget.is_zero() {
        bail!(WrongUse("--budget 0: nothing can be measured in no time".into()));
    }
    if let Some(share) = &arguments.room {
        fill_percent(share).map_err(|error| WrongUse(error.to_string().replacen("--fill", "--room", 1)))?;
    }
    Ok(())
}

pub fn run(given: Arguments) -> Result<u8> {
    let (arguments, words, before) = match &given.again {
        Some(path) => {
            let (arguments, words, before) = again::load(path, &given)?;
            (arguments, words, Some(before))
        }
        None => (given, again::words()?, None),
    };
    common::format_of::<Advised>(arguments.format.as_deref())?;
    let also = written::also::<Advised>(&arguments.also, &Advised::STARTS)?;
    fits(&arguments)?;
    let catalogue = catalogue::load()?;
    if held::age(arguments.age.as_deref(), arguments.seed, &catalogue, false)?.1.is_some() {
        bail!(WrongUse("--age: an answer is about one history; name one".into()));
    }
    let mut search = Search::new(&arguments);
    let chosen = candidates::choose(&catalogue, &arguments, &mut search.race.left_out)?;
    let Some(first) = chosen.first() else {
        candidates::say_left_out(&search.race.left_out);
        let nearest =
            candidates::nearest(&catalogue, &arguments).map_or(String::new(), |nearest| format!("; {nearest}"));
        say!("mountmark: no file system meets these needs{nearest}");
        return Ok(common::FAILED);
    };
    search.runs.check(&chosen)?;
    if let Err(reason) = Profiler::available() {
        say!("mountmark: nothing will say why a file system is faster: {reason:#}");
        search.runs.no_profiles = Some(format!("{reason:#}"));
    }
    if arguments.dry_run {
        common::print(&candidates::told(&catalogue, &arguments, &chosen, &search.race.left_out)?)?;
        return Ok(common::DONE);
    }
    let usual = catalogue.list::<FileSystem>().find(|one| one.usual && arguments.fs.is_empty());
    let is_of = |text: &&String, one: &FileSystem| text.split(':').next() == Some(one.name.as_str());
    let usual = usual.and_then(|one| chosen.iter().find(|text| is_of(text, one)));
    let found = search.all(&catalogue, &chosen, usual.unwrap_or(first))?;
    let Some(answer) = found else {
        if let Some(code) = search.runs.stopped {
            say!("mountmark: stopped before anything could be said; the same command goes on");
            return Ok(code);
        }
        return Ok(common::FAILED);
    };
    let advice = Advice { words, before, ..advice(&catalogue, &arguments, &mut search, answer)? };
    common::show(&Advised(&advice), arguments.format.as_deref())?;
    for (path, format) in &also {
        written::write_also(path, *format, &Advised(&advice))?;
        say!("mountmark: wrote {}", path.display());
    }
    if let Some(code) = search.runs.stopped {
        say!("mountmark: stopped: this is what is known so far; the same command goes on");
        return Ok(code);
    }
    Ok(common::DONE)
}

/// The answer with all its evidence.
fn advice(catalogue: &Catalogue, arguments: &Arguments, search: &mut Search, answer: Candidate) -> Result<Advice> {
    let (name, simplest) = (answer.name.clone(), search.simplest.clone());
    let second = search.second.clone();
    let others = turns::compared(&answer, second.as_ref(), &simplest);
    let (costs, why) = of_profiles(catalogue, search, &answer, second.as_ref(), &others)?;
    let turns = turns::ask(search, &answer, &others)?;
    let confirm = recipe::confirm(catalogue, search, &name, &others);
    search.runs.not_asked.extend(confirm.as_ref().err().cloned());
    let gains = search.race.gains_of(&name);
    let gain = |other: &str| gains.get(other).copied();
    let own: Vec<Configuration> = configurations(catalogue, std::slice::from_ref(&name))?;
    let made = own.first().context("a configuration has a name")?;
    let over = search.race.over(&simplest, &name).filter(|_| name != simplest);
    let run = search.runs.of(&name).context("the answer was measured")?;
    let findings = mountmark_findings::findings(run, &mountmark_findings::Options::default());
    let disk = run.plan.cells.first().map(|cell| cell.disk.name.clone()).unwrap_or_default();
    Ok(Advice {
        work: search.work(),
        machine: arguments.machine.clone(),
        disk: arguments.disk_size.map_or(disk.clone(), |size| format!("{disk} of {size}")),
        seed: arguments.seed,
        room: arguments.room.clone(),
        age: arguments.age.clone(),
        kernel: run.environment.kernel.clone(),
        scale: search.scale(),
        needs: candidates::needs(arguments),
        recipe: recipe::of(made),
        risks: candidates::risks(catalogue, &answer)?,
        instead_of: search.instead_of(),
        over_simplest: over,
        over_defaults: if answer.filesystem == simplest { over } else { gain(&answer.filesystem) }
            .filter(|_| !answer.options.is_empty()),
        second: second.as_ref().and_then(|second| Some(search.race.tried(second, gain(&second.name)?))),
        after_cut: mountmark_findings::after_cut(&findings, &name).unwrap_or_default(),
        known_faults: mountmark_findings::known_faults(&findings, &name),
        power_cuts: search.power_cuts.clone(),
        why,
        turns,
        costs,
        screened: search.race.screened.clone(),
        tried: search.race.beside(&name, &simplest, over),
        left_out: search.race.left_out.clone(),
        not_asked: search.runs.not_asked.clone(),
        cells: search.runs.cells(),
        runs: search.runs.names.clone(),
        confirm: confirm.ok(),
        versions: search.runs.versions.clone(),
        simplest,
        words: Vec::new(),
        before: None,
        answer,
    })
}

/// What profiles say: where the answer turns with the costs of machines, and why it is faster than the second.
fn of_profiles(
    catalogue: &Catalogue,
    search: &mut Search,
    answer: &Candidate,
    second: Option<&Candidate>,
    others: &[String],
) -> Result<(Vec<OnMachines>, Vec<String>)> {
    let Some(run) = turns::profiled(search, answer, others)? else { return Ok(Default::default()) };
    let costs = turns::on_machines(catalogue, search, &run, answer, others)?;
    let why = second.map(|second| reasons(search, run, [&answer.name, &second.name])).transpose()?;
    Ok((costs, why.unwrap_or_default()))
}

/// The largest differences between two configurations of a run that has profiles, a sentence each.
fn reasons(search: &mut Search, run: RunRecord, pair: [&str; 2]) -> Result<Vec<String>> {
    let run = run.of_configurations(|name| pair.contains(&name));
    let stop = Stop::on_signals()?;
    let store = search.arguments.store.open_read_only()?;
    let guests = ProfileOptions { jobs: search.runs.jobs(), silence_limit: SILENCE_LIMIT, callers: false, stop: &stop };
    let mut findings = mountmark_findings::findings(&run, &mountmark_findings::Options::default());
    findings.tasks.retain(|task| !task.step);
    Ok(match why::explain_largest(&run, &findings, 2, &store, guests)? {
        why::Outcome::Explained(all) => {
            all.iter().filter_map(|one| Some(format!("{}: {}", one.task, sentence(one)?))).collect()
        }
        why::Outcome::Fault(fault) => vec![fault],
        why::Outcome::Stopped => {
            search.runs.stopped = Some(stop.code());
            search.runs.skip("why it is faster".to_owned());
            Vec::new()
        }
    })
}

fn sentence(explained: &why::Explained) -> Option<String> {
    let [one, other] = &explained.ledgers[..] else { return None };
    Some(say::difference(&explain(one, other, None)))
}
