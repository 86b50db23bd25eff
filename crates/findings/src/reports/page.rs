//! Writes runs as one HTML file that needs no network.
//!
//! The tables and drawings in the file are complete without a script; the script sorts the matrix and shows other
//! metrics in it.

use anyhow::Result;
use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::page::Page;
use mountmark_document::put;
use mountmark_document::writers::html::in_turn;
use mountmark_record::RunRecord;

use crate::claims::find::JudgedClaim;
use crate::matrix::page::data::data;
use crate::sections::{self, Section};
use crate::view::{Report, View, title};
use crate::{claims, overview};

/// The id of the claims that several runs judge together.
const TOGETHER: &str = "claims";

/// The sections of a run that it has something for.
type Sections = Vec<(&'static Section, Vec<Block>)>;

/// Runs as one HTML page, in the order given, after the claims that they judge together.
pub(crate) fn page(reports: &[Report], judged: Option<&[JudgedClaim]>) -> Result<Markup> {
    let views: Vec<View> =
        reports.iter().enumerate().map(|(index, report)| View::new(report, index, reports.len())).collect();
    let heading = match (&views[..], judged) {
        ([view], _) => format!("{}: {}", view.run().plan.suite, title(view)),
        (_, Some(judged)) => claims::say::title(judged),
        (views, None) => format!("{} runs", views.len()),
    };
    let mut main = Markup::new();
    if views.len() > 1 {
        main.heading(1, "top", &heading);
    }
    if let Some(judged) = judged {
        let runs: Vec<&RunRecord> = views.iter().map(View::run).collect();
        main.heading(2, TOGETHER, claims::say::HEADING);
        let links: Vec<String> = views.iter().map(|view| view.id("top")).collect();
        main.show(&in_turn(&claims::show::section::together(&runs, &links, judged), claims::say::HEADING, 2));
    }
    let mut contents = Markup::new();
    put!(contents, "<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
    if judged.is_some() {
        put!(contents, "<li><a href=\"#", TOGETHER, "\">Claims</a></li>\n");
    }
    for view in &views {
        let sections = sections::ALL.iter().map(|section| (section, (section.blocks)(view)));
        let sections: Sections = sections.filter(|(_, blocks)| !blocks.is_empty()).collect();
        article(&mut main, view, &sections);
        entries(&mut contents, view, &sections, views.len() > 1);
    }
    put!(contents, "</ul>\n</nav>\n");
    let runs = views.iter().map(|view| format!("run {} of {}", view.run().id.as_str(), view.run().started));
    let footer = runs.collect::<Vec<_>>().join(", ");
    let data = serde_json::to_string(&views.iter().map(data).collect::<Vec<_>>())?;
    Ok(Page { heading: &heading, contents, main, footer, data }.markup())
}

fn article(out: &mut Markup, view: &View, sections: &Sections) {
    put!(out, "<article id=\"", view.id("run"), "\" aria-labelledby=\"", view.id("top"), "\">\n");
    put!(out, overview::page::opening(view));
    for (section, blocks) in sections {
        out.heading(view.level + 1, &view.id(section.id), section.heading);
        put!(out, in_turn(blocks, section.heading, view.level + 1));
    }
    put!(out, "</article>\n");
}

/// The entries of a run's sections in the contents, below the run where there are several.
fn entries(out: &mut Markup, view: &View, sections: &Sections, is_one_of_several: bool) {
    if is_one_of_several {
        let run = view.run();
        put!(out, "<li><a href=\"#", view.id("top"), "\">", run.id.as_str(), " ", run.plan.suite, "</a>\n<ul>\n");
    }
    for (Section { id, entry, .. }, _) in sections {
        put!(out, "<li><a href=\"#", view.id(id), "\">", entry, "</a></li>\n");
    }
    if is_one_of_several {
        put!(out, "</ul></li>\n");
    }
}
