//! The plans of all points as one.

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Machine, Vary};

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
        let all: Vec<PlannedCell> =
            points.flat_map(|(plan, point)| at_point(plan, point, repeat, &configurations)).collect();
        for at in block(options.seed, repeat, all.len()) {
            cells.push(PlannedCell { index: cells.len() as u32, ..all[at].clone() });
        }
    }
    let (scale, tasks, vary) = (options.scale, tasks.collect(), Some(vary.clone()));
    let head = mountmark_model::Plan { machine, scale, configurations, tasks, skipped, vary, ..(**first).clone() };
    Ok(Plan::with_cells(head, cells))
}

fn at_point<'a>(
    plan: &'a Plan,
    point: u32,
    repeat: u32,
    configurations: &'a [String],
) -> impl Iterator<Item = PlannedCell> + 'a {
    let block = plan.of_repeat(repeat);
    let of = move |name: &String| block.iter().find(|cell| cell.configuration.name == *name);
    configurations.iter().filter_map(of).map(move |cell| PlannedCell { point: Some(point), ..cell.clone() })
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
