//! Runs as one HTML file that needs no network.
//!
//! Everything is in the file as tables and drawings before a script runs; the script sorts the matrix and shows other
//! metrics in it. Each section is a file here, a function from a [`View`] to markup. This folder does not know how
//! findings come about, or where a page is kept.

mod claims;
mod composite;
mod data;
mod device;
mod latency;
pub(crate) mod markup;
mod matrix;
mod method;
mod overview;
mod page;
mod plot;
mod rankings;
mod studies;
mod tails;
mod tasks;
mod trouble;
pub(crate) mod view;

use anyhow::Result;

use crate::document::{Document, Report};
use markup::Markup;
use view::View;

pub(crate) use composite::{Bar, bars, look, timed};
pub(crate) use matrix::best_means;
pub(crate) use overview::title;

pub(crate) struct Html;

impl Document for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn about(&self) -> &'static str {
        "one file for a browser, with charts; it needs no network"
    }

    fn render(&self, reports: &[Report]) -> Result<String> {
        html(reports)
    }

    fn is_ours(&self, start: &str) -> bool {
        start.contains(page::GENERATOR)
    }
}

/// Runs as one HTML page, in the order given.
pub fn html(reports: &[Report]) -> Result<String> {
    let views: Vec<View> =
        reports.iter().enumerate().map(|(index, report)| View::new(report, index, reports.len())).collect();
    let sections: Vec<Markup> = views.iter().map(sections).collect();
    Ok(page::page(&views, &sections)?.into_string())
}

/// All sections of a run, in the order of reading.
fn sections(view: &View) -> Markup {
    const SECTIONS: [fn(&View) -> Markup; 13] = [
        overview::overview,
        matrix::matrix,
        composite::composite,
        rankings::rankings,
        tasks::tasks,
        tasks::steps,
        tails::tails,
        device::device,
        latency::latency,
        studies::study,
        claims::claims,
        trouble::trouble,
        method::method,
    ];
    let mut out = Markup::new();
    for section in SECTIONS {
        out.show(&section(view));
    }
    out
}

#[cfg(test)]
mod tests;
