//! How a search goes from many configurations to few: screening of options, and fewer and fewer in more and more repeats. It
//! knows speeds alone, so that it can be tried on any.

use std::collections::BTreeMap;

use anyhow::Result;
use mountmark_findings::Gain;
use mountmark_findings::advice::{self, Candidate, LeftOut, Screened, Speeds, Tried};
use mountmark_model::{TuningOption, counted};
use mountmark_stats::screening;

use super::candidates::candidate;

/// An option that makes less than this difference in the screening is not looked at again: a logarithm.
const SCREENED: f64 = 0.005;

/// Options of a file system whose combinations are foretold: the ones that gain most.
const COMBINED: usize = 6;

/// Shares of the budget after which no screening, and no further repeats, begin. The rest is for power cuts and situations.
const SCREENING: f64 = 0.45;
const NARROWING: f64 = 0.7;

/// What measures configurations, within a budget.
pub trait Track {
    /// Their speeds in so many repeats, the earlier ones among them; `None` if the user stopped it.
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>>;

    /// Cells that can be measured until this share of the budget is used.
    fn room(&self, share: f64) -> usize;

    /// Notes what was not asked, as there was no room.
    fn skip(&mut self, what: String);

    /// Takes back what [`Track::skip`] noted: it was asked after all.
    fn asked(&mut self, what: &str);
}

/// What a run measured.
pub struct Measured {
    pub speeds: Speeds,
    /// What it could not run.
    pub skipped: Vec<LeftOut>,
}

/// What is known of all configurations.
#[derive(Default)]
pub struct Race {
    /// Of all configurations that were measured.
    pub speeds: Speeds,
    /// The same, as candidates.
    pub tried: Vec<Candidate>,
    /// What options do.
    pub screened: Vec<Screened>,
    /// What was left out, by facts and by power cuts.
    pub left_out: Vec<LeftOut>,
    /// What is worth a closer look, and its foretold speed.
    worth: Vec<(Candidate, f64)>,
    /// Options that go with others, by file system, in the catalogue's order.
    joint: BTreeMap<String, Vec<String>>,
    /// File systems whose options were not screened, as there was no room: how many go with no other.
    unscreened: BTreeMap<String, usize>,
}

impl Race {
    /// Configurations that the search compares: what makes a difference harder to show.
    pub fn searched(&self) -> usize {
        self.tried.len()
    }

    /// How much faster this one is than each other, where that can be said.
    pub fn gains_of(&self, name: &str) -> BTreeMap<String, Gain> {
        let others = || self.tried.iter().map(|one| one.name.as_str());
        let pairs: Vec<(&str, &str)> = others().map(|other| (name, other)).collect();
        let gains = advice::gains(&self.speeds, &pairs, self.searched());
        let known = others().zip(gains).filter(|(other, _)| *other != name);
        known.filter_map(|(other, gain)| Some((other.to_owned(), gain?))).collect()
    }

    /// How much faster this one is than `simplest`, as the answer was decided: of all that was searched as one family.
    pub fn over(&self, simplest: &str, name: &str) -> Option<Gain> {
        let all = || self.speeds.keys().map(String::as_str);
        let pairs: Vec<(&str, &str)> = all().map(|one| (one, simplest)).collect();
        let gains = advice::gains(&self.speeds, &pairs, self.searched());
        all().zip(gains).find(|(one, _)| *one == name)?.1
    }

    /// Whether a configuration was left out.
    pub fn is_out(&self, name: &str) -> bool {
        self.left_out.iter().any(|left| left.what == name)
    }

    /// Measures candidates in so many repeats; false if the user stopped it.
    pub fn measure(&mut self, track: &mut dyn Track, candidates: &[Candidate], repeats: u32) -> Result<bool> {
        let Some(Measured { speeds, skipped }) = track.measure(candidates, repeats)? else { return Ok(false) };
        for candidate in candidates {
            if !self.speeds.contains_key(&candidate.name) && speeds.contains_key(&candidate.name) {
                self.tried.push(candidate.clone());
            }
        }
        for (name, speeds) in speeds {
            let known = self.speeds.entry(name).or_default();
            if speeds.len() > known.len() {
                *known = speeds;
            }
        }
        for left in skipped {
            if !self.is_out(&left.what) {
                self.left_out.push(left);
            }
        }
        Ok(true)
    }

    /// Tries the options of a file system whose defaults were measured: together in a screening design, or each by itself where
    /// there is no time for one. False if the user stopped it.
    pub fn screen(&mut self, track: &mut dyn Track, filesystem: &str, options: &[&TuningOption]) -> Result<bool> {
        let defaults = candidate(filesystem, &[]);
        let Some(speed) = self.first(&defaults.name) else { return Ok(true) };
        self.worth.push((defaults, speed));
        let (alone, joint): (Vec<&TuningOption>, Vec<_>) = options.iter().partition(|one| one.alone);
        let single = |all: &[&TuningOption]| -> Vec<Candidate> {
            all.iter().map(|one| candidate(filesystem, &[&one.option])).collect()
        };
        self.joint.insert(filesystem.to_owned(), joint.iter().map(|one| one.option.clone()).collect());
        let trials = screening::trials(joint.len()).unwrap_or_default();
        let of_trials = trials.iter().map(|trial| chosen(filesystem, &joint, trial));
        let designed: Vec<Candidate> = of_trials.chain(single(&alone)).collect();
        let each: Vec<Candidate> = single(options);
        let room = track.room(SCREENING);
        let new = |all: &[Candidate]| all.iter().filter(|one| !self.speeds.contains_key(&one.name)).count();
        let is_designed = new(&designed) <= room;
        let all = if is_designed { designed } else { each };
        if all.is_empty() || new(&all) == 0 {
            return Ok(true);
        }
        if new(&all) > room {
            track.skip(options_of(filesystem, options.len()));
            self.unscreened.insert(filesystem.to_owned(), alone.len());
            return Ok(true);
        }
        say!("mountmark: screening of options: {} of {filesystem}", counted(all.len(), "configuration"));
        if !self.measure(track, &all, 1)? {
            track.skip(options_of(filesystem, options.len()));
            return Ok(false);
        }
        let by_itself = |one: &&TuningOption| {
            let with = candidate(filesystem, &[&one.option]).name;
            // What could not be run is left out, with its reason; what failed is shown as such.
            self.speeds.contains_key(&with).then(|| self.first(&with).map(|with| with - speed))
        };
        let mut effects: Vec<(&TuningOption, Option<f64>)> = if is_designed {
            let results: Vec<Option<f64>> =
                trials.iter().map(|trial| self.first(&chosen(filesystem, &joint, trial).name)).collect();
            joint.iter().copied().zip(screening::effects(&trials, &results)).collect()
        } else {
            joint.iter().filter_map(|one| Some((*one, by_itself(one)?))).collect()
        };
        effects.extend(alone.iter().filter_map(|one| Some((*one, by_itself(one)?))));
        self.screened.extend(effects.iter().map(|(one, effect)| Screened {
            filesystem: filesystem.to_owned(),
            option: one.option.clone(),
            ratio: effect.map(f64::exp),
            risk: one.risk.clone(),
        }));
        self.add_worth(filesystem, options, effects, speed);
        Ok(true)
    }

    /// The combinations of the options that matter, with their foretold speeds.
    fn add_worth(
        &mut self,
        filesystem: &str,
        options: &[&TuningOption],
        effects: Vec<(&TuningOption, Option<f64>)>,
        defaults: f64,
    ) {
        let gains = effects.into_iter().filter_map(|(one, effect)| Some((one, effect?)));
        let mut gains: Vec<(&TuningOption, f64)> = gains.filter(|(_, effect)| *effect > SCREENED).collect();
        gains.sort_by(|one, other| other.1.total_cmp(&one.1));
        let (alone, mut joint): (Vec<_>, Vec<_>) = gains.into_iter().partition(|(one, _)| one.alone);
        joint.truncate(COMBINED);
        // In the catalogue's order, so that one combination has one name.
        joint.sort_by_key(|(one, _)| options.iter().position(|known| known.option == one.option));
        let combined = screening::full(joint.len()).into_iter().skip(1).map(|trial| {
            let on = || joint.iter().zip(&trial).filter(|(_, on)| **on);
            let names: Vec<&str> = on().map(|((one, _), _)| one.option.as_str()).collect();
            (candidate(filesystem, &names), on().map(|((_, effect), _)| effect).sum::<f64>())
        });
        let single = alone.iter().map(|(one, effect)| (candidate(filesystem, &[&one.option]), *effect));
        let all: Vec<(Candidate, f64)> = combined.chain(single).collect();
        for (one, gain) in all {
            // What was measured is known better than what is foretold.
            let speed = self.first(&one.name).unwrap_or(defaults + gain);
            self.worth.push((one, speed));
        }
    }

    /// The speed of a configuration in the first repeat.
    fn first(&self, name: &str) -> Option<f64> {
        *self.speeds.get(name)?.first()?
    }

    /// The fastest configuration of another file system.
    pub fn second(&self, answer: &Candidate) -> Option<Candidate> {
        let most = self.speeds.get(&answer.name)?.len();
        let safe: Vec<Candidate> = self.tried.iter().filter(|one| !self.is_out(&one.name)).cloned().collect();
        let order = advice::in_order(&self.speeds, &safe);
        let others = || order.iter().filter(|one| one.filesystem != answer.filesystem);
        // Those of as many repeats first: few repeats flatter.
        let as_many = others().find(|one| self.speeds[&one.name].len() == most);
        as_many.or_else(|| others().next()).map(|one| (*one).clone())
    }

    /// A candidate, and its speed over that of the answer.
    pub fn tried(&self, candidate: &Candidate, gain: Gain) -> Tried {
        let speeds = &self.speeds[&candidate.name];
        let speed = speeds.first().copied().flatten().map(f64::exp);
        Tried { configuration: candidate.name.clone(), repeats: speeds.len(), gain, speed }
    }

    /// All that was measured beside the answer, the fastest first; of the simplest it is known how far the answer is ahead.
    pub fn beside(&self, answer: &str, simplest: &str, over: Option<Gain>) -> Vec<Tried> {
        let gains = self.gains_of(answer);
        let gain = |name: &str| match name {
            _ if name == answer => Some(Gain::NONE),
            _ if name == simplest => over.map(Gain::inverse),
            _ => gains.get(name).copied().map(Gain::inverse),
        };
        let all = self.tried.iter().filter_map(|one| Some(self.tried(one, gain(&one.name)?)));
        let mut all: Vec<Tried> = all.collect();
        all.sort_by(|one, other| other.gain.ratio.total_cmp(&one.gain.ratio));
        all
    }

    /// How it stands.
    pub fn say_best(&self) {
        let order = advice::in_order(&self.speeds, &self.tried);
        let safe = order.iter().filter(|one| !self.is_out(&one.name));
        let most = self.tried.iter().map(|one| self.speeds[&one.name].len()).max().unwrap_or(0);
        let lead: Vec<&&Candidate> = safe.filter(|one| self.speeds[&one.name].len() == most).take(2).collect();
        if let [first, next] = &lead[..]
            && let Some(gain) = advice::gain(&self.speeds, &first.name, &next.name, self.searched())
        {
            let sure = if gain.shown { "shown" } else { "not yet shown" };
            say!(
                "mountmark: so far {} is fastest, {:.2} times as fast as {} ({sure}, {} of {})",
                first.name,
                gain.ratio,
                next.name,
                counted(most, "repeat"),
                counted(self.tried.len(), "configuration")
            );
        }
    }
}

/// What a screening asks, a sentence's end.
fn options_of(filesystem: &str, count: usize) -> String {
    format!("what {} of {filesystem} do", counted(count, "option"))
}

/// A file system with those of its options that are on.
fn chosen(filesystem: &str, options: &[&TuningOption], on: &[bool]) -> Candidate {
    let with = options.iter().zip(on).filter(|(_, on)| **on).map(|(one, _)| one.option.as_str());
    candidate(filesystem, &with.collect::<Vec<_>>())
}

mod narrow;
#[cfg(test)]
mod tests;
