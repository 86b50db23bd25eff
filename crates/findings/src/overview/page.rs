//! The head of a run: what was compared on which machine, and the results.

pub(crate) mod places;

use mountmark_document::markup::Markup;
use mountmark_document::put;

use crate::overview::say::opening::Opening;
use crate::remarks;
use crate::run::say::{Fact, header};
use crate::sections::Section;
use crate::view::{View, title};

/// Title, answer, places, conclusions and their limits, facts.
pub(crate) fn overview(view: &View) -> Markup {
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
    if plan.lab.nature().guest {
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
    if !opening.further.is_empty() {
        view.heading(&mut out, &Section::CONCLUSIONS);
        items(&mut out, "conclusions", &opening.further);
        folded(&mut out, &format!("{} more", opening.rest.len()), "conclusions", &opening.rest);
    }
    let limits = remarks::say::sentences(findings);
    folded(&mut out, "How far this goes", "limits", &limits);

    view.heading(&mut out, &Section::COMPARED);
    put!(out, "<dl class=\"facts\">\n");
    let names: Vec<&str> = findings.headings.iter().map(String::as_str).collect();
    fact(&mut out, "file systems", &names.join(", "));
    if let Some(baseline) = findings.headings.get(findings.baseline) {
        fact(&mut out, "baseline", &format!("{baseline}: ratios are to it"));
    }
    // The method section explains the clock.
    for (known, text) in header(run).into_iter().filter(|(known, _)| *known != Fact::Clock) {
        fact(&mut out, known.label(), &text);
    }
    put!(out, "</dl>\n");
    out
}

fn items(out: &mut Markup, class: &str, sentences: &[String]) {
    put!(out, "<ul class=\"", class, "\">\n");
    for sentence in sentences {
        put!(out, "<li>", sentence, "</li>\n");
    }
    put!(out, "</ul>\n");
}

fn folded(out: &mut Markup, summary: &str, class: &str, sentences: &[String]) {
    if !sentences.is_empty() {
        put!(out, "<details class=\"folded\"><summary>", summary, "</summary>\n");
        items(out, class, sentences);
        put!(out, "</details>\n");
    }
}

fn fact(out: &mut Markup, label: &str, text: &str) {
    put!(out, "<div><dt>", label, "</dt><dd>", text, "</dd></div>\n");
}
