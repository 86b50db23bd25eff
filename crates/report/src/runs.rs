//! The list of runs.

use mountmark_record::RunSummary;

use crate::format::Options;
use crate::table::draw;
use crate::text::{clean, width, wrap};

/// Runs in the order given, one a row; the configurations take the room that is left. When one began is in its name.
pub fn runs_table(runs: &[RunSummary], options: &Options) -> String {
    if runs.is_empty() {
        return "There is no run yet.\n".into();
    }
    let heads = ["run", "status", "suite", "scale", "lab", "cells", "failed"];
    let mut columns: Vec<Vec<String>> = heads.iter().map(|head| vec![(*head).to_owned()]).collect();
    for run in runs {
        let cells = [
            run.id.to_string(),
            run.status.to_string(),
            clean(&run.suite),
            run.scale.to_string(),
            run.lab.clone(),
            format!("{}/{}", run.recorded, run.planned),
            run.failed.to_string(),
        ];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
    }
    let used: usize = columns.iter().map(|column| 2 + column.iter().map(|cell| width(cell)).max().unwrap_or(0)).sum();
    let room = options.width.saturating_sub(used).max(20);
    let names = runs.iter().map(|run| wrap(&clean(&run.configurations.join(", ")), room).join("\n"));
    columns.push(std::iter::once("file systems".to_owned()).chain(names).collect());
    let left_from = columns.len() - 1;
    draw(&columns.iter().collect::<Vec<_>>(), left_from, options)
}
