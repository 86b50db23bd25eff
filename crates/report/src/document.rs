//! A report's content, and the formats it is written in.
//!
//! A format of a single run's figures is in `format.rs`; those here show what was found in runs.

mod json;
mod markdown;

use anyhow::Result;
use mountmark_analyse::Findings;
use mountmark_analyse::claim::JudgedClaim;
use mountmark_analyse::study::StudyComparison;
use mountmark_record::{DeviceUse, Output, RunRecord};

/// A run, what was found in it, and what it was set beside.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// As it was recorded.
    pub run: &'a RunRecord,
    /// What was found in `run`.
    pub findings: &'a Findings,
    /// `run` beside a published study, where that was asked for.
    pub study: Option<&'a StudyComparison>,
    /// What `run` says of published claims, where that was asked for.
    pub claims: Option<&'a [JudgedClaim]>,
    /// What tasks asked of the device in the first repeat of `run`, as far as that was loaded.
    pub devices: &'a [DeviceUse],
    /// What the engine found in the first repeat of `run`, as far as that was loaded.
    pub results: &'a [Output],
}

/// A way of writing reports down.
pub trait Document: Sync {
    /// The name in `--format`, and the end of a file's name.
    fn name(&self) -> &'static str;
    /// One line for lists.
    fn about(&self) -> &'static str;
    /// The reports as one text that ends with a line end. Fails where the format shows one run and there are several.
    fn render(&self, reports: &[Report]) -> Result<String>;
    /// Whether a file that begins so was written by this format.
    fn is_ours(&self, start: &str) -> bool;
}

/// All formats, in the order of help texts; the first is the default.
pub const DOCUMENTS: &[&dyn Document] =
    &[&crate::html::Html, &markdown::Markdown, &crate::csv::StudyCsv, &json::Json, &crate::svg::Svg];

/// The format with this name.
pub fn find_document(name: &str) -> Result<&'static dyn Document, crate::UnknownName> {
    let names = DOCUMENTS.iter().map(|document| document.name()).collect();
    let found = DOCUMENTS.iter().find(|document| document.name() == name).copied();
    found.ok_or_else(|| crate::format::unknown("format", name, names))
}
