//! Rankings among equals: the configurations of a run that keep what somebody needs kept when the power fails.

use std::str::FromStr;

use mountmark_model::promises::{Level, Levels};
use mountmark_record::RunRecord;

use crate::figures::find::series::Figures;
use crate::options::Options;
use crate::safety::find::{AfterCut, SHOWING, safety};

/// What has to survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survive {
    /// What a returned fsync covers.
    Fsync,
    /// That, and a file that was replaced by a rename without any sync: it is the old one or the new one, whole.
    Rename,
    /// All that a returned call did: mounted with `sync`.
    EverythingReturned,
}

impl Survive {
    /// All, with their names in `--survive`.
    pub const ALL: [(&str, Survive); 3] =
        [("fsync", Survive::Fsync), ("rename", Survive::Rename), ("everything-returned", Survive::EverythingReturned)];

    /// Its name in `--survive`.
    pub fn name(self) -> &'static str {
        Survive::ALL.iter().find(|(_, known)| *known == self).map(|(name, _)| *name).unwrap_or_default()
    }

    /// Whether a broken promise of this level means that it does not survive.
    pub fn needs(self, level: Level) -> bool {
        level == Level::L0 || self.levels().contains(&level)
    }

    fn levels(self) -> &'static [Level] {
        match self {
            Survive::Fsync | Survive::EverythingReturned => &[Level::L1],
            Survive::Rename => &[Level::L1, Level::L3, Level::L6],
        }
    }
}

impl FromStr for Survive {
    type Err = String;

    fn from_str(text: &str) -> Result<Survive, String> {
        let found = Survive::ALL.iter().find(|(name, _)| *name == text).map(|(_, found)| *found);
        found.ok_or_else(|| {
            let names = Survive::ALL.map(|(name, _)| name).join(", ");
            format!("{text:?} is no class of what survives; there are {names}")
        })
    }
}

/// Why something does not survive on a configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Obstacle {
    /// A power cut takes what was synced.
    Loses(Box<AfterCut>),
    /// Its documents promise less: these levels are missing.
    Lacks(Levels),
    /// Nobody documented what its options do to its promises, or what it promises at all: the reason.
    Undocumented(String),
    /// It is not mounted with `sync`.
    NotSynchronous,
}

/// The configurations of a run on which it does not survive.
pub(crate) fn left_out(run: &RunRecord, survive: Survive) -> Vec<(String, Obstacle)> {
    let options = Options { resamples: 0, metrics: Some(SHOWING.to_vec()), ..Options::default() };
    let figures = Figures::new(run, &options);
    let of = |(name, safety): (&String, AfterCut)| {
        let configuration = run.plan.configuration(name);
        let is_synchronous =
            configuration.is_some_and(|found| found.mount_options.iter().any(|option| option == "sync"));
        Some((name.clone(), obstacle(safety, is_synchronous, survive)?))
    };
    figures.configurations.iter().zip(safety(run, &figures)).filter_map(of).collect()
}

/// The run without these configurations.
pub(crate) fn without(run: RunRecord, names: &[&str]) -> RunRecord {
    run.of_configurations(|name| !names.contains(&name))
}

fn obstacle(safety: AfterCut, is_synchronous: bool, survive: Survive) -> Option<Obstacle> {
    if safety.loses_synced() {
        return Some(Obstacle::Loses(Box::new(safety)));
    }
    let lacking: Levels = survive.levels().iter().copied().filter(|level| !safety.promises.has(*level)).collect();
    match (lacking.iter().next(), survive, safety.undocumented) {
        (Some(_), _, Some(reason)) => Some(Obstacle::Undocumented(reason)),
        (Some(_), _, None) => Some(Obstacle::Lacks(lacking)),
        (None, Survive::EverythingReturned, _) if !is_synchronous => Some(Obstacle::NotSynchronous),
        (None, ..) => None,
    }
}
