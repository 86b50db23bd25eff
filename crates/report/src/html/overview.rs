//! The head of a run: what was compared on which machine, and the results.

use crate::markup::{Markup, put};
use crate::view::{View, title};
use crate::words;
use crate::words::header::{Fact, header};
use crate::words::section::Section;

/// Title, facts, conclusions and their limits.
pub(super) fn overview(view: &View) -> Markup {
    let mut out = Markup::new();
    let (run, findings) = (view.run(), view.findings());
    out.heading(view.level, &view.id("top"), &title(view));
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

    if !findings.conclusions.is_empty() {
        view.heading(&mut out, &Section::CONCLUSIONS);
        put!(out, "<ul class=\"conclusions\">\n");
        for sentence in words::conclusions::sentences(findings) {
            put!(out, "<li>", sentence, "</li>\n");
        }
        put!(out, "</ul>\n");
    }
    if !findings.remarks.is_empty() {
        put!(out, "<div class=\"limits\">\n<p><strong>How far this goes.</strong></p>\n<ul>\n");
        for remark in words::remarks::sentences(findings) {
            put!(out, "<li>", remark, "</li>\n");
        }
        put!(out, "</ul>\n</div>\n");
    }

    view.heading(&mut out, &Section::COMPARED);
    put!(out, "<dl class=\"facts\">\n");
    let names: Vec<&str> = findings.configurations.iter().map(String::as_str).collect();
    fact(&mut out, "file systems", &names.join(", "));
    if let Some(baseline) = findings.configurations.get(findings.baseline) {
        fact(&mut out, "baseline", &format!("{baseline}: ratios are to it"));
    }
    // The method section explains the clock.
    for (known, text) in header(run).into_iter().filter(|(known, _)| *known != Fact::Clock) {
        fact(&mut out, known.label(), &text);
    }
    put!(out, "</dl>\n");
    out
}

fn fact(out: &mut Markup, label: &str, text: &str) {
    put!(out, "<div><dt>", label, "</dt><dd>", text, "</dd></div>\n");
}
