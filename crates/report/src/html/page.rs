//! The file around the sections: head, contents, style, data, script.

use super::data::data;
use crate::markup::{Markup, put};
use crate::view::{View, title};
use crate::writers::html::GENERATOR;

const STYLE: &str = include_str!("style.css");
const LIGHT: &str = include_str!("light.css");
const DARK: &str = include_str!("dark.css");

/// A whole file. `sections` are those of each view, in order.
pub(super) fn page(views: &[View], sections: &[Markup]) -> serde_json::Result<Markup> {
    let mut out = Markup::new();
    put!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.raw(GENERATOR);
    put!(out, "\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put!(out, "<meta name=\"color-scheme\" content=\"light dark\">\n");
    let heading = match views {
        [view] => format!("{}: {}", view.run().plan.suite, title(view)),
        views => format!("{} runs", views.len()),
    };
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
    put!(out, "<div class=\"columns\">\n");
    contents(&mut out, views, sections);
    put!(out, "<main id=\"content\">\n");
    if views.len() > 1 {
        out.heading(1, "top", &heading);
    }
    for (view, section) in views.iter().zip(sections) {
        put!(
            out,
            "<article id=\"",
            view.id("run"),
            "\" aria-labelledby=\"",
            view.id("top"),
            "\">\n",
            section,
            "</article>\n"
        );
    }
    put!(out, "</main>\n</div>\n<footer>Made by mountmark from ");
    for (index, view) in views.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        put!(out, comma, "run ", view.run().id.as_str(), " of ", view.run().started.to_string());
    }
    put!(out, ". The file needs no network.</footer>\n</div>\n<script type=\"application/json\" id=\"data\">");
    out.json(&serde_json::to_string(&views.iter().map(data).collect::<Vec<_>>())?);
    put!(out, "</script>\n<script>\n");
    out.raw(include_str!("script.js"));
    put!(out, "</script>\n</body>\n</html>\n");
    Ok(out)
}

/// Titles of sections in the table of contents, by the name in their ids; those in a run are listed.
const SECTIONS: [(&str, &str); 15] = [
    ("conclusions", "Conclusions"),
    ("compared", "What was compared"),
    ("varied", "Curves"),
    ("matrix", "Tests and file systems"),
    ("all", "All tests together"),
    ("rankings", "Rankings"),
    ("tests", "Test by test"),
    ("steps", "mkfs, mount, room"),
    ("tails", "After the command"),
    ("device", "Device, I/O maps"),
    ("latency", "Latencies"),
    ("study", "Published figures"),
    ("claims", "Claims"),
    ("trouble", "Failed, skipped, doubtful"),
    ("method", "Method, environment"),
];

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
        for (name, label) in SECTIONS {
            if section.has_id(&view.id(name)) {
                put!(out, "<li><a href=\"#", view.id(name), "\">", label, "</a></li>\n");
            }
        }
        if views.len() > 1 {
            put!(out, "</ul></li>\n");
        }
    }
    put!(out, "</ul>\n</nav>\n");
}
