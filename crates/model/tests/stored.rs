//! Every later version can read the contents of result stores.

use mountmark_model::Plan;

/// Written by a run of November 2026: renamed fields also have their older names.
const PLAN: &str = include_str!("stored-plan.json");

#[test]
fn plans_in_stores_stay_readable() {
    let plan: Plan = serde_json::from_str(PLAN).unwrap();
    assert_eq!((plan.suite.as_str(), plan.cells.len()), ("varmail", 1));
    assert!(plan.cells[0].tasks.iter().any(|task| task.workload.is_some()));
    let again: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(plan, again);
}

#[test]
fn an_older_name_of_a_limit_is_taken() {
    assert!(PLAN.contains("max_directory_links"));
    let text = PLAN.replace("\"max_directory_links\": null", "\"max_directory_links\": 32000");
    let plan: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(plan.cells[0].configuration.filesystem.max_subdirectories, Some(32000));
}
