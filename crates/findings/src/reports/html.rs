//! Writes runs as one HTML file that needs no network.
//!
//! The tables and drawings in the file are complete without a script; the script sorts the matrix and shows other
//! metrics in it. Each section is a file here, a function from a [`View`] to markup. This folder does not know how
//! findings are computed, or where a page is stored.

use anyhow::Result;
use mountmark_document::markup::Markup;

use crate::claims::find::JudgedClaim;
use crate::reports::page;
use crate::view::{Report, View};
use crate::{claims, curves, device, latency, matrix, method, missing, overview, rankings, studies, tails, verdicts};

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
        overview::page::overview,
        curves::page::varied,
        matrix::page::matrix,
        rankings::page::composite::composite,
        rankings::page::rankings,
        verdicts::page::tasks,
        verdicts::page::steps,
        tails::page::tails,
        device::page::device,
        latency::page::latency,
        studies::page::study,
        claims::page::claims,
        missing::page::trouble,
        method::page::method,
    ];
    let mut out = Markup::new();
    for section in SECTIONS {
        out.show(&section(view));
    }
    out
}
