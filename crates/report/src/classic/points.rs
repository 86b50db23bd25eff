//! Runs that vary a parameter: other programs know no points, so each has a report of its own.

use std::collections::HashMap;

use mountmark_model::{Vary, heading};
use mountmark_record::RunRecord;

use super::Style;

/// The reports of all points, each under its point. In lines for programs the point is in the name: `ext4@512MiB`.
pub(super) fn each(run: &RunRecord, vary: &Vary, style: &Style) -> Option<String> {
    let mut out = String::new();
    for (at, (mut alone, point)) in apart(run, vary).into_iter().zip(&vary.points).enumerate() {
        if style.lines {
            for cell in &mut alone.cells {
                cell.configuration = vary.name(&heading(&cell.configuration), at);
            }
        }
        let Some(text) = (style.render)(&alone) else { continue };
        if !style.lines {
            let space = if out.is_empty() { "" } else { "\n" };
            out += &format!("{space}{}={}\n\n", vary.parameter, point.text);
        }
        out += &text;
    }
    (!out.is_empty()).then_some(out)
}

/// A run for each point, whose tasks have the names that they have in its cells.
fn apart(run: &RunRecord, vary: &Vary) -> Vec<RunRecord> {
    let mut empty = run.clone();
    (empty.plan.vary, empty.plan.tasks, empty.plan.cells, empty.cells) = (None, Vec::new(), Vec::new(), Vec::new());
    let mut out = vec![empty; vary.points.len()];
    for (recorded, title) in &run.plan.tasks {
        if let (task, Some(point)) = run.plan.of_recorded(recorded) {
            out[point].plan.tasks.push((task.to_owned(), title.clone()));
        }
    }
    let mut points = HashMap::new();
    for cell in &run.plan.cells {
        let Some(point) = cell.point.map(|point| point as usize).filter(|point| *point < out.len()) else { continue };
        out[point].plan.cells.push(cell.clone());
        points.insert(cell.index, point);
    }
    let name = |task: &mut String| *task = run.plan.of_recorded(task).0.to_owned();
    for cell in &run.cells {
        let Some(point) = points.get(&cell.index) else { continue };
        let mut cell = cell.clone();
        cell.samples.iter_mut().for_each(|sample| name(&mut sample.task));
        cell.outcomes.iter_mut().for_each(|ended| name(&mut ended.task));
        out[*point].cells.push(cell);
    }
    out
}
