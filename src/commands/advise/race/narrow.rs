//! Fewer and fewer configurations in more and more repeats.

use anyhow::Result;
use mountmark_findings::Gain;
use mountmark_findings::advice::{self, Candidate, LeftOut};
use mountmark_model::counted;

use super::{NARROWING, Race, Track, options_of};
use crate::commands::advise::candidates::candidate;

/// A configuration that is foretold to be so much slower than the fastest is not looked at again: a logarithm. What options do
/// together differs from the sum of what they do.
const REACH: f64 = 0.15;

/// Configurations that are left when repeats are no longer doubled for half of them.
const FEW: usize = 4;

/// Repeats before which the neighbours of the fastest take part.
const NEIGHBOURS: u32 = 4;

/// Repeats after which it ends, unless nothing is [`CLOSE`] before.
const MOST_REPEATS: u32 = 32;

/// Repeats for which room is kept when it is decided how many configurations take part.
pub(super) const USUAL_REPEATS: u32 = 8;

/// It ends earlier if no configuration that is left can be faster by more: a ratio.
const CLOSE: f64 = 1.02;

impl Race {
    /// What is worth more repeats: what may be the fastest, as many as there is time for, with what the answer is compared with.
    fn promising(&self, track: &dyn Track, simplest: &str) -> Vec<Candidate> {
        let mut worth: Vec<&(Candidate, f64)> = self.worth.iter().filter(|(one, _)| !self.is_out(&one.name)).collect();
        worth.sort_by(|one, other| other.1.total_cmp(&one.1));
        let Some((fastest, best)) = worth.first() else { return Vec::new() };
        // Two repeats of each, and more of few.
        let few = (FEW + 2) * (USUAL_REPEATS as usize - 2);
        let most = (track.room(NARROWING).saturating_sub(few) / 2).max(FEW);
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
                track.skip(format!("{} in {repeats} repeats", counted(left.len(), "configuration")));
                return Ok(left);
            }
            if repeats == NEIGHBOURS {
                self.note_asked(track, &left);
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

    /// Leaves out what failed in some repeats: its speed would be that of the others.
    pub fn leave_out_interrupted(&mut self) {
        for (name, speeds) in &self.speeds {
            let failed = speeds.iter().filter(|speed| speed.is_none()).count();
            if failed > 0 && failed < speeds.len() && !self.left_out.iter().any(|left| left.what == *name) {
                let why = format!("it failed in {failed} of {} repeats", speeds.len());
                self.left_out.push(LeftOut { what: name.clone(), why });
            }
        }
    }

    /// Takes back that the options of a file system were not asked, where all that go with others were, as neighbours.
    fn note_asked(&mut self, track: &mut dyn Track, left: &[Candidate]) {
        for (filesystem, joint) in &self.joint {
            let is_asked = |option: &String| {
                left.iter().any(|one| one.filesystem == *filesystem && one.options.contains(option))
                    || self.is_out(&candidate(filesystem, &[option]).name)
            };
            if let Some(alone) =
                self.unscreened.get(filesystem).copied().filter(|_| !joint.is_empty() && joint.iter().all(is_asked))
            {
                track.asked(&options_of(filesystem, joint.len() + alone));
                if alone > 0 {
                    track.skip(options_of(filesystem, alone));
                }
            }
        }
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
}
