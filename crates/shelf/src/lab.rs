//! A lab that measures what is not on a shelf.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::{Result, anyhow, ensure};
use mountmark_lab::{CellKey, Ended, OpenLab};
use mountmark_model::{Cell, Configuration, Environment, Event, Program, Taken, counted};
use mountmark_random::Stream;

use crate::entry::{Entry, Figures, Measured};
use crate::{Got, Shelf, verify};

/// This user's own shelf grows to so many bytes; some 100,000 cells of a small suite.
const OWN_MOST: u64 = 2 << 30;

/// How a shelf is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct How {
    /// Nothing is taken that was measured before this moment, in milliseconds since 1970. 0 takes all, [`How::NOTHING`] none.
    pub not_before: i64,
    /// The share of what is taken that is measured again, from 0 to 1.
    pub verify: f64,
    /// Chooses which.
    pub seed: u64,
}

impl How {
    /// As [`How::not_before`]: all is measured, and put there.
    pub const NOTHING: i64 = i64::MAX;
}

/// A lab with a shelf: a cell that is there is not measured. It is for the cells of one plan.
pub struct Shelved<'a> {
    lab: &'a dyn OpenLab,
    shelf: Shelf,
    how: How,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Hashes of keys, by the cells' indices. The parts are kilobytes each, and a plan may have 100,000 cells.
    keys: BTreeMap<u32, String>,
    /// Indices of prepared cells that are there.
    there: BTreeSet<u32>,
    /// Those of them from which was chosen already: a run may prepare further repeats later.
    decided: BTreeSet<u32>,
    /// Those that are measured again.
    sample: BTreeSet<u32>,
    /// Cells that were taken, by their indices: from where, and which of `environments` they have.
    taken: BTreeMap<u32, (Taken, usize)>,
    /// Each once, without key and origin: those of 100,000 cells would fill memory.
    environments: Vec<Environment>,
    measured: usize,
    verified: usize,
}

impl State {
    /// Notes a cell that was taken.
    fn take(&mut self, cell: u32, from: Taken, environment: Environment) {
        let environment = Environment { key: String::new(), taken: None, ..environment };
        let known = self.environments.iter().position(|known| *known == environment);
        let at = known.unwrap_or(self.environments.len());
        if known.is_none() {
            self.environments.push(environment);
        }
        self.taken.insert(cell, (from, at));
    }
}

impl<'a> Shelved<'a> {
    pub fn new(lab: &'a dyn OpenLab, shelf: Shelf, how: How) -> Shelved<'a> {
        Shelved { lab, shelf, how, state: Mutex::default() }
    }

    /// Whether a cell is on the shelves now: on each shared one that can be written, if there is one.
    pub fn is_there(&self, cell: &Cell) -> Result<bool> {
        let is_there = |key: String| self.shelf.has_now(&key) && !self.shelf.lacks(&key) && self.shelf.trusts(&key);
        Ok(self.key_of(cell)?.is_some_and(is_there))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash of a cell's key.
    pub fn key_of(&self, cell: &Cell) -> Result<Option<String>> {
        if let Some(key) = self.state().keys.get(&cell.index) {
            return Ok(Some(key.clone()));
        }
        let key = self.lab.key(cell)?.map(|key| key.sha256);
        if let Some(key) = &key {
            self.state().keys.insert(cell.index, key.clone());
        }
        Ok(key)
    }

    /// Whether a cell that is there is measured again.
    fn is_sampled(&self, index: u32) -> bool {
        let How { verify, seed, .. } = self.how;
        // Also those that others have put there since.
        if verify >= 1.0 {
            return true;
        }
        let mut state = self.state();
        let State { there, decided, sample, .. } = &mut *state;
        // All that were decided are there.
        if there.len() > decided.len() {
            let new: BTreeSet<u32> = there.difference(decided).copied().collect();
            let wanted = (there.len() as f64 * verify) as usize - sample.len();
            sample.extend(choose(&new, wanted, seed));
            decided.extend(new);
        }
        sample.contains(&index)
    }
}

/// So many of some cells, at random.
fn choose(cells: &BTreeSet<u32>, wanted: usize, seed: u64) -> BTreeSet<u32> {
    let mut rest: Vec<u32> = cells.iter().copied().collect();
    let mut random = Stream::new(seed, "shelf.verify");
    let mut chosen = BTreeSet::new();
    while chosen.len() < wanted && !rest.is_empty() {
        let at = random.below(rest.len() as u64) as usize;
        chosen.insert(rest.swap_remove(at));
    }
    chosen
}

impl OpenLab for Shelved<'_> {
    fn title(&self) -> String {
        self.lab.title()
    }

    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.lab.unavailable(configuration)
    }

    fn make_available(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.lab.make_available(configuration)
    }

    fn lacks(&self, program: &Program) -> Result<Option<String>> {
        self.lab.lacks(program)
    }

    fn prepare(&self, cell: &Cell) -> Result<()> {
        self.lab.prepare(cell)?;
        let key = self.key_of(cell)?;
        if key.is_some_and(|key| self.how.not_before == 0 && self.shelf.has(&key)) {
            self.state().there.insert(cell.index);
        }
        Ok(())
    }

    fn programs(&self, cell: &Cell) -> Result<Option<Vec<String>>> {
        self.lab.programs(cell)
    }

    fn precondition(&self, stop: &AtomicBool, tell: &mut dyn FnMut(&str)) -> Result<()> {
        self.lab.precondition(stop, tell)
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        let Some(key) = self.key_of(cell)? else { return self.lab.run(cell, stop, on_event) };
        let fits = |entry: &Entry| {
            let Figures { outcome, events } = &entry.figures;
            ensure!(outcome.is_ok(), "its cell has failed");
            mountmark_run::fits(cell, events).map_err(|reason| anyhow!("it cannot be believed: {reason}"))
        };
        let (mut found, spoilt) = match self.how.not_before {
            How::NOTHING => (None, false),
            moment => {
                let Got { entry, spoilt } = self.shelf.get(&key, &fits)?;
                (entry.filter(|(_, entry)| entry.measured.at >= moment), spoilt)
            }
        };
        if found.is_some()
            && !self.is_sampled(cell.index)
            && let Some((_, entry)) = found.take()
        {
            self.shelf.used(&entry);
            if spoilt || self.shelf.lacks(&key) {
                self.shelf.put(&entry);
            }
            let Entry { figures, measured, .. } = entry;
            figures.events.into_iter().for_each(on_event);
            let taken = Taken { host: measured.host, at: measured.at };
            self.state().take(cell.index, taken, measured.environment);
            return Ok(Ended::Outcome { outcome: figures.outcome, log: measured.log });
        }
        let mut events = Vec::new();
        let ended = self.lab.run(cell, stop, &mut |event| {
            if !matches!(event, Event::Stage { .. }) {
                events.push(event.clone());
            }
            on_event(event);
        })?;
        if matches!(ended, Ended::Interrupted) {
            return Ok(ended);
        }
        self.state().measured += 1;
        // A cell that failed as a whole may have failed by this machine.
        if let Ended::Outcome { outcome, log } = &ended
            && outcome.is_ok()
            && mountmark_run::fits(cell, &events).is_ok()
            && let Some(key) = self.lab.key(cell)?
        {
            let environment = self.lab.environment(cell)?;
            let figures = Figures { outcome: outcome.clone(), events };
            let entry = Entry { key, figures, measured: Measured::here(environment, log.clone()), signed: None };
            if let Some((path, found)) = &found {
                verify::compare((found, Some(path)), (&entry, None))?;
                self.state().verified += 1;
            }
            self.shelf.put_new(&entry);
        }
        Ok(ended)
    }

    fn key(&self, cell: &Cell) -> Result<Option<CellKey>> {
        self.lab.key(cell)
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        let key = self.key_of(cell)?.unwrap_or_default();
        let state = self.state();
        if let Some((taken, at)) = state.taken.get(&cell.index) {
            return Ok(Environment { key, taken: Some(taken.clone()), ..state.environments[*at].clone() });
        }
        drop(state);
        Ok(Environment { key, ..self.lab.environment(cell)? })
    }

    fn remarks(&self) -> Vec<String> {
        let (taken, measured, verified) = {
            let state = self.state();
            (state.taken.len(), state.measured, state.verified)
        };
        let mut remarks = self.shelf.troubles();
        if measured > 0 {
            self.shelf.evict(OWN_MOST);
        }
        if taken + verified > 0 {
            let again = match verified {
                0 => String::new(),
                verified => format!(", {verified} of them measured again with equal figures"),
            };
            let measured = measured - verified;
            let taken = counted(taken + verified, "cell");
            remarks.push(format!("{taken} taken from the shelf{again}, {measured} measured (--fresh measures all)"));
        }
        remarks
    }
}

impl Measured {
    /// On this machine, now.
    fn here(environment: Environment, log: String) -> Measured {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        Measured { host, at, environment, log }
    }
}
