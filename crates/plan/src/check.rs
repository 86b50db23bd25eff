//! Checks of well-formed definitions: sentences that say how to correct a fault.

pub(crate) mod filesystem;
pub(crate) mod own_steps;

use std::collections::BTreeSet;

use mountmark_model::{Corpus, Disk, Machine, Metric, Processor, Scale, Source, Suite, Task, names, protocol_task};

use crate::bounds::{MOST_REPEATS, RAM_UNIT, is_word, too_many_tasks};
use crate::options::parameters;
use crate::{brought, figures, is_list, tasks, title};

/// Variables that are set for tasks, or that change the behaviour of the shell and the standard programs.
const RESERVED: [&str; 31] = [
    "TEST", "SOURCE", "SEED", "PATH", "HOME", "PWD", "OLDPWD", "IFS", "ENV", "SHELL", "SHLVL", "USER", "LOGNAME",
    "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "TMPDIR", "CDPATH", "OPTIND", "OPTARG", "PPID", "PS1", "PS2",
    "PS4", "RANDOM", "SECONDS", "BLOCKSIZE", "UID",
];

/// Prefixes of such names.
const RESERVED_BEGINNINGS: [&str; 9] = ["LC_", "LD_", "BASH", "GREP_", "TAR_", "TIME", "LS_", "POSIX", "GZIP"];

/// The longest pause and timeout in seconds: a day and a month.
const LONGEST_PAUSE: f64 = 86_400.0;
const LONGEST_LIMIT: f64 = 31.0 * 86_400.0;

/// What is wrong in a suite that is written.
pub(crate) fn suite(suite: &Suite) -> Vec<String> {
    [stored_suite(suite), tasks::idle::faults(suite)].concat()
}

/// What is wrong in a suite that may be of before, and could not run.
pub(crate) fn stored_suite(suite: &Suite) -> Vec<String> {
    let mut faults = Vec::new();
    if suite.tasks.is_empty() {
        faults.push("the suite has no task: add a [[task]] with id, title and run".into());
    }
    if let Some(reason) = too_many_tasks(suite.tasks.len()) {
        // Further checks would compare each task with each.
        return vec![reason];
    }
    names::list("packages", &suite.packages, names::package, &mut faults);
    names::list("tools", &suite.tools, names::program, &mut faults);
    names::list("whole_packages", &suite.whole_packages, names::package, &mut faults);
    names::list("modules", &suite.modules, names::module, &mut faults);
    suite_tasks(suite, &mut faults);
    faults.extend(suite.source_prepare.as_deref().and_then(|command| null("source_prepare", command)));
    faults.extend(tasks::faults(suite));
    faults.extend(brought::faults(suite));
    faults.extend(figures::faults(suite));
    columns(suite, &mut faults);
    if !(0.0..=LONGEST_PAUSE).contains(&suite.pause_seconds) {
        faults.push(format!("pause_seconds is {}: write a number from 0 to {LONGEST_PAUSE}", suite.pause_seconds));
    }
    suite_parameters(suite, &mut faults);
    if suite.source == Source::None {
        without_source(suite, &mut faults);
    }
    if let Some(name) = &suite.subdirectories
        && !suite.parameters.contains_key(name)
    {
        faults.push(format!("subdirectories names the parameter {name}, which the suite does not have"));
    }
    faults
}

/// Ids, titles and commands.
fn suite_tasks(suite: &Suite, faults: &mut Vec<String>) {
    let own = parameters(suite, Scale::ONE);
    let mut seen = BTreeSet::new();
    for (index, task) in suite.tasks.iter().enumerate() {
        if !is_word(&task.id) {
            let number = index + 1;
            faults.push(format!("task {number}: the id {:?} must be made of letters, digits, - and _", task.id));
        } else if !seen.insert(&task.id) {
            faults.push(format!("task {}: two tasks have this id; each needs its own", task.id));
        } else if protocol_task::is_step(&task.id) {
            faults.push(format!("task {0}: {0} is a step of every cell and measured anyway; take another id", task.id));
        }
        task_faults(task, faults);
        if let Err(error) = title::check(&task.title, &own) {
            faults.push(format!("task {}: the title {:?}: {error}", task.id, task.title));
        }
    }
}

fn columns(suite: &Suite, faults: &mut Vec<String>) {
    for column in &suite.columns {
        if !suite.tasks.iter().any(|task| task.id == column.task) {
            faults.push(format!("column {:?}: the suite has no task {:?}", column.title, column.task));
        }
        for metric in [Some(&column.metric), column.per.as_ref()].into_iter().flatten() {
            if Metric::find(metric).is_none() {
                faults.push(format!(
                    "column {:?}: there is no metric {metric:?}; see `mountmark list metrics`",
                    column.title
                ));
            }
        }
    }
}

/// Why this is no name of a parameter.
pub fn parameter_fault(name: &str) -> Option<String> {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_uppercase());
    if !first || !name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
        return Some(format!("parameter {name:?}: a name must be a capital letter followed by capitals, digits and _"));
    }
    let is_reserved = RESERVED.contains(&name) || RESERVED_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    is_reserved.then(|| format!("parameter {name}: the shell or its programs use this name themselves; take another"))
}

fn suite_parameters(suite: &Suite, faults: &mut Vec<String>) {
    for (name, parameter) in &suite.parameters {
        faults.extend(parameter_fault(name));
        if parameter.value < parameter.min {
            faults.push(format!("parameter {name}: its value is below its own min; raise value or lower min"));
        }
    }
}

/// What only a suite with a second disk may have.
fn without_source(suite: &Suite, faults: &mut Vec<String>) {
    if let Some(corpus) = &suite.corpus {
        faults.push(format!("corpus {corpus:?} has nowhere to lie: add source = \"tar\" or source = \"tree\""));
    }
    let copies = [suite.corpus_copies, suite.corpus_written, suite.source_copies];
    if copies.into_iter().chain(suite.peaks.iter().map(|peak| peak.corpus_copies)).any(|copies| copies > 0) {
        faults.push("copies of a corpus are counted but there is none: add corpus and source".into());
    }
    if suite.source_prepare.is_some() || suite.source_room.0 > 0 {
        faults.push(
            "source_prepare and source_room need a second disk: add source = \"tar\" or source = \"tree\"".into(),
        );
    }
    if let Some(task) = suite.tasks.iter().find(|task| uses(task, "SOURCE")) {
        faults.push(format!("task {}: it uses $SOURCE, but the suite has no second disk: add source", task.id));
    }
}

fn task_faults(task: &Task, faults: &mut Vec<String>) {
    if task.title.trim().is_empty() {
        faults.push(format!("task {}: the title is empty; say what the task does", task.id));
    }
    for (field, command) in commands(task) {
        faults.extend(null(&format!("task {}: {field}", task.id), command));
    }
    if task.repeat == 0 {
        faults.push(format!("task {}: repeat is 0; write 1 or more, or remove the task", task.id));
    }
    if task.repeat > MOST_REPEATS {
        faults.push(format!("task {}: repeat is {}, and {MOST_REPEATS} is the most", task.id, task.repeat));
    }
    if !(task.limit_seconds > 0.0 && task.limit_seconds <= LONGEST_LIMIT) {
        faults.push(format!(
            "task {}: limit_seconds is {}: write a number above 0 and at most {LONGEST_LIMIT}",
            task.id, task.limit_seconds
        ));
    }
}

/// The commands of a task, each with its field.
fn commands(task: &Task) -> impl Iterator<Item = (&'static str, &str)> {
    let all = [
        ("prepare", task.prepare.as_deref()),
        ("run", Some(task.run.as_str())),
        ("lost", task.lost.as_deref()),
        ("cleanup", task.cleanup.as_deref()),
    ];
    all.into_iter().filter_map(|(field, command)| Some((field, command?)))
}

/// A command with a null character, which no program can be started with.
pub(crate) fn null(what: &str, command: &str) -> Option<String> {
    command.contains('\0').then(|| format!("{what} holds a null character, and no command can; remove it"))
}

/// Whether a command of the task uses the variable: `$SOURCE` or `${SOURCE...`.
fn uses(task: &Task, variable: &str) -> bool {
    commands(task).any(|(_, command)| {
        command.match_indices('$').any(|(at, _)| {
            let rest = &command[at + 1..];
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            rest.strip_prefix(variable)
                .is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
        })
    })
}

/// The hole for devices is above this address.
const RAM_MOST: u64 = 3 << 30;

pub(crate) fn machine(machine: &Machine) -> Vec<String> {
    let mut faults = Vec::new();
    if machine.shift > 10 {
        faults.push(format!(
            "shift is {}; the emulator knows 0 (1000 million instructions a second) to 10",
            machine.shift
        ));
    }
    // The guest's image needs memory beside the machine's.
    let most = RAM_MOST - RAM_UNIT;
    if machine.ram.0 == 0 || !machine.ram.0.is_multiple_of(RAM_UNIT) || machine.ram.0 > most {
        let most = most / (1 << 20);
        faults.push(format!("ram is {}; it must be a multiple of 128 MiB and at most {most} MiB", machine.ram));
    }
    faults.extend(machine.processor.iter().flat_map(Processor::faults));
    faults
}

pub(crate) fn file_of_disk(found: &Disk) -> Vec<String> {
    let mut faults = disk(found);
    if found.name.contains([',', '+', '*', ':']) {
        faults.push(format!("the name {:?} has a , + * or :, which --disk has for lists and changes", found.name));
    }
    faults
}

/// What is wrong with a disk, or a list of them.
pub(crate) fn disk(disk: &Disk) -> Vec<String> {
    let mut faults: Vec<String> =
        disk.models().filter_map(|model| model.check().err()).map(|fault| fault.to_string()).collect();
    if !disk.others.is_empty() && !is_list(&disk.name) {
        faults.push("others: a file describes one disk; --disk lists several, as in hdd+ssd".into());
    }
    faults
}

/// No checks here: the crate that generates corpora knows what it can generate.
pub(crate) fn corpus(_: &Corpus) -> Vec<String> {
    Vec::new()
}
