//! The file around a page: head, contents, style, data, script.

use crate::markup::Markup;
use crate::put;

/// How each page of this program begins.
pub const START: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                         <meta name=\"generator\" content=\"mountmark report\">";

const STYLE: &str = include_str!("page/style.css");
const LIGHT: &str = include_str!("page/light.css");
const DARK: &str = include_str!("page/dark.css");

/// A whole file around its parts.
pub struct Page<'a> {
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
        out.raw(START);
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
        out.raw(include_str!("page/script.js"));
        put!(out, "</script>\n</body>\n</html>\n");
        out
    }
}
