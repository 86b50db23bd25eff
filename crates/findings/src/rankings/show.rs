//! Rankings as tables.

use mountmark_document::forms::{Block, Last, Table};
use mountmark_document::number;

use crate::figures::find::TaskFindings;
use crate::figures::say::{basis, category};
use crate::found::Findings;
use crate::overview;
use crate::rankings::find::rank::Rank;
use crate::robustness::say as robustness;
use crate::safety::say as safety;

/// A table for each kind of work in which at least two are ranked, and one for all tests.
pub(crate) fn tables(findings: &Findings) -> Vec<Block> {
    let mut out = Vec::new();
    for found in findings.categories.iter().filter(|found| found.ranking.len() > 1) {
        out.push(Block::Subheading(format!("Ranking, {} (by {})", category(&found.category), basis(found.basis))));
        let is_meant = |task: &TaskFindings| task.category == found.category;
        out.push(ranking(findings, &found.ranking, is_meant));
        out.extend(not_ranked(findings, &found.ranking));
        out.extend(robustness::ranking(findings, is_meant).map(Block::Text));
    }
    if findings.overall.ranking.len() > 1 {
        let ranked = if findings.overall.unranked.is_empty() { "" } else { " that are ranked" };
        out.push(Block::Subheading(format!("Ranking, all tests{ranked} (by {})", basis(findings.overall.basis))));
        out.push(ranking(findings, &findings.overall.ranking, |_| true));
        out.extend(not_ranked(findings, &findings.overall.ranking));
        out.extend(robustness::ranking(findings, |_| true).map(Block::Text));
    }
    out.extend(without_order(findings).map(Block::Text));
    out
}

/// Of which kinds of work there is no order, since fewer than two have figures of all tests.
pub(crate) fn without_order(findings: &Findings) -> impl Iterator<Item = String> {
    let several = findings.configurations.len() > 1;
    let none = findings.categories.iter().filter(move |found| several && found.ranking.len() < 2);
    none.map(|found| overview::say::category(findings, found))
}

/// Who has no row, as a table alone looks whole.
pub(crate) fn not_ranked(findings: &Findings, ranks: &[Rank]) -> Option<Block> {
    let said = overview::say::not_ranked(findings, ranks);
    (!said.is_empty()).then(|| Block::Text(said.trim_start().to_owned()))
}

fn ranking(findings: &Findings, ranks: &[Rank], is_meant: impl Fn(&TaskFindings) -> bool) -> Block {
    let head = ["file system", "times the best", "95 % interval", "keeps its place"];
    let rows = ranks.iter().map(|rank| {
        vec![
            safety::named(findings, rank.configuration, &is_meant),
            number::ratio(rank.score),
            rank.interval.map_or("-".into(), number::range),
            rank.stability.map_or("-".into(), number::share),
        ]
    });
    Block::Table(Table::new(head, rows, 1, Last::Figure))
}
