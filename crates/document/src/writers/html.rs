//! A page for a browser, which needs no network: the subject's own, or one of its parts.

use crate::forms::{Block, Form, Forms, Last, Mark, Table};
use crate::markup::{Markup, Show};
use crate::number::capital;
use crate::page::{Page, START};
use crate::put;
use crate::text::{ASIDE, BEST, CHIPS, CODE, ID, STRONG, clean};
use crate::writers::Writer;

pub const HTML: Writer = Writer {
    name: "html",
    endings: &["html", "htm"],
    form: Form::Page,
    mark: START,
    write: |subject, _| Some(written(subject)?.map(Markup::into_string)),
};

fn written(subject: &dyn Forms) -> Option<anyhow::Result<Markup>> {
    subject.page().or_else(|| Some(Ok(page(&subject.blocks()?, subject.name(), subject.command(), &Markup::new()))))
}

/// Each heading begins a section, which the contents list; `drawn` ends the page.
pub fn page(parts: &[Block], name: &str, command: &str, drawn: &Markup) -> Markup {
    let title = parts.iter().find_map(|part| if let Block::Title(text) = part { Some(clean(text)) } else { None });
    let heading = title.unwrap_or_else(|| capital(name));
    let (mut main, mut contents) = (Markup::new(), Markup::new());
    put!(contents, "<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
    put!(contents, "<li><a href=\"#top\">", heading, "</a></li>\n");
    main.heading(1, "top", &heading);
    for (index, section) in parts.chunk_by(|_, next| !matches!(next, Block::Heading(_))).enumerate() {
        let Some(Block::Heading(text)) = section.first() else {
            put!(main, in_turn(section, &heading, 2));
            continue;
        };
        let (id, text) = (format!("s{index}"), clean(text));
        let text = text.trim_end_matches(':');
        let short = text.split(':').next().unwrap_or(text);
        put!(contents, "<li><a href=\"#", id, "\">", short, "</a></li>\n");
        put!(main, "<section aria-labelledby=\"", id, "\">\n");
        main.heading(2, &id, text);
        put!(main, in_turn(section, text, 2), "</section>\n");
    }
    put!(main, drawn);
    put!(contents, "</ul>\n</nav>\n");
    let footer = format!("the results of mountmark {command}");
    Page { heading: &heading, contents, main, footer, data: "[]".into() }.markup()
}

/// Blocks below their heading of this level; those of a list are put together.
pub fn in_turn(parts: &[Block], heading: &str, level: u8) -> Markup {
    let mut out = Markup::new();
    let is_of_list = |part: &Block| matches!(part, Block::Fact(..) | Block::Item(_));
    let same =
        |one: &Block, next: &Block| is_of_list(one) && std::mem::discriminant(one) == std::mem::discriminant(next);
    let mut tables = 0;
    for run in parts.chunk_by(same) {
        match &run[0] {
            Block::Fact(..) => facts(&mut out, run),
            Block::Item(_) => {
                put!(out, "<ul>\n");
                for part in run {
                    if let Block::Item(text) = part {
                        put!(out, "<li>", clean(text), "</li>\n");
                    }
                }
                put!(out, "</ul>\n");
            }
            Block::Title(_) | Block::Heading(_) => {}
            Block::Drawn(drawing, _) => put!(out, drawing),
            Block::Subheading(text) => out.subheading(level + 1, &clean(text)),
            Block::Output(text) => put!(out, "<pre tabindex=\"0\">", text, "</pre>\n"),
            Block::Fold(summary, inner) => {
                put!(
                    out,
                    "<details><summary>",
                    clean(summary),
                    "</summary>\n",
                    in_turn(inner, summary, level),
                    "</details>\n"
                );
            }
            Block::Text(text) => put!(out, "<p>", clean(text), "</p>\n"),
            Block::Legend(mark, text) => {
                let mark = match mark {
                    Mark::Best => STAR,
                    Mark::NoFigure => "-",
                    Mark::Note(mark) => mark,
                };
                put!(out, "<p class=\"legend\">", clean(mark), " ", clean(text), "</p>\n");
            }
            Block::Command(text) => {
                put!(out, "<div class=\"command\"><pre tabindex=\"0\"><code>", text, "</code></pre>");
                put!(out, "<button type=\"button\" class=\"copy\" hidden>copy</button></div>\n");
            }
            Block::Table(found) => {
                tables += 1;
                let number = if tables == 1 { String::new() } else { format!(" {tables}") };
                put!(out, table(found, &format!("{heading}, table{number}")));
            }
        }
    }
    out
}

/// Labels with their texts; an empty label continues the text above.
fn facts(out: &mut Markup, parts: &[Block]) {
    put!(out, "<dl class=\"facts\">\n");
    let continues = |_: &Block, next: &Block| matches!(next, Block::Fact(label, _) if label.is_empty());
    for fact in parts.chunk_by(continues) {
        put!(out, "<div>");
        for (index, part) in fact.iter().enumerate() {
            let Block::Fact(label, text) = part else { continue };
            if index == 0 {
                put!(out, "<dt>", clean(label), "</dt>");
            }
            put!(out, "<dd>", clean(text), "</dd>");
        }
        put!(out, "</div>\n");
    }
    put!(out, "</dl>\n");
}

/// Before a best figure.
pub const STAR: &str = "★";

/// A table that can be scrolled; `label` is read out where it is reached, unless it has a caption.
pub fn table(table: &Table, label: &str) -> Markup {
    let mut out = Markup::new();
    let last = table.head.len().saturating_sub(1);
    let is_words = |column: usize| column < table.keys || column == last && table.last == Last::Words;
    let class = |column: usize| if is_words(column) { "words" } else { "number" };
    let label = if table.caption.is_empty() { label } else { &table.caption };
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", clean(label), "\">");
    put!(out, "<table class=\"plain");
    if !table.look.is_empty() {
        put!(out, " ", table.look);
    }
    put!(out, "\">");
    if !table.caption.is_empty() {
        put!(out, "<caption>", clean(&table.caption), "</caption>\n");
    }
    put!(out, "<thead><tr>");
    for (column, head) in table.head.iter().enumerate() {
        match head.as_str() {
            "" => put!(out, "<td></td>"),
            head => put!(out, "<th scope=\"col\" class=\"", class(column), "\">", lines(head), "</th>"),
        }
    }
    put!(out, "</tr></thead><tbody>\n");
    for row in &table.rows {
        put!(out, "<tr>");
        for (column, cell) in row.iter().enumerate() {
            match (column, cell.starts_with(BEST)) {
                (0, _) => put!(out, "<th scope=\"row\">", lines(cell), "</th>"),
                (_, false) => put!(out, "<td class=\"", class(column), "\">", lines(cell), "</td>"),
                (_, true) => put_best(&mut out, &lines(cell)),
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody></table></div>\n");
    out
}

/// The class and the sign of a verdict, as [`CHIPS`].
const LOOKS: [(&str, &str); 6] =
    [("best", "✓"), ("heat1", "◐"), ("calm", "="), ("heat3", "⇄"), ("heat2", "✗"), ("calm", "–")];

/// The lines of a cell, each by its mark.
fn lines(cell: &str) -> Markup {
    let mut out = Markup::new();
    let mut is_first = true;
    for line in cell.lines() {
        let text = clean(line);
        let chip = CHIPS.iter().position(|mark| line.starts_with(*mark));
        match (chip, line.chars().next()) {
            (Some(at), _) => {
                let (class, sign) = LOOKS[at];
                put!(
                    out,
                    "<span class=\"chip ",
                    class,
                    "\"><span aria-hidden=\"true\">",
                    sign,
                    "</span> ",
                    text,
                    "</span>"
                );
            }
            (_, Some(ASIDE)) => put!(out, "<span class=\"verdict\">", text, "</span>"),
            (_, Some(STRONG)) => put!(out, "<strong class=\"verdict\">", text, "</strong>"),
            (_, Some(CODE)) => put!(out, "<span class=\"verdict\"><code>", text, "</code></span>"),
            _ => {
                if !is_first {
                    put!(out, "<br>");
                }
                match line.split_once(ID) {
                    Some((id, title)) => put!(out, "<span class=\"id\">", clean(id), "</span> ", clean(title)),
                    None => put!(out, text),
                }
            }
        }
        is_first = false;
    }
    out
}

/// A best figure: a star and bold on the shade, and a word for screen readers.
pub fn put_best(out: &mut Markup, figure: &impl Show) {
    put!(out, "<td class=\"best\"><span class=\"star\" aria-hidden=\"true\">", STAR, "</span>", figure);
    put!(out, "<span class=\"unseen\"> best</span></td>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_part_and_no_markup_of_a_stranger() {
        let evil = "<b>&\u{202e}";
        let rows = vec![vec![evil.to_owned(), "1\n2".to_owned(), format!("{BEST}3"), "why\u{1b}[0m".to_owned()]];
        let head = ["name", "", "figure", "words"].map(str::to_owned).to_vec();
        let labelled = |label: &str, text: &str| Block::Fact(label.into(), text.into());
        let parts = [
            labelled("run", evil),
            labelled("", "more"),
            labelled("suite", "mail"),
            Block::Heading("What changed: all of it".into()),
            Block::Item("one".into()),
            Block::Item("two".into()),
            Block::Legend(Mark::Best, "the best".into()),
            Block::Legend(Mark::Note("[a]".into()), evil.into()),
            Block::Text(evil.into()),
            Block::Command("mountmark show 'a b' > \"c\"".into()),
            Block::Table(Table { head, rows, keys: 1, last: Last::Words, ..Table::default() }),
            Block::Heading("Notes:".into()),
        ];
        let page = page(&parts, "a comparison", "compare RUN RUN", &Markup::new()).into_string();
        for there in [
            "<h1 id=\"top\">A comparison</h1>",
            "<div><dt>run</dt><dd>&lt;b&gt;&amp;</dd><dd>more</dd></div>\n<div><dt>suite</dt>",
            "<a href=\"#s1\">What changed</a>",
            "<h2 id=\"s1\">What changed: all of it</h2>",
            "<h2 id=\"s2\">Notes</h2>",
            "<ul>\n<li>one</li>\n<li>two</li>\n</ul>",
            "<p class=\"legend\">★ the best</p>",
            "<p class=\"legend\">[a] &lt;b&gt;&amp;</p>",
            "<code>mountmark show &#39;a b&#39; &gt; &quot;c&quot;</code></pre>",
            "<th scope=\"row\">&lt;b&gt;&amp;</th><td class=\"number\">1<br>2</td><td class=\"best\">",
            "<td class=\"words\">why [0m</td>",
            "Made by mountmark from the results of mountmark compare RUN RUN.",
        ] {
            assert!(page.contains(there), "{there}\n{page}");
        }
        assert!(!page.contains("<b>") && !page.contains('\u{202e}') && !page.contains(BEST), "{page}");
    }
}
