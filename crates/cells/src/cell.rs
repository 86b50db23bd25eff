//! A cell whose parts may be those of others too.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use mountmark_model::{Age, Bytes, Cell, Conditions, Configuration, Disk, Fill, SourceMedium, TaskRoot};
use serde::{Deserialize, Serialize};

use crate::{Pool, Tasks};

/// What the cells of a configuration have alike in all repeats. The fields are those of [`Cell`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alike {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_mounted: bool,
    pub configuration: Configuration,
    pub disk: Disk,
    pub disk_size: Bytes,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_loop: bool,
    pub source_prepare: Option<String>,
    pub ram: Bytes,
    pub parameters: BTreeMap<String, u64>,
    pub pause_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<Age>,
    pub tools: Vec<String>,
    pub packages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whole_packages: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<TaskRoot>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
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

impl PlannedCell {
    /// The cell with everything that an agent needs.
    pub fn whole(&self) -> Cell {
        let Alike {
            is_mounted,
            configuration,
            disk,
            disk_size,
            on_loop,
            source_prepare,
            ram,
            parameters,
            pause_seconds,
            age,
            tools,
            packages,
            whole_packages,
            root,
            modules,
        } = Alike::clone(&self.alike);
        Cell {
            index: self.index,
            repeat: self.repeat,
            point: self.point,
            target: self.target,
            is_mounted,
            configuration,
            seed: self.seed,
            disk,
            disk_size,
            on_loop,
            second_disk: self.second_disk.as_deref().cloned(),
            source_prepare,
            ram,
            parameters,
            pause_seconds,
            conditions: self.conditions.as_deref().cloned(),
            fill: self.fill.as_deref().cloned(),
            age,
            tasks: self.tasks.to_vec(),
            tools,
            packages,
            whole_packages,
            root,
            modules,
        }
    }
}

impl From<Cell> for PlannedCell {
    fn from(cell: Cell) -> PlannedCell {
        Pool::default().cell(cell)
    }
}

impl Alike {
    /// What of a cell is alike in all repeats, and the rest.
    pub(crate) fn split(cell: Cell) -> (Alike, Rest) {
        let Cell { index, repeat, point, target, seed, second_disk, conditions, fill, tasks, .. } = cell;
        let alike = Alike {
            is_mounted: cell.is_mounted,
            configuration: cell.configuration,
            disk: cell.disk,
            disk_size: cell.disk_size,
            on_loop: cell.on_loop,
            source_prepare: cell.source_prepare,
            ram: cell.ram,
            parameters: cell.parameters,
            pause_seconds: cell.pause_seconds,
            age: cell.age,
            tools: cell.tools,
            packages: cell.packages,
            whole_packages: cell.whole_packages,
            root: cell.root,
            modules: cell.modules,
        };
        (alike, Rest { index, repeat, point, target, seed, second_disk, conditions, fill, tasks })
    }
}

/// A cell without [`Alike`].
pub(crate) struct Rest {
    pub index: u32,
    pub repeat: u32,
    pub point: Option<u32>,
    pub target: Option<u32>,
    pub seed: u64,
    pub second_disk: Option<SourceMedium>,
    pub conditions: Option<Conditions>,
    pub fill: Option<Fill>,
    pub tasks: Vec<mountmark_model::Task>,
}
