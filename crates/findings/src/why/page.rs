//! Where the time of a task went, at the task: a sentence, and on demand the ledger, the difference and a flame graph.

use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_document::writers::html::table;

use crate::view::View;
use crate::why::say;
use crate::why::show::answer as explained;
use crate::why::show::answer::Answer;

/// The explanations of a task; empty if it was not explained.
pub(crate) fn of(view: &View, task: &str) -> Markup {
    let mut out = Markup::new();
    view.report.whys.iter().filter(|why| why.task == task).for_each(|why| explain(&mut out, why));
    out
}

fn explain(out: &mut Markup, why: &Answer) {
    put!(out, "<div class=\"why\">\n");
    for sentence in explained::sentences(why) {
        put!(out, "<p>", sentence, "</p>\n");
    }
    put!(out, "<details><summary>", say::SHOW, "</summary>\n");
    put!(out, "<p>", say::figures(why.figures, why.is_kept, why.differs), "</p>\n");
    let mut heading = String::new();
    for part in explained::tables(why) {
        match part {
            Block::Heading(text) => {
                put!(out, "<p class=\"side\">", text, "</p>\n");
                heading = text;
            }
            Block::Table(found) => put!(out, table(&found, &heading)),
            Block::Text(text) => put!(out, "<p>", text, "</p>\n"),
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
        put!(out, say::flame_graph(why.task), "\" style=\"height:", height, "px\" src=\"", flames.address());
        put!(out, "\"></iframe>\n");
    }
    out
}
