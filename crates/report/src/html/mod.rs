//! Writes runs as one HTML file that needs no network.
//!
//! The tables and drawings in the file are complete without a script; the script sorts the matrix and shows other
//! metrics in it. Each section is a file here, a function from a [`View`] to markup. This folder does not know how
//! findings are computed, or where a page is stored.

mod claims;
mod composite;
pub(crate) mod crash;
mod curve;
mod data;
mod device;
mod graphs;
mod latency;
mod matrix;
mod method;
mod overview;
mod page;
mod places;
mod plot;
mod rankings;
mod studies;
mod tails;
mod tasks;
mod trouble;
mod varied;
pub(crate) mod why;
mod write_order;

use anyhow::Result;
use mountmark_analyse::claim::JudgedClaim;

use crate::markup::Markup;
use crate::view::{Report, View};

pub(crate) use composite::{Bar, bars, look, timed};

/// Runs as one HTML page, in the order given, after the claims that they judge together.
pub(crate) fn html(reports: &[Report], judged: Option<&[JudgedClaim]>) -> Result<Markup> {
    let views: Vec<View> =
        reports.iter().enumerate().map(|(index, report)| View::new(report, index, reports.len())).collect();
    let sections: Vec<Markup> = views.iter().map(sections).collect();
    Ok(page::page(&views, &sections, judged)?)
}

/// All sections of a run, in reading order.
fn sections(view: &View) -> Markup {
    const SECTIONS: [fn(&View) -> Markup; 14] = [
        overview::overview,
        varied::varied,
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
pub(crate) mod tests;
