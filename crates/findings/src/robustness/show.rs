//! Whether orders hold, as a section: how many, which turn, and for which machines that was asked.

use mountmark_document::forms::Block;

use crate::robustness::find::Known;
use crate::robustness::say;
use crate::view::{View, label};

/// The section; empty where it was not asked.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let Some(found) = &view.findings().robustness else { return Vec::new() };
    let mut out = vec![Block::Text(say::answer(found))];
    if found.known != Known::Classes || found.tasks.is_empty() {
        return out;
    }
    for orders in found.tasks.iter().filter(|orders| orders.turning().next().is_some()) {
        let task = view.findings().tasks.iter().find(|task| task.id == orders.task);
        let pairs: Vec<String> = orders.turning().map(|pair| say::turning_pair(view.findings(), pair)).collect();
        out.push(Block::Item(format!("{}: {}.", task.map_or(orders.task.clone(), label), pairs.join("; "))));
    }
    out.extend(found.server.map(|(low, high)| Block::Text(say::server(low, high))));
    out.push(Block::Text(say::COSTS.into()));
    out.extend(found.costs.iter().map(|range| Block::Item(say::range(range))));
    out
}
