//! What a shell is offered for the value of an argument: names of the catalogue, and of what is in the store.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use mountmark_crash::record::Record;
use mountmark_findings::SUBJECTS;
use mountmark_model::{Corpus, FileSystem, Metric, Study, Suite};
use mountmark_plan::{Catalogue, Entry};
use mountmark_record::{Campaigns, RunSummary, Store};

use crate::catalogue;
use crate::commands::run::DEFAULT_SUITE;
use crate::common::StoreOptions;

/// What is offered: a value, and one line about it.
type Offer = (String, String);

/// One source of values.
struct Source {
    /// The arguments that take them, each by the name of its value or by its own.
    arguments: &'static [&'static str],
    offers: fn(&Line) -> Vec<Offer>,
    /// Whether values may be separated by commas.
    is_list: bool,
    /// Whether a path is a value, too.
    or_path: bool,
}

const fn source(arguments: &'static [&'static str], offers: fn(&Line) -> Vec<Offer>) -> Source {
    Source { arguments, offers, is_list: false, or_path: false }
}

impl Source {
    const fn list(self) -> Source {
        Source { is_list: true, ..self }
    }

    const fn or_path(self) -> Source {
        Source { or_path: true, ..self }
    }
}

/// All of them. Arguments with a fixed set of values have it in their own declaration.
const SOURCES: &[Source] = &[
    source(&["RUN", "VIRTUAL", "REAL", "run"], runs),
    source(&["CAMPAIGN", "campaign"], campaigns),
    source(&["finding"], findings),
    source(&["fs"], file_systems).list(),
    source(&["SUITE"], |_| entries::<Suite>()).or_path(),
    source(&["STUDY"], |_| entries::<Study>()),
    source(&["machine"], |_| entries::<mountmark_model::Machine>()),
    source(&["disk"], |_| entries::<mountmark_model::Disk>()).list(),
    source(&["CORPUS"], |_| entries::<Corpus>()).or_path(),
    source(&["kernel"], |_| kernels()).list().or_path(),
    source(&["WORKLOAD"], |_| scenarios()).or_path(),
    source(&["METRIC"], |_| metrics()),
    source(&["FORMAT"], formats),
    source(&["TASK"], tasks),
    source(&["CONFIGURATION", "baseline"], configurations),
];

/// The command with a source at each argument that has one.
pub fn complete(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(|argument| match find(&argument) {
        Some(source) => argument.add(ArgValueCompleter::new(Completer(source))),
        None => argument,
    });
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, complete))
}

fn find(argument: &Arg) -> Option<&'static Source> {
    let value = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let of = |name: &str| SOURCES.iter().find(|source| source.arguments.contains(&name));
    of(value).or_else(|| of(argument.get_id().as_str()))
}

struct Completer(&'static Source);

impl ValueCompleter for Completer {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let source = self.0;
        let text = current.to_string_lossy();
        let (before, piece) = match text.rfind(',').filter(|_| source.is_list) {
            Some(at) => text.split_at(at + 1),
            None => ("", &*text),
        };
        let taken: BTreeSet<&str> = before.split(',').collect();
        let offers = (source.offers)(&Line::new(piece));
        let fits = |(value, _): &Offer| value.starts_with(piece) && !taken.contains(value.as_str());
        let candidate =
            |(value, about): Offer| CompletionCandidate::new(format!("{before}{value}")).help(Some(about.into()));
        let mut candidates: Vec<_> = offers.into_iter().filter(fits).map(candidate).collect();
        if source.or_path && !piece.is_empty() {
            let paths = PathCompleter::any().complete(OsStr::new(piece));
            candidates.extend(paths.into_iter().map(|path| path.add_prefix(before)));
        }
        candidates
    }
}

/// The command line that is being completed.
struct Line<'a> {
    /// What is there of the value.
    piece: &'a str,
    words: Vec<String>,
}

impl Line<'_> {
    fn new(piece: &str) -> Line<'_> {
        Line { piece, words: std::env::args_os().map(|word: OsString| word.to_string_lossy().into_owned()).collect() }
    }

    /// The value of an option that stands on the line already.
    fn option(&self, name: &str) -> Option<&str> {
        let long = format!("--{name}");
        self.words.iter().enumerate().rev().find_map(|(at, word)| match word.strip_prefix(&long)? {
            "" => self.words.get(at + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        })
    }

    /// The word that stands on the line for a run, if any.
    fn run(&self, runs: &[RunSummary]) -> Option<usize> {
        let is_named = |run: &RunSummary| self.words.iter().any(|word| word == run.id.as_str());
        runs.iter().position(is_named).or(runs.len().checked_sub(1))
    }

    fn store(&self) -> PathBuf {
        let out =
            self.option("out").map(PathBuf::from).or_else(|| std::env::var_os("MOUNTMARK_OUT").map(PathBuf::from));
        StoreOptions { out }.path()
    }

    /// The runs of the store, oldest first; none without a store.
    fn runs(&self) -> Vec<RunSummary> {
        Store::open_read_only(self.store()).and_then(|store| store.runs()).unwrap_or_default()
    }
}

/// The user's catalogue, or the built-in one if a file of the user's is damaged.
fn with_catalogue<T: Default>(take: impl FnOnce(&Catalogue) -> T) -> T {
    catalogue::load().ok().or_else(|| Catalogue::built_in().ok()).map(|catalogue| take(&catalogue)).unwrap_or_default()
}

fn entries<T: Entry>() -> Vec<Offer> {
    with_catalogue(|catalogue| catalogue::entries::<T>(catalogue).collect())
}

/// File systems; the variants of one once its name is there.
fn file_systems(line: &Line) -> Vec<Offer> {
    with_catalogue(|catalogue| {
        let mut offers = Vec::new();
        for filesystem in catalogue.list::<FileSystem>() {
            offers.push((filesystem.name.clone(), filesystem.about.clone()));
            if line.piece.starts_with(&filesystem.name) {
                let variant = |(name, variant): (&String, &mountmark_model::Variant)| {
                    (format!("{}:{name}", filesystem.name), variant.about.clone())
                };
                offers.extend(filesystem.variants.iter().map(variant));
            }
        }
        offers
    })
}

fn kernels() -> Vec<Offer> {
    vec![
        (mountmark_lab::image::kernel::DEFAULT.into(), "the default".into()),
        ("host".into(), "the image in this machine's /boot".into()),
    ]
}

fn scenarios() -> Vec<Offer> {
    with_catalogue(|catalogue| {
        let scenarios = catalogue::scenarios(catalogue).unwrap_or_default();
        scenarios.into_iter().map(|scenario| (scenario.name, scenario.about)).collect()
    })
}

fn metrics() -> Vec<Offer> {
    Metric::ALL.iter().map(|metric| (metric.id.to_owned(), metric.about.to_owned())).collect()
}

/// Those of the command, or all where no command is named as its output is.
fn formats(line: &Line) -> Vec<Offer> {
    let words = line.words.join(" ");
    let of_command: Vec<_> = SUBJECTS.iter().filter(|subject| words.contains(subject.command)).collect();
    let subjects = if of_command.is_empty() { SUBJECTS.iter().collect() } else { of_command };
    let mut names = BTreeSet::new();
    let formats = subjects.iter().flat_map(|subject| subject.formats());
    let mut offers: Vec<Offer> = formats.map(|format| (format.name().to_owned(), String::new())).collect();
    offers.retain(|(name, _)| names.insert(name.clone()));
    offers
}

/// Of the suite on the line, of the run on the line, or of the newest run.
fn tasks(line: &Line) -> Vec<Offer> {
    let runs = line.runs();
    let newest = line.run(&runs).map(|index| runs[index].suite.clone());
    let suite = line.option("suite").map(str::to_owned).or(newest).unwrap_or_else(|| DEFAULT_SUITE.into());
    let mut offers = with_catalogue(|catalogue| {
        let suite = catalogue.suite(&suite).ok();
        let tasks = suite.into_iter().flat_map(|suite| suite.tasks);
        tasks.map(|task| (task.id, task.title)).collect::<Vec<_>>()
    });
    offers.extend(["mkfs", "mount", "umount", "fsck"].map(|step| (step.to_owned(), "a step of each cell".to_owned())));
    offers
}

fn configurations(line: &Line) -> Vec<Offer> {
    let runs = line.runs();
    let run = line.run(&runs).map(|index| &runs[index]);
    let names = run.into_iter().flat_map(|run| run.configurations.clone());
    names.map(|name| (name, String::new())).collect()
}

/// The newest first, which is the likeliest.
fn runs(line: &Line) -> Vec<Offer> {
    let runs = line.runs();
    let mut offers = vec![("latest".to_owned(), "the newest run".to_owned())];
    let about = |run: &RunSummary| format!("{} on {}", run.suite, run.configurations.join(","));
    offers.extend(runs.iter().rev().map(|run| (run.id.to_string(), about(run))));
    offers
}

fn campaigns(line: &Line) -> Vec<Offer> {
    let listed = Campaigns::beside(&line.store()).list(Record::from_pieces).unwrap_or_default();
    let mut offers = vec![("latest".to_owned(), "the newest campaign".to_owned())];
    let about = |record: &Record| record.asked.configurations.join(",");
    offers.extend(listed.iter().rev().map(|listed| (listed.id.to_string(), about(&listed.record))));
    offers
}

/// The findings of the campaign on the line, or of the newest one.
fn findings(line: &Line) -> Vec<Offer> {
    let campaigns = Campaigns::beside(&line.store());
    let named = line.words.iter().skip(1).find_map(|word| campaigns.resolve(word).ok());
    let campaign = named.map_or_else(|| campaigns.resolve("latest"), Ok);
    let Ok(record) = campaign.and_then(|id| campaigns.load(&id, Record::from_pieces)) else { return Vec::new() };
    let causes = record.campaigns().flat_map(|campaign| {
        campaign.causes().into_iter().map(|cause| format!("{}: {}", campaign.configuration, cause.workload))
    });
    (1..).zip(causes).map(|(number, about): (u64, String)| (number.to_string(), about)).collect()
}
