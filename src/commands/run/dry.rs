//! `mountmark run --dry-run`: prints what a run would do, without doing it.

use std::fmt::Write;

use anyhow::{Result, bail};
use mountmark_agent::protocol;
use mountmark_cells::Plan;
use mountmark_lab::LabKind;
use mountmark_model::{Bytes, Identity, Precondition, Target, Window, counted, heading, legend, visible};

use super::{Arguments, Asked, Checked, Wanted, planned};
use crate::common;

/// The first line for a lab that does not confine commands.
const AS_ROOT: &str = "the suite's commands below run as root on this machine; nothing keeps them from its files";

/// Performs the checks of a run that change nothing, and prints what it would do.
pub fn run(arguments: &Arguments, checked: Checked) -> Result<u8> {
    let Checked { options, machine, catalogue, wanted, vary, factors, lab: one, .. } = checked;
    let lab = arguments.lab.kind();
    let asked = Asked {
        // Missing parts of a guest's kernel and packages are known only after fetching them.
        unavailable: &|configuration| Ok(lab.unavailable(configuration)),
        lacks: &|program| Ok(lab.lacks(program)),
        make: mountmark_corpus::foresee,
        is_stopped: &|| false,
    };
    let wanted = Wanted { configurations: &wanted, vary: vary.as_ref(), factors: &factors };
    let Some(plan) = planned(arguments, options, &catalogue, wanted, &asked)? else {
        bail!("nobody asked for an end");
    };
    let disk = match plan.cells.first() {
        Some(cell) => lab.foresee(&one.options(&machine), &cell.whole())?,
        None => None,
    };
    let mut text = String::new();
    for line in lab.about(&arguments.lab.place()) {
        writeln!(text, "{}", visible(&format!("target: {line}")).replace('\n', "\\u{a}"))?;
    }
    for line in preconditioning(&plan) {
        writeln!(text, "{}", visible(&line).replace('\n', "\\u{a}"))?;
    }
    for line in lines(&plan, lab, disk)? {
        // One line per command, even if a name contains a line end, and also in a file.
        writeln!(text, "{}", visible(&line).replace('\n', "\\u{a}"))?;
    }
    common::print(&text)?;
    Ok(common::DONE)
}

/// What is written to each disk before the first cell.
fn preconditioning(plan: &Plan) -> Vec<String> {
    let Some(how) = plan.precondition else { return Vec::new() };
    let disks = plan.targets.iter().flat_map(Target::devices);
    let text = |disk: &Identity| {
        format!(
            "precondition: {} is discarded, written {} times from end to end ({} in all) in pieces of {}, then in pieces of {} \
             at random, in rounds of {} s until {} are alike, {} at most; no discard before mkfs",
            disk.path,
            Precondition::PASSES,
            Bytes(Precondition::PASSES * disk.size.0),
            Bytes(Precondition::SEQUENTIAL),
            Bytes(Precondition::RANDOM),
            how.round_seconds,
            Window::ROUNDS,
            Precondition::MOST_ROUNDS
        )
    };
    disks.map(text).collect()
}

/// The whole text; `disk` says what would hold the disk under test.
fn lines(plan: &Plan, lab: &dyn LabKind, disk: Option<String>) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let Some(first) = plan.cells.first() else { return Ok(lines) };
    let is_guest = plan.lab.capabilities().guest;
    if !is_guest {
        lines.push(format!("as root: {AS_ROOT}"));
    }
    lines.push(format!("suite: {}, scale {}: {}", plan.suite, plan.scale, plan.suite_about));
    let limit = plan.memory_limit.map(|most| format!(", {most} for a cell")).unwrap_or_default();
    lines.push(match is_guest {
        false => format!("machine: this one, its own kernel, {} of memory{limit}", plan.machine.ram),
        true => format!(
            "machine: {}, {} of memory, in a throw-away guest ({} lab) with kernel {}",
            plan.machine.name,
            plan.machine.ram,
            plan.lab.name(),
            plan.kernel
        ),
    });
    lines.push(match disk {
        Some(disk) => format!("disk: {}, {disk}", first.disk_size),
        None if first.on_loop => {
            format!("disk: a file of {} on {}, over a loop device", first.disk_size, first.disk.name)
        }
        None => format!("disk: {}, {}", first.disk.name, first.disk_size),
    });
    if let Some(second) = &first.second_disk {
        let corpus = &second.corpus;
        lines.push(format!("second disk: {}, {}", second.disk.name, second.size));
        lines.push(format!(
            "corpus: {}, {}, {}",
            corpus.name,
            counted(corpus.files as usize, "file"),
            Bytes(corpus.bytes)
        ));
    }
    if let Some(vary) = &plan.vary {
        let points: Vec<&str> = vary.points.iter().map(|point| point.text.as_str()).collect();
        lines.push(format!("varied: {}: {}; below, one point for all", vary.parameter, points.join(", ")));
    }
    let folders = lab.places(&first.whole())?;
    let (test, source) = (folders.test_folder.display(), folders.source_folder.display());
    let parameters = first.parameters.iter().map(|(name, value)| format!(" {name}={value}")).collect::<String>();
    lines.push(format!("variables: TEST={test} SOURCE={source}{parameters}, and SEED, the repeat's"));
    lines.extend(
        mountmark_findings::sampling::say::asked(plan).map(|asked| format!("repeats: {asked}; below, the first")),
    );
    lines.extend(legend(plan.configurations.iter().map(String::as_str)).map(|text| format!("labels: {text}")));
    for repeat in 0..plan.repeats {
        let cells = plan.of_repeat(repeat);
        let names: Vec<_> = cells.iter().map(|cell| cell.configuration.heading()).collect();
        let seed = cells.first().map_or(0, |cell| cell.seed);
        lines.push(format!("repeat {} of {}: {} (seed {seed})", repeat + 1, plan.repeats, names.join(", ")));
    }
    for name in &plan.configurations {
        lines.extend(steps(plan, lab, name)?);
    }
    Ok(lines)
}

/// What is done in each cell of a configuration.
fn steps(plan: &Plan, lab: &dyn LabKind, name: &str) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut cells = plan.cells.iter().filter(|cell| cell.configuration.name == name);
    let Some(planned) = cells.next() else { return Ok(lines) };
    let mut cell = lab.shown(planned.whole());
    let places = lab.places(&cell)?;
    lines.push(format!("{}: {}, each:", heading(name), counted(1 + cells.count(), "cell")));
    for at in 0..cell.tasks.len() {
        let name = plan.recorded(planned, &cell.tasks[at].id);
        if let Some((_, title)) = plan.tasks.iter().find(|(known, _)| *known == name) {
            cell.tasks[at].title.clone_from(title);
        }
    }
    for line in protocol::outline(&cell, &places) {
        let part = if line.part.is_empty() { String::new() } else { format!(" {}", line.part) };
        lines.push(format!("{name} {}{part}: {}", line.step, line.text));
    }
    Ok(lines)
}
