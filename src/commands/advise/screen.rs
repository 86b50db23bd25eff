//! The screening of options: which of a file system's matter, in few trials.

use anyhow::Result;
use mountmark_findings::advice::{Candidate, LeftOut, Screened};
use mountmark_model::{FileSystem, TuningOption, counted};
use mountmark_plan::Catalogue;
use mountmark_stats::screening;

use super::candidates;
use super::search::Search;

/// An option that makes less than this difference in the screening is not looked at again: a logarithm.
const SCREENED: f64 = 0.005;

/// Options of a file system that are tried in full.
const IN_FULL: usize = 3;

/// The trials of a file system.
struct Screening<'a> {
    filesystem: &'a FileSystem,
    /// The options that are tried together.
    joint: Vec<&'a TuningOption>,
    /// As [`screening::trials`] has them.
    trials: Vec<Vec<bool>>,
}

impl Search<'_> {
    /// Which options of each file system matter; returns what is worth a closer look: the defaults, and the options that
    /// matter in all combinations.
    pub(super) fn screen(&mut self, catalogue: &Catalogue, filesystems: &[&FileSystem]) -> Result<Vec<Candidate>> {
        let mut plans: Vec<Screening> = Vec::new();
        let mut all: Vec<Candidate> = Vec::new();
        for filesystem in filesystems {
            let single: Vec<Candidate> =
                filesystem.tuning.iter().map(|one| candidate(&filesystem.name, &[&one.option])).collect();
            for one in &single {
                if let Some(why) = candidates::weakens(catalogue, self.arguments, &filesystem.name, &one.name)? {
                    self.left_out.push(LeftOut { what: one.name.clone(), why });
                }
            }
            self.leave_out_unsafe(catalogue, &single)?;
            let is_safe = |one: &&TuningOption| {
                let name = candidate(&filesystem.name, &[&one.option]).name;
                !self.left_out.iter().any(|left| left.what == name)
            };
            let (alone, joint): (Vec<_>, Vec<_>) = filesystem.tuning.iter().filter(is_safe).partition(|one| one.alone);
            let trials = screening::trials(joint.len()).unwrap_or_default();
            all.extend(trials.iter().map(|trial| chosen(&filesystem.name, &joint, trial)));
            all.extend(alone.iter().map(|one| candidate(&filesystem.name, &[&one.option])));
            plans.push(Screening { filesystem, joint, trials });
        }
        let defaults: Vec<Candidate> = filesystems.iter().map(|one| candidate(&one.name, &[])).collect();
        let new = all.iter().filter(|one| !self.speeds.contains_key(&one.name)).count();
        if self.does_not_fit(new, 0.0, "what options do") {
            return Ok(defaults);
        }
        say!("mountmark: screening of options: {}", counted(all.len(), "configuration"));
        if !self.measure(&all, 1)? {
            return Ok(defaults);
        }
        let mut worth = defaults;
        for plan in plans {
            worth.extend(self.worth(&plan));
        }
        Ok(worth)
    }

    /// The combinations of the options of a file system that matter.
    fn worth(&mut self, plan: &Screening) -> Vec<Candidate> {
        let Screening { filesystem, joint, trials } = plan;
        let first = |name: &str| self.speeds.get(name).and_then(|speeds| *speeds.first()?);
        let results: Vec<Option<f64>> =
            trials.iter().map(|trial| first(&chosen(&filesystem.name, joint, trial).name)).collect();
        let mut effects: Vec<(&TuningOption, Option<f64>)> =
            joint.iter().copied().zip(screening::effects(trials, &results)).collect();
        let defaults = first(&filesystem.name);
        for one in filesystem.tuning.iter().filter(|one| one.alone) {
            let name = candidate(&filesystem.name, &[&one.option]).name;
            if self.speeds.contains_key(&name) {
                effects.push((one, first(&name).zip(defaults).map(|(with, without)| with - without)));
            }
        }
        let screened = |(one, effect): &(&TuningOption, Option<f64>)| Screened {
            filesystem: filesystem.name.clone(),
            option: one.option.clone(),
            ratio: effect.map(f64::exp),
            risk: one.risk.clone(),
        };
        self.screened.extend(effects.iter().map(screened));
        effects.retain(|(_, effect)| effect.is_some_and(|effect| effect > SCREENED));
        effects.sort_by(|one, other| other.1.unwrap_or(0.0).total_cmp(&one.1.unwrap_or(0.0)));
        let (alone, mut joint): (Vec<_>, Vec<_>) = effects.into_iter().map(|(one, _)| one).partition(|one| one.alone);
        joint.truncate(IN_FULL);
        // In the catalogue's order, so that one combination has one name.
        joint.sort_by_key(|one| filesystem.tuning.iter().position(|known| known.option == one.option));
        let combinations = screening::full(joint.len()).into_iter().skip(1);
        let mut out: Vec<Candidate> = combinations.map(|trial| chosen(&filesystem.name, &joint, &trial)).collect();
        out.extend(alone.iter().map(|one| candidate(&filesystem.name, &[&one.option])));
        out
    }
}

/// A file system with these options.
pub(super) fn candidate(filesystem: &str, options: &[&str]) -> Candidate {
    let escaped: Vec<String> = options.iter().map(|option| option.replace(',', "\\,")).collect();
    let name = match escaped.is_empty() {
        true => filesystem.to_owned(),
        false => format!("{filesystem}:{}", escaped.join("+")),
    };
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Candidate { name, filesystem: filesystem.to_owned(), options }
}

/// A file system with those of its options that are on.
fn chosen(filesystem: &str, options: &[&TuningOption], on: &[bool]) -> Candidate {
    let with = options.iter().zip(on).filter(|(_, on)| **on).map(|(one, _)| one.option.as_str());
    candidate(filesystem, &with.collect::<Vec<_>>())
}
