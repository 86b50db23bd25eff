//! Determines the unit of a task's rate: KiB or operations.
//!
//! The metric `rate` has one id and one direction for both. Here a task gets the variant with its own unit, for use in
//! sentences and tables.

use mountmark_model::workload::{Operation, Workload};
use mountmark_model::{Metric, Program, RateOf, Task};

/// The metric `rate` with its unit at `task`. `tasks` are those of its suite; `has` returns whether the task has
/// figures of a metric. [`Metric::RATE`] itself if the unit is unknown.
pub(crate) fn metric(task: &Task, tasks: &[Task], has: impl Fn(&Metric) -> bool) -> &'static Metric {
    // A part is measured by the task that it is a part of.
    let runs = task.part_of.as_ref().and_then(|whole| tasks.iter().find(|other| other.id == *whole)).unwrap_or(task);
    let of_data = match (&runs.program, &runs.workload) {
        // Where its engine works on names, the rate is of operations and stands for theirs.
        _ if runs.fio.is_some() => has(&Metric::OPERATION_RATE) || !has(&Metric::RATE),
        (Some(name), _) => match Program::find(name) {
            Some(program) => program.rate_is_of_data(task.figure_name()),
            None => return &Metric::RATE,
        },
        (None, Some(workload)) => match runs.rate {
            RateOf::Data | RateOf::Children => true,
            RateOf::Operations => false,
            // The engine reports rates of data separately only if there was data; data read to be rewritten counts as
            // neither reads nor writes.
            RateOf::Automatic => {
                [Metric::READ_RATE, Metric::WRITE_RATE, Metric::PARENT_RATE].iter().any(has) || rewrites(workload)
            }
        },
        (None, None) => return &Metric::RATE,
    };
    if of_data { &Metric::RATE_OF_DATA } else { &Metric::RATE_OF_OPERATIONS }
}

fn rewrites(workload: &Workload) -> bool {
    workload.phases.iter().any(|phase| phase.what.0.contains_key(&Operation::Rewrite))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(fields: serde_json::Value) -> Task {
        let mut all = serde_json::json!({"id": "t", "title": "t"});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn programs_and_workloads_say_what_their_rates_count() {
        let none = |_: &Metric| false;
        let unit = |fields| metric(&task(fields), &[], none).unit_text();
        let fio = task(serde_json::json!({"fio": "[a]"}));
        let names = |metric: &Metric| metric.id == "rate";
        let data = |metric: &Metric| ["rate", "operation_rate"].contains(&metric.id);
        assert_eq!((metric(&fio, &[], names).unit_text(), metric(&fio, &[], data).unit_text()), ("1/s", "KiB/s"));
        assert_eq!(unit(serde_json::json!({"program": "iozone", "figure": "read"})), "KiB/s");
        assert_eq!(unit(serde_json::json!({"program": "bonnie++", "figure": "seeks"})), "1/s");
        assert_eq!(unit(serde_json::json!({"run": "true"})), "KiB/s or 1/s");
        let workload = serde_json::json!({"files": {"folder": "f"}, "phases": [{"name": "p", "what": "create"}]});
        assert_eq!(unit(serde_json::json!({"workload": workload, "rate": "children"})), "KiB/s");
        let automatic = task(serde_json::json!({"workload": workload}));
        assert_eq!(metric(&automatic, &[], none).unit_text(), "1/s");
        assert_eq!(metric(&automatic, &[], |metric| metric.id == "write_rate").unit_text(), "KiB/s");
        let rewrite = serde_json::json!({"files": {"folder": "f"}, "phases": [{"name": "p", "what": "rewrite"}]});
        assert_eq!(metric(&task(serde_json::json!({"workload": rewrite})), &[], none).unit_text(), "KiB/s");
    }

    #[test]
    fn a_part_is_of_the_program_that_its_whole_runs() {
        let whole = task(serde_json::json!({"id": "bonnie", "program": "bonnie++"}));
        let part = |id: &str| task(serde_json::json!({"id": id, "part_of": "bonnie"}));
        let all = [whole, part("putc"), part("seq_del")];
        assert_eq!(metric(&all[1], &all, |_| false).unit_text(), "KiB/s");
        assert_eq!(metric(&all[2], &all, |_| false).unit_text(), "1/s");
    }
}
