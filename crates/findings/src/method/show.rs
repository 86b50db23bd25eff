//! How the figures were measured, with which versions, and how to repeat the run.

use std::collections::BTreeMap;

use mountmark_document::forms::Block;
use mountmark_model::{Disk, Environment, heading};
use mountmark_record::RunRecord;

use crate::run::say::again::{again, typed};
use crate::run::say::kernels;
use crate::view::View;

/// The last section of a run.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let run = view.run();
    let mut out = vec![Block::Text(clock(run)), Block::Text(protocol(run))];
    out.push(Block::Subheading("To make it again".into()));
    out.push(Block::Command(again(run)));
    out.push(Block::Fact("typed as".into(), typed(run)));
    out.push(Block::Fact("mountmark".into(), run.program.clone()));
    out.extend(folded("What the suite's source leaves open, and how it was decided", run.plan.decisions.clone()));
    out.push(Block::Fold("Kernel, emulator, packages".into(), environment(run)));
    out.extend(folded("Remarks of cells", notes(run)));
    out
}

fn folded(summary: &str, items: Vec<String>) -> Option<Block> {
    let is_there = !items.is_empty();
    is_there.then(|| Block::Fold(summary.into(), items.into_iter().map(Block::Item).collect()))
}

fn protocol(run: &RunRecord) -> String {
    format!(
        "Each file system is made from scratch, mounted, given the suite's tests one after the other, unmounted and \
         checked. Before each test nothing is dirty and the disk is idle. The order of file systems is random within each \
         repeat. Everything random comes from the seed {}; each repeat has a seed of its own.",
        run.plan.seed
    )
}

fn clock(run: &RunRecord) -> String {
    let machine = &run.plan.machine;
    let nature = run.plan.lab.capabilities();
    let compare = "Compare file systems within a repeat.";
    match (nature.exact_clock, nature.guest) {
        (true, _) => {
            let rate = 1000.0 / f64::from(1_u32 << machine.shift.min(20));
            let processor = machine.processor.as_ref().map_or(String::new(), |processor| {
                format!(" Its processor is {processor}: by that the kernel chooses how it checksums.")
            });
            format!(
                "This ran in a virtual lab: an emulated computer whose clock counts instructions, {rate} million to the \
                 second. Waiting for the disk takes the time that a model of {} says, so neither the speed nor the load \
                 of the machine that ran it shows in any figure. Seconds are therefore those of the machine that the \
                 profile {} describes, a model without processor caches and parallel processors: compare file systems by \
                 them, and confirm on your own hardware what matters to you.{processor}",
                disk(run),
                machine.name
            )
        }
        (false, true) => format!(
            "This ran in guests under KVM. Figures are seconds of wall time of the machine that ran them, with all that \
             it did at the time. {compare}"
        ),
        (false, false) => format!(
            "This ran on the machine's own kernel. Figures are seconds of wall time, with all that the machine did at \
             the time. {compare}"
        ),
    }
}

fn disk(run: &RunRecord) -> String {
    let mut disks: Vec<&Disk> = Vec::new();
    for cell in &run.plan.cells {
        if !disks.iter().any(|disk| disk.name == cell.disk.name) {
            disks.push(&cell.disk);
        }
    }
    match disks.as_slice() {
        [] => format!("the disk {}", run.plan.machine.disk),
        disks => disks.iter().map(|disk| format!("{} ({})", disk.name, disk.about)).collect::<Vec<_>>().join(", "),
    }
}

/// Values that all cells share once, others by configuration.
fn environment(run: &RunRecord) -> Vec<Block> {
    let all = run.environments();
    let mut out = vec![Block::Fact("kernel".into(), kernels(run))];
    let mut fact = |label: &str, of: &dyn Fn(&Environment) -> &str| {
        let mut texts: Vec<&str> =
            all.iter().map(|environment| of(environment)).filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts.dedup();
        if !texts.is_empty() {
            out.push(Block::Fact(label.into(), texts.join("; ")));
        }
    };
    fact("mountmark's own file, SHA-256", &|environment| &environment.build);
    fact("the program in guests, SHA-256", &|environment| &environment.guest);
    fact("emulator", &|environment| &environment.emulator);
    fact("host's kernel", &|environment| &environment.host_kernel);
    fact("host's processor", &|environment| &environment.host_cpu);
    fact("clock", &|environment| &environment.clock);
    if let Some(text) = taken(run) {
        out.push(Block::Fact("cells from shelves".into(), text));
    }
    let mut packages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, version) in all.iter().flat_map(|environment| &environment.packages) {
        let versions = packages.entry(name).or_default();
        if !versions.contains(&version.as_str()) {
            versions.push(version);
        }
    }
    if !packages.is_empty() {
        let texts = packages.iter().map(|(name, versions)| format!("{name} {}", versions.join(" and ")));
        out.push(Block::Fact("packages".into(), texts.collect::<Vec<_>>().join(", ")));
    }
    out
}

/// How many cells the run took from shelves, and which hosts had measured them; `None` if it took none.
fn taken(run: &RunRecord) -> Option<String> {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for taken in run.cells.iter().filter_map(|cell| cell.environment.taken.as_ref()) {
        *hosts.entry(&taken.host).or_default() += 1;
    }
    let each: Vec<String> = hosts.iter().map(|(host, count)| format!("{count} measured by {host}")).collect();
    let count: usize = hosts.values().sum();
    (count > 0).then(|| format!("{count} of {}: {}", run.cells.len(), each.join(", ")))
}

/// Maximum number of notes of cells.
const NOTES: usize = 200;

fn notes(run: &RunRecord) -> Vec<String> {
    let all: Vec<_> = run.cells.iter().flat_map(|cell| cell.notes.iter().map(move |note| (cell, note))).collect();
    let told = all.iter().take(NOTES);
    let told = told.map(|(cell, note)| format!("{}, repeat {}: {note}", heading(&cell.configuration), cell.repeat + 1));
    let more = (all.len() > NOTES).then(|| format!("and {} more", all.len() - NOTES));
    told.chain(more).collect()
}
