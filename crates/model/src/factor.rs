//! What a plan crosses: factors with their levels, whose combinations are the plan's sides.

use serde::{Deserialize, Serialize};

use crate::{Machine, Plan, without_label};

/// Something that differs between cells because somebody asked how much it matters: a kernel, a disk, a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// As people call it: `kernel`, `disk`, the name of a program or parameter.
    pub name: String,
    /// In the user's order: others are compared with the first.
    pub levels: Vec<Level>,
}

/// One value of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// As the user wrote it: `6.12`.
    pub text: String,
    /// Its part of the labels of configurations: `6.12`.
    pub label: String,
}

/// The computer of a side of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideComputer {
    /// Kernel as the user requested it.
    pub kernel: String,
    pub machine: Machine,
}

/// The position of the label that a configuration has, and its name without.
pub fn side_of<'a, 'b>(labels: impl Iterator<Item = &'b str>, configuration: &'a str) -> Option<(usize, &'a str)> {
    let fits = |(at, label): (usize, &str)| Some((at, without_label(configuration, label)?));
    // The label `6.1` is also the end of the label `hdd-6.1`.
    labels.enumerate().filter_map(fits).min_by_key(|(_, name)| name.len())
}

impl Plan {
    /// The side of a configuration, as an index of [`Plan::sides`], and the configuration's name on every side; `None` if
    /// the plan has no sides.
    pub fn side<'a>(&self, configuration: &'a str) -> Option<(usize, &'a str)> {
        side_of(self.sides.iter().map(String::as_str), configuration)
    }

    /// The level of each factor on a side, as indices of [`Factor::levels`]: the last factor changes from side to side.
    pub fn levels(&self, side: usize) -> Vec<usize> {
        let mut rest = side;
        let mut levels: Vec<usize> = Vec::with_capacity(self.factors.len());
        for factor in self.factors.iter().rev() {
            let count = factor.levels.len().max(1);
            levels.push(rest % count);
            rest /= count;
        }
        levels.reverse();
        levels
    }

    /// Kernel and machine of a side; those of the plan if sides do not differ in them.
    pub fn computer(&self, side: usize) -> (&str, &Machine) {
        self.computers
            .get(side)
            .map_or((self.kernel.as_str(), &self.machine), |computer| (computer.kernel.as_str(), &computer.machine))
    }
}
