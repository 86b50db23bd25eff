//! Figures of a run, compared bit by bit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// A run in the format of `--format json`.
pub struct Results {
    pub run: Value,
}

/// The key of a figure: configuration, repeat, task, iteration, metric.
pub type Figure = (String, u64, String, u64, String);

impl Results {
    pub fn cells(&self) -> &[Value] {
        self.run["cells"].as_array().expect("cells")
    }

    /// The first cell of a configuration.
    #[track_caller]
    pub fn cell(&self, configuration: &str) -> &Value {
        let mut cells = self.cells().iter();
        cells
            .find(|cell| cell["configuration"] == configuration)
            .unwrap_or_else(|| panic!("no cell of {configuration}"))
    }

    /// Outcome of a task of a configuration: `ok`, `skipped` or `failed`, the reason and the detail.
    #[track_caller]
    pub fn task(&self, configuration: &str, task: &str) -> (String, String, String) {
        let cell = self.cell(configuration);
        let mut tasks = cell["tasks"].as_array().expect("tasks").iter();
        let Some(found) = tasks.find(|ended| ended["task"] == task) else {
            panic!("{configuration}: {task} is not among the tasks of {cell:#}")
        };
        outcome(found)
    }

    /// Asserts that a cell and these tasks of it are ok.
    #[track_caller]
    pub fn is_ok(&self, configuration: &str, tasks: &[&str]) {
        let cell = outcome(self.cell(configuration));
        assert_eq!(cell.0, "ok", "{configuration}: {cell:?}");
        for task in tasks {
            let ended = self.task(configuration, task);
            assert_eq!(ended.0, "ok", "{configuration}, {task}: {ended:?}");
        }
    }

    /// One figure of the first repeat.
    #[track_caller]
    pub fn value(&self, configuration: &str, task: &str, metric: &str) -> f64 {
        let name = (configuration.to_owned(), 0, task.to_owned(), 0, metric.to_owned());
        let bits = self.figures().get(&name).copied().unwrap_or_else(|| panic!("there is no figure {name:?}"));
        f64::from_bits(bits)
    }

    /// The bits of every figure of the run.
    pub fn figures(&self) -> BTreeMap<Figure, u64> {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let number = |value: &Value| value.as_u64().expect("a whole number");
        let mut figures = BTreeMap::new();
        for sample in self.run["samples"].as_array().expect("samples") {
            let name = (
                text(&sample["configuration"]),
                number(&sample["repeat"]),
                text(&sample["task"]),
                number(&sample["iteration"]),
                text(&sample["metric"]),
            );
            let value = sample["value"].as_f64().unwrap_or_else(|| panic!("no number in {sample}"));
            assert!(figures.insert(name, value.to_bits()).is_none(), "twice: {sample}");
        }
        figures
    }
}

/// Word, reason and detail of an outcome.
pub fn outcome(ended: &Value) -> (String, String, String) {
    let text = |name: &str| ended[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("reason"), text("detail"))
}

/// Asserts that `other` has all figures of `one`, bit by bit.
#[track_caller]
pub fn assert_has_figures(one: &Results, other: &Results) {
    let (one, other) = (one.figures(), other.figures());
    assert!(!one.is_empty(), "there are no figures");
    let mut wrong = String::new();
    for (name, bits) in one.iter().filter(|(name, bits)| other.get(*name) != Some(*bits)) {
        let (a, b) = (f64::from_bits(*bits), other.get(name).map(|bits| f64::from_bits(*bits)));
        let _ = writeln!(wrong, "{name:?}: {a:?} and {b:?}");
    }
    assert!(wrong.is_empty(), "of {} figures these differ:\n{wrong}", one.len());
}

/// Like [`assert_has_figures`], and neither run has a figure that the other lacks.
#[track_caller]
pub fn assert_equal_figures(one: &Results, other: &Results) {
    assert_has_figures(one, other);
    assert_eq!(one.figures().len(), other.figures().len());
}
