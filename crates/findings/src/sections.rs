//! The only order of a report's sections, for every format.

use mountmark_document::forms::Block;

use crate::view::View;
use crate::{
    claims, curves, device, effects, facts, latency, matrix, method, missing, overview, rankings, robustness, studies,
    tails, verdicts,
};

/// A section of a report.
pub(crate) struct Section {
    /// Its id on a page.
    pub id: &'static str,
    /// Its entry in the contents of a page.
    pub entry: &'static str,
    pub heading: &'static str,
    /// Whether `show --verdict` has it too: what was found, without the figures behind it.
    pub is_verdict: bool,
    /// What is in it; empty if the run has nothing for it.
    pub blocks: fn(&View) -> Vec<Block>,
}

const fn section(
    id: &'static str,
    entry: &'static str,
    heading: &'static str,
    blocks: fn(&View) -> Vec<Block>,
) -> Section {
    Section { id, entry, heading, is_verdict: false, blocks }
}

impl Section {
    const fn of_verdicts(self) -> Section {
        Section { is_verdict: true, ..self }
    }
}

/// All sections of a run, in reading order.
pub(crate) const ALL: &[Section] = &[
    section("conclusions", "Conclusions", "Conclusions", overview::show::conclusions).of_verdicts(),
    section("compared", "What was compared", "What was compared", overview::show::compared).of_verdicts(),
    section("varied", "Curves", "Curves", curves::page::section).of_verdicts(),
    section("effects", "What each factor changes", "What each factor changes", effects::page::section).of_verdicts(),
    section("matrix", "Tests and file systems", "Tests and file systems", matrix::page::section),
    section("all", "All tests together", "All tests together", rankings::page::composite::section),
    section("rankings", "Rankings", "Rankings by kind of work", rankings::page::section).of_verdicts(),
    section("robustness", "Do orders hold", "Do the orders hold on real machines", robustness::show::section)
        .of_verdicts(),
    section("tests", "Test by test", "Test by test", verdicts::page::tests).of_verdicts(),
    section("steps", "mkfs, mount, room", "Making, mounting, unmounting, and room", verdicts::page::steps)
        .of_verdicts(),
    section("tails", "After the command", "After the command returned", tails::page::section),
    section("device", "Device, I/O maps", "How the device was used", device::page::section),
    section("latency", "Latencies", "Latencies and rates over time", latency::page::section),
    section("study", "Published figures", "Beside published figures", studies::page::section),
    section("claims", "Claims", "What studies claimed, and what this run says", claims::show::section::section),
    section("trouble", "Failed, skipped, doubtful", "Failed, skipped, doubtful", missing::show::section).of_verdicts(),
    section("facts", "What else decides", "What else decides: facts that nobody measured here", facts::show::section),
    section("method", "Method, environment", "Method and environment", method::show::section),
];
