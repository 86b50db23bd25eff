//! What file systems held before the tasks.

use std::collections::BTreeMap;

use mountmark_cells::PlannedCell;
use mountmark_model::{Age, Fill, Metric, protocol_task};
use mountmark_record::RunRecord;

use crate::group::each_once;

/// A line for each degree to which file systems were filled, and for each history.
pub(super) fn sentences(run: &RunRecord) -> Vec<String> {
    let mut ages = each_once(run.plan.cells.iter().filter_map(|cell| cell.age.as_ref()));
    ages.sort_by_key(|age| (&age.text, age.copy));
    let is_new = |cell: &PlannedCell| cell.age.is_none() && cell.fill.as_ref().is_some_and(|fill| fill.percent == 0);
    let mut told: Vec<String> = fills(run).into_iter().chain(ages.into_iter().map(aged)).collect();
    if !told.is_empty() && run.plan.cells.iter().any(is_new) {
        told.insert(0, "a new file system is made in the same way as those that hold something".into());
    }
    told
}

fn aged(age: &Age) -> String {
    let tree = format!("{} files, {}, in {}", age.files, age.bytes, Age::FOLDER);
    match age.copy {
        true => format!("{}: the tree with which the history ends, written once: {tree}", age.text),
        false => format!("{}: {} operations of {} commits: {tree}", age.text, age.operations, age.commits),
    }
}

fn fills(run: &RunRecord) -> Vec<String> {
    let mut degrees: BTreeMap<u32, (&Fill, Vec<f64>)> = BTreeMap::new();
    for planned in &run.plan.cells {
        let Some(fill) = planned.fill.as_ref().filter(|fill| fill.percent > 0) else { continue };
        let cells = run.cells.iter().filter(|cell| cell.index == planned.index);
        let came_to = cells.filter_map(|cell| cell.figure(protocol_task::CAPACITY, &Metric::CAPACITY_FILLED));
        degrees.entry(fill.percent).or_insert_with(|| (fill, Vec::new())).1.extend(came_to);
    }
    degrees.into_values().map(|(fill, came_to)| sentence(fill, &came_to)).collect()
}

fn sentence(fill: &Fill, came_to: &[f64]) -> String {
    let kind = if fill.text { "text" } else { "random bytes" };
    let (least, most) =
        came_to.iter().fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(*one), most.max(*one)));
    let told = match came_to.is_empty() {
        true => String::new(),
        false if most - least < 0.05 => format!("; df told {most:.1} %"),
        false => format!("; df told {least:.1} to {most:.1} %"),
    };
    format!(
        "files fill {}% of each file system before the tasks, of {} in the mean, {kind}{told}",
        fill.percent, fill.size_mean
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mountmark_model::Sample;

    use super::*;
    use crate::tests::run;

    #[test]
    fn a_new_file_system_is_told_beside_others_alone() {
        let mut run = run(&["ext4", "xfs"], 1);
        let fill = |percent| Some(Arc::new(Fill::with_sizes(percent, [1, 65536, 1 << 20], true)));
        run.plan.cells[0].fill = fill(0);
        assert!(sentences(&run).is_empty());
        run.plan.cells[1].fill = fill(80);
        assert!(sentences(&run)[0].starts_with("a new file system is made") && sentences(&run).len() == 2);
    }

    #[test]
    fn what_a_fill_came_to_is_told_by_degree() {
        let mut run = run(&["ext4", "xfs"], 1);
        assert!(sentences(&run).is_empty());
        for cell in &mut run.plan.cells {
            cell.fill = Some(Arc::new(Fill::with_sizes(80, [1, 65536, 1 << 20], true)));
        }
        assert_eq!(
            sentences(&run),
            ["files fill 80% of each file system before the tasks, of 64.0 KiB in the mean, text"]
        );
        for (cell, value) in run.cells.iter_mut().zip([79.95, 80.21]) {
            let (task, metric) = (protocol_task::CAPACITY.to_owned(), Metric::CAPACITY_FILLED.id.to_owned());
            cell.samples.push(Sample { task, metric, iteration: 0, value });
        }
        assert!(sentences(&run)[0].ends_with("df told 80.0 to 80.2 %"), "{:?}", sentences(&run));
    }
}
