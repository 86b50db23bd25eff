//! Facts above every table: the run, its environment and its setup.

pub(crate) mod again;
pub(crate) mod health;
mod held;
pub(crate) mod precondition;

use std::collections::BTreeSet;

use mountmark_cells::Plan;
use mountmark_document::number::{and, counted};
use mountmark_document::text::clean;
use mountmark_model::{Bytes, Factor, RealisedCorpus, Scale, Vary, legend};
use mountmark_record::RunRecord;

use crate::figures::find::cut::{Cut, cuts};
use crate::group::each_once;
use crate::remarks::find::is_scaled;
use crate::{curves, sampling};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Name,
    Suite,
    Scale,
    Lab,
    Varied,
    Crossed,
    Held,
    Clock,
    Kernel,
    Seed,
    Precision,
    Preconditioned,
    Drive,
    Cut,
    Corpus,
    Labels,
}

/// What stands beside the legend of labels.
pub(crate) const LABELS: &str = "labels";

impl Fact {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Fact::Name => "run",
            Fact::Suite => "suite",
            Fact::Scale => "scale",
            Fact::Lab => "lab",
            Fact::Varied => "varied",
            Fact::Crossed => "crossed",
            Fact::Held => "held before",
            Fact::Clock => "clock",
            Fact::Kernel => "kernel",
            Fact::Seed => "seed",
            Fact::Precision => "precision",
            Fact::Preconditioned => "preconditioned",
            Fact::Drive => "drive",
            Fact::Cut => "cut",
            Fact::Corpus => "corpus",
            Fact::Labels => LABELS,
        }
    }
}

/// Facts and texts, in order.
pub(crate) fn header(run: &RunRecord) -> Vec<(Fact, String)> {
    let plan = &run.plan;
    let mut out = vec![
        (Fact::Name, format!("{} ({}), started {}", run.name(), run.status, run.started)),
        (Fact::Suite, format!("{}: {}", plan.suite, plan.suite_about)),
        (Fact::Scale, scale(run)),
        (Fact::Lab, format!("{}, machine {}, disk {}{}", plan.lab.name(), machines(plan), disks(run), limit(run))),
    ];
    let varied = plan.vary.as_ref().map(|vary| curves::say::varied(&vary.parameter, &vary.points));
    out.extend(varied.map(|text| (Fact::Varied, text)));
    out.extend(crossed(plan).map(|text| (Fact::Crossed, text)));
    out.extend(held::sentences(run).into_iter().map(|text| (Fact::Held, text)));
    out.extend([
        (Fact::Clock, clock(run)),
        (Fact::Kernel, kernels(run)),
        (
            Fact::Seed,
            format!(
                "{}, {} under {} conditions, mountmark {}",
                plan.seed,
                sampling::say::repeats(run),
                plan.conditions().name(),
                run.program
            ),
        ),
    ]);
    out.extend(sampling::say::sentence(run).map(|text| (Fact::Precision, text)));
    out.extend(precondition::sentences(run).into_iter().map(|text| (Fact::Preconditioned, text)));
    out.extend(health::sentences(run).into_iter().map(|text| (Fact::Drive, text)));
    out.extend(cuts(run).iter().map(|found| (Fact::Cut, cut(found, run.plan.cells.len()))));
    out.extend(corpora(run).into_iter().map(|corpus| (Fact::Corpus, corpus)));
    out.extend(legend(plan.configurations.iter().map(String::as_str)).map(|text| (Fact::Labels, text)));
    for (_, text) in &mut out {
        *text = clean(text).trim_end_matches([':', ',']).to_owned();
    }
    out
}

/// What a cell could take of the machine's memory, if less than all.
fn limit(run: &RunRecord) -> String {
    run.plan
        .memory_limit
        .map_or(String::new(), |limit| format!(", {limit} of memory for a cell's programs and page cache"))
}

/// When a run was cut, and what was measured after it.
fn cut(cut: &Cut, planned: usize) -> String {
    let boot = if cut.booted { ", after the machine was started anew" } else { "" };
    let numbered = |repeats: &[u32]| match repeats {
        [one] => format!("repeat {}", one + 1),
        [first, .., last] if (last - first) as usize == repeats.len() - 1 => {
            format!("repeats {} to {}", first + 1, last + 1)
        }
        _ => format!("repeats {}", and(repeats.iter().map(|repeat| (repeat + 1).to_string()))),
    };
    let mut text = format!("after {} of {planned} cells, {}; it went on {}{boot}", cut.cells, cut.ended, cut.began);
    if !cut.after.is_empty() {
        text += &format!("; {} came after it", numbered(&cut.after));
    }
    if !cut.split.is_empty() {
        let (has, its) = if cut.split.len() == 1 { ("has", "it counts") } else { ("have", "they count") };
        text += &format!(
            "; {} {has} cells before and after it: {its} as two blocks, as nothing is compared across a cut",
            numbered(&cut.split)
        );
    }
    text
}

/// The kernels that ran, or the plan's if unknown.
pub(crate) fn kernels(run: &RunRecord) -> String {
    let environments = run.environments();
    let named = environments.iter().filter(|environment| !environment.kernel.is_empty());
    // At a run's start only the release is known; it is redundant beside the same release with its build.
    let built: BTreeSet<&str> = environments
        .iter()
        .filter(|environment| !environment.kernel_build.is_empty())
        .map(|environment| environment.kernel.as_str())
        .collect();
    let kernels: BTreeSet<String> = named
        .filter(|environment| !environment.kernel_build.is_empty() || !built.contains(environment.kernel.as_str()))
        .map(|environment| environment.kernel_text())
        .collect();
    if kernels.is_empty() { run.plan.kernel.clone() } else { kernels.into_iter().collect::<Vec<_>>().join("; ") }
}

/// The machine, or those of all sides.
fn machines(plan: &Plan) -> String {
    let mut names: Vec<&str> = plan.computers.iter().map(|computer| computer.machine.name.as_str()).collect();
    names.dedup();
    if names.is_empty() { plan.machine.name.clone() } else { names.join(", ") }
}

/// `kernel: 6.1, 6.12; disk: ssd, hdd`, if a plan has factors.
fn crossed(plan: &Plan) -> Option<String> {
    let texts = |factor: &Factor| factor.levels.iter().map(|level| level.text.as_str()).collect::<Vec<_>>().join(", ");
    let factors: Vec<String> =
        plan.factors.iter().map(|factor| format!("{}: {}", factor.name, texts(factor))).collect();
    (!factors.is_empty()).then(|| factors.join("; "))
}

/// Descriptions state a suite's own sizes, whatever the scale. So do titles, unless they were made for the scale.
fn scale(run: &RunRecord) -> String {
    let (plan, scale) = (&run.plan, run.plan.scale);
    match reduced(run) {
        _ if varies_scale(plan.vary.as_ref()) => "varied".into(),
        _ if scale == Scale::ONE => "1: the suite's own counts and sizes".into(),
        Some(text) => text.trim_start_matches("scale ").into(),
        None => format!("{scale}, which changes nothing: the suite has no counts and sizes of its own"),
    }
}

/// Whether a run has no single scale.
pub(crate) fn varies_scale(vary: Option<&Vary>) -> bool {
    vary.is_some_and(|vary| vary.parameter == Vary::SCALE)
}

/// Describes the scale, unless it is the suite's own.
pub fn reduced(run: &RunRecord) -> Option<String> {
    let (plan, scale) = (&run.plan, run.plan.scale);
    if !is_scaled(run) {
        return None;
    }
    let percent = (scale.factor() * 1e6).round() / 1e4;
    let whose = match plan.titles_are_scaled() {
        true => "the suite's own counts and sizes; titles state those that were run",
        false => "the counts and sizes that the suite and its titles name",
    };
    Some(format!("scale {scale}: {percent} % of {whose}"))
}

/// Describes the clock, so that figures of different labs are not confused.
pub(crate) fn clock(run: &RunRecord) -> String {
    let machine = &run.plan.machine.name;
    let nature = run.plan.lab.capabilities();
    match (nature.exact_clock, nature.guest) {
        (true, _) => format!(
            "virtual seconds: seconds of the machine that profile {machine} describes, a model without cache misses \
             and without parallel processors"
        ),
        (false, true) => "seconds of wall time in a guest on this run's own machine".into(),
        (false, false) => "seconds of wall time of this run's own machine".into(),
    }
}

fn disks(run: &RunRecord) -> String {
    let planned = run.plan.cells.iter().map(|cell| (cell.disk.name.as_str(), cell.disk_size));
    let measured = run.cells.iter().map(|cell| (cell.disk.as_str(), cell.disk_size));
    let disks: BTreeSet<(&str, Bytes)> = planned.chain(measured).collect();
    if disks.is_empty() {
        return run.plan.machine.disk.clone();
    }
    disks.iter().map(|(name, size)| format!("{name} of {size}")).collect::<Vec<_>>().join(", ")
}

/// Maximum number of corpora shown: each repeat has its own seed and corpus, but a few show the variation.
const CORPORA: usize = 3;

fn corpora(run: &RunRecord) -> Vec<String> {
    let planned = run.plan.cells.iter().filter_map(|cell| cell.second_disk.as_ref()).map(|medium| &medium.corpus);
    let measured = run.cells.iter().filter_map(|cell| cell.corpus.as_deref());
    let all: Vec<&RealisedCorpus> = measured.collect();
    let seen = each_once(if all.is_empty() { planned.collect() } else { all });
    let mut out: Vec<String> = seen.iter().take(CORPORA).map(|corpus| describe(corpus)).collect();
    // Builds of a program are alike in what is said of them.
    out.dedup();
    if seen.len() > CORPORA {
        out.push(format!("and {} more, of other seeds", seen.len() - CORPORA));
    }
    out
}

fn describe(corpus: &RealisedCorpus) -> String {
    let mut text = format!(
        "{}: {}, {}",
        corpus.name,
        counted(corpus.files as usize, "file", "files"),
        counted(corpus.directories as usize, "directory", "directories"),
    );
    if corpus.others > 0 {
        text += &format!(", {}", counted(corpus.others as usize, "other", "others"));
    }
    text += &format!(
        ", {}; sizes {} to {}, median {}, mean {}; depth {}",
        Bytes(corpus.bytes),
        Bytes(corpus.size_min),
        Bytes(corpus.size_max),
        Bytes(corpus.size_median),
        Bytes(corpus.size_mean),
        corpus.max_depth,
    );
    if let Some(seed) = corpus.seed {
        text += &format!("; seed {seed}");
    }
    text
}
