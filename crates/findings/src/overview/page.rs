//! What a page opens with: the answer, which run it is from, and the picture of places.

pub(crate) mod places;

use mountmark_document::markup::Markup;
use mountmark_document::put;

use crate::effects;
use crate::overview::say::opening::Opening;
use crate::view::{View, title};

/// Title, answer, the run in a line, places.
pub(crate) fn opening(view: &View) -> Markup {
    let mut out = Markup::new();
    let (run, findings) = (view.run(), view.findings());
    let opening = Opening::of(findings);
    out.heading(view.level, &view.id("top"), &title(view));
    put!(out, "<p class=\"answer\">", opening.answer, "</p>\n");
    let plan = &run.plan;
    let repeats = view.repeats().unwrap_or_else(|| "1 repeat".into());
    put!(
        out,
        "<p class=\"under\">Suite ",
        plan.suite,
        " at scale ",
        plan.scale.to_string(),
        "; ",
        plan.lab.name(),
        " lab"
    );
    if plan.lab.capabilities().guest {
        let disk = plan.cells.first().map_or(&plan.machine.disk, |cell| &cell.disk.name);
        let kernels = plan.factors.iter().find(|factor| factor.name == "kernel").map(|factor| factor.levels.len());
        let kernel = kernels.map_or_else(|| format!("kernel {}", plan.kernel), |many| format!("{many} kernels"));
        put!(out, ", machine ", plan.machine.name, ", disk ", disk, ", ", kernel);
    }
    put!(
        out,
        "; ",
        repeats,
        "; run ",
        run.id.as_str(),
        " of ",
        run.started.to_string().chars().take(10).collect::<String>(),
        "</p>\n"
    );

    match findings.effects.as_ref().and_then(|effects| Some((effects, effects.curves.first()?))) {
        Some((effects, curve)) => put!(out, effects::page::card(findings, effects, curve)),
        None => put!(out, places::places(view)),
    }
    out
}
