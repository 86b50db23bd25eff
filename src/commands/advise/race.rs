//! How a search goes from many configurations to few: screening of options, and fewer and fewer in more and more repeats. It
//! knows speeds alone, so that it can be tried on any.

use std::collections::BTreeMap;

use anyhow::Result;
use mountmark_findings::Gain;
use mountmark_findings::advice::{self, Candidate, LeftOut, Screened, Speeds, Tried};
use mountmark_model::{TuningOption, counted};
use mountmark_stats::screening;

/// An option that makes less than this difference in the screening is not looked at again: a logarithm.
const SCREENED: f64 = 0.005;

/// Options of a file system whose combinations are foretold: the ones that gain most.
const COMBINED: usize = 6;

/// A configuration that is foretold to be so much slower than the fastest is not looked at again: a logarithm. What options do
/// together differs from the sum of what they do.
const REACH: f64 = 0.15;

/// Shares of the budget after which no screening, and no further repeats, begin. The rest is for power cuts and situations.
const SCREENING: f64 = 0.45;
const NARROWING: f64 = 0.7;

/// Configurations that are left when repeats are no longer doubled for half of them.
const FEW: usize = 4;

/// Repeats before which the neighbours of the fastest take part.
const NEIGHBOURS: u32 = 4;

/// Repeats after which it ends, unless nothing is [`CLOSE`] before.
const MOST_REPEATS: u32 = 32;

/// Repeats for which room is kept when it is decided how many configurations take part.
const USUAL_REPEATS: u32 = 8;

/// It ends earlier if no configuration that is left can be faster by more: a ratio.
const CLOSE: f64 = 1.02;

/// What measures configurations, within a budget.
pub trait Track {
    /// Their speeds in so many repeats, the earlier ones among them; `None` if the user stopped it.
    fn measure(&mut self, candidates: &[Candidate], repeats: u32) -> Result<Option<Measured>>;

    /// Cells that can be measured until this share of the budget is used.
    fn room(&self, share: f64) -> usize;

    /// Notes what was not asked, as there was no room.
    fn skip(&mut self, what: String);
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
}

impl Race {
    /// Configurations that the search compares: what makes a difference harder to show.
    pub fn searched(&self) -> usize {
    /// How much faster this one is than `simplest`, as the answer was decided: of all that was searched as one family.
    pub fn over(&self, simplest: &str, name: &str) -> Option<Gain> {
        let all = || self.speeds.keys().map(String::as_str);
        let pairs: Vec<(&str, &str)> = all().map(|one| (one, simplest)).collect();
        let gains = advice::gains(&self.speeds, &pairs, self.searched());
        all().zip(gains).find(|(one, _)| *one == name)?.1
    }

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
            track.skip(format!("what {} of {filesystem} do", counted(options.len(), "option")));
            return Ok(true);
        }
        say!("mountmark: screening of options: {} of {filesystem}", counted(all.len(), "configuration"));
        if !self.measure(track, &all, 1)? {
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

    /// What is worth more repeats: what may be the fastest, as many as there is time for, with what the answer is compared with.
    fn promising(&self, track: &dyn Track, simplest: &str) -> Vec<Candidate> {
        let mut worth: Vec<&(Candidate, f64)> = self.worth.iter().filter(|(one, _)| !self.is_out(&one.name)).collect();
        worth.sort_by(|one, other| other.1.total_cmp(&one.1));
        let Some((fastest, best)) = worth.first() else { return Vec::new() };
        // Two repeats of each, and more of few.
        let few = (FEW + 2) * (USUAL_REPEATS as usize - 2);
        let most = (track.room(NARROWING).saturating_sub(few) / 2).max(FEW);
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

        let second = worth.iter().find(|(one, _)| one.filesystem != fastest.filesystem).map(|(one, _)| &one.name);
        let is_kept = |(place, (one, speed)): &(usize, &(Candidate, f64))| {
            *place < most && best - speed <= REACH
                || one.name == simplest
                || one.name == fastest.filesystem
                || Some(&one.name) == second
        };
        worth.into_iter().enumerate().filter(is_kept).map(|(_, (one, _))| one.clone()).collect()
    }

    /// Measures half of what is worth it, the faster ones, in twice the repeats, until few are left.
    pub fn narrow(&mut self, track: &mut dyn Track, simplest: &str) -> Result<Vec<Candidate>> {
        let mut left = self.promising(track, simplest);
        let mut repeats = 2;
        loop {
            let known = |one: &Candidate| self.speeds.get(&one.name).map_or(0, Vec::len);
            let new: usize = left.iter().map(|one| (repeats as usize).saturating_sub(known(one))).sum();
            if new > track.room(NARROWING) {
                track.skip(format!("{} in {repeats} repeats", counted(left.len(), "configuration")));
                return Ok(left);
            }
            say!("mountmark: {} in {}", counted(left.len(), "configuration"), counted(repeats as usize, "repeat"));
            if !self.measure(track, &left, repeats)? {
                return Ok(left);
            }
            self.say_best();
            if repeats >= MOST_REPEATS || repeats >= USUAL_REPEATS && self.is_clear(&left) {
                return Ok(left);
            }
            let neighbours = if repeats < NEIGHBOURS { self.neighbours(&left) } else { Vec::new() };
            left = self.faster_half(&left, simplest);
            left.extend(neighbours);
            repeats *= 2;
        }
    }

    /// Whether the fastest is known well enough: each other is shown to be slower, or is as good.
    fn is_clear(&self, left: &[Candidate]) -> bool {
        let order = advice::in_order(&self.speeds, left);
        let Some((fastest, others)) = order.split_first() else { return true };
        let pairs: Vec<(&str, &str)> = others.iter().map(|one| (one.name.as_str(), fastest.name.as_str())).collect();
        let gains = advice::gains(&self.speeds, &pairs, 1);
        let is_close = |gain: &Gain| gain.interval.is_some_and(|interval| interval.high <= CLOSE);
        gains.iter().flatten().all(|gain| gain.shown && gain.ratio < 1.0 || is_close(gain))
    }

    /// The fastest with one option more or less: what options do together is more than the sum of what each does.
    fn neighbours(&self, left: &[Candidate]) -> Vec<Candidate> {
        let order = advice::in_order(&self.speeds, left);
        let Some(fastest) = order.first() else { return Vec::new() };
        let all = self.joint.get(&fastest.filesystem).map_or(&[][..], Vec::as_slice);
        if !fastest.options.iter().all(|option| all.contains(option)) {
            return Vec::new();
        }
        let turned = |turned: &String| {
            let is_on = |option: &&String| fastest.options.contains(option) != (*option == turned);
            let options: Vec<&str> = all.iter().filter(is_on).map(String::as_str).collect();
            candidate(&fastest.filesystem, &options)
        };
        let is_new = |one: &Candidate| !left.contains(one) && !self.is_out(&one.name);
        all.iter().map(turned).filter(is_new).collect()
    }

    /// The faster half, with what the answer has to be compared with: the simplest, and the defaults of the fastest.
    fn faster_half(&self, left: &[Candidate], simplest: &str) -> Vec<Candidate> {
        let order = advice::in_order(&self.speeds, left);
        let half = order.len().div_ceil(2).max(FEW);
        let fastest = order.first().map(|first| first.filesystem.clone()).unwrap_or_default();
        // The fastest of another file system: the answer says how far it is behind.
        let second = order.iter().find(|one| one.filesystem != fastest).map(|one| one.name.clone());
        let is_kept = |(place, one): &(usize, &&Candidate)| {
            *place < half || one.name == simplest || one.name == fastest || Some(&one.name) == second.as_ref()
        };
        order.iter().enumerate().filter(is_kept).map(|(_, one)| (*one).clone()).collect()
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

/// A file system, and what it stands on, with these options.
pub fn candidate(filesystem: &str, options: &[&str]) -> Candidate {
    let escaped: Vec<String> = options.iter().map(|option| option.replace(',', "\\,").replace('@', "\\@")).collect();
    let own = filesystem.split('@').next().unwrap_or(filesystem);
    let name = match escaped.is_empty() {
        true => filesystem.to_owned(),
        false => format!("{own}:{}{}", escaped.join("+"), &filesystem[own.len()..]),
    };
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Candidate { name, filesystem: filesystem.to_owned(), options }
}

/// A file system with those of its options that are on.
fn chosen(filesystem: &str, options: &[&TuningOption], on: &[bool]) -> Candidate {
    let with = options.iter().zip(on).filter(|(_, on)| **on).map(|(one, _)| one.option.as_str());
    candidate(filesystem, &with.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
