//! `mountmark list`: the contents of the catalogue, and whether they can run here.

use anyhow::Result;
use clap::{Args, ValueEnum};
use mountmark_findings::SUBJECTS;
use mountmark_lab::emulator::options::{DISK, IF, PROFILE};
use mountmark_lab::image::kernel::Kernel;
use mountmark_lab::image::packages::Packages;
use mountmark_model::{
    AgeingProfile, Corpus, Disk, FileSystem, KnownFault, Layer, Machine, MachineAgreement, MachineCosts, Metric, Study,
    StudyRun, Suite,
};
use mountmark_plan::{Catalogue, Step, configurations, repetition};

use super::run::LabOptions;
use crate::catalogue;
use crate::common::{self, WrongUse};

/// List what there is of a kind: file systems, suites, machines, disks, kernels, studies and others
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark list filesystems\n  mountmark list filesystems --kernel 6.1\n  mountmark list filesystems --facts\n  mountmark list studies\n  mountmark list kernels\n  mountmark list faults\n  mountmark list metrics"
)]
pub struct Arguments {
    /// What to list
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// Of file systems: what decides a choice and is no measurement (support, checksums, snapshots, limits), each with its
    /// source and the day on which it was read there
    #[arg(long)]
    facts: bool,
    #[command(flatten)]
    lab: LabOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// File systems, whether they run on the chosen kernel and why not, and their variants
    Filesystems,
    /// What may lie below a file system: encryption, volumes, arrays, with their options
    Layers,
    /// Suites of tasks
    Suites,
    /// Computers of the virtual lab
    Machines,
    /// Disks of the virtual lab
    Disks,
    /// Corpora: trees of files that suites work on
    Corpora,
    /// Published studies to compare runs with
    Studies,
    /// Debian's kernels that can be had, of this machine's sources and of releases that were named before, and which are in the cache
    Kernels,
    /// Workloads and applications for `mountmark crash`
    Crash,
    /// Real machines that the virtual lab was compared with
    Agreements,
    /// What kinds of work cost on real machines, from and to: verdicts say whether an order holds there
    Costs,
    /// Files of file systems in use, for `--age geriatrix:NAME,overwrites=N`: how old, how large, how deep
    Ageing,
    /// Promises that power cuts showed to be broken, and the commands that show it
    Faults,
    /// What is measured
    Metrics,
    /// What can be printed in which formats
    Formats,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let catalogue = catalogue::load()?;
    if !matches!(arguments.kind, Kind::Filesystems) && arguments.lab != LabOptions::usual() {
        return Err(WrongUse("what runs in a lab are file systems: leave the lab's options out".into()).into());
    }
    if arguments.facts {
        return match arguments.kind {
            Kind::Filesystems => common::print(&facts(&catalogue)).map(|()| common::DONE),
            _ => {
                Err(WrongUse("--facts: facts are of file systems: `mountmark list filesystems --facts`".into()).into())
            }
        };
    }
    let text = match arguments.kind {
        Kind::Filesystems => filesystems(&catalogue, &arguments.lab)?,
        Kind::Layers => layers(&catalogue),
        Kind::Suites => rows(catalogue::entries::<Suite>(&catalogue)),
        Kind::Machines => rows(catalogue::entries::<Machine>(&catalogue)),
        Kind::Disks => rows(catalogue::entries::<Disk>(&catalogue)),
        Kind::Corpora => rows(catalogue::entries::<Corpus>(&catalogue)),
        Kind::Studies => studies(&catalogue),
        Kind::Kernels => kernels()?,
        Kind::Crash => scenarios(&catalogue)?,
        Kind::Agreements => rows(catalogue::entries::<MachineAgreement>(&catalogue)),
        Kind::Costs => rows(catalogue::entries::<MachineCosts>(&catalogue)),
        Kind::Ageing => rows(catalogue::entries::<AgeingProfile>(&catalogue)),
        Kind::Faults => faults(&catalogue),
        Kind::Metrics => {
            rows(Metric::ALL.iter().map(|item| (item.id.to_owned(), format!("[{}] {}", item.unit_text(), item.about))))
        }
        Kind::Formats => formats(),
    };
    common::print(&text)?;
    Ok(common::DONE)
}

/// Each command with output, and its formats.
fn formats() -> String {
    rows(SUBJECTS.iter().map(|subject| {
        let names: Vec<&str> = subject.formats().map(|format| format.name()).collect();
        (format!("mountmark {}", subject.command), format!("{}: {}", subject.name, names.join(", ")))
    }))
}

/// What is said of a file system whose module is made on this machine.
const BUILT: &str = " (its first run builds its module)";

fn filesystems(catalogue: &Catalogue, options: &LabOptions) -> Result<String> {
    options.check_one()?;
    let machine = catalogue.get::<Machine>(&options.machine())?;
    if let Some(option) = [&DISK, &IF, &PROFILE].into_iter().find(|option| options.given.has(option)) {
        return Err(WrongUse(format!("--{}: nothing is measured for a list; leave it out", option.name)).into());
    }
    let lab = options.open(machine)?;
    let mut text = String::new();
    let (mut here, mut not_here) = (Vec::new(), Vec::new());
    for filesystem in catalogue.list::<FileSystem>() {
        let configuration = configurations(catalogue, std::slice::from_ref(&filesystem.name))?.remove(0);
        match lab.unavailable(&configuration)? {
            None => here.push(filesystem),
            Some(reason) => not_here.push((filesystem.name.clone(), reason)),
        }
    }
    text += &format!("Run here ({}):\n", lab.title());
    let width =
        here.iter().map(|one| one.name.len()).chain(not_here.iter().map(|(name, _)| name.len())).max().unwrap_or(0);
    for filesystem in here {
        let built = filesystem.module_source.as_ref().map_or("", |_| BUILT);
        text += &format!("  {:<width$} {}{built}\n", filesystem.name, filesystem.about);
        for (name, variant) in &filesystem.variants {
            text += &format!("    {:<26} {}\n", format!("{}:{name}", filesystem.name), variant.about);
        }
    }
    if !not_here.is_empty() {
        text += "\nDo not run here:\n";
        let limit = common::report_options().width;
        for (name, reason) in not_here {
            text += &mountmark_document::text::hang(&format!("  {name}"), width + 3, &reason, limit);
        }
    }
    Ok(text)
}

/// Layers, each with its options and their usual values.
fn layers(catalogue: &Catalogue) -> String {
    let mut text = String::new();
    for layer in catalogue.list::<Layer>() {
        text += &format!("{:<10} {}\n", layer.name, layer.about);
        for (key, option) in &layer.options {
            let values: Vec<&str> = option.values.keys().map(String::as_str).collect();
            let values = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
            text += &format!("  {:<24} {}{values}\n", format!("@{}:{key}={}", layer.name, option.usual), option.about);
        }
    }
    text
}

/// Each known fault with where it was seen, and the command that shows it.
fn faults(catalogue: &Catalogue) -> String {
    let mut text = String::new();
    for fault in catalogue.list::<KnownFault>() {
        let KnownFault { filesystem, about, level, shown_by, .. } = fault;
        let seen: Vec<String> = fault.seen.iter().map(|seen| format!("{} ({})", seen.release, seen.date)).collect();
        text += &format!("{filesystem}: {about}\n  breaks {level}; seen on {}\n", seen.join(", "));
        if !fault.layers.is_empty() {
            text += &format!("  with one of these layers: {}\n", fault.layers.join(", "));
        }
        if !fault.not_with.is_empty() {
            text += &format!("  not with {}\n", fault.not_with.join(", "));
        }
        text += &format!("  {shown_by}\n");
    }
    text
}

/// Debian's kernels, oldest first.
fn kernels() -> Result<String> {
    let cache = mountmark_lab::cache::default_folder();
    // Lists of packages are fetched into it.
    let _in_use = mountmark_lab::cache::open(&cache)?;
    let known = Kernel::known(&Packages::new(&cache))?;
    let of = |(version, suite, is_here): (String, Option<String>, bool)| {
        let from = suite.map_or("this machine's sources".to_owned(), |suite| format!("Debian's {suite}"));
        (version, if is_here { format!("{from}, in the cache") } else { from })
    };
    let more = "\nOther releases of Debian are named as well: --kernel sid, --kernel trixie:6.12. Their lists are then in the cache.\n";
    Ok(rows(known.into_iter().map(of)) + more)
}

/// Each file system with its facts, and their sources.
fn facts(catalogue: &Catalogue) -> String {
    let limit = common::report_options().width;
    let mut text = String::new();
    for filesystem in catalogue.list::<FileSystem>().filter(|one| !one.facts.is_empty()) {
        text += &format!("{}{}: {}\n", if text.is_empty() { "" } else { "\n" }, filesystem.name, filesystem.about);
        for (topic, fact) in &filesystem.facts {
            text += &format!("  {:<20} {}\n", topic.title(), fact.says);
            text += &mountmark_document::text::hang("", 23, &format!("{} ({})", fact.source, fact.date), limit);
        }
    }
    text
}

/// Each study with its runs, its contents, and the suite that repeats it.
fn studies(catalogue: &Catalogue) -> String {
    let mut text = rows(catalogue::entries::<Study>(catalogue));
    text += "\nTheir runs, as --study takes them, and what `mountmark run --study` runs:\n";
    for study in catalogue.list::<Study>() {
        for (index, run) in study.runs.iter().enumerate() {
            let figures = study.figures.iter().filter(|figure| figure.run == run.id).count();
            let name = if index == 0 { study.name.clone() } else { format!("{}#{}", study.name, run.id) };
            let claims = if index == 0 { format!(", {} claims", study.claims.len()) } else { String::new() };
            let limit = common::report_options().width;
            text += &format!("\n{name}\n");
            text += &mountmark_document::text::hang("", 2, &format!("{}: {figures} figures{claims}", run.about), limit);
            text += &again(catalogue, study, run, &name);
        }
    }
    text
}

/// The command that repeats a study's run, and those that it stands for; each in one line, to be copied.
fn again(catalogue: &Catalogue, study: &Study, run: &StudyRun, name: &str) -> String {
    let steps = repetition(catalogue, study, run);
    if steps.is_empty() {
        return "  no suite of the catalogue repeats it\n".into();
    }
    let line = |step: &Step| format!("    mountmark {}\n", common::shell_line(&step.words()));
    let steps: String = steps.iter().map(line).collect();
    format!("  mountmark run --study {}\n{steps}", mountmark_findings::shell_word(name))
}

/// Applications, then workloads.
fn scenarios(catalogue: &Catalogue) -> Result<String> {
    let all = catalogue::scenarios(catalogue)?;
    let of = |application: bool| {
        let those = all.iter().filter(|item| item.is_application() == application);
        rows(those.map(|item| (format!("  {}", item.name), item.about.clone())))
    };
    Ok(format!(
        "Applications, for `mountmark crash --app`:\n{}\nWorkloads, for `mountmark crash --workload`:\n{}",
        of(true),
        of(false)
    ))
}

fn rows(items: impl Iterator<Item = (String, String)>) -> String {
    let items: Vec<(String, String)> = items.collect();
    let width = items.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let limit = common::report_options().width;
    items.iter().map(|(name, about)| mountmark_document::text::hang(name, width + 2, about, limit)).collect()
}
