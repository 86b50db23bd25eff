//! Pairs of phases to compare, and the suite that measures both sides. One TOML file per program.

use std::collections::BTreeMap;

use mountmark_model::{Bytes, Parameter, Scale};
use serde::Deserialize;

/// The programs in execution order, and their files.
pub const PROGRAMS: [(&str, &str); 4] = [
    ("bonnie++", include_str!("bonnie.toml")),
    ("iozone", include_str!("iozone.toml")),
    ("sysbench", include_str!("sysbench.toml")),
    ("fio", include_str!("fio.toml")),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub program: String,
    /// Display name.
    pub title: String,
    /// What is the same in all phases; `$NAME` stands for a parameter's value.
    pub matched: String,
    /// Whether the program's rate is computed from its time, given the same work on both sides, because its printed
    /// rate refers to another time.
    #[serde(default)]
    pub by_time: bool,
    /// The pairs, in the order of the table.
    #[serde(rename = "phase")]
    pub phases: Vec<Phase>,
    /// A suite as in `catalog/suites`, without its name.
    suite: toml::Table,
}

/// A phase of both sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The engine's task.
    pub native: String,
    /// The task with the program's figure.
    pub real: String,
    /// What is the same in this phase.
    pub matched: String,
    /// Unit of its rate.
    #[serde(default = "kib")]
    pub unit: String,
    /// Known reasons for a difference; the first one that applies counts.
    #[serde(default)]
    pub differs: Vec<Difference>,
    /// The same operations without any system call: the programs' own cost.
    #[serde(default)]
    pub own_work: Option<OwnWork>,
}

/// A known reason for differences of a certain size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Unit of `from` and `to`.
    #[serde(default)]
    pub by: By,
    /// The smallest difference that it explains.
    pub from: f64,
    /// The largest difference that it explains.
    pub to: f64,
    /// As a sentence.
    pub reason: String,
    /// File systems to which it applies; all if empty.
    #[serde(default)]
    pub on: Vec<String>,
    /// Disks to which it applies; all if empty.
    #[serde(default)]
    pub disks: Vec<String>,
}

/// Measure of a difference.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Engine over program.
    #[default]
    Ratio,
    /// Nanoseconds by which the program is slower per operation: its additional work costs the same on a slow file
    /// system and on a fast one. For rates that count operations.
    Nanoseconds,
}

impl By {
    /// The difference of two rates.
    pub fn difference(&self, native: f64, real: f64) -> f64 {
        match self {
            By::Ratio => native / real,
            By::Nanoseconds => 1e9 / real - 1e9 / native,
        }
    }
}

/// The tasks that measure only the programs' own work.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnWork {
    pub native: String,
    pub real: String,
}

fn kib() -> String {
    "KiB/s".to_owned()
}

/// The pairs of a program.
pub fn of(text: &str) -> Check {
    toml::from_str(text).unwrap()
}

impl Check {
    /// The name of the suite and of its file.
    pub fn suite_name(&self) -> String {
        let word: String = self.program.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("check-{word}")
    }

    /// The suite as a separate file.
    pub fn suite_text(&self) -> String {
        let mut suite = self.suite.clone();
        suite.insert("name".to_owned(), self.suite_name().into());
        toml::to_string(&suite).unwrap()
    }

    /// The parameters' values at a scale.
    pub fn parameters(&self, scale: &str) -> BTreeMap<String, u64> {
        let scale: Scale = scale.parse().unwrap();
        let parameters: BTreeMap<String, Parameter> = self.suite["parameters"].clone().try_into().unwrap();
        let value = |parameter: &Parameter| match parameter.fixed {
            true => parameter.value,
            false => Bytes(scale.apply(parameter.value.0, parameter.min.0)),
        };
        parameters.iter().map(|(name, parameter)| (name.clone(), value(parameter).0)).collect()
    }
}

/// Each pair is of tasks of its suite, and each known reason is a sentence with a range.
#[test]
fn pairs_name_tasks_of_their_suite() {
    for (name, text) in PROGRAMS {
        let check = of(text);
        assert_eq!(check.program, name);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{}.toml", check.suite_name()));
        std::fs::write(&path, check.suite_text()).unwrap();
        let catalogue = mountmark_plan::Catalogue::built_in().unwrap();
        let suite = catalogue.suite(&path.display().to_string()).unwrap();
        let has = |id: &str| suite.tasks.iter().any(|task| task.id == id);
        for phase in &check.phases {
            assert!(has(&phase.native) && has(&phase.real), "{name}: {}, {}", phase.native, phase.real);
            if let Some(own) = &phase.own_work {
                assert!(has(&own.native) && has(&own.real), "{name}: {own:?}");
            }
            assert!(phase.differs.iter().all(|known| known.from < known.to && known.reason.len() > 20));
        }
        assert!(!check.parameters("0.5").is_empty());
    }
}
