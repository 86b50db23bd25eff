//! Fields of which nothing comes. A suite that is written has none; a stored plan of before may have them.

use mountmark_model::{Quantity, RateOf, Suite, Task};

/// What is said of a part with fields of its whole.
pub(super) const OF_WHOLE: &str =
    "a part is measured with its whole: prepare, cleanup, cold, repeat and limit_seconds belong there";

/// What is said of a field of a task without a workload.
pub(super) fn for_a_workload(field: &str) -> String {
    format!("{field} is for a workload; remove it")
}

/// The fields of tasks that would do nothing, as sentences.
pub(crate) fn faults(suite: &Suite) -> Vec<String> {
    let mut all = Vec::new();
    for task in &suite.tasks {
        let mut fault = |text: String| all.push(format!("task {}: {text}", task.id));
        if task.part_of.is_some() && task.limit_seconds != Task::default().limit_seconds {
            fault(OF_WHOLE.into());
        }
        // The part of a workload has a rate of its own.
        if task.workload.is_none() && task.part_of.is_none() && task.rate != RateOf::default() {
            fault(for_a_workload("rate"));
        }
        let Some(workload) = &task.workload else { continue };
        for phase in &workload.phases {
            let files = phase.files.as_ref().unwrap_or(&workload.files);
            if files.sizes.is_some() && files.size != Quantity::default() {
                fault(format!("phase {:?}: its files have size and sizes: keep one of them", phase.name));
            }
        }
    }
    all
}
