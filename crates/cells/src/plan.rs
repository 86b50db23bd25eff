//! A plan with its cells.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, Cell, Configuration};
use serde::Deserialize;

use crate::{Alike, PlannedCell, Pool};

/// A plan: all that it says of no single cell, as [`mountmark_model::Plan`] has it, and its cells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "mountmark_model::Plan")]
pub struct Plan {
    /// Without cells.
    pub(crate) head: mountmark_model::Plan,
    /// In starting order: blocks of all configurations, shuffled within each.
    pub cells: Vec<PlannedCell>,
}

impl Deref for Plan {
    type Target = mountmark_model::Plan;

    fn deref(&self) -> &mountmark_model::Plan {
        &self.head
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut mountmark_model::Plan {
        &mut self.head
    }
}

impl From<mountmark_model::Plan> for Plan {
    fn from(mut head: mountmark_model::Plan) -> Plan {
        let mut pool = Pool::default();
        let cells = std::mem::take(&mut head.cells).into_iter().map(|cell| pool.cell(cell)).collect();
        Plan { head, cells }
    }
}

impl Plan {
    /// Maximum number of configurations: each is compared with each.
    pub const MOST_CONFIGURATIONS: usize = mountmark_model::Plan::MOST_CONFIGURATIONS;

    /// As [`mountmark_model::Plan::too_large`].
    pub fn too_large(tasks: usize, configurations: usize) -> Option<String> {
        mountmark_model::Plan::too_large(tasks, configurations)
    }

    /// What `head` says, which has no cells of its own, with these.
    pub fn with_cells(head: mountmark_model::Plan, cells: Vec<PlannedCell>) -> Plan {
        debug_assert!(head.cells.is_empty());
        Plan { head, cells }
    }

    /// The plan with whole cells, which takes kilobytes for each.
    pub fn whole(&self) -> mountmark_model::Plan {
        mountmark_model::Plan { cells: self.cells.iter().map(PlannedCell::whole).collect(), ..self.head.clone() }
    }

    /// The cells of a repeat. A plan has them together.
    pub fn of_repeat(&self, repeat: u32) -> &[PlannedCell] {
        let begin = self.cells.partition_point(|cell| cell.repeat < repeat);
        let end = self.cells.partition_point(|cell| cell.repeat <= repeat);
        &self.cells[begin..end.max(begin)]
    }

    /// Changes what cells have alike, each thing once.
    ///
    /// # Errors
    /// The first of `change`.
    pub fn change_alike<E>(&mut self, mut change: impl FnMut(&mut Alike) -> Result<(), E>) -> Result<(), E> {
        let mut changed: HashMap<*const Alike, [Arc<Alike>; 2]> = HashMap::new();
        for cell in &mut self.cells {
            // What was is kept as long, so that nothing else gets its place.
            let [_, new] = match changed.entry(Arc::as_ptr(&cell.alike)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let mut new = Alike::clone(&cell.alike);
                    change(&mut new)?;
                    place.insert([cell.alike.clone(), Arc::new(new)])
                }
            };
            cell.alike = new.clone();
        }
        Ok(())
    }

    /// Changes all cells.
    pub fn change(&mut self, mut change: impl FnMut(&mut Cell)) {
        let mut pool = Pool::default();
        for cell in &mut self.cells {
            let mut whole = cell.whole();
            change(&mut whole);
            *cell = pool.cell(whole);
        }
    }

    /// The configuration of this name, as its first cell has it.
    pub fn configuration(&self, name: &str) -> Option<&Configuration> {
        self.cells.iter().map(|cell| &cell.configuration).find(|configuration| configuration.name == name)
    }

    /// Whether a cell of this index is the plan's own; later ones were measured once more.
    pub fn is_planned(&self, index: u32) -> bool {
        (index as usize) < self.cells.len()
    }

    /// Configurations that are slower for want of room alone, with their disk's size and that on which they are not.
    pub fn cramped(&self) -> Vec<(&str, Bytes, Bytes)> {
        let found = self.cells.iter().filter_map(|cell| {
            let roomy = cell.configuration.filesystem.roomy_size.filter(|roomy| cell.disk_size < *roomy)?;
            Some((cell.configuration.name.as_str(), cell.disk_size, roomy))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        found.dedup_by_key(|(name, ..)| *name);
        found
    }

    /// Whether repeats draw their conditions.
    pub fn conditions(&self) -> Way {
        if self.cells.iter().any(|cell| cell.conditions.is_some()) { Way::Varied } else { Way::Fixed }
    }

    /// The name of a cell's task or step in records: its id, with the cell's point if there is one.
    pub fn recorded(&self, cell: &PlannedCell, task: &str) -> String {
        let point = self.vary.as_ref().zip(cell.point);
        point.map_or_else(|| task.to_owned(), |(vary, point)| vary.name(task, point as usize))
    }

    /// Whether titles state the work at this scale; those of older plans state the suite's own counts and sizes.
    pub fn titles_are_scaled(&self) -> bool {
        let Some(cell) = self.cells.first() else { return false };
        let differs = |(name, title): &(String, String)| {
            cell.tasks.iter().any(|task| self.recorded(cell, &task.id) == *name && task.title != *title)
        };
        self.tasks.iter().any(differs)
    }
}
