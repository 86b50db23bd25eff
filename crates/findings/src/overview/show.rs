//! Conclusions with their limits, and what was compared.

use mountmark_document::forms::Block;

use crate::overview::say::kind::kind;
use crate::overview::say::opening::{Opening, REST};
use crate::remarks;
use crate::run::show::about::about;
use crate::view::View;

/// Names that stand above the tables, which have all.
const NAMED: usize = 24;

/// The answer stands above, as a page's opening.
pub(crate) fn conclusions(view: &View) -> Vec<Block> {
    let opening = Opening::of(view.findings());
    let items = |texts: Vec<String>| texts.into_iter().map(Block::Item).collect::<Vec<_>>();
    let limits = remarks::say::sentences(view.findings());
    let mut out = items(opening.further);
    if !opening.rest.is_empty() {
        out.push(Block::Fold(REST.into(), items(opening.rest)));
    }
    if !limits.is_empty() {
        out.push(Block::Fold("How far this goes".into(), items(limits)));
    }
    out
}

pub(crate) fn compared(view: &View) -> Vec<Block> {
    let findings = view.findings();
    let fact = |label: &str, text: String| Block::Fact(label.into(), text);
    let mut names = findings.headings.clone();
    if names.len() > NAMED {
        let more = names.split_off(NAMED).len();
        names.push(format!("and {more} more"));
    }
    let mut out = vec![fact(kind(findings)[1], names.join(", "))];
    if let Some(name) = findings.headings.get(findings.baseline).filter(|_| findings.configurations.len() > 1) {
        out.push(fact("baseline", format!("{name}: ratios are to it")));
    }
    out.extend(about(view.run()));
    out
}
