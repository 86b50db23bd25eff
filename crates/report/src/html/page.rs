//! The file around the sections: head, contents, style, data, script.

use super::data::data;
use crate::markup::{Markup, put};
use crate::view::{View, title};
use crate::words::section::Section;
use crate::writers::html::GENERATOR;

const STYLE: &str = include_str!("style.css");
const LIGHT: &str = include_str!("light.css");
const DARK: &str = include_str!("dark.css");

/// A whole file around its parts.
pub(super) struct Page<'a> {
    pub heading: &'a str,
    pub contents: Markup,
    pub main: Markup,
    /// What it was made from.
    pub footer: String,
    /// JSON for the script.
    pub data: String,
}

impl Page<'_> {
    pub fn markup(&self) -> Markup {
        let Page { heading, contents, main, footer, data } = self;
        let mut out = Markup::new();
        put!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.raw(GENERATOR);
        put!(out, "\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        put!(out, "<meta name=\"color-scheme\" content=\"light dark\">\n");
        put!(out, "<title>", heading, "</title>\n<style>\n:root {\n");
        out.raw(LIGHT);
        put!(out, "}\n@media (prefers-color-scheme: dark) { :root:not([data-theme=\"light\"]) {\n");
        out.raw(DARK);
        put!(out, "} }\n:root[data-theme=\"dark\"] {\n");
        out.raw(DARK);
        put!(out, "}\n@media print { :root, :root[data-theme], :root:not([data-theme=\"light\"]) {\n");
        out.raw(LIGHT);
        put!(out, "} }\n");
        out.raw(STYLE);
        put!(
            out,
            "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">To the report</a>\n<div class=\"page\">\n"
        );
        put!(
            out,
            "<header class=\"bar-top\"><span>mountmark report</span><button type=\"button\" id=\"theme\" hidden>dark colours</button></header>\n"
        );
        put!(out, "<div class=\"columns\">\n", contents, "<main id=\"content\">\n", main, "</main>\n</div>\n");
        put!(out, "<footer>Made by mountmark from ", footer, ". The file needs no network.</footer>\n</div>\n");
        put!(out, "<script type=\"application/json\" id=\"data\">");
        out.json(data);
        put!(out, "</script>\n<script>\n");
        out.raw(include_str!("script.js"));
        put!(out, "</script>\n</body>\n</html>\n");
        out
    }
}

/// The file of some runs. `sections` are those of each view, in order.
pub(super) fn page(views: &[View], sections: &[Markup]) -> serde_json::Result<Markup> {
    let heading = match views {
        [view] => format!("{}: {}", view.run().plan.suite, title(view)),
        views => format!("{} runs", views.len()),
    };
    let mut main = Markup::new();
    if views.len() > 1 {
        main.heading(1, "top", &heading);
    }
    for (view, section) in views.iter().zip(sections) {
        put!(
            main,
            "<article id=\"",
            view.id("run"),
            "\" aria-labelledby=\"",
            view.id("top"),
            "\">\n",
            section,
            "</article>\n"
        );
    }
    let mut list = Markup::new();
    contents(&mut list, views, sections);
    let runs = views.iter().map(|view| format!("run {} of {}", view.run().id.as_str(), view.run().started));
    let footer = runs.collect::<Vec<_>>().join(", ");
    let data = serde_json::to_string(&views.iter().map(data).collect::<Vec<_>>())?;
    Ok(Page { heading: &heading, contents: list, main, footer, data }.markup())
}

fn contents(out: &mut Markup, views: &[View], sections: &[Markup]) {
    put!(out, "<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
    for (view, section) in views.iter().zip(sections) {
        if views.len() > 1 {
            put!(
                out,
                "<li><a href=\"#",
                view.id("top"),
                "\">",
                view.run().id.as_str(),
                " ",
                view.run().plan.suite,
                "</a>\n<ul>\n"
            );
        }
        for Section { id, entry, .. } in Section::ALL {
            if section.has_id(&view.id(id)) {
                put!(out, "<li><a href=\"#", view.id(id), "\">", entry, "</a></li>\n");
            }
        }
        if views.len() > 1 {
            put!(out, "</ul></li>\n");
        }
    }
    put!(out, "</ul>\n</nav>\n");
}
