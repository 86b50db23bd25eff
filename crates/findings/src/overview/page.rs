//! What a page opens with: the answer, which run it is from, and the picture of places.

pub(crate) mod places;

use mountmark_document::markup::Markup;
use mountmark_document::put;

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
        put!(out, ", machine ", plan.machine.name, ", disk ", disk, ", kernel ", plan.kernel);
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

    put!(out, places::places(view));
    out
}
