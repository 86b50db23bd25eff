//! The plans of all points as one.

use mountmark_model::{Cell, Machine, Plan, Vary};

use crate::order::block;
use crate::{Options, PlanError, Result};

/// One plan of `plans`, which are in the order of the points, for a `machine` without the parameter.
pub(super) fn merge(plans: &[Plan], options: &Options, vary: &Vary, machine: Machine) -> Result<Plan> {
    let skipped = skipped(plans, vary);
    let Some(first) = plans.first() else { return Err(PlanError::AllSkipped(skipped)) };
    let is_kept = |name: &&String| plans.iter().all(|plan| plan.configurations.contains(name));
    let configurations: Vec<String> = first.configurations.iter().filter(is_kept).cloned().collect();
    if configurations.is_empty() {
        return Err(PlanError::AllSkipped(skipped));
    }
    if let Some(reason) = Plan::too_large(first.tasks.len().saturating_mul(plans.len()), configurations.len()) {
        return Err(PlanError::Options(format!("--vary {}: {reason}", vary.parameter)));
    }
    // The points of a task are neighbours in tables.
    let tasks = (0..first.tasks.len()).flat_map(|task| {
        let recorded = move |(point, plan): (usize, &Plan)| {
            let (id, title) = &plan.tasks[task];
            (vary.name(id, point), title.clone())
        };
        plans.iter().enumerate().map(recorded)
    });
    let mut cells = Vec::new();
    for repeat in 0..options.repeats {
        let points = plans.iter().zip(0..);
        let all: Vec<Cell> = points.flat_map(|(plan, point)| at_point(plan, point, repeat, &configurations)).collect();
        for at in block(options.seed, repeat, all.len()) {
            cells.push(Cell { index: cells.len() as u32, ..all[at].clone() });
        }
    }
    let (tasks, vary) = (tasks.collect(), Some(vary.clone()));
    Ok(Plan { machine, scale: options.scale, configurations, tasks, cells, skipped, vary, ..first.clone() })
}

fn at_point<'a>(
    plan: &'a Plan,
    point: u32,
    repeat: u32,
    configurations: &'a [String],
) -> impl Iterator<Item = Cell> + 'a {
    let of =
        move |name: &String| plan.cells.iter().find(|cell| cell.repeat == repeat && cell.configuration.name == *name);
    configurations.iter().filter_map(of).map(move |cell| Cell { point: Some(point), ..cell.clone() })
}

/// A configuration that cannot run at one point is at none: its curve would have gaps.
fn skipped(plans: &[Plan], vary: &Vary) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for (plan, point) in plans.iter().zip(&vary.points) {
        for (name, reason) in &plan.skipped {
            if !out.iter().any(|(known, _)| known == name) {
                out.push((name.clone(), format!("{reason} (at {}={})", vary.parameter, point.text)));
            }
        }
    }
    out
}
