//! Factors: one plan that measures each configuration on each combination of their levels, such as two builds of a program
//! (`--compare`) on three kernels (`--kernel 6.1,6.12,sid`). A side's cells are those of configurations of their own,
//! called `ext4#SIDE`: so everything that compares configurations compares sides.

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Age, Factor, Level, Own, SideComputer, Suite, Vary, heading, labelled_as};

use crate::order::block;
use crate::plan::{Changed, planned};
use crate::vary::{all, on_one_size, plan_varied};
use crate::{Catalogue, Options, PlanError, Realise, Result};

/// Most levels of a factor.
const MOST: usize = 20;

/// A factor that a plan is to cross.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossedFactor {
    /// The option that gave its levels, for refusals: `kernel`.
    pub option: &'static str,
    /// As [`Factor::name`].
    pub name: String,
    pub levels: Vec<CrossedLevel>,
}

/// One level, and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossedLevel {
    /// As the user wrote it.
    pub text: String,
    /// Its part of what stands behind a configuration's `#`.
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
    /// As [`Options::kernel`].
    Kernel(String),
    /// As [`Options::machine`].
    Machine(String),
    /// As [`Options::disk`].
    Disk(String),
    /// As [`Options::fill`].
    Fill(u32),
    /// As [`Options::age`].
    Age(Option<Age>),
}

/// A combination of levels.
struct Side {
    label: String,
    changes: Vec<SideChange>,
}

impl Side {
    /// All combinations, the last factor's level changing first.
    fn all(factors: &[CrossedFactor]) -> Vec<Side> {
        let mut sides = vec![Side { label: String::new(), changes: Vec::new() }];
        for factor in factors {
            let with = |side: &Side, level: &CrossedLevel| {
                let parts = [side.label.as_str(), level.label.as_str()];
                let label: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let changes = side.changes.iter().chain([&level.change]).cloned().collect();
                Side { label: label.join("-"), changes }
            };
            sides = sides.iter().flat_map(|side| factor.levels.iter().map(move |level| with(side, level))).collect();
        }
        sides
    }

    /// The options and changes of the side.
    fn apply(&self, options: &Options) -> (Options, Changed) {
        let (mut options, mut changed) = (options.clone(), Changed::default());
        for change in &self.changes {
            match change.clone() {
                SideChange::Own(own) => changed.own = Some(own),
                SideChange::Parameter(name, value) => changed.parameter = Some((name, value)),
                SideChange::Kernel(kernel) => options.kernel = kernel,
                SideChange::Machine(machine) => options.machine = machine,
                SideChange::Disk(disk) => options.disk = Some(disk),
                SideChange::Fill(percent) => options.fill = Some(percent),
                SideChange::Age(age) => {
                    // A new file system beside aged ones is made apart like them, or else more than its age would differ.
                    if age.is_none() {
                        options.fill.get_or_insert(0);
                    }
                    options.age = age;
                }
            }
        }
        (options, changed)
    }
}

/// The plan for `options`, as [`crate::plan`]: at the points of `vary`, and with each combination of levels of `factors`,
/// where there are any.
///
/// # Errors
/// Also levels that the suite or the catalogue does not have.
pub fn plan_with(
    catalogue: &Catalogue,
    options: &Options,
    vary: Option<&Vary>,
    factors: &[CrossedFactor],
    realise: &mut Realise<'_>,
) -> Result<Plan> {
    let mut plan = |options: &Options, changed: &Changed| match vary {
        Some(vary) => plan_varied(catalogue, options, vary, changed, realise),
        None => planned(catalogue, options, changed, realise),
    };
    if factors.is_empty() {
        return plan(options, &Changed::default());
    }
    check_factors(catalogue, options, vary, factors)?;
    let sides = Side::all(factors);
    let mut plans = |options: &Options| {
        let of_side = |side: &Side| {
            let (options, changed) = side.apply(options);
            plan(&options, &changed)
        };
        all(sides.iter().map(of_side))
    };
    let mut merged = merge(&sides, on_one_size(options, &mut plans)?, options)?;
    let level = |level: &CrossedLevel| Level { text: level.text.clone(), label: level.label.clone() };
    let factor = |factor: &CrossedFactor| Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(level).collect(),
    };
    merged.factors = factors.iter().map(factor).collect();
    Ok(merged)
}

/// The label of each side of `factors`, its kernel and the name of its machine, in the order of [`Plan::sides`].
pub fn side_computers(factors: &[CrossedFactor], options: &Options) -> Vec<(String, String, String)> {
    let of_side = |side: Side| {
        let (options, _) = side.apply(options);
        (side.label, options.kernel, options.machine)
    };
    if factors.is_empty() { Vec::new() } else { Side::all(factors).into_iter().map(of_side).collect() }
}

/// Refuses levels that cannot be, before anything is fetched or made.
///
/// # Errors
/// Too few levels or one twice, and what the suite or the catalogue does not have.
pub fn check_factors(
    catalogue: &Catalogue,
    options: &Options,
    vary: Option<&Vary>,
    factors: &[CrossedFactor],
) -> Result<()> {
    let suite = catalogue.suite(&options.suite)?;
    for factor in factors {
        let refused = |reason: String| PlanError::Options(format!("--{}: {reason}", factor.option));
        if !(2..=MOST).contains(&factor.levels.len()) {
            return Err(refused(format!("it has {} levels; give 2 to {MOST}", factor.levels.len())));
        }
        for (at, level) in factor.levels.iter().enumerate() {
            if level.text.is_empty() {
                return Err(refused("there is nothing before or behind a comma".into()));
            }
            if factor.levels[..at].iter().any(|known| known.change == level.change) {
                return Err(refused(format!("{} is there twice", level.text)));
            }
            change_fits(&suite, vary, &level.change).map_err(refused)?;
        }
    }
    // Machines and disks that do not exist, or do not go together.
    for side in Side::all(factors) {
        crate::computer::Computer::of(catalogue, &side.apply(options).0, false)?;
    }
    Ok(())
}

/// Refuses a change that the suite cannot have, in a sentence.
fn change_fits(suite: &Suite, vary: Option<&Vary>, change: &SideChange) -> Result<(), String> {
    match change {
        SideChange::Parameter(name, value) => {
            let Some(parameter) = suite.parameters.get(name) else {
                return Err(format!("the suite {} has no parameter {name}", suite.name));
            };
            if vary.is_some_and(|vary| vary.parameter == *name) {
                return Err(format!("--vary gives {name} its values; leave one of the two away"));
            }
            if vary.is_some_and(|vary| suite.parameters.contains_key(&vary.parameter)) {
                return Err("--vary varies another parameter of the suite; make a run of each".into());
            }
            if *value < parameter.min.0 {
                return Err(format!("{name} is at least {}", parameter.min.0));
            }
        }
        SideChange::Own(own) => {
            if !suite.with.iter().any(|with| Own::parse(with).called() == own.called()) {
                let name = own.called().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                return Err(format!("the suite {} brings no {name}", suite.name));
            }
        }
        SideChange::Kernel(_)
        | SideChange::Machine(_)
        | SideChange::Disk(_)
        | SideChange::Fill(_)
        | SideChange::Age(_) => {}
    }
    Ok(())
}

/// The names of configurations before a side's label: one whose options a label would hide behind another's heading says
/// them in its own.
fn told_apart(kept: &[&String]) -> Vec<String> {
    let base = |name: &str| heading(&labelled_as(name, "x")).into_owned();
    let own = |name: &String| {
        let is_twin = kept.iter().any(|other| *other != name && base(other) == base(name));
        match name.split_once(':').filter(|_| is_twin && heading(name) == *name) {
            Some((_, options)) => labelled_as(name, &plain(options)),
            None => name.clone(),
        }
    };
    kept.iter().map(|name| own(name)).collect()
}

/// What a label may hold of a text.
pub fn plain(text: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '-' };
    text.chars().map(sign).collect::<String>().trim_matches('-').to_owned()
}

/// One plan of those of all sides.
fn merge(sides: &[Side], plans: Vec<Plan>, options: &Options) -> Result<Plan> {
    let [first, ..] = &plans[..] else { return Err(PlanError::AllSkipped(Vec::new())) };
    let skipped = skipped(&plans);
    let is_kept = |name: &&String| plans.iter().all(|plan| plan.configurations.contains(name));
    let kept: Vec<&String> = first.configurations.iter().filter(is_kept).collect();
    let bases = told_apart(&kept);
    let of_name = |name: &String| sides.iter().map(|side| labelled_as(name, &side.label)).collect::<Vec<_>>();
    let configurations: Vec<String> = bases.iter().flat_map(of_name).collect();
    if configurations.is_empty() {
        return Err(PlanError::AllSkipped(skipped));
    }
    for (at, name) in configurations.iter().enumerate() {
        if let Some(twin) = configurations[..at].iter().find(|twin| heading(twin) == heading(name)) {
            let reason =
                format!("tables would call {twin} and {name} both {}; give each a #LABEL in --fs", heading(name));
            return Err(PlanError::Options(reason));
        }
    }
    if let Some(reason) = Plan::too_large(first.tasks.len(), configurations.len()) {
        return Err(PlanError::Options(reason));
    }
    // Titles state counts, which may be what differs.
    let title = |at: usize| {
        let (id, title) = &first.tasks[at];
        let is_one = plans.iter().all(|plan| plan.tasks.get(at).is_some_and(|(_, other)| other == title));
        (id.clone(), if is_one { title.clone() } else { id.clone() })
    };
    let of_side = |(side, plan): (&Side, &Plan)| {
        let place = |name: &String| kept.iter().position(|known| *known == name);
        let mut plan = plan.clone();
        plan.cells.retain(|cell| place(&cell.configuration.name).is_some());
        plan.change_alike(|alike| {
            let name = &mut alike.configuration.name;
            place(name).map(|at| *name = labelled_as(&bases[at], &side.label)).ok_or(())
        })
        .ok()
        .map(|()| plan)
    };
    let of_sides: Vec<Plan> = sides.iter().zip(&plans).filter_map(of_side).collect();
    let mut cells: Vec<PlannedCell> = Vec::new();
    for repeat in 0..options.repeats {
        let all: Vec<&PlannedCell> = of_sides.iter().flat_map(|plan| plan.of_repeat(repeat)).collect();
        for at in block(options.seed, repeat, all.len()) {
            cells.push(PlannedCell { index: cells.len() as u32, ..all[at].clone() });
        }
    }
    let tasks = (0..first.tasks.len()).map(title).collect();
    let sides = sides.iter().map(|side| side.label.clone()).collect();
    let computers = computers(&plans);
    let head = mountmark_model::Plan { configurations, tasks, skipped, sides, computers, ..(**first).clone() };
    Ok(Plan::with_cells(head, cells))
}

/// What any side skips, with the first reason.
fn skipped(plans: &[Plan]) -> Vec<(String, String)> {
    let mut skipped: Vec<(String, String)> = Vec::new();
    for (name, reason) in plans.iter().flat_map(|plan| &plan.skipped) {
        if !skipped.iter().any(|(known, _)| known == name) {
            skipped.push((name.clone(), reason.clone()));
        }
    }
    skipped
}

/// The computer of each side; none if all are the same.
fn computers(plans: &[Plan]) -> Vec<SideComputer> {
    let computer = |plan: &Plan| SideComputer { kernel: plan.kernel.clone(), machine: plan.machine.clone() };
    let computers: Vec<SideComputer> = plans.iter().map(computer).collect();
    if computers.iter().all(|other| *other == computers[0]) { Vec::new() } else { computers }
}
