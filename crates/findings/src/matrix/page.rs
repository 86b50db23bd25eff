//! The matrix of tests and file systems as a table, by the metrics that judge tasks; the page's script shows other
//! metrics in it, from the data beside it.

pub(crate) mod data;
pub(crate) mod picture;

use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::number::and;
use mountmark_document::put;
use mountmark_document::writers::html::{STAR, put_best};
use mountmark_model::Scale;

use crate::figures::find::TaskFindings;
use crate::matrix::say as words;
use crate::matrix::show::{Choice, Figure, Matrix};
use crate::view::{HEAT, View};
use crate::{run, safety};

/// The section: a table that a page's script sorts and switches.
pub(crate) fn section(view: &View) -> Vec<Block> {
    vec![Block::Drawn(matrix(view), run::show::table(view, Choice::usual(view.findings())))]
}

fn matrix(view: &View) -> Markup {
    let mut out = Markup::new();
    let findings = view.findings();
    let matrix = Matrix::new(view, Choice::usual(findings));
    if matrix.rows.is_empty() {
        put!(out, "<p>", words::no_figure(&matrix.head()), "</p>\n");
        return out;
    }
    controls(&mut out, view, &matrix);
    let caption = view.id("matrix-caption");
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"", caption, "\">\n");
    put!(out, "<table class=\"matrix\" id=\"", view.id("matrix-table"), "\" data-run=\"", view.id(""), "\">\n");
    put!(out, "<caption id=\"", caption, "\">", matrix.caption(view.repeats().as_deref()), "</caption>\n");
    put!(out, "<thead><tr><th scope=\"col\">test</th>");
    for name in &findings.headings {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
    for row in &matrix.rows {
        put!(out, "<tr><th scope=\"row\">", label(row.task));
        if let Some(unit) = matrix.unit(row) {
            put!(out, " <span class=\"unit\">", unit, "</span>");
        }
        put!(out, "</th>");
        for (configuration, figure) in row.cells.iter().enumerate() {
            match figure {
                Some(figure) => cell(&mut out, figure),
                None => put!(out, "<td class=\"none\">", view.absent(configuration, &row.task.id), "</td>"),
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n");
    if let Some(total) = &matrix.total {
        put!(out, "<tfoot><tr><th scope=\"row\">total of ", &total.tests, " tests</th>");
        for (at, cell) in total.cells.iter().enumerate() {
            match cell {
                Some((text, _)) if total.best.contains(&at) => put_best(&mut out, text),
                Some((text, _)) => put!(out, "<td>", text, "</td>"),
                None => put!(out, "<td class=\"none\">-</td>"),
            }
        }
        put!(out, "</tr></tfoot>\n");
    }
    put!(out, "</table>\n</div>\n");
    legend(&mut out, view);
    let parts = matrix.parts(findings);
    if !parts.is_empty() {
        put!(out, "<p class=\"legend\">Of a part of the repeats: ", and(parts), ".</p>\n");
    }
    let beside = safety::say::beside(findings);
    if !beside.is_empty() {
        put!(out, "<ul>\n");
        for text in &beside {
            put!(out, "<li>", text.as_str(), "</li>\n");
        }
        put!(out, "</ul>\n");
    }
    out
}

/// A task's id and title, with the id set apart.
pub(crate) fn label(task: &TaskFindings) -> Markup {
    let mut out = Markup::new();
    if task.title.is_empty() || task.title == task.id {
        put!(out, task.id);
    } else {
        put!(out, "<span class=\"id\">", task.id, "</span> ", task.title);
    }
    out
}

fn cell(out: &mut Markup, figure: &Figure) {
    match (figure.is_best, figure.heat) {
        (true, _) => put_best(out, &figure.text),
        (false, 0) => put!(out, "<td>", figure.text, "</td>"),
        (false, heat) => put!(out, "<td class=\"heat", heat, "\">", figure.text, "</td>"),
    }
}

/// Controls of the script; shown only if it runs.
fn controls(out: &mut Markup, view: &View, shown: &Matrix) {
    let findings = view.findings();
    let select = view.id("metric");
    put!(out, "<div class=\"controls\" hidden data-run=\"", view.id(""), "\">\n");
    put!(out, "<label for=\"", select, "\">Metric</label> <select id=\"", select, "\">\n");
    for choice in Choice::all(findings) {
        let selected = if choice == shown.choice { " selected" } else { "" };
        match choice {
            Choice::Judged => {
                put!(out, "<option value=\"judged\"", selected, ">what each test is judged by</option>\n")
            }
            Choice::Metric(metric) => {
                put!(out, "<option value=\"", metric.id, "\"", selected, ">", words::head(metric), "</option>\n");
            }
        }
    }
    put!(out, "</select>\n");
    let baseline = view.name(findings.baseline);
    put!(out, "<span class=\"switch\" role=\"group\" aria-label=\"What the matrix shows\">");
    put!(out, "<button type=\"button\" data-mode=\"value\" aria-pressed=\"true\">values</button>");
    put!(out, "<button type=\"button\" data-mode=\"ratio\" aria-pressed=\"false\">ratios to ", baseline, "</button>");
    put!(out, "</span>\n<span class=\"unseen\" aria-live=\"polite\" id=\"", view.id("said"), "\"></span>\n</div>\n");
}

fn legend(out: &mut Markup, view: &View) {
    let [warm, warmer, warmest] = HEAT;
    put!(
        out,
        "<p class=\"legend\"><span class=\"chip best\"><span class=\"star\" aria-hidden=\"true\">",
        STAR,
        "</span>best</span> "
    );
    put!(out, words::best_means(view.findings()), " How many times the best, from: ");
    put!(out, "<span class=\"chip heat1\">", warm, "</span> <span class=\"chip heat2\">", warmer, "</span> ");
    put!(out, "<span class=\"chip heat3\">", warmest, "</span>. ");
    let (scale, is_stated) = (view.run().plan.scale, view.run().plan.titles_are_scaled());
    if scale != Scale::ONE && is_stated {
        put!(out, "Titles state what was run: ", scale.to_string(), " of the suite's own counts and sizes. ");
    } else if scale != Scale::ONE {
        put!(out, "Titles name the suite's own counts and sizes; here it is ", scale.to_string(), " of them. ");
    }
    put!(out, "</p>\n");
}
