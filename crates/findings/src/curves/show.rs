//! Curves over a varied parameter as lists and tables.

use mountmark_document::forms::{Block, Last, Table, list};

use crate::curves::find::{Curve, Curves};
use crate::curves::say;
use crate::figures::say::quantity::quantity;
use crate::found::Findings;

/// The curves that a report shows: those of the suite's tasks, and of steps with a cliff.
pub(crate) fn shown(curves: &Curves) -> impl Iterator<Item = &Curve> {
    curves.curves.iter().filter(|curve| !curve.step || !curve.cliffs.is_empty())
}

/// The list of cliffs; nothing if the plan varies nothing.
pub(crate) fn cliffs(findings: &Findings) -> Vec<Block> {
    let mut out = Vec::new();
    if let Some(curves) = &findings.curves {
        list(&mut out, &format!("Cliffs over {}", curves.parameter), &say::cliffs(findings, curves));
    }
    out
}

/// A table for each curve.
pub(crate) fn tables(findings: &Findings, curves: &Curves) -> Vec<Block> {
    let mut out = Vec::new();
    for curve in shown(curves) {
        let name = if curve.title == curve.task { String::new() } else { format!(" {}", curve.title) };
        out.push(Block::Subheading(format!("{}{name} over {}", curve.task, curves.parameter)));
        let head = std::iter::once(curves.parameter.clone()).chain(findings.headings.iter().cloned());
        let row = |(at, point): (usize, &mountmark_model::VaryPoint)| {
            let cells = curve
                .medians
                .iter()
                .map(|medians| medians[at].map_or("-".to_owned(), |median| quantity(curve.metric, median)));
            std::iter::once(point.text.clone()).chain(cells).collect()
        };
        out.push(Block::Table(Table::new(head, curves.points.iter().enumerate().map(row), 1, Last::Figure)));
    }
    out
}
