//! Where the time of a task went, at the task: a sentence, and on demand the ledger, the difference and a flame graph.

use crate::explained::{self, Answer};
use crate::markup::{Markup, put};
use crate::view::View;
use crate::words;
use crate::writers::{Part, Table};

/// The explanations of a task; empty if it was not explained.
pub(super) fn of(view: &View, task: &str) -> Markup {
    let mut out = Markup::new();
    for (at, why) in view.report.whys.iter().enumerate().filter(|(_, why)| why.task == task) {
        explain(&mut out, view, why, &format!("why-{at}"));
    }
    out
}

fn explain(out: &mut Markup, view: &View, why: &Answer, id: &str) {
    put!(out, "<div class=\"why\">\n");
    for sentence in explained::sentences(why) {
        put!(out, "<p>", sentence, "</p>\n");
    }
    put!(out, "<details><summary>", words::why::SHOW, "</summary>\n");
    put!(out, "<p>", words::why::figures(why.figures, why.is_kept, why.differs), "</p>\n");
    let mut headings = 0;
    let place = |number: usize| view.id(&format!("{id}-{number}"));
    for part in explained::tables(why) {
        match part {
            Part::Heading(text) => {
                headings += 1;
                put!(out, "<p class=\"side\" id=\"", place(headings), "\">", text, "</p>\n");
            }
            Part::Table(found) => table(out, &found, &place(headings)),
            Part::Paragraph(text) => put!(out, "<p>", text, "</p>\n"),
            _ => {}
        }
    }
    put!(out, flames(why), "</details>\n</div>\n");
}

/// The flame graph; empty if there is nothing to draw, which is no reason for a page without the rest.
pub(crate) fn flames(why: &Answer) -> Markup {
    let mut out = Markup::new();
    if let Ok(flames) = explained::flames(why) {
        let height = flames.height;
        put!(out, "<iframe class=\"flames\" sandbox=\"allow-scripts\" loading=\"lazy\" title=\"");
        put!(out, words::why::flame_graph(why.task), "\" style=\"height:", height, "px\" src=\"", flames.address());
        put!(out, "\"></iframe>\n");
    }
    out
}

fn table(out: &mut Markup, table: &Table, heading: &str) {
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"", heading, "\">");
    put!(out, "<table class=\"ledger\">\n<thead><tr>");
    for head in &table.head {
        // The first one's may be empty, since its rows need none.
        match head.as_str() {
            "" => put!(out, "<td></td>"),
            head => put!(out, "<th scope=\"col\">", head, "</th>"),
        }
    }
    put!(out, "</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        put!(out, "<tr>");
        for (at, cell) in row.iter().enumerate() {
            let is_words = table.last == crate::writers::Last::Words && at + 1 == row.len();
            match (at, is_words) {
                (0, _) => put!(out, "<th scope=\"row\">", cell, "</th>"),
                (_, true) => put!(out, "<td class=\"words\">", cell, "</td>"),
                _ => put!(out, "<td>", cell, "</td>"),
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table></div>\n");
}
