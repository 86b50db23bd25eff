//! What stands above everything that is shown of a run: facts about it, and the legend of labels.

use mountmark_document::forms::Block;
use mountmark_model::legend;
use mountmark_record::RunRecord;

use crate::run::say::{Fact, LABELS, header};

/// The legend of the labels among these names of configurations, if any.
pub(crate) fn labels<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Block> {
    legend(names).map(|text| Block::Fact(LABELS.into(), text))
}

/// The facts about a run that stand above what is shown of it.
pub(crate) fn about(run: &RunRecord) -> Vec<Block> {
    let mut before = None;
    let part = |(fact, text): (Fact, String)| match before.replace(fact) == Some(fact) {
        true => Block::Fact(String::new(), text),
        false => Block::Fact(fact.label().into(), text),
    };
    header(run).into_iter().map(part).collect()
}
