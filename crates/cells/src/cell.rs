//! A cell whose parts may be those of others too.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use mountmark_model::{Age, Bytes, Cell, Conditions, Configuration, Disk, Fill, SourceMedium, TaskRoot};
use serde::{Deserialize, Serialize};

use crate::{Pool, Tasks};

macro_rules! alike {
    ($($(#[$stored:meta])* $field:ident: $type:ty,)*) => {
        /// What the cells of a configuration have alike in all repeats. The fields are those of [`Cell`].
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Alike {
            $($(#[$stored])* pub $field: $type,)*
        }

        impl PlannedCell {
            /// The cell with everything that an agent needs.
            pub fn whole(&self) -> Cell {
                let Alike { $($field),* } = Alike::clone(&self.alike);
                Cell {
                    index: self.index,
                    repeat: self.repeat,
                    point: self.point,
                    target: self.target,
                    seed: self.seed,
                    second_disk: self.second_disk.as_deref().cloned(),
                    conditions: self.conditions.as_deref().cloned(),
                    fill: self.fill.as_deref().cloned(),
                    tasks: self.tasks.to_vec(),
                    $($field),*
                }
            }
        }

        impl Pool {
            /// The cell with what earlier ones have.
            pub fn cell(&mut self, cell: Cell) -> PlannedCell {
                let Cell { index, repeat, point, target, seed, second_disk, conditions, fill, tasks, $($field),* } = cell;
                let alike = Alike { $($field),* };
                PlannedCell {
                    index,
                    repeat,
                    point,
                    target,
                    seed,
                    second_disk: second_disk.map(|medium| self.media.get((), medium)),
                    conditions: conditions.map(|conditions| self.conditions.get((), conditions)),
                    fill: fill.map(|fill| self.fills.get((), fill)),
                    tasks: self.tasks(tasks),
                    alike: self.alike.get((alike.configuration.name.clone(), point), alike),
                }
            }
        }
    };
}

alike! {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_mounted: bool,
    configuration: Configuration,
    disk: Disk,
    disk_size: Bytes,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    on_loop: bool,
    source_prepare: Option<String>,
    ram: Bytes,
    parameters: BTreeMap<String, u64>,
    pause_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    age: Option<Age>,
    tools: Vec<String>,
    packages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    whole_packages: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<TaskRoot>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    modules: Vec<String>,
}

/// A [`Cell`] in a plan: it has the fields of one, by itself or of [`Alike`], and is made one by [`PlannedCell::whole`].
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCell {
    pub index: u32,
    pub repeat: u32,
    pub point: Option<u32>,
    pub target: Option<u32>,
    pub seed: u64,
    pub second_disk: Option<Arc<SourceMedium>>,
    pub conditions: Option<Arc<Conditions>>,
    pub fill: Option<Arc<Fill>>,
    pub tasks: Tasks,
    pub alike: Arc<Alike>,
}

impl Deref for PlannedCell {
    type Target = Alike;

    fn deref(&self) -> &Alike {
        &self.alike
    }
}

impl From<Cell> for PlannedCell {
    fn from(cell: Cell) -> PlannedCell {
        Pool::default().cell(cell)
    }
}
