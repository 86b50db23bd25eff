//! The page of a campaign of power cuts: what was tried, and each finding with the order of writes that led to it.

pub(crate) mod write_order;

use mountmark_crash::campaign::{Campaign, Cause};
use mountmark_document::forms::{Block, Table};
use mountmark_document::markup::Markup;
use mountmark_document::page::Page;
use mountmark_document::put;
use mountmark_document::writers::html::{in_turn, table};
use mountmark_model::heading;

use crate::crash::page::write_order::write_order;
use crate::crash::say as words;
use crate::crash::say::explored;

/// What a page shows of a configuration.
pub(crate) struct Shown<'a> {
    pub campaign: &'a Campaign,
    /// A command that shows a finding again.
    pub again: fn(&Campaign, &Cause) -> String,
}

/// The page; `about` and `summary` are of all configurations.
pub(crate) fn page(about: &[Block], summary: &Table, shown: &[Shown]) -> Markup {
    let names: Vec<&str> = shown.iter().map(|shown| shown.campaign.configuration.as_str()).collect();
    let title = words::title(&names);
    let mut main = Markup::new();
    main.heading(1, "top", &title);
    put!(main, in_turn(about, &title, 1));
    put!(main, table(summary, &title));
    let mut contents = Markup::new();
    put!(contents, "<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
    for (index, Shown { campaign, again }) in shown.iter().enumerate() {
        let id = format!("c{index}");
        put!(contents, "<li><a href=\"#", id, "\">", heading(&campaign.configuration), "</a></li>\n");
        put!(main, "<section aria-labelledby=\"", id, "\">\n");
        main.heading(2, &id, &heading(&campaign.configuration));
        put!(main, "<p>", words::promised(campaign), "</p>\n<p>", explored::explored(campaign), "</p>\n");
        for causes in campaign.causes().chunk_by(|one, next| one.standing() == next.standing()) {
            put!(main, "<h3>", words::lead(causes[0].standing()).trim_end_matches(':'), "</h3>\n");
            for cause in causes {
                put!(main, "<h4>", cause.signature, "</h4>\n<p>", words::found_below(cause), "</p>\n");
                put!(main, "<div class=\"command\"><pre>", again(campaign, cause), "</pre></div>\n");
                put!(
                    main,
                    "<figure>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                    words::ORDER,
                    "\">"
                );
                put!(main, write_order(&cause.finding.order, cause.workload), "</div>\n");
                put!(main, "<figcaption>", words::DRAWING, "</figcaption></figure>\n");
            }
        }
        let suspicious = words::suspicious(campaign);
        if !suspicious.is_empty() {
            put!(main, "<h3>", words::SUSPICIOUS.trim_end_matches(':'), "</h3>\n<ul>\n");
            suspicious.iter().for_each(|text| put!(main, "<li>", text, "</li>\n"));
            put!(main, "</ul>\n");
        }
        explored::not_judged(campaign).iter().for_each(|text| put!(main, "<p>", text, "</p>\n"));
        put!(main, "</section>\n");
    }
    put!(contents, "</ul>\n</nav>\n");
    Page { heading: &title, contents, main, footer: title.clone(), data: "[]".into() }.markup()
}
