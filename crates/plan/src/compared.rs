//! `--compare`: one plan that measures each configuration with each of several builds of a program, or values of a
//! parameter. A side's cells are those of configurations of their own, called `ext4#SIDE`: so everything that compares
//! configurations compares sides.

use mountmark_model::{Cell, Configuration, Own, Plan, Vary, heading, labelled_as};

use crate::order::block;
use crate::plan::{Changed, planned};
use crate::vary::{on_one_size, plan_varied};
use crate::{Catalogue, Options, PlanError, Realise, Result};

/// Most sides.
const MOST: usize = 20;

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// What stands behind a configuration's `#`.
    pub label: String,
    pub change: SideChange,
}

/// What is otherwise on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideChange {
    /// A file that the suite brings.
    Own(Own),
    /// A parameter of the suite, and its value.
    Parameter(String, u64),
}

impl Side {
    fn changed(&self) -> Changed {
        match &self.change {
            SideChange::Own(own) => Changed { own: Some(own.clone()), ..Changed::default() },
            SideChange::Parameter(name, value) => {
                Changed { parameter: Some((name.clone(), *value)), ..Changed::default() }
            }
        }
    }
}

/// The plan for `options`, as [`crate::plan`]: at the points of `vary`, and with each of `sides`, where there are any.
///
/// # Errors
/// Also sides that the suite cannot have.
pub fn plan_with(
    catalogue: &Catalogue,
    options: &Options,
    vary: Option<&Vary>,
    sides: &[Side],
    realise: &mut Realise<'_>,
) -> Result<Plan> {
    let mut plan = |options: &Options, changed: &Changed| match vary {
        Some(vary) => plan_varied(catalogue, options, vary, changed, realise),
        None => planned(catalogue, options, changed, realise),
    };
    if sides.is_empty() {
        return plan(options, &Changed::default());
    }
    check(catalogue, options, vary, sides)?;
    let mut plans = |options: &Options| sides.iter().map(|side| plan(options, &side.changed())).collect();
    merge(sides, on_one_size(options, &mut plans)?, options)
}

/// Refuses what the suite cannot have, before corpora are made.
fn check(catalogue: &Catalogue, options: &Options, vary: Option<&Vary>, sides: &[Side]) -> Result<()> {
    let refused = |reason: String| Err(PlanError::Options(format!("--compare: {reason}")));
    let suite = catalogue.suite(&options.suite)?;
    if !(2..=MOST).contains(&sides.len()) {
        return refused(format!("it has {} sides; give 2 to {MOST}", sides.len()));
    }
    for side in sides {
        match &side.change {
            SideChange::Parameter(name, value) => {
                let Some(parameter) = suite.parameters.get(name) else {
                    return refused(format!("the suite {} has no parameter {name}", suite.name));
                };
                if vary.is_some_and(|vary| vary.parameter == *name) {
                    return refused(format!("--vary gives {name} its values; leave one of the two away"));
                }
                if vary.is_some_and(|vary| suite.parameters.contains_key(&vary.parameter)) {
                    return refused("--vary varies another parameter of the suite; make a run of each".into());
                }
                if *value < parameter.min.0 {
                    return refused(format!("{name} is at least {}", parameter.min.0));
                }
            }
            SideChange::Own(own) => {
                if !suite.with.iter().any(|with| Own::parse(with).called() == own.called()) {
                    let name = own.called().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                    return refused(format!("the suite {} brings no {name}", suite.name));
                }
            }
        }
    }
    Ok(())
}

/// One plan of those of all sides.
fn merge(sides: &[Side], plans: Vec<Plan>, options: &Options) -> Result<Plan> {
    let [first, ..] = &plans[..] else { return Err(PlanError::AllSkipped(Vec::new())) };
    let mut skipped: Vec<(String, String)> = Vec::new();
    for (name, reason) in plans.iter().flat_map(|plan| &plan.skipped) {
        if !skipped.iter().any(|(known, _)| known == name) {
            skipped.push((name.clone(), reason.clone()));
        }
    }
    let is_kept = |name: &&String| plans.iter().all(|plan| plan.configurations.contains(name));
    let kept: Vec<&String> = first.configurations.iter().filter(is_kept).collect();
    let of_name = |name: &String| sides.iter().map(|side| labelled_as(name, &side.label)).collect::<Vec<_>>();
    let configurations: Vec<String> = kept.iter().flat_map(|name| of_name(name)).collect();
    if configurations.is_empty() {
        return Err(PlanError::AllSkipped(skipped));
    }
    for (at, name) in configurations.iter().enumerate() {
        if let Some(twin) = configurations[..at].iter().find(|twin| heading(twin) == heading(name)) {
            let reason =
                format!("tables would call {twin} and {name} both {}; give each a #LABEL in --fs", heading(name));
            return Err(PlanError::Options(format!("--compare: {reason}")));
        }
    }
    if let Some(reason) = Plan::too_large(first.tasks.len(), configurations.len()) {
        return Err(PlanError::Options(format!("--compare: {reason}")));
    }
    // Titles state counts, which may be what differs.
    let title = |at: usize| {
        let (id, title) = &first.tasks[at];
        let is_one = plans.iter().all(|plan| plan.tasks.get(at).is_some_and(|(_, other)| other == title));
        (id.clone(), if is_one { title.clone() } else { id.clone() })
    };
    let mut cells: Vec<Cell> = Vec::new();
    for repeat in 0..options.repeats {
        let of_side = |(side, plan): (&Side, &Plan)| {
            let cells =
                plan.cells.iter().filter(|cell| cell.repeat == repeat && kept.contains(&&cell.configuration.name));
            let named = |cell: &Cell| Configuration {
                name: labelled_as(&cell.configuration.name, &side.label),
                ..cell.configuration.clone()
            };
            cells.map(|cell| Cell { configuration: named(cell), ..cell.clone() }).collect::<Vec<_>>()
        };
        let all: Vec<Cell> = sides.iter().zip(&plans).flat_map(of_side).collect();
        for at in block(options.seed, repeat, all.len()) {
            cells.push(Cell { index: cells.len() as u32, ..all[at].clone() });
        }
    }
    let tasks = (0..first.tasks.len()).map(title).collect();
    let sides = sides.iter().map(|side| side.label.clone()).collect();
    Ok(Plan { configurations, tasks, cells, skipped, sides, ..first.clone() })
}
