//! Tasks that are more than a command: benchmark programs, fio's job files, workloads of the own engine, and the tasks
//! that are parts of such.

use std::collections::BTreeMap;
use std::path::Path;

use mountmark_model::workload::{FileSet, Operation, Phase, Run, Sizes};
use mountmark_model::{Bytes, Plan, Program, Quantity, QuantityError, Suite, Task, Workload};

use crate::{PlanError, Result, fio};

/// What makes a task's kind of work unusable: sentences.
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
            fault("least_seconds is for a workload; remove it".into());
        }
        if let Some(whole) = &task.part_of {
            match suite.tasks[..index].iter().find(|other| other.id == *whole) {
                None => fault(format!("part_of names {whole:?}, which is no task before it")),
                Some(other) if other.program.is_none() && other.fio.is_none() && other.workload.is_none() => {
                    fault(format!("part_of names {whole:?}, which has neither program nor fio nor workload"));
                }
                Some(other) => part_faults(task, other, &mut fault),
            }
            if task.prepare.is_some() || task.cleanup.is_some() || task.cold || task.repeat != 1 {
                fault("a part is measured with its whole: prepare, cleanup, cold and repeat belong there".into());
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

/// Whether a figure's name has a part that depends on what the program is told: `write/r64`.
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
                phases.join(", ")
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
    if counted.len() > 1 && task.figure.is_none() && !has_parts(suite, task) {
        let names: Vec<&str> = counted.iter().map(|phase| phase.name.as_str()).collect();
        fault(format!(
            "its workload has several phases that count ({}): add a [[task]] with part_of = {:?} for each that is \
             wanted, name one as figure, or mark the others with setup = true",
            names.join(", "),
            task.id
        ));
    }
    for (index, phase) in workload.phases.iter().enumerate() {
        if workload.phases[..index].iter().any(|other| other.name == phase.name) {
            fault(format!("two phases of its workload are named {:?}", phase.name));
        }
    }
    for quantity in quantities(workload) {
        if let Some(name) = quantity.parameters().find(|name| !suite.parameters.contains_key(*name)) {
            fault(format!("its workload names the parameter {name}, which the suite does not have"));
        }
    }
    if !(0.0..=86_400.0).contains(&task.least_seconds) {
        fault(format!("least_seconds is {}: write a number from 0 to 86400", task.least_seconds));
    }
}

/// Every number of a workload.
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

/// The text of a file of the user's.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| PlanError::Read { path: path.display().to_string(), source })
}

/// What its tasks find in their environment beside `$TEST` and its like.
fn variables(suite: &Suite) -> Vec<&str> {
    suite.parameters.keys().map(String::as_str).collect()
}

/// The suite with the text of its job files, which lie beside it at `path`, and their figures as parts where the suite
/// names none.
pub(crate) fn with_job_files(mut suite: Suite, path: &Path) -> Result<Suite> {
    let mut tasks: Vec<Task> = Vec::new();
    let all = std::mem::take(&mut suite.tasks);
    let variables = variables(&suite);
    for task in &all {
        let mut task = task.clone();
        let Some(name) = task.fio.take() else {
            tasks.push(task);
            continue;
        };
        let job = path.parent().unwrap_or(Path::new(".")).join(name);
        let text = read_text(&job)?;
        let file = fio::read(&text, &job.display().to_string(), &variables)?;
        task.fio = Some(text);
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
    Ok(suite)
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

/// Leaves the tasks out that need `program`, which is not to be had for `reason`, a sentence; the plan keeps it.
pub fn leave_out(plan: &mut Plan, program: &Program, reason: &str) {
    for cell in &mut plan.cells {
        for task in cell.tasks.iter_mut().filter(|task| needs(task, program)) {
            task.skip = Some(reason.to_owned());
        }
        cell.packages.retain(|package| package != program.package);
        cell.tools.retain(|tool| tool != program.tool && !program.files.contains(&tool.as_str()));
    }
}

/// The largest room in bytes that one task's workload needs, and a sentence where a number has no value.
pub(crate) fn room(suite: &Suite, parameters: &BTreeMap<String, u64>) -> Result<u64> {
    let mut largest = 0;
    for task in &suite.tasks {
        let Some(workload) = &task.workload else { continue };
        let need =
            need(workload, parameters).map_err(|error| PlanError::Options(format!("task {}: {error}", task.id)))?;
        largest = largest.max(need.room());
    }
    Ok(largest)
}

/// Bytes that workloads write because they are done again until they took long enough, at any scale.
pub(crate) fn written_again(suite: &Suite) -> f64 {
    /// Bytes a second that no file system of the lab takes: a disk of memory on the fastest machine.
    const FASTEST: f64 = (1u64 << 30) as f64;
    let writes = |workload: &Workload| {
        let writing = [Operation::Write, Operation::Rewrite, Operation::WriteFile, Operation::AppendFile];
        workload.phases.iter().any(|phase| phase.what.0.keys().any(|operation| writing.contains(operation)))
    };
    let again = suite.tasks.iter().filter(|task| task.workload.as_ref().is_some_and(writes));
    again.map(|task| task.least_seconds * FASTEST).sum()
}

/// The largest room in bytes that one job file needs, at any scale.
pub(crate) fn job_files_room(suite: &Suite) -> Result<u64> {
    let texts = suite.tasks.iter().filter_map(|task| Some((task.fio.as_ref()?, &task.id)));
    let variables = variables(suite);
    let mut rooms = texts.map(|(text, id)| fio::read(text, &format!("task {id}"), &variables).map(|file| file.bytes));
    rooms.try_fold(0, |largest: u64, room| Ok(largest.max(room?)))
}

/// What a workload needs of a file system and a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes of its files.
    pub bytes: u64,
    /// Files and directories.
    pub files: u64,
    /// Files in the fullest directory.
    pub in_one: u64,
    /// Bytes of memory for its buffers.
    pub memory: u64,
}

impl Need {
    /// A block and an entry for each file, and where that is more, a file system's inodes: ext4 makes one for each
    /// 16 KiB of a device (mke2fs.conf, inode_ratio).
    fn room(&self) -> u64 {
        const PER_FILE: u64 = 4096;
        const PER_INODE: u64 = 16 << 10;
        let data = self.bytes.saturating_add(self.files.saturating_mul(PER_FILE));
        data.max(self.files.saturating_mul(PER_INODE))
    }
}

/// What `workload` needs with these parameters.
pub(crate) fn need(workload: &Workload, parameters: &BTreeMap<String, u64>) -> Result<Need, QuantityError> {
    let mut need = Need::default();
    let mut seen: Vec<&FileSet> = Vec::new();
    for phase in &workload.phases {
        let files = phase.files.as_ref().unwrap_or(&workload.files);
        let value = |quantity: &Quantity| quantity.value(parameters);
        let block = value(&phase.block)?;
        let depth = value(&phase.queue_depth)?.saturating_mul(value(&phase.threads)?);
        need.memory = need.memory.max(block.saturating_mul(depth));
        if files.existing {
            continue;
        }
        let count = value(&files.count)?;
        need.in_one = need.in_one.max(count / value(&files.directories)?.max(1));
        // Another size of the same files replaces the first; other names are other files.
        let is_same = |other: &&FileSet| other.folder == files.folder && other.prefix == files.prefix;
        if seen.iter().any(is_same) {
            continue;
        }
        seen.push(files);
        let each = match &files.sizes {
            None => value(&files.size)?,
            Some(Sizes::Uniform { min, max }) => value(min)?.saturating_add(value(max)?) / 2,
            // The mean of what is drawn; cutting at the ends makes it smaller.
            Some(Sizes::Gamma { mean, .. }) => value(mean)?,
            Some(Sizes::Lognormal { mu, sigma, max, .. }) => ((mu + sigma * sigma / 2.0).exp() as u64).min(max.0),
        };
        need.bytes = need.bytes.saturating_add(count.saturating_mul(each));
        need.files = need.files.saturating_add(count).saturating_add(value(&files.directories)?);
    }
    Ok(need)
}

/// Why the machine's memory or a file system's directories do not hold what the workloads need.
pub(crate) fn too_much_memory(suite: &Suite, parameters: &BTreeMap<String, u64>, ram: Bytes) -> Option<String> {
    suite.tasks.iter().find_map(|task| {
        let need = need(task.workload.as_ref()?, parameters).ok()?;
        // The kernel and the page cache need the rest.
        (need.memory > ram.0 / 2).then(|| {
            format!(
                "task {}: its buffers (block times threads times queue depth) take {}, more than half of the machine's {ram}; \
                 make them smaller, or choose a --machine with more memory",
                task.id,
                Bytes(need.memory)
            )
        })
    })
}

/// Why directories of `configuration` do not hold what a task puts into one.
pub(crate) fn too_full(suite: &Suite, parameters: &BTreeMap<String, u64>, most: u64) -> Option<String> {
    suite.tasks.iter().find_map(|task| {
        let need = need(task.workload.as_ref()?, parameters).ok()?;
        (need.in_one > most).then(|| {
            format!(
                "Its directories hold at most {most} files or links, and task {} makes {} in one.",
                task.id, need.in_one
            )
        })
    })
}

#[cfg(test)]
mod tests;
