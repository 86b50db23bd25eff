//! How the figures were measured, with which versions, and how to repeat the run.

use std::collections::BTreeMap;

use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_model::{Disk, Environment, heading};
use mountmark_record::RunRecord;

use crate::run::say::again::{again, typed};
use crate::run::say::kernels;
use crate::sections::{AGAIN, Section};
use crate::view::View;

/// The last section of a run.
pub(crate) fn method(view: &View) -> Markup {
    let mut out = Markup::new();
    let run = view.run();
    view.heading(&mut out, &Section::METHOD);
    clock(&mut out, run);
    put!(
        out,
        "<p>Each file system is made from scratch, mounted, given the suite's tests one after the other, unmounted and "
    );
    put!(out, "checked. Before each test nothing is dirty and the disk is idle. The order of file systems is random ");
    put!(
        out,
        "within each repeat. Everything random comes from the seed ",
        run.plan.seed,
        "; each repeat has a seed of its own.</p>\n"
    );
    out.heading(view.level + 2, &view.id("again"), AGAIN);
    let command = view.id("command");
    put!(out, "<div class=\"command\"><pre tabindex=\"0\"><code id=\"", command, "\">", again(run), "</code></pre>");
    put!(out, "<button type=\"button\" class=\"copy\" hidden data-copy=\"", command, "\">copy</button></div>\n");
    put!(out, "<p class=\"legend\">Typed as <code>", typed(run), "</code>, with mountmark ", run.program, ".</p>\n");
    decisions(&mut out, run);
    environment(&mut out, view);
    notes(&mut out, run);
    out
}

fn clock(out: &mut Markup, run: &RunRecord) {
    let machine = &run.plan.machine;
    let nature = run.plan.lab.nature();
    match (nature.exact_clock, nature.guest) {
        (true, _) => {
            let rate = 1000.0 / f64::from(1_u32 << machine.shift.min(20));
            put!(out, "<p>This ran in a virtual lab: an emulated computer whose clock counts instructions, ", rate);
            put!(out, " million to the second. Waiting for the disk takes the time that a model of ", disk(run));
            put!(
                out,
                " says, so neither the speed nor the load of the machine that ran it shows in any figure. Seconds "
            );
            put!(
                out,
                "are therefore those of the machine that the profile ",
                machine.name,
                " describes, a model without "
            );
            put!(
                out,
                "processor caches and parallel processors: compare file systems by them, and confirm on your own "
            );
            put!(out, "hardware what matters to you.");
            if let Some(processor) = &machine.processor {
                put!(
                    out,
                    " Its processor is ",
                    processor.to_string(),
                    ": by that the kernel chooses how it checksums."
                );
            }
            put!(out, "</p>\n");
        }
        (false, true) => {
            put!(
                out,
                "<p>This ran in guests under KVM. Figures are seconds of wall time of the machine that ran them, "
            );
            put!(out, "with all that it did at the time. Compare file systems within a repeat.</p>\n");
        }
        (false, false) => {
            put!(out, "<p>This ran on the machine's own kernel. Figures are seconds of wall time, with all that the ");
            put!(out, "machine did at the time. Compare file systems within a repeat.</p>\n");
        }
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

fn decisions(out: &mut Markup, run: &RunRecord) {
    if run.plan.decisions.is_empty() {
        return;
    }
    put!(out, "<details><summary>What the suite's source leaves open, and how it was decided</summary>\n<ul>\n");
    for decision in &run.plan.decisions {
        put!(out, "<li>", decision, "</li>\n");
    }
    put!(out, "</ul>\n</details>\n");
}

/// Values that all cells share once, others by configuration.
fn environment(out: &mut Markup, view: &View) {
    let run = view.run();
    let all: Vec<&Environment> = run.cells.iter().map(|cell| &cell.environment).chain([&run.environment]).collect();
    put!(out, "<details><summary>Kernel, emulator, packages</summary>\n<dl class=\"facts\">\n");
    put!(out, "<div><dt>kernel</dt><dd>", kernels(run), "</dd></div>\n");
    let mut fact = |label: &str, of: &dyn Fn(&Environment) -> &str| {
        let mut texts: Vec<&str> =
            all.iter().map(|environment| of(environment)).filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts.dedup();
        if !texts.is_empty() {
            put!(out, "<div><dt>", label, "</dt><dd>", texts.join("; "), "</dd></div>\n");
        }
    };
    fact("mountmark's own file, SHA-256", &|environment| &environment.build);
    fact("emulator", &|environment| &environment.emulator);
    fact("host's kernel", &|environment| &environment.host_kernel);
    fact("host's processor", &|environment| &environment.host_cpu);
    fact("clock", &|environment| &environment.clock);
    put!(out, "</dl>\n");
    let mut packages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, version) in all.iter().flat_map(|environment| &environment.packages) {
        let versions = packages.entry(name).or_default();
        if !versions.contains(&version.as_str()) {
            versions.push(version);
        }
    }
    if !packages.is_empty() {
        put!(out, "<p>Packages: ");
        for (index, (name, versions)) in packages.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            put!(out, comma, name, " ", versions.join(" and "));
        }
        put!(out, "</p>\n");
    }
    put!(out, "</details>\n");
}

/// Maximum number of notes of cells.
const NOTES: usize = 200;

fn notes(out: &mut Markup, run: &RunRecord) {
    let notes: Vec<_> = run.cells.iter().flat_map(|cell| cell.notes.iter().map(move |note| (cell, note))).collect();
    if notes.is_empty() {
        return;
    }
    put!(out, "<details><summary>Remarks of cells</summary>\n<ul>\n");
    for (cell, note) in notes.iter().take(NOTES) {
        put!(out, "<li>", heading(&cell.configuration), ", repeat ", cell.repeat + 1, ": ", note, "</li>\n");
    }
    if notes.len() > NOTES {
        put!(out, "<li>and ", notes.len() - NOTES, " more</li>\n");
    }
    put!(out, "</ul>\n</details>\n");
}
