//! How far the orders of the virtual lab agreed with those of a real machine.

use serde::{Deserialize, Serialize};

use crate::Scale;

/// One file of `catalog/agreements/`: one real machine, and the suites that were run on it and in the virtual lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineAgreement {
    /// The name in `mountmark agree --name`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// One of each suite that was compared.
    #[serde(default, rename = "suite", skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<SuiteAgreement>,
}

/// One suite in both labs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteAgreement {
    /// The suite's name.
    pub suite: String,
    /// The factor on its counts and sizes.
    pub scale: Scale,
    /// Configurations that both runs have figures of.
    pub configurations: Vec<String>,
    /// The run of the virtual lab.
    pub model: Side,
    /// The run on the real machine.
    pub machine: Side,
    /// The suite's tasks that both runs judge by the same metric.
    #[serde(default, rename = "task", skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskAgreement>,
}

/// Where one of the two runs was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Profile of the machine, or the real processor.
    pub machine: String,
    /// Name of the disk.
    pub disk: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Version of Mountmark.
    pub program: String,
    /// Number of repeats.
    pub repeats: u32,
}

/// One task: how the model's order agrees with the machine's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskAgreement {
    /// Task id.
    pub task: String,
    /// Kendall's tau-b of the medians; `None` below three configurations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau: Option<f64>,
    /// Pairs of configurations that the machine's run tells apart.
    pub told: u32,
    /// Of these, pairs that the model has in the same order.
    pub same: u32,
    /// Of these, pairs that the model has in the reverse order. The others differ too little in the model.
    pub reversed: u32,
    /// The machine's figure over the model's, geometric mean over configurations; `None` if a figure is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The same of the processor time of the task's programs, which other programs on the machine hardly change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<f64>,
}

impl TaskAgreement {
    /// Below this share of agreeing over disagreeing pairs the model misleads: a quarter of the pairs is reversed.
    const AGREES: f64 = 0.5;

    /// Whether the model has the machine's order; `None` if the machine tells nothing apart.
    pub fn agrees(&self) -> Option<bool> {
        let score = f64::from(self.same) - f64::from(self.reversed);
        (self.told > 0).then(|| score / f64::from(self.told) >= TaskAgreement::AGREES)
    }
}

impl MachineAgreement {
    /// Puts one suite's result in: it replaces an older one of the same suite.
    pub fn put(&mut self, new: SuiteAgreement) {
        self.suites.retain(|old| old.suite != new.suite);
        self.suites.push(new);
        self.suites.sort_by(|a, b| a.suite.cmp(&b.suite));
    }

    /// What makes the file unusable, as sentences.
    pub fn faults(&self) -> Vec<String> {
        let mut out = Vec::new();
        for suite in &self.suites {
            for task in &suite.tasks {
                let place = format!("{}, task {}", suite.suite, task.task);
                let ordered = u64::from(task.same) + u64::from(task.reversed);
                let configurations = suite.configurations.len() as u64;
                let pairs = configurations * configurations.saturating_sub(1) / 2;
                if u64::from(task.told) > pairs {
                    out.push(format!("{place}: {} pairs are told apart, and there are {pairs}", task.told));
                }
                if ordered > task.told.into() {
                    out.push(format!("{place}: {} pairs are told apart, and {ordered} have an order", task.told));
                }
                if task.tau.is_some_and(|tau| !(-1.0..=1.0).contains(&tau)) {
                    out.push(format!("{place}: tau is not from -1 to 1"));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(told: u32, same: u32, reversed: u32) -> TaskAgreement {
        TaskAgreement { task: "001".into(), tau: None, told, same, reversed, factor: None, processor: None }
    }

    #[test]
    fn a_quarter_of_pairs_reversed_misleads_no_less() {
        for (told, same, reversed, agrees) in [
            (0, 0, 0, None),
            (1, 1, 0, Some(true)),
            (1, 0, 1, Some(false)),
            (4, 3, 1, Some(true)),
            (10, 7, 3, Some(false)),
            // Equal in the model: that is no order either.
            (4, 1, 0, Some(false)),
            (4, 2, 0, Some(true)),
        ] {
            assert_eq!(task(told, same, reversed).agrees(), agrees, "{told} {same} {reversed}");
        }
    }

    #[test]
    fn counts_that_cannot_be_are_faults() {
        let side = Side::default;
        let suite = |name: &str, tasks| SuiteAgreement {
            suite: name.into(),
            scale: Scale::ONE,
            configurations: vec!["ext4".into(), "xfs".into()],
            model: side(),
            machine: side(),
            tasks,
        };
        let mut accord = MachineAgreement::default();
        accord.put(suite("one", vec![task(1, 1, 1)]));
        accord.put(suite("one", vec![task(1, 1, 1), TaskAgreement { tau: Some(2.0), ..task(1, 1, 0) }]));
        assert_eq!(accord.suites.len(), 1);
        assert_eq!(accord.faults().len(), 2, "{:?}", accord.faults());
        accord.put(suite("one", vec![task(2, 1, 1)]));
        assert_eq!(accord.faults().len(), 1, "two file systems are one pair: {:?}", accord.faults());
        accord.put(suite("one", vec![task(1, 1, 0)]));
        assert_eq!(accord.faults(), Vec::<String>::new());
    }
}
