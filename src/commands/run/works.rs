//! Whether a plan's tasks can run at all: workloads that the engine refuses, programs that are not there.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::Program;

use crate::common::WrongUse;

/// Refuses a plan with a workload that the engine would refuse in each guest.
pub fn check(plan: &Plan) -> Result<()> {
    let mut seen = BTreeSet::new();
    // Cells of one scale and point differ in what does not matter here.
    for cell in plan.cells.iter().filter(|cell| seen.insert(&cell.parameters)) {
        for task in cell.tasks.iter().filter(|task| task.skip.is_none()) {
            let Some(workload) = &task.workload else { continue };
            if let Some(reason) = mountmark_agent::engine::refusal(workload, &cell.parameters) {
                bail!(WrongUse(format!("suite {}, task {}: {reason}", plan.suite, task.id)));
            }
        }
    }
    Ok(())
}

/// Omits the tasks whose benchmark programs are unavailable here, and reports them.
pub fn leave_out_programs(plan: &mut Plan, lacks: &dyn Fn(&Program) -> Result<Option<String>>) -> Result<()> {
    let Some(tasks) = plan.cells.first().map(|cell| cell.tasks.to_vec()) else { return Ok(()) };
    for program in mountmark_plan::programs(&tasks) {
        if let Some(reason) = lacks(program)? {
            say!("mountmark: tasks of {} are skipped: {reason}", program.name);
            mountmark_plan::leave_out(plan, program, &reason);
        }
    }
    let runs = |cell: &PlannedCell| cell.tasks.iter().any(|task| task.part_of.is_none() && task.skip.is_none());
    if !plan.cells.iter().any(runs) {
        bail!("no task of the suite {} can run here", plan.suite);
    }
    Ok(())
}
