//! What is compared: phases in pairs, and the suite that measures both sides. A TOML file a program, embedded.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use mountmark_model::{Bytes, Parameter, Scale};
use serde::Deserialize;

use crate::common::WrongUse;

/// The programs in the order in which they are run, and their files.
pub const PROGRAMS: [(&str, &str); 4] = [
    ("bonnie++", include_str!("bonnie.toml")),
    ("iozone", include_str!("iozone.toml")),
    ("sysbench", include_str!("sysbench.toml")),
    ("fio", include_str!("fio.toml")),
];

/// One program's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The name in `--programs`.
    pub program: String,
    /// As people write it.
    pub title: String,
    /// What is the same in all phases; `$NAME` stands for a parameter's value.
    pub matched: String,
    /// Whether the program's rate is worked out from its time, both sides having done the same: what it prints as its
    /// rate is over another time.
    #[serde(default)]
    pub by_time: bool,
    /// The pairs, in the order of the table.
    #[serde(rename = "phase")]
    pub phases: Vec<Phase>,
    /// A suite as in `catalog/suites`, without its name.
    suite: toml::Table,
}

/// A phase that both sides do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The task of the own engine.
    pub native: String,
    /// The task with the program's figure.
    pub real: String,
    /// What is the same in this phase.
    pub matched: String,
    /// What its rate counts.
    #[serde(default = "kib")]
    pub unit: String,
    /// Reasons for which the sides rightly differ; the first one that fits counts.
    #[serde(default)]
    pub differs: Vec<Difference>,
    /// The same operations without any system call: what the programs themselves cost.
    #[serde(default)]
    pub own_work: Option<OwnWork>,
}

/// A known reason, for differences of a certain size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// What `from` and `to` count.
    #[serde(default)]
    pub by: By,
    /// The least that it explains.
    pub from: f64,
    /// The most that it explains.
    pub to: f64,
    /// In a sentence.
    pub reason: String,
    /// File systems for which it holds; all where there are none.
    #[serde(default)]
    pub on: Vec<String>,
    /// Disks for which it holds; all where there are none.
    #[serde(default)]
    pub disks: Vec<String>,
}

/// How a difference is told.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Native by real.
    #[default]
    Ratio,
    /// Nanoseconds that the program takes longer for an operation: what it does besides costs the same on a slow file
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

/// The tasks whose operations are the programs' own work alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnWork {
    /// Of the own engine.
    pub native: String,
    /// Of the program.
    pub real: String,
}

fn kib() -> String {
    "KiB/s".to_owned()
}

/// The file of the program with this name.
///
/// # Errors
/// An unknown name.
pub fn find(name: &str) -> Result<Check> {
    let Some((_, text)) = PROGRAMS.iter().find(|(known, _)| *known == name) else {
        bail!(WrongUse(format!(
            "--programs: there is no program {name:?} to compare with; there are {}",
            super::known()
        )));
    };
    toml::from_str(text).with_context(|| format!("the pairs of {name} are damaged"))
}

impl Check {
    /// The suite's name, and its file's.
    pub fn suite_name(&self) -> String {
        let word: String = self.program.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("check-{word}")
    }

    /// The suite as a file of its own.
    ///
    /// # Errors
    /// None, unless the built-in file is damaged.
    pub fn suite_text(&self) -> Result<String> {
        let mut suite = self.suite.clone();
        suite.insert("name".to_owned(), self.suite_name().into());
        Ok(toml::to_string(&suite)?)
    }

    /// The parameters' values at a scale.
    ///
    /// # Errors
    /// A text that is no scale.
    pub fn parameters(&self, scale: &str) -> Result<BTreeMap<String, u64>> {
        let scale: Scale = scale.parse().map_err(|error| WrongUse(format!("--scale: {error}")))?;
        let parameters = self.suite.get("parameters").cloned().unwrap_or_else(|| toml::Table::new().into());
        let parameters: BTreeMap<String, Parameter> = parameters.try_into().context("a suite's parameters")?;
        let value = |parameter: &Parameter| match parameter.fixed {
            true => parameter.value,
            false => Bytes(scale.apply(parameter.value.0, parameter.min.0)),
        };
        Ok(parameters.iter().map(|(name, parameter)| (name.clone(), value(parameter).0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_name_tasks_of_their_suite() {
        for (name, _) in PROGRAMS {
            let check = find(name).unwrap();
            assert_eq!(check.program, name);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(format!("{}.toml", check.suite_name()));
            std::fs::write(&path, check.suite_text().unwrap()).unwrap();
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
            assert!(!check.parameters("0.5").unwrap().is_empty());
            assert!(check.parameters("none").is_err());
        }
        assert!(find("bonnie").is_err());
    }
}
