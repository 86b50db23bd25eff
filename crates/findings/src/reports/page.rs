//! The page of some runs, around their sections.

use mountmark_document::markup::Markup;
use mountmark_document::page::Page;
use mountmark_document::put;

use crate::claims;
use crate::claims::find::JudgedClaim;
use crate::matrix::page::data::data;
use crate::sections::Section;
use crate::view::{View, title};

/// The file of some runs. `sections` are those of each view, in order; `judged` are claims that they judge together.
pub(crate) fn page(views: &[View], sections: &[Markup], judged: Option<&[JudgedClaim]>) -> serde_json::Result<Markup> {
    let heading = match (views, judged) {
        ([view], _) => format!("{}: {}", view.run().plan.suite, title(view)),
        (_, Some(judged)) => claims::say::title(judged),
        (views, None) => format!("{} runs", views.len()),
    };
    let mut main = Markup::new();
    if views.len() > 1 {
        main.heading(1, "top", &heading);
    }
    if let Some(judged) = judged {
        main.show(&claims::page::together(views, judged));
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
    contents(&mut list, views, sections, judged.is_some());
    let runs = views.iter().map(|view| format!("run {} of {}", view.run().id.as_str(), view.run().started));
    let footer = runs.collect::<Vec<_>>().join(", ");
    let data = serde_json::to_string(&views.iter().map(data).collect::<Vec<_>>())?;
    Ok(Page { heading: &heading, contents: list, main, footer, data }.markup())
}

fn contents(out: &mut Markup, views: &[View], sections: &[Markup], has_claims: bool) {
    put!(out, "<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
    if has_claims {
        let Section { id, entry, .. } = Section::CLAIMS;
        put!(out, "<li><a href=\"#", id, "\">", entry, "</a></li>\n");
    }
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
