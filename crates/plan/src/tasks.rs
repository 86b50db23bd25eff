//! Tasks that are more than a command: benchmark programs, fio's job files, workloads of Mountmark's engine, and their
//! parts.

pub(crate) mod idle;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mountmark_cells::Plan;
use mountmark_model::workload::{FileSet, Pattern, Phase, Run, Sizes, SyncPolicy};
use mountmark_model::{Program, Quantity, Scale, Suite, Task, Workload, format_bytes};

use crate::error::fault;
use crate::error::listed;
use crate::needs::Need;
use crate::options::parameters;
use crate::{Result, bounds, fio, restart};

/// Why a task's kind of work is unusable, as sentences.
pub(crate) fn faults(suite: &Suite) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, task) in suite.tasks.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("task {}: {text}", task.id));
        let ways = [!task.run.trim().is_empty(), task.fio.is_some(), task.workload.is_some(), task.part_of.is_some()];
        match ways.iter().filter(|given| **given).count() {
            0 => fault("run is empty; give the command to time, or fio, workload or part_of".into()),
            1 => {}
            _ => fault("it has more than one of run, fio, workload and part_of; keep one".into()),
        }
        restart::task_faults(suite, task).into_iter().for_each(&mut fault);
        if let Some(name) = &task.program {
            match Program::find(name) {
                _ if task.run.trim().is_empty() => fault("program says what run prints, but run is empty".into()),
                None => {
                    let known: Vec<&str> = Program::ALL.iter().map(|program| program.name).collect();
                    fault(format!("there is no program {name:?}; there are {}", known.join(", ")));
                }
                Some(program) => program_faults(suite, task, program, &mut fault),
            }
        }
        if let Some(workload) = &task.workload {
            workload_faults(suite, task, workload, &mut fault);
        } else if task.least_seconds != 0.0 {
            fault(idle::for_a_workload("least_seconds"));
        }
        if let Some(whole) = &task.part_of {
            match suite.tasks[..index].iter().find(|other| other.id == *whole) {
                None => fault(format!("part_of names {whole:?}, which is no task before it")),
                Some(other) if task.printed.is_some() => {
                    if other.run.trim().is_empty() || other.program.is_some() {
                        fault(format!("part_of names {whole:?}, which is no command whose output is looked at"));
                    }
                }
                Some(other) if other.program.is_none() && other.fio.is_none() && other.workload.is_none() => {
                    fault(format!("part_of names {whole:?}, which has neither program nor fio nor workload"));
                }
                Some(other) => part_faults(task, other, &mut fault),
            }
            if task.prepare.is_some() || task.cleanup.is_some() || task.cold || task.repeat != 1 {
                fault(idle::OF_WHOLE.into());
            }
        } else if task.figure.is_some() && task.program.is_none() && task.fio.is_none() && task.workload.is_none() {
            fault("figure needs program, fio, workload or part_of".into());
        }
    }
    faults
}

fn has_parts(suite: &Suite, task: &Task) -> bool {
    suite.tasks.iter().any(|part| part.part_of.as_ref() == Some(&task.id))
}

fn program_faults(suite: &Suite, task: &Task, program: &Program, fault: &mut dyn FnMut(String)) {
    let names = || program.figures.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let known = |name: &str| program.figures.iter().any(|(known, _)| *known == name);
    let several = program.figures.len() > 1;
    if several && task.figure.is_none() && !has_parts(suite, task) && !known(&task.id) {
        fault(format!(
            "{} prints several figures: add a [[task]] with part_of = {:?} for each that is wanted, or one as figure; \
             there are {}",
            program.name,
            task.id,
            names()
        ));
    }
    if let Some(name) = task.figure.as_deref().filter(|name| !several_forms(name) && several && !known(name)) {
        fault(format!("{} prints no figure {name:?}; there are {}", program.name, names()));
    }
}

/// Whether a part of a figure's name depends on the program's arguments: `write/r64`.
fn several_forms(name: &str) -> bool {
    name.contains('/')
}

fn part_faults(part: &Task, whole: &Task, fault: &mut dyn FnMut(String)) {
    let name = part.figure_name();
    if let Some(program) = whole.program.as_deref().and_then(Program::find) {
        let known = program.figures.iter().any(|(known, _)| *known == name);
        if program.figures.len() > 1 && !known && !several_forms(name) {
            let names: Vec<&str> = program.figures.iter().map(|(name, _)| *name).collect();
            fault(format!("{} prints no figure {name:?}; there are {}", program.name, names.join(", ")));
        }
    }
    if let Some(workload) = &whole.workload {
        let phases: Vec<&str> =
            workload.phases.iter().filter(|phase| !phase.setup).map(|phase| phase.name.as_str()).collect();
        if !phases.contains(&name) {
            fault(format!(
                "the workload of {} has no phase {name:?} that counts; it has {}",
                whole.id,
                listed(&phases)
            ));
        }
    }
}

fn workload_faults(suite: &Suite, task: &Task, workload: &Workload, fault: &mut dyn FnMut(String)) {
    if workload.phases.is_empty() {
        fault("its workload has no phase: add [[task.workload.phases]]".into());
    }
    let counted: Vec<&Phase> = workload.phases.iter().filter(|phase| !phase.setup).collect();
    if counted.is_empty() && !workload.phases.is_empty() {
        fault("all phases of its workload are setup; one must count".into());
    }
    let is_timed = task.restart.is_none();
    if is_timed && counted.len() > 1 && task.figure.is_none() && !has_parts(suite, task) {
        let names: Vec<&str> = counted.iter().map(|phase| phase.name.as_str()).collect();
        fault(format!(
            "its workload has several phases that count ({}): add a [[task]] with part_of = {:?} for each that is \
             wanted, name one as figure, or mark the others with setup = true",
            listed(&names),
            task.id
        ));
    }
    if task.figure.is_none() && has_parts(suite, task) {
        let parts = suite.tasks.iter().filter(|part| part.part_of.as_ref() == Some(&task.id));
        let shown: BTreeSet<&str> = parts.map(|part| part.figure_name()).collect();
        for phase in counted.iter().filter(|phase| !shown.contains(phase.name.as_str())) {
            fault(format!(
                "its phase {:?} counts, and no task shows its figures: add a [[task]] with part_of = {:?} and figure = {0:?}, \
                 mark it with setup = true, or name it as figure of this one",
                phase.name, task.id
            ));
        }
    }
    let mut seen = BTreeSet::new();
    for phase in &workload.phases {
        if !seen.insert(&phase.name) {
            fault(format!("two phases of its workload are named {:?}", phase.name));
        }
    }
    for quantity in quantities(workload) {
        if let Some(name) = quantity.parameters().find(|name| !suite.parameters.contains_key(*name)) {
            fault(format!("its workload names the parameter {name}, which the suite does not have"));
        }
    }
    time_faults(task, workload, fault);
    let parameters = parameters(suite, Scale::ONE);
    for phase in &workload.phases {
        let files = phase.files.as_ref().unwrap_or(&workload.files);
        let reasons = [block_fault(phase, files, &parameters), sync_fault(&phase.sync)];
        for reason in reasons.into_iter().flatten() {
            fault(format!("phase {:?}: {reason}", phase.name));
        }
    }
}

/// Times of a task and of its phases that do not fit together.
fn time_faults(task: &Task, workload: &Workload, fault: &mut dyn FnMut(String)) {
    if !(0.0..=86_400.0).contains(&task.least_seconds) {
        fault(format!("least_seconds is {}: write a number from 0 to 86400", task.least_seconds));
    } else if task.least_seconds > task.limit_seconds {
        fault(format!(
            "least_seconds is {}, and limit_seconds ends it after {}",
            task.least_seconds, task.limit_seconds
        ));
    }
    let longest = workload.phases.chunk_by(|_, next| next.beside).map(longest).sum::<f64>();
    if longest > task.limit_seconds {
        fault(format!(
            "run.seconds and warm_up of its phases are {longest} s, and limit_seconds ends it after {}: raise that, or let \
             them run for less",
            task.limit_seconds
        ));
    }
}

/// The seconds that phases which run beside each other take by their own words.
fn longest(group: &[Phase]) -> f64 {
    let seconds = |phase: &Phase| match phase.run {
        Run::Seconds(seconds) => seconds + phase.warm_up,
        _ => phase.warm_up,
    };
    group.iter().map(seconds).fold(0.0, f64::max)
}

/// A block that is larger than any file: operations would be smaller than the suite says.
fn block_fault(phase: &Phase, files: &FileSet, parameters: &BTreeMap<String, u64>) -> Option<String> {
    let is_cut = phase.what.0.keys().any(|operation| operation.works_on_blocks());
    if !is_cut || files.existing || phase.pattern == Pattern::Append {
        return None;
    }
    let largest = match &files.sizes {
        None => files.size.value(parameters).ok()?,
        Some(Sizes::Uniform { max, .. } | Sizes::Gamma { max, .. }) => max.value(parameters).ok()?,
        Some(Sizes::Lognormal { max, .. }) => max.0,
    };
    let block = phase.block.value(parameters).ok()?;
    (block > largest && largest > 0).then(|| {
        let (block, largest) = (format_bytes(block), format_bytes(largest));
        format!("block is {block}, and no file is larger than {largest}: take a smaller block, or larger files")
    })
}

/// Words about syncs that no sync follows.
fn sync_fault(sync: &SyncPolicy) -> Option<String> {
    let never = sync.every == Quantity::default();
    let field = match () {
        () if never && sync.all_files => "all_files",
        () if never && sync.all_operations => "all_operations",
        () if never && !sync.end && sync.data_only => "data_only",
        () => return None,
    };
    Some(format!("sync.{field} says how to sync, and sync.every not when: give every a number of 1 or more"))
}

/// A number of syncs that is written and is none.
pub(crate) fn never_synced(value: &toml::Value) -> bool {
    let is_none =
        |every: &toml::Value| every.as_integer() == Some(0) || every.as_str().is_some_and(|text| text.trim() == "0");
    match value {
        toml::Value::Table(table) => table
            .iter()
            .any(|(key, value)| key == "sync" && value.get("every").is_some_and(is_none) || never_synced(value)),
        toml::Value::Array(all) => all.iter().any(never_synced),
        _ => false,
    }
}

fn quantities(workload: &Workload) -> Vec<&Quantity> {
    let mut all = Vec::new();
    files_quantities(&workload.files, &mut all);
    for phase in &workload.phases {
        if let Some(files) = &phase.files {
            files_quantities(files, &mut all);
        }
        all.extend([&phase.block, &phase.threads, &phase.queue_depth, &phase.sync.every]);
        all.extend(&phase.rate);
        match &phase.run {
            Run::Operations(count) | Run::Passes(count) => all.push(count),
            Run::Once | Run::Seconds(_) | Run::Beside => {}
        }
    }
    all
}

fn files_quantities<'a>(files: &'a FileSet, all: &mut Vec<&'a Quantity>) {
    all.extend([&files.count, &files.directories, &files.size]);
    match &files.sizes {
        Some(Sizes::Uniform { min, max }) => all.extend([min, max]),
        Some(Sizes::Gamma { mean, max, .. }) => all.extend([mean, max]),
        Some(Sizes::Lognormal { .. }) | None => {}
    }
}

/// The suite with the text of its job files, which are in the folder of `path`, and their figures as parts unless the
/// suite lists parts.
pub(crate) fn with_job_files(mut suite: Suite, path: &Path) -> Result<Suite> {
    let mut tasks: Vec<Task> = Vec::new();
    let all = std::mem::take(&mut suite.tasks);
    let parameters = parameters(&suite, Scale::ONE);
    for task in &all {
        let mut task = task.clone();
        let Some(name) = task.fio.take() else {
            tasks.push(task);
            continue;
        };
        let refused = |reason| fault(&path.display(), format!("task {}: fio = {name:?}: {reason}", task.id));
        // A suite may be untrusted: it may read only files that came with it.
        let job = mountmark_input::beside(path, &name).map_err(refused)?;
        let text = mountmark_input::text(&job, mountmark_input::MOST_TEXT).map_err(refused)?;
        let text = fio::Text::with_included(&text, &job)?;
        let file = fio::read(&text, fio::Given { parameters: &parameters, prepared: true })?;
        fio::ends_within(&file, &job.display().to_string(), task.limit_seconds)?;
        task.fio = Some(text.text);
        let named = all.iter().any(|part| part.part_of.as_ref() == Some(&task.id));
        let parts = match named || task.figure.is_some() {
            true => Vec::new(),
            false => {
                let taken: Vec<&str> = all.iter().map(|task| task.id.as_str()).collect();
                fio::parts(&task, &file, &taken)
            }
        };
        tasks.push(task);
        tasks.extend(parts);
    }
    suite.tasks = tasks;
    match bounds::too_many_tasks(suite.tasks.len()) {
        Some(reason) => Err(fault(&path.display(), reason)),
        None => Ok(suite),
    }
}

/// The benchmark programs that a suite's tasks need.
pub fn programs(tasks: &[Task]) -> Vec<&'static Program> {
    let wanted = |program: &&Program| tasks.iter().any(|task| needs(task, program));
    Program::ALL.iter().filter(wanted).collect()
}

fn needs(task: &Task, program: &Program) -> bool {
    task.skip.is_none()
        && (task.program.as_deref() == Some(program.name) || task.fio.is_some() && program.name == "fio")
}

/// Omits the tasks that need `program`, which is unavailable for `reason`, a sentence that the plan keeps.
pub fn leave_out(plan: &mut Plan, program: &Program, reason: &str) {
    plan.change(|cell| {
        for task in cell.tasks.iter_mut().filter(|task| needs(task, program)) {
            task.skip = Some(reason.to_owned());
        }
        cell.packages.retain(|package| package != program.package);
        cell.tools.retain(|tool| tool != program.tool && !program.files.contains(&tool.as_str()));
    });
}

/// The largest space in bytes that one job file needs with these parameters.
pub(crate) fn job_files_room(suite: &Suite, parameters: &BTreeMap<String, u64>) -> Result<u64> {
    let mut largest = 0;
    for task in &suite.tasks {
        let Some(text) = &task.fio else { continue };
        let shown = format!("task {}", task.id);
        let file = fio::read(&fio::Text::alone(text, &shown), fio::Given { parameters, prepared: true })?;
        fio::ends_within(&file, &shown, task.limit_seconds)?;
        largest = largest.max(Need { bytes: file.bytes, files: file.files, ..Need::default() }.room());
    }
    Ok(largest)
}

#[cfg(test)]
mod tests;
