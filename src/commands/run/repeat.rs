//! `mountmark run --study`: a study again, command by command, and a report beside it.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Parser;
use mountmark_lab::Place;
use mountmark_lab::emulator::options::{KERNEL, MACHINE};
use mountmark_model::{Study, StudyRun};
use mountmark_plan::{Repeated, Step, repetition};

use super::sampled::SamplingOptions;
use super::{Arguments, unseen};
use crate::catalogue;
use crate::commands::{compare, crash, exit_code, report};
use crate::common::{self, WrongUse};
use crate::work_options::WorkOptions;

/// The options that a study sets, and those of which a user may have given another.
const SET: [&str; 9] =
    ["--study", "--suite", "--machine", "--disk-size", "--size", "--fs", "--repeat", "--scale", "--vary"];

/// Repeats the study that `text` names; returns the worst exit code of its commands.
pub fn run(arguments: &Arguments, text: &str) -> Result<u8> {
    let catalogue = catalogue::load()?;
    let (study, its_run) = compare::study::find(&catalogue, text)?;
    let Some(its_run) = study.run(its_run.as_deref()) else {
        bail!(WrongUse(format!("--study: {} has no run", study.name)));
    };
    let steps = chosen(arguments, study, repetition(&catalogue, study, its_run))?;
    if let [_, .., _] = &steps[..] {
        say!("mountmark: study {text}: {} commands, one after the other; --suite takes one of its suites", steps.len());
    }
    let (mut runs, mut code) = (Vec::new(), common::DONE);
    for (index, step) in steps.iter().enumerate() {
        let (step, instead) = instead(arguments, step);
        let line = common::shell_line(&step.words());
        say!("mountmark: study {text}, {} of {}: mountmark {line}", index + 1, steps.len());
        if !instead.is_empty() {
            say!("mountmark: otherwise than the study: {}", instead.join(", "));
        }
        let ended = match &step {
            Step::PowerCuts(_) if arguments.dry_run => common::print(&format!("mountmark {line}\n")).map(|()| Err(0)),
            Step::PowerCuts(_) => cut(arguments, &step).map(Err),
            Step::Run(again) => unseen(&filled(arguments, again), &command_line(again)),
        };
        match ended {
            Ok(Ok(run)) => {
                let has_failed = run.cells.iter().any(mountmark_record::CellRecord::has_failure);
                code = code.max(if has_failed { common::FAILED } else { common::DONE });
                runs.push(run.id);
            }
            // The user requested an end.
            Ok(Err(stopped @ 128..)) => return Ok(stopped),
            Ok(Err(ended)) => code = code.max(ended),
            Err(error) if steps.len() == 1 || exit_code(&error) == common::WRONG_USE => return Err(error),
            Err(error) => {
                say!("mountmark: {error:#}; the study's other commands go on");
                code = code.max(exit_code(&error));
            }
        }
    }
    if !runs.is_empty() {
        beside(arguments, text, &runs.iter().map(|run| run.as_str().to_owned()).collect::<Vec<_>>())?;
    }
    others(study, its_run);
    Ok(code)
}

/// The commands to carry out.
fn chosen(arguments: &Arguments, study: &Study, mut steps: Vec<Step>) -> Result<Vec<Step>> {
    if steps.is_empty() {
        bail!(WrongUse(format!("--study {}: no suite of the catalogue repeats it", study.name)));
    }
    if let Some(suite) = &arguments.work.suite {
        let of = |step: &Step| match step {
            Step::Run(run) => Some(run.suite.clone()),
            Step::PowerCuts(_) => None,
        };
        let mut known: Vec<String> = steps.iter().filter_map(of).collect();
        known.dedup();
        steps.retain(|step| of(step).as_ref() == Some(suite));
        if steps.is_empty() {
            bail!(WrongUse(format!(
                "--suite {suite} does not repeat {}; {} does: leave --suite or --study away",
                study.name,
                known.join(" or ")
            )));
        }
    }
    let format = arguments.format.format.as_deref().unwrap_or("table");
    if !matches!(format, "table" | "markdown") && steps.iter().any(|step| matches!(step, Step::PowerCuts(_))) {
        bail!(WrongUse(format!(
            "--format {format} is one document, and power cuts print one of their own: leave it away, or take a suite alone \
             with --suite"
        )));
    }
    if !arguments.vary.is_empty() {
        // A range of the user's stands in the place of each of the study's.
        let mut seen: Vec<String> = Vec::new();
        steps.retain(|step| match step {
            Step::Run(run) if seen.contains(&run.suite) => false,
            Step::Run(run) => {
                seen.push(run.suite.clone());
                true
            }
            Step::PowerCuts(_) => true,
        });
    }
    Ok(steps)
}

/// A command with what the user has given in the place of the study's, and these as words.
fn instead(arguments: &Arguments, step: &Step) -> (Step, Vec<String>) {
    let mut told = Vec::new();
    let mut put = |option: &str, given: String, of_study: Option<String>| {
        if of_study.as_ref() != Some(&given) {
            let of_study = of_study.map_or_else(|| "not said".to_owned(), |value| format!("{value} there"));
            told.push(format!("{option} {given} ({of_study})"));
        }
    };
    let mut step = step.clone();
    let filesystems = match &mut step {
        Step::PowerCuts(cuts) => &mut cuts.filesystems,
        Step::Run(again) => &mut again.filesystems,
    };
    if !arguments.fs.is_empty() {
        put("--fs", arguments.fs.join(","), Some(filesystems.join(",")));
        *filesystems = arguments.fs.clone();
    }
    let again = match &mut step {
        Step::Run(again) => again,
        Step::PowerCuts(cuts) => {
            cuts.budget = arguments.sampling.budget.map(|budget| budget.as_secs());
            cuts.budget.into_iter().for_each(|seconds| put("--budget", format!("{seconds}s"), None));
            return (step, told);
        }
    };
    if let Some(scale) = &arguments.scale {
        put("--scale", scale.clone(), Some(again.scale.clone()));
        again.scale.clone_from(scale);
    }
    // The study's number may be too small to tell how precise its figures are.
    let least = arguments.sampling.least().filter(|_| again.vary.is_none());
    let enough = least.map(|least| again.repeats.unwrap_or_default().max(least));
    if let Some(repeats) = arguments.repeat.or(enough) {
        put("--repeat", repeats.to_string(), again.repeats.map(|count| count.to_string()));
        again.repeats = Some(repeats);
    }
    if let [vary] = &arguments.vary[..] {
        put("--vary", vary.clone(), again.vary.clone());
        again.vary = Some(vary.clone());
    }
    if let Some(size) = arguments.disk_size {
        put("--disk-size", size.to_string(), again.disk_size.map(|size| size.to_string()));
        again.disk_size = Some(size);
    }
    if let Some(machine) = arguments.lab.given.text(&MACHINE) {
        put("--machine", machine.clone(), again.machine.clone());
        again.machine = Some(machine);
    }
    if !arguments.lab.capabilities().guest {
        told.extend(again.machine.take().map(|machine| format!("this machine ({machine} there)")));
    }
    let place = arguments.lab.place();
    if matches!(place, Place::Folder(_) | Place::Devices { .. }) {
        told.extend(again.disk_size.take().map(|size| format!("a disk of its own size ({size} there)")));
    }
    if matches!(place, Place::Folder(_)) {
        told.push(format!("what is mounted ({} there)", std::mem::take(&mut again.filesystems).join(",")));
    }
    (step, told)
}

/// The command line of a run of its own.
fn filled(arguments: &Arguments, again: &Repeated) -> Arguments {
    let mut own = arguments.clone();
    own.study = None;
    own.work = WorkOptions::suite(&again.suite);
    own.fs = again.filesystems.clone();
    own.lab.given = own.lab.given.with(&MACHINE, &again.machine);
    own.disk_size = again.disk_size.map(common::whole_pages);
    own.scale = again.own_scale().cloned();
    own.repeat = again.repeats;
    own.vary = again.vary.clone().into_iter().collect();
    // Each point of the study's own range is measured equally often.
    if arguments.vary.is_empty() && again.vary.is_some() {
        own.sampling = SamplingOptions::default();
    }
    own
}

/// The same as text: the study's words, then what the user gave beside.
fn command_line(again: &Repeated) -> String {
    let typed = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words = vec!["mountmark".to_owned()];
    words.extend(Step::Run(again.clone()).words());
    let unset: &[&str] = if again.vary.is_some() { &["--budget", "--precision"] } else { &[] };
    words.extend(without(typed.skip_while(|word| word != "run").skip(1), &[&SET[..], unset].concat()));
    common::command_line(words)
}

/// The words without these options and their values.
fn without(words: impl IntoIterator<Item = String>, options: &[&str]) -> Vec<String> {
    let (mut kept, mut words) = (Vec::new(), words.into_iter());
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        match options.contains(&name) {
            true if name == word => drop(words.next()),
            true => {}
            false => kept.push(word),
        }
    }
    kept
}

/// `mountmark crash`, as a line of its own.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    crash: crash::Arguments,
}

fn cut(arguments: &Arguments, step: &Step) -> Result<u8> {
    let mut words = step.words();
    words.extend(arguments.format.format.iter().flat_map(|format| ["--format".to_owned(), format.clone()]));
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("--kernel", arguments.lab.given.text(&KERNEL).unwrap_or_default());
    add("--seed", arguments.seed.to_string());
    arguments.jobs.into_iter().for_each(|jobs| add("--jobs", jobs.to_string()));
    let out = arguments.store.out.as_deref().map(Path::to_string_lossy);
    out.into_iter().for_each(|out| add("--out", out.into_owned()));
    crash::run(Line::parse_from(words).crash)
}

/// The report of all runs beside the study's figures and claims.
fn beside(arguments: &Arguments, study: &str, runs: &[String]) -> Result<()> {
    let format = arguments.format.format.as_deref();
    report::beside_study(runs.to_vec(), study, format, &arguments.store)?;
    let store = arguments.store.path();
    let (out, names) = (common::out_option(&store), runs.join(" "));
    say!("mountmark: kept in {}: {names}", store.display());
    say!("mountmark: charts beside the study's, as a page for a browser:");
    say!("  {} report {names} --study {study} --claims{out}", crate::next::program());
    Ok(())
}

/// Says which other runs the study has.
fn others(study: &Study, its_run: &StudyRun) {
    let other = study.runs.iter().filter(|run| run.id != its_run.id);
    let names: Vec<String> = other.map(|run| format!("{}#{}", study.name, run.id)).collect();
    if !names.is_empty() {
        say!("mountmark: the study's other runs: --study {}", names.join(", --study "));
    }
}
