//! Differences between two runs apart from their figures, and those that make them incomparable.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::Scale;
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
    let packages = |run: &RunRecord| -> BTreeMap<String, String> {
        let of_cells = run.cells.iter().flat_map(|cell| &cell.environment.packages);
        of_cells.chain(&run.environment.packages).map(|(name, version)| (name.clone(), version.clone())).collect()
    };
    let (earlier, later) = (packages(before), packages(after));
    // A package that only one run has belongs to a configuration that only one run has.
    for (name, version) in &earlier {
        if let Some(other) = later.get(name) {
            push(&mut out, &format!("package {name}"), version.clone(), other.clone());
        }
    }
    for name in names(before).intersection(&names(after)) {
        push(&mut out, &format!("options of {name}"), options(before, name), options(after, name));
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
    joined(run.cells.iter().map(|cell| cell.environment.measuring_program().chars().take(12).collect()))
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
    joined(corpora.map(|corpus| format!("{} ({})", corpus.name, corpus.sha256.chars().take(12).collect::<String>())))
}

/// Whether the corpus is what a user brings: his own program is what he compares.
fn brings(run: &RunRecord) -> bool {
    run.plan.cells.iter().any(|cell| cell.root.is_some())
}

fn names(run: &RunRecord) -> BTreeSet<&str> {
    run.plan.cells.iter().map(|cell| cell.configuration.name.as_str()).collect()
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
    Corpora(String, String),
    /// Corpora of one name and seed differ in their bytes.
    Contents {
        corpus: String,
        seed: u64,
    },
}

/// Why the figures of the two runs are not of the same work; empty if they are.
///
/// Suite, scale and corpus must be equal. With one seed the corpora must be equal byte for byte; with several seeds
/// only their definition must be. What a user brings may differ: that is what is compared then.
pub fn incomparable(before: &RunRecord, after: &RunRecord) -> Vec<Incomparable> {
    let mut out = Vec::new();
    let (one, other) = (&before.plan, &after.plan);
    if one.suite != other.suite {
        out.push(Incomparable::Suites(one.suite.clone(), other.suite.clone()));
    }
    if one.scale != other.scale {
        out.push(Incomparable::Scales(one.scale, other.scale));
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
