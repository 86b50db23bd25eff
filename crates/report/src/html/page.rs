//! The page of some runs, around their sections.

use super::data::data;
use crate::markup::{Markup, put};
use crate::page::Page;
use crate::view::{View, title};
use crate::words::section::Section;

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
