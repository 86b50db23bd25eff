//! Plans that differ in nothing that matters, and one with a slowdown that does.

use anyhow::{Result, bail};
use mountmark_cells::Plan;
use mountmark_model::{Cell, Task};

/// The task that only loops.
const LOOP: &str = "loop";
/// The task that does nothing, of the variant that puts it first.
pub const NOTHING: &str = "nothing";
/// The parameter with its rounds.
const ROUNDS: &str = "ROUNDS";

/// A change that no verdict should depend on.
pub struct Variant {
    pub name: &'static str,
    /// Added to the plan's seed.
    pub seed: u64,
    change: fn(&mut Cell),
}

/// The first one has the task [`NOTHING`], whose time [`slowed`] needs.
pub const VARIANTS: [Variant; 5] = [
    Variant { name: "a task that does nothing comes first", seed: 0, change: nothing_first },
    Variant { name: "4 MiB more memory", seed: 0, change: |cell| cell.ram.0 += 4 << 20 },
    // As a larger build of this program would make it.
    Variant { name: "a larger guest image", seed: 0, change: larger_image },
    Variant { name: "tasks in reverse order", seed: 0, change: |cell| cell.tasks.reverse() },
    Variant { name: "another seed, and so other dates", seed: 1, change: |_| {} },
];

impl Variant {
    /// The plan with this change.
    pub fn of(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        plan.change(self.change);
        plan
    }
}

fn nothing_first(cell: &mut Cell) {
    let Some(any) = cell.tasks.iter().find(|task| task.id == LOOP) else { return };
    let nothing = Task { id: NOTHING.into(), title: NOTHING.into(), run: "true".into(), ..any.clone() };
    cell.tasks.insert(0, nothing);
}

fn larger_image(cell: &mut Cell) {
    cell.packages.push("perl-base".into());
    cell.tools.push("perl".into());
}

/// The plan with each task slowed down by `part` of its usual time, which `seconds` gives by configuration and task.
/// A loop after the task's command takes that long.
///
/// # Errors
/// Nobody knows what a round of the loop takes.
pub fn slowed(plan: &Plan, part: f64, seconds: &dyn Fn(&str, &str) -> Option<f64>) -> Result<Plan> {
    let mut plan = plan.clone();
    let mut unknown = None;
    plan.change(|cell| {
        let name = &cell.configuration.name;
        // What starting a shell takes is no part of a round.
        let round = seconds(name, LOOP).zip(seconds(name, NOTHING)).zip(cell.parameters.get(ROUNDS));
        let round = round.map(|((with_loop, without), rounds)| (with_loop - without) / *rounds as f64);
        let Some(round) = round.filter(|round| *round > 0.0) else {
            unknown.get_or_insert_with(|| name.clone());
            return;
        };
        for task in &mut cell.tasks {
            let Some(usual) = seconds(name, &task.id) else { continue };
            let rounds = (part * usual / round).ceil();
            task.run = format!("{{ {}\n}} && i=0 && while [ $i -lt {rounds} ]; do i=$((i+1)); done", task.run);
        }
    });
    if let Some(name) = unknown {
        bail!("the tasks {LOOP} and {NOTHING} of {name} do not tell what a round of the loop takes")
    }
    Ok(plan)
}
