//! Differences between two runs apart from their figures, and those that make them incomparable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mountmark_cells::PlannedCell;
use mountmark_model::{Scale, Task};
use mountmark_record::RunRecord;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// For example `kernel` or `machine`.
    pub what: String,
    pub before: String,
    pub after: String,
}

/// All differences, in the order of a run's head.
pub fn differences(before: &RunRecord, after: &RunRecord) -> Vec<Difference> {
    let mut out = Vec::new();
    for (what, value) in FACTS {
        push(&mut out, what, value(before), value(after));
    }
    // What only one run has belongs to a configuration or a task that only one run has.
    for (what, values) in NAMED {
        let (earlier, mut later) = (values(before), values(after));
        for (name, value) in earlier {
            if let Some(other) = later.remove(&name) {
                push(&mut out, &format!("{what} {name}"), value, other);
            }
        }
    }
    out
}

type Fact = (&'static str, fn(&RunRecord) -> String);

const FACTS: &[Fact] = &[
    ("started", |run| run.started.to_string()),
    ("suite", |run| run.plan.suite.clone()),
    ("scale", |run| run.plan.scale.to_string()),
    ("corpus", |run| if brings(run) { String::new() } else { corpora(run) }),
    ("what is brought", brought),
    ("lab", |run| run.plan.lab.name().into()),
    ("machine", |run| run.plan.machine.name.clone()),
    ("speed of the machine (shift)", |run| run.plan.machine.shift.to_string()),
    ("processor", processor),
    ("memory", |run| run.plan.machine.ram.to_string()),
    ("limit of memory", |run| run.plan.memory_limit.map_or("none".into(), |limit| limit.to_string())),
    ("preconditioning", |run| {
        run.plan.precondition.map_or("none".into(), |how| format!("in rounds of {} s", how.round_seconds))
    }),
    ("disk", |run| joined(run.cells.iter().map(|cell| cell.disk.clone()))),
    ("disk size", |run| joined(run.cells.iter().map(|cell| cell.disk_size.to_string()))),
    ("fill", |run| {
        held(run, |cell| cell.fill.as_ref().filter(|fill| fill.percent > 0).map(|fill| format!("{}%", fill.percent)))
    }),
    ("age", |run| held(run, |cell| cell.age.as_ref().map(|age| format!("{} ({})", age.text, start(&age.sha256))))),
    ("kernel", kernel),
    ("host kernel", |run| run.environment.host_kernel.clone()),
    ("host processor", |run| run.environment.host_cpu.clone()),
    ("emulator", |run| run.environment.emulator.clone()),
    ("mountmark", |run| run.program.clone()),
    ("build of mountmark", build),
    ("seed", |run| run.plan.seed.to_string()),
    ("conditions", |run| run.plan.conditions().name().into()),
    ("repeats", |run| run.plan.repeats.to_string()),
    ("configurations", |run| run.plan.configurations.join(", ")),
];

/// A kind of what has names of its own, and its values by name.
type Named = (&'static str, fn(&RunRecord) -> BTreeMap<String, String>);

const NAMED: [Named; 5] = [
    ("package", |run| {
        let of_cells = run.cells.iter().flat_map(|cell| &cell.environment.packages);
        of_cells.chain(&run.environment.packages).map(|(name, version)| (name.clone(), version.clone())).collect()
    }),
    // The suite's author or the user may change these under one name of the suite.
    ("parameter", |run| {
        let mut seen = BTreeSet::new();
        let alike = run.plan.cells.iter().filter(move |cell| seen.insert(Arc::as_ptr(&cell.alike)));
        gathered(alike.flat_map(|cell| &cell.parameters).map(|(name, value)| (name.clone(), value.to_string())))
    }),
    ("what is done before", |run| of_tasks(run, |task| task.prepare.clone().unwrap_or("nothing".into()))),
    ("work of", works),
    ("options of", |run| {
        let names = run.plan.cells.iter().map(|cell| &cell.configuration.name).collect::<BTreeSet<_>>();
        names.into_iter().map(|name| (name.clone(), options(run, name))).collect()
    }),
];

/// What each task does.
fn works(run: &RunRecord) -> BTreeMap<String, String> {
    of_tasks(run, |task| {
        let workload = task.workload.as_ref().and_then(|workload| serde_json::to_string(workload).ok());
        let all = [Some(task.run.clone()), task.program.clone(), task.fio.clone(), workload];
        all.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    })
}

/// Of each task, by its name, what `text` says of it.
fn of_tasks(run: &RunRecord, text: impl Fn(&Task) -> String) -> BTreeMap<String, String> {
    // Cells share their tasks: of many each task is looked at once.
    let mut seen = BTreeSet::new();
    let tasks = run.plan.cells.iter().flat_map(|cell| cell.tasks.iter());
    gathered(tasks.filter(|task| seen.insert(std::ptr::from_ref(*task))).map(|task| (task.id.clone(), text(task))))
}

/// Values by name: several are listed.
fn gathered(values: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in values {
        all.entry(name).or_default().insert(value);
    }
    all.into_iter().map(|(name, values)| (name, joined(values.into_iter()))).collect()
}

/// What is on the file systems before the tasks.
fn held(run: &RunRecord, of: impl Fn(&PlannedCell) -> Option<String>) -> String {
    joined(run.plan.cells.iter().map(|cell| of(cell).unwrap_or_else(|| "none".into())))
}

/// The beginning of a hash.
fn start(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn push(out: &mut Vec<Difference>, what: &str, before: String, after: String) {
    if before != after {
        let or_none = |text: String| if text.is_empty() { "not known".to_owned() } else { text };
        out.push(Difference { what: what.into(), before: or_none(before), after: or_none(after) });
    }
}

pub(crate) fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// Features of the machine's processor; empty for the host's, whose name is compared separately.
fn processor(run: &RunRecord) -> String {
    run.plan.machine.processor.iter().map(ToString::to_string).collect()
}

/// The beginning of the hash of the program that was measured, which tells builds apart.
fn build(run: &RunRecord) -> String {
    joined(run.cells.iter().map(|cell| start(cell.environment.measuring_program())))
}

pub(crate) fn kernel(run: &RunRecord) -> String {
    let measured = joined(run.cells.iter().map(|cell| cell.environment.kernel_text()));
    if measured.is_empty() { run.plan.kernel.clone() } else { measured }
}

fn corpora(run: &RunRecord) -> String {
    joined(run.cells.iter().filter_map(|cell| cell.corpus.as_ref()).map(|corpus| corpus.name.clone()))
}

/// What a user brings, by its name and the beginning of its hash, which tells builds apart; empty if he brings nothing.
fn brought(run: &RunRecord) -> String {
    let corpora = run.cells.iter().filter_map(|cell| cell.corpus.as_ref()).filter(|_| brings(run));
    joined(corpora.map(|corpus| format!("{} ({})", corpus.name, start(&corpus.sha256))))
}

/// Whether the corpus is what a user brings: his own program is what he compares.
fn brings(run: &RunRecord) -> bool {
    run.plan.cells.iter().any(|cell| cell.root.is_some())
}

fn options(run: &RunRecord, name: &str) -> String {
    run.plan.configuration(name).map_or(String::new(), |found| {
        format!("mkfs {}, mount {}", list(&found.mkfs_options), list(&found.mount_options))
    })
}

fn list(options: &[String]) -> String {
    if options.is_empty() { "with defaults".into() } else { options.join(" ") }
}

/// Why the figures of two runs are not of the same work.
#[derive(Clone, Debug, PartialEq)]
pub enum Incomparable {
    Suites(String, String),
    Scales(Scale, Scale),
    /// Tasks of one name do other work.
    Works(Vec<String>),
    Corpora(String, String),
    /// Corpora of one name and seed differ in their bytes.
    Contents {
        corpus: String,
        seed: u64,
    },
}

/// Why the figures of the two runs are not of the same work; empty if they are.
///
/// Suite, scale, what tasks of one name do, and corpus must be equal. With one seed the corpora must be equal byte for byte;
/// with several seeds only their definition must be. What a user brings may differ: that is what is compared then.
pub fn incomparable(before: &RunRecord, after: &RunRecord) -> Vec<Incomparable> {
    let mut out = Vec::new();
    let (one, other) = (&before.plan, &after.plan);
    if one.suite != other.suite {
        out.push(Incomparable::Suites(one.suite.clone(), other.suite.clone()));
    }
    if one.scale != other.scale {
        out.push(Incomparable::Scales(one.scale, other.scale));
    }
    if one.suite == other.suite {
        let (earlier, later) = (works(before), works(after));
        let is_other = |(task, work): &(&String, &String)| later.get(*task).is_some_and(|other| other != *work);
        let tasks: Vec<String> = earlier.iter().filter(is_other).map(|(task, _)| task.clone()).collect();
        out.extend((!tasks.is_empty()).then_some(Incomparable::Works(tasks)));
    }
    if brings(before) && brings(after) {
        return out;
    }
    let (first, second) = (corpora(before), corpora(after));
    if !first.is_empty() && !second.is_empty() && first != second {
        out.push(Incomparable::Corpora(first, second));
        return out;
    }
    let contents = |run: &RunRecord| -> BTreeMap<u64, String> {
        let of = run.cells.iter().filter_map(|cell| Some((cell.seed, cell.corpus.as_ref()?.sha256.clone())));
        of.filter(|(_, sum)| !sum.is_empty()).collect()
    };
    let (earlier, later) = (contents(before), contents(after));
    let same_seed = earlier.iter().filter_map(|(seed, sum)| Some((*seed, sum, later.get(seed)?)));
    if let Some((seed, ..)) = same_seed.into_iter().find(|(_, one, other)| one != other) {
        out.push(Incomparable::Contents { corpus: first, seed });
    }
    out
}

#[cfg(test)]
mod tests {
    use mountmark_model::{Cell, Fill};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_work_was_is_a_difference() {
        let mut before = crate::tests::run(&["ext4"], 1);
        let mut cell = before.plan.cells[0].whole();
        cell.parameters.insert("N".into(), 7);
        cell.tasks = vec![serde_json::from_value(json!({"id": "sh", "title": "sh", "run": "touch a"})).unwrap()];
        before.plan.cells = vec![cell.into()];
        let after = |change: fn(&mut Cell)| {
            let mut run = before.clone();
            let mut cell = run.plan.cells[0].whole();
            change(&mut cell);
            run.plan.cells = vec![cell.into()];
            differences(&before, &run).into_iter().map(|one| (one.what, one.before, one.after)).collect::<Vec<_>>()
        };
        let one = |what: &str, before: &str, after: &str| vec![(what.to_owned(), before.to_owned(), after.to_owned())];
        assert_eq!(after(|_| ()), []);
        assert_eq!(after(|cell| cell.fill = Some(Fill::with_sizes(80, [1, 2, 3], true))), one("fill", "none", "80%"));
        let more = after(|cell| *cell.parameters.get_mut("N").unwrap() = 9);
        assert_eq!(more, one("parameter N", "7", "9"));
        assert_eq!(after(|cell| cell.tasks[0].run = "touch b".into()), one("work of sh", "touch a", "touch b"));
        let mut other = before.clone();
        let mut cell = other.plan.cells[0].whole();
        cell.tasks[0].prepare = Some("sync".into());
        other.plan.cells = vec![cell.clone().into()];
        assert_eq!(incomparable(&before, &other), []);
        cell.tasks[0].run = "touch b".into();
        other.plan.cells = vec![cell.into()];
        assert_eq!(incomparable(&before, &other), [Incomparable::Works(vec!["sh".into()])]);
        let prepared = after(|cell| cell.tasks[0].prepare = Some("sync".into()));
        assert_eq!(prepared, one("what is done before sh", "nothing", "sync"));
    }
}
