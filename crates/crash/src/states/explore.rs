//! Makes the states of one epoch, tier by tier, each image once.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cursor::Cursor;
use super::id::{Choice, StateId, Tier};
use super::pending::Pending;
use super::state::State;
use super::tiers::Plan;
use crate::trace::Extent;

/// What may be spent on one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// How many states each tier may make, before those are left out that an earlier one has made. T2 makes all subsets
    /// if they are not more, and T4 all images.
    pub tiers: [usize; 5],
    /// Parts of the disk, in bytes, whose requests are torn first, such as the journal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Range<u64>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { tiers: [256, 1024, 4096, 512, 128], first: Vec::new() }
    }
}

impl Budget {
    /// With at most so many images of each tier.
    pub fn of(images: usize) -> Budget {
        Budget::default().at_most(images)
    }

    /// The same with at most so many images of each tier.
    pub fn at_most(&self, images: usize) -> Budget {
        Budget { tiers: self.tiers.map(|tier| tier.min(images)), first: self.first.clone() }
    }
}

/// What a tier has made of one epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    pub made: usize,
    /// Images that no earlier state of the epoch had.
    pub different: usize,
    /// Whether the tier made all its states; in T2 these are all subsets, in T4 all images that are possible.
    pub is_complete: bool,
}

/// The states of one epoch.
pub struct Explore<'p, 's> {
    pending: &'p Pending<'s>,
    cursor: Cursor<'p, 's>,
    plans: Vec<(Tier, Plan, bool)>,
    /// Of the tier, and of the state in its plan.
    at: (usize, usize),
    seen: HashSet<u128>,
    tested: [Tested; 5],
}

impl<'s> Pending<'s> {
    /// All states within the budget, in a fixed order, each image once.
    pub fn explore(&self, budget: &Budget, seed: u64) -> Explore<'_, 's> {
        let plans = Tier::ALL.into_iter().zip(budget.tiers).map(|(tier, states)| {
            let (plan, is_complete) = self.plan(tier, states, seed, &budget.first);
            (tier, plan, is_complete)
        });
        Explore {
            pending: self,
            cursor: Cursor::new(self),
            plans: plans.collect(),
            at: (0, 0),
            seen: HashSet::new(),
            tested: [Tested::default(); 5],
        }
    }

    /// The state with this choice, if the epoch has one.
    pub(super) fn state(&self, tier: Tier, choice: Choice) -> Option<State> {
        let (extents, hash) = match self.subset(&choice) {
            Some(bits) => {
                let winners = self.winners(&bits);
                (self.whole(&winners), self.hash(&winners))
            }
            None => self.by_sector(&choice)?,
        };
        Some(State { id: StateId { epoch: self.epoch, tier, choice }, extents, hash })
    }

    /// The image of a choice that does not write requests whole.
    fn by_sector(&self, choice: &Choice) -> Option<(Vec<Extent>, u128)> {
        match *choice {
            _ if !self.tears => None,
            Choice::Torn { request, part, others } => {
                let others = self.subset(if others { &Choice::All } else { &Choice::None })?;
                let change = &self.history.changes[*self.changes.get(request)? as usize];
                let with = self.winners(&others.clone().with(request, true));
                let without = self.winners(&others.with(request, false));
                let holds = |granule: u64| granule.checked_sub(change.first).is_some_and(|place| part.holds(place));
                Some(self.image(|slot| if holds(slot.granule) { &with } else { &without }[slot.cell as usize]))
            }
            Choice::Versions(mut number) => {
                if self.combinations().is_some_and(|count| number >= count) {
                    return None;
                }
                Some(self.image(|slot| {
                    let count = self.versions(slot).count() as u64;
                    let place = number % count;
                    number /= count;
                    self.versions(slot).nth(place as usize).unwrap_or_default()
                }))
            }
            Choice::Random { seed, index } => Some(self.image(self.random(seed, index))),
            _ => None,
        }
    }
}

impl Explore<'_, '_> {
    /// What the tiers have made so far, T0 first.
    pub fn tested(&self) -> [Tested; 5] {
        self.tested
    }

    /// The state, unless it has been seen.
    fn visit(&mut self, tier: Tier, choice: Choice) -> Option<State> {
        let Some(bits) = self.pending.subset(&choice) else {
            return self.pending.state(tier, choice).filter(|state| self.seen.insert(state.hash));
        };
        self.cursor.go(&bits);
        if !self.seen.insert(self.cursor.hash) {
            return None;
        }
        let (extents, hash) = (self.pending.whole(&self.cursor.winners), self.cursor.hash);
        Some(State { id: StateId { epoch: self.pending.epoch, tier, choice }, extents, hash })
    }
}

impl Iterator for Explore<'_, '_> {
    type Item = State;

    fn next(&mut self) -> Option<State> {
        loop {
            let (at, index) = self.at;
            let (tier, plan, is_complete) = self.plans.get(at)?;
            let (tier, is_complete) = (*tier, *is_complete);
            let Some(choice) = plan.get(index) else {
                self.tested[at].is_complete = is_complete;
                self.at = (at + 1, 0);
                continue;
            };
            self.at.1 += 1;
            self.tested[at].made += 1;
            if let Some(state) = self.visit(tier, choice) {
                self.tested[at].different += 1;
                return Some(state);
            }
        }
    }
}
