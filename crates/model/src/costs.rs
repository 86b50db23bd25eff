//! What classes of work cost on real machines, beside what the virtual lab's clock counts for them.

use serde::{Deserialize, Serialize};

use crate::Work;

/// One file of `catalog/costs/`: the machines for which an order of file systems is asked whether it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineCosts {
    /// The name in `--costs`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// The suite whose tasks tell costs, where it was run on real machines (`catalog/agreements/`).
    pub suite: String,
    /// Its tasks that are work of the kernel's core: what others cost is told beside each of these.
    pub unit: Vec<String>,
    /// A class without one costs what the clock counts.
    #[serde(default, rename = "class")]
    pub classes: Vec<ClassCosts>,
}

/// The lowest and the highest cost of a class of work, beside that of the kernel's core: 0.5 is half of what the clock
/// counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassCosts {
    /// The class.
    pub work: Work,
    /// Where no machine was measured.
    pub lowest: f64,
    /// Where no machine was measured.
    pub highest: f64,
    /// Where the two come from.
    pub source: String,
    /// Tasks of the suite that are mostly of this class: where a machine ran them, they tell its costs. For `waiting` the
    /// unit tells them alone: the faster a kernel runs, the more waiting is beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Of a class with `tasks`: whether the default range stays, and what was measured widens it. For classes whose
    /// members differ more than the tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub widens: bool,
}

impl MachineCosts {
    /// What makes the file unusable, as sentences.
    pub fn faults(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (at, class) in self.classes.iter().enumerate() {
            let ClassCosts { work, lowest, highest, .. } = class;
            let name = work.name();
            if !work.has_cost() {
                out.push(format!("{name} has no cost of its own: the kernel's core is the unit, and no machine runs the disk's server"));
            }
            if self.classes[..at].iter().any(|before| before.work == *work) {
                out.push(format!("{name} has two ranges"));
            }
            for (what, cost) in [("lowest", lowest), ("highest", highest)] {
                if !(cost.is_finite() && *cost > 0.0) {
                    out.push(format!("{name}: {what} is {cost}, and no machine does work for a cost of 0 or less"));
                }
            }
            if lowest > highest {
                out.push(format!("{name}: the lowest cost, {lowest}, is above the highest, {highest}"));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_no_machine_has_are_faults() {
        let class = |work, lowest, highest| ClassCosts {
            work,
            lowest,
            highest,
            source: "guessed".into(),
            tasks: Vec::new(),
            widens: false,
        };
        let faults =
            |classes: &[ClassCosts]| MachineCosts { classes: classes.to_vec(), ..MachineCosts::default() }.faults();
        assert!(faults(&[class(Work::Copies, 0.25, 1.0), class(Work::Modules, 0.6, 1.6)]).is_empty());
        for (wrong, says) in [
            (class(Work::Copies, 0.0, 1.0), "a cost of 0"),
            (class(Work::Copies, -1.0, 1.0), "lowest is -1"),
            (class(Work::Copies, 0.5, f64::INFINITY), "highest is inf"),
            (class(Work::Copies, f64::NAN, 1.0), "lowest is NaN"),
            (class(Work::Copies, 2.0, 1.0), "above the highest"),
            (class(Work::Server, 0.5, 1.0), "the disk's server"),
        ] {
            let found = faults(std::slice::from_ref(&wrong));
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
        let twice = class(Work::Copies, 0.5, 1.0);
        assert_eq!(faults(&[twice.clone(), twice]), ["copies has two ranges"]);
    }
}
