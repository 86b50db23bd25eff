//! Checks a plan from a store as untrusted input: stores are passed on, and resuming a run executes its plan.

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Bytes, Conditions, Fill, Parameter, Sampling, Source, Suite, Vary, words};

use crate::bounds::{MOST_REPEATS, is_word};
use crate::{PlanError, Result, brought, check, layers};

/// Maximum number of bytes of a disk, a corpus or a machine's memory: the limit of a guest's addresses.
const MOST_BYTES: u64 = 1 << 40;

/// Rejects a plan that no catalogue of this program could produce: invalid names, sizes beyond a guest.
///
/// # Errors
/// The faults of the first faulty cell.
pub fn check_stored(plan: &Plan) -> Result<()> {
    let refused = |what: String, faults: Vec<String>| {
        let faults = faults.into_iter().map(|fault| format!("the stored plan, {what}: {fault}")).collect();
        Err(PlanError::File { faults })
    };
    let others = plan.computers.iter().map(|computer| &computer.machine);
    for machine in std::iter::once(&plan.machine).chain(others).filter(|_| plan.lab.capabilities().guest) {
        let faults = check::machine(machine);
        if !faults.is_empty() {
            return refused(format!("machine {}", machine.name), faults);
        }
    }
    if plan.sides.len() > Plan::MOST_CONFIGURATIONS || ![0, plan.sides.len()].contains(&plan.computers.len()) {
        return refused("its sides".into(), vec!["they are too many, or their computers are others".into()]);
    }
    let faults = plan.sampling.iter().flat_map(sampling_faults).collect::<Vec<_>>();
    if !faults.is_empty() {
        return refused("how its repeats are found".into(), faults);
    }
    let faults = plan.vary.iter().flat_map(vary_faults).collect::<Vec<_>>();
    if !faults.is_empty() {
        return refused("its varied parameter".into(), faults);
    }
    for cell in &plan.cells {
        let mut faults = cell_faults(cell);
        if !plan.lab.capabilities().guest {
            faults.extend(words::foreign(&cell.configuration).or_else(|| layers::foreign(&cell.configuration)));
        }
        if !faults.is_empty() {
            return refused(format!("cell {} ({})", cell.index, cell.configuration.name), faults);
        }
    }
    Ok(())
}

/// Beyond these a run would never end, or never begin.
fn sampling_faults(sampling: &Sampling) -> Vec<String> {
    let fits = [
        ("precision", sampling.precision.is_none_or(|precision| precision > 0.0 && precision < 1.0)),
        ("budget", sampling.budget.is_none_or(|budget| budget > 0.0 && budget.is_finite())),
        ("least", sampling.least > 0 && sampling.least <= MOST_REPEATS),
    ];
    let beyond = fits.iter().filter(|(_, fits)| !fits);
    beyond.map(|(name, _)| format!("{name} is beyond what this program accepts")).collect()
}

fn vary_faults(vary: &Vary) -> Vec<String> {
    let texts = vary.points.iter().map(|point| point.text.replace('.', ""));
    let wrong = std::iter::once(vary.parameter.clone()).chain(texts).filter(|text| !is_word(text));
    wrong.map(|text| format!("{text:?} is neither a parameter nor a value")).collect()
}

fn cell_faults(cell: &PlannedCell) -> Vec<String> {
    let below = cell.configuration.below.iter().map(|below| &below.filesystem);
    let all = std::iter::once(&cell.configuration.filesystem).chain(below);
    let mut faults: Vec<String> = all.flat_map(check::filesystem::faults).collect();
    faults.extend(check::stored_suite(&suite_of(cell)));
    faults.extend(cell.root.iter().flat_map(brought::tree_faults));
    faults.extend(check::disk(&cell.disk));
    if let Some(conditions) = &cell.conditions {
        faults.extend(conditions_faults(conditions, cell.ram));
    }
    if cell.fill.as_ref().is_some_and(|fill| fill.percent > Fill::MOST) {
        faults.push("its fill is beyond what this program accepts".into());
    }
    let mut sizes = vec![
        ("history", cell.age.as_ref().map_or(Bytes(0), |age| age.length)),
        ("disk_size", cell.disk_size),
        ("ram", cell.ram),
    ];
    if let Some(medium) = &cell.second_disk {
        faults.extend(check::disk(&medium.disk));
        sizes.extend([("second disk's size", medium.size), ("corpus's size", Bytes(medium.corpus.tar_bytes))]);
    }
    let large = sizes.into_iter().filter(|(_, size)| size.0 > MOST_BYTES);
    faults
        .extend(large.map(|(what, size)| format!("the {what} is {size}, and a guest addresses {}", Bytes(MOST_BYTES))));
    faults
}

/// Beyond what [`conditions`](crate::conditions::conditions) draws, a guest might wait for years or lack memory.
fn conditions_faults(conditions: &Conditions, ram: Bytes) -> Vec<String> {
    let fits = [
        ("idle_seconds", (0.0..=Conditions::IDLE_SECONDS).contains(&conditions.idle_seconds)),
        ("memory", conditions.memory.0 <= ram.0 / Conditions::MEMORY_PART),
        ("reads", conditions.reads <= Conditions::MOST_READS),
        ("folders", conditions.folders <= Conditions::MOST_FOLDERS),
        ("date", conditions.date.is_none_or(|date| Conditions::DATES.contains(&date))),
    ];
    let beyond = fits.iter().filter(|(_, fits)| !fits);
    beyond.map(|(name, _)| format!("the condition {name} is beyond what this program draws")).collect()
}

/// A suite with the cell's fields.
fn suite_of(cell: &PlannedCell) -> Suite {
    let parameter = |value: u64| Parameter { value: Bytes(value), min: Bytes(0), fixed: true };
    Suite {
        name: "stored".into(),
        source: cell.second_disk.as_ref().map_or(Source::None, |medium| medium.layout),
        pause_seconds: cell.pause_seconds,
        parameters: cell.parameters.iter().map(|(name, value)| (name.clone(), parameter(*value))).collect(),
        packages: cell.packages.clone(),
        tools: cell.tools.clone(),
        whole_packages: cell.whole_packages.clone(),
        modules: cell.modules.clone(),
        source_prepare: cell.source_prepare.clone(),
        on_loop: cell.on_loop,
        tasks: cell.tasks.to_vec(),
        ..Suite::default()
    }
}
