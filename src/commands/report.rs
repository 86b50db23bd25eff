//! `mountmark report`: writes the findings of runs to a file.

mod target;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_document::forms::Form;
use mountmark_findings::claims::{JudgedClaim, Judges, by_several};
use mountmark_findings::studies::{StudyComparison, compare_study};
use mountmark_findings::why::{Answer, Explanation};
use mountmark_findings::{Findings, Format, Report, Reports, configurations, findings};
use mountmark_lab::SILENCE_LIMIT;
use mountmark_model::facts::Facts;
use mountmark_model::{FileSystem, MachineAgreement, Study};
use mountmark_plan::{Catalogue, Step, repetition};
use mountmark_record::{DeviceUse, DeviceUses, Output, RunRecord, RunSummary, Store};

use super::compare;
use super::run::Stop;
use super::why::{self, Explained, ProfileOptions};
use crate::catalogue;
use crate::common::{self, StoreOptions, SurviveOptions, WrongUse};
use crate::costs::CostsOptions;
use crate::written;
use target::Target;

/// Write a report of one or more runs: an HTML file, or Markdown, CSV, JSON or a picture
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark report                                     the latest run, as report-RUN.html in this folder\n  mountmark report latest --baseline ext4 --output ext4.html\n  mountmark report latest --study piszcz-2006 --claims\n  mountmark report --study journaling-2010 --claims    its claims on one page, by all runs that repeat it\n  mountmark report latest --why 3                      with what makes the three largest differences\n  mountmark report 20260131-0902 latest                two runs, one after the other\n  mountmark report latest --format markdown >> notes.md\n  mountmark report latest --format svg --output times.svg\n\nAn existing file is overwritten only if it is a report of the same format."
)]
pub struct Arguments {
    /// Names of runs, their first letters, or `latest` [default: latest; with --study the newest run of the store for each
    /// command that repeats it]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// How to write: html, markdown, table, csv, json or svg [default: as the name after --output ends, else html]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// The report's file, or - for standard output; --out is the results store [default: report-RUN.html for html, standard
    /// output for the others]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The configuration that figures are divided by [default: the first of each run]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Set the runs beside the figures of this study, NAME or NAME#RUN; `mountmark list studies` has them all
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// Judge the claims of all published studies, or of --study alone, by the runs and the newest campaigns of power cuts;
    /// several runs are asked together, and each claim stands above them once; where the store has no run of the study, its
    /// campaigns judge alone
    #[arg(long)]
    claims: bool,
    /// With --claims: judge claims about other suites and machines too
    #[arg(long, requires = "claims")]
    anyway: bool,
    /// Explain the N largest differences between the best and the worst file system of a task, as `mountmark why` does:
    /// their guests run again with the profiler, unless the run was made with --profile
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    why: Option<u16>,
    /// With --why: guests side by side
    #[arg(long, value_name = "N", default_value_t = 1, requires = "why", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    #[command(flatten)]
    survive: SurviveOptions,
    #[command(flatten)]
    costs: CostsOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    let format = target::format(&arguments)?;
    fits(&arguments, format)?;
    // Names are checked before anything is read.
    let catalogue = catalogue::load()?;
    let study = arguments.study.as_ref().map(|name| compare::study::find(&catalogue, name)).transpose()?;
    let of = study.as_ref().map(|(study, _)| *study);
    let names = match (&arguments.runs[..], &study) {
        ([], Some((study, its_run))) => match repeating(&catalogue, study, its_run.as_deref(), &arguments)? {
            names if names.is_empty() => return by_power_cuts(study, format, &arguments, &catalogue),
            names => names,
        },
        ([], None) => vec!["latest".to_owned()],
        (names, _) => names.to_vec(),
    };
    let store = arguments.store.open_read_only()?;
    let runs =
        loaded(&store, &names)?.into_iter().map(|run| arguments.survive.keep(run)).collect::<Result<Vec<_>>>()?;
    let target = target::target(&arguments, format, &runs, of);
    if let Target::File(path) = &target {
        target::check(path, format)?;
    }

    let found: Vec<Findings> =
        runs.iter().map(|run| found(run, &arguments, &catalogue, &store)).collect::<Result<_>>()?;
    let compare = |run| study.as_ref().and_then(|(study, its_run)| compare_study(run, study, its_run.as_deref()));
    let compared: Vec<Option<StudyComparison>> = runs.iter().map(compare).collect();
    let judge = |run| arguments.claims.then(|| judge(run, of, &arguments, &catalogue)).transpose();
    let mut judged: Vec<Option<Vec<JudgedClaim>>> = runs.iter().map(|run| judge(Some(run))).collect::<Result<_>>()?;
    // Of several runs each claim is told once, above all of them.
    let together =
        (arguments.claims && runs.len() > 1).then(|| by_several(judged.iter_mut().filter_map(Option::take).collect()));
    let explained = match explained(&arguments, &store, &runs, &found)? {
        Ok(explained) => explained,
        Err(code) => return Ok(code),
    };
    let differences: Vec<Vec<Vec<Explanation>>> = explained.iter().map(|tasks| differences(tasks)).collect();
    let whys: Vec<Vec<Answer>> = (runs.iter().zip(explained.iter().zip(&differences)))
        .map(|(run, (tasks, differences))| as_whys(run, tasks, differences))
        .collect();
    let beside = runs.iter().map(|run| first_repeat(&store, run, format)).collect::<Result<Vec<_>>>()?;
    let facts: Vec<(&str, &Facts)> =
        catalogue.list::<FileSystem>().map(|one| (one.name.as_str(), &one.facts)).collect();
    let reports: Vec<Report> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| Report {
            run,
            findings: &found[index],
            study: compared[index].as_ref(),
            claims: judged[index].as_deref(),
            facts: &facts,
            whys: whys.get(index).map_or(&[], Vec::as_slice),
            devices: &beside[index].0,
            results: &beside[index].1,
        })
        .collect();
    let text = format.write(&Reports { runs: &reports, claims: together.as_deref() }, &common::report_options())?;
    write(target, &text)
}

fn write(target: Target, text: &str) -> Result<u8> {
    match target {
        Target::Stdout => common::print(text)?,
        Target::File(path) => {
            written::write_whole(&path, text)?;
            say!("mountmark: wrote {} ({})", path.display(), mountmark_model::Bytes(text.len() as u64));
        }
    }
    Ok(common::DONE)
}

/// Refuses what a format cannot show.
fn fits(arguments: &Arguments, format: Format) -> Result<()> {
    let (name, form) = (format.name(), format.form());
    if form == Form::Picture && arguments.runs.len() > 1 {
        bail!(WrongUse(format!("--format {name} draws one run: name one")));
    }
    let beside =
        [("--study", arguments.study.is_some()), ("--claims", arguments.claims), ("--why", arguments.why.is_some())];
    if let Some((option, _)) = beside.iter().find(|(_, is_given)| *is_given)
        && matches!(form, Form::Rows | Form::Picture)
    {
        bail!(WrongUse(format!("--format {name} shows runs alone: leave {option} out, or use `mountmark compare`")));
    }
    Ok(())
}

fn loaded(store: &Store, names: &[String]) -> Result<Vec<RunRecord>> {
    let mut runs: Vec<RunRecord> = Vec::new();
    for name in names {
        if let Some((run, side)) = name.rsplit_once('#') {
            bail!(WrongUse(format!("{name}: a report has all sides of a run, {side} too: name {run}")));
        }
        let id = store.resolve(name)?;
        if runs.iter().any(|run| run.id == id) {
            bail!(WrongUse(format!("{name}: run {id} is named twice")));
        }
        runs.push(store.load(&id)?);
    }
    Ok(runs)
}

/// The tasks that `--why` asks for, of each run; or the exit code where it was stopped or found a fault.
fn explained(
    arguments: &Arguments,
    store: &Store,
    runs: &[RunRecord],
    found: &[Findings],
) -> Result<Result<Vec<Vec<Explained>>, u8>> {
    let mut all = Vec::new();
    let Some(count) = arguments.why else { return Ok(Ok(all)) };
    let stop = Stop::on_signals()?;
    let guests =
        ProfileOptions { jobs: arguments.jobs.into(), silence_limit: SILENCE_LIMIT, callers: true, stop: &stop };
    for (run, found) in runs.iter().zip(found) {
        match stop.or(why::explain_largest(run, found, count.into(), store, guests), why::Outcome::Stopped)? {
            why::Outcome::Explained(tasks) => all.push(tasks),
            why::Outcome::Stopped => return Ok(Err(stop.code())),
            why::Outcome::Fault(fault) => {
                say!("mountmark: {fault}");
                return Ok(Err(common::FAILED));
            }
        }
    }
    Ok(Ok(all))
}

/// The newest runs of the store that repeat a study, one for each of its commands; says which have none. Where its claims
/// are asked for and power cuts judge some of them, no run is needed.
fn repeating(
    catalogue: &Catalogue,
    study: &Study,
    its_run: Option<&str>,
    arguments: &Arguments,
) -> Result<Vec<String>> {
    let (mut names, mut lacking) = (Vec::new(), Vec::new());
    let by_cuts = arguments.claims && compare::claims::cuts_judge(study, &arguments.store)?;
    let known = match arguments.store.open_read_only() {
        Err(_) if by_cuts && !arguments.store.path().exists() => Vec::new(),
        store => store?.runs()?,
    };
    let steps = study.run(its_run).map(|its_run| repetition(catalogue, study, its_run)).unwrap_or_default();
    for step in steps {
        let Step::Run(again) = &step else { continue };
        let varied = again.vary.as_deref().and_then(|vary| vary.split('=').next());
        let is_it = |run: &&RunSummary| {
            let parameter = run.vary.as_ref().map(|vary| vary.parameter.as_str());
            run.recorded > 0 && run.suite == again.suite && parameter == varied
        };
        match known.iter().rev().find(is_it) {
            Some(run) => names.push(run.id.as_str().to_owned()),
            None => lacking.push(common::shell_line(&step.words())),
        }
    }
    let (path, name) = (arguments.store.path(), &study.name);
    let store = path.display();
    if names.is_empty() && !by_cuts {
        bail!("no run in {store} repeats {name}: make some with `mountmark run --study {name}`, or name a run");
    }
    lacking.iter().for_each(|line| say!("mountmark: no run in {store} is of: mountmark {line}"));
    Ok(names)
}

/// Writes a study's claims as the campaigns of the store judge them, which has no run of it.
fn by_power_cuts(study: &Study, format: Format, arguments: &Arguments, catalogue: &Catalogue) -> Result<u8> {
    let judged = by_several(vec![judge(None, Some(study), arguments, catalogue)?]);
    let target = target::target(arguments, format, &[], Some(study));
    if let Target::File(path) = &target {
        target::check(path, format)?;
    }
    let text = format.write(&Reports { runs: &[], claims: Some(&judged) }, &common::report_options())?;
    write(target, &text)
}

/// Prints runs beside a study's figures and claims.
pub fn beside_study(runs: Vec<String>, study: &str, format: Option<&str>, store: &StoreOptions) -> Result<u8> {
    let format = format.unwrap_or("table");
    // Rows show runs alone.
    let is_beside = common::format_of::<Reports>(Some(format))?.form() != Form::Rows;
    run(Arguments {
        runs,
        format: Some(format.to_owned()),
        output: Some("-".into()),
        baseline: None,
        study: is_beside.then(|| study.to_owned()),
        claims: is_beside,
        anyway: false,
        why: None,
        jobs: 1,
        survive: SurviveOptions::default(),
        costs: CostsOptions::default(),
        store: store.clone(),
    })
}

fn differences(tasks: &[Explained]) -> Vec<Vec<Explanation<'_>>> {
    tasks.iter().map(|task| why::explanations(&task.ledgers, None)).collect()
}

/// The answers for the tasks of a run.
fn as_whys<'a>(run: &'a RunRecord, tasks: &'a [Explained], differences: &'a [Vec<Explanation<'a>>]) -> Vec<Answer<'a>> {
    tasks.iter().zip(differences).map(|(task, explanations)| as_why(run, task, explanations)).collect()
}

fn as_why<'a>(run: &'a RunRecord, task: &'a Explained, explanations: &'a [Explanation<'a>]) -> Answer<'a> {
    Answer {
        run,
        later: None,
        task: &task.task,
        chosen: None,
        ledgers: &task.ledgers,
        explanations,
        figures: task.figures,
        is_kept: task.is_kept,
        differs: task.differs.as_deref(),
    }
}

/// Data that only documents for people show: device records and results of the engine.
fn first_repeat(store: &Store, run: &RunRecord, format: Format) -> Result<(Vec<DeviceUse>, Vec<Output>)> {
    if !matches!(format.form(), Form::Page | Form::Blocks) {
        return Ok(Default::default());
    }
    let wanted = DeviceUses { task: None, repeat: Some(0) };
    Ok((store.devices(&run.id, &wanted)?, store.results(&run.id, 0)?))
}

fn found(run: &RunRecord, arguments: &Arguments, catalogue: &Catalogue, store: &Store) -> Result<Findings> {
    let known = configurations(run);
    if let Some(name) = arguments.baseline.as_ref().filter(|name| !known.contains(name)) {
        let known = known.join(", ");
        bail!(WrongUse(format!("--baseline {name}: run {} has no such configuration; it has {known}", run.id)));
    }
    let accords = Some(catalogue.list::<MachineAgreement>().cloned().collect());
    let asked = Some(arguments.costs.asked(catalogue, store, run)?);
    let options =
        mountmark_findings::Options { baseline: arguments.baseline.clone(), accords, asked, ..Default::default() };
    Ok(findings(run, &options))
}

/// The claims of one study, or of all; by power cuts alone where there is no run.
fn judge(
    run: Option<&RunRecord>,
    study: Option<&Study>,
    arguments: &Arguments,
    catalogue: &Catalogue,
) -> Result<Vec<JudgedClaim>> {
    let studies: Vec<&Study> = study.map_or_else(|| catalogue.list::<Study>().collect(), |study| vec![study]);
    let judges = Judges { run, earlier: None, anyway: arguments.anyway };
    compare::claims::judged(&judges, &studies, catalogue, &arguments.store)
}
