//! Guests of several computers as one lab: a cell runs on the computer of its side.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use mountmark_model::{Cell, Configuration, Environment, Event, Program, side_of};

use crate::cell_key::CellKey;
use crate::lab::{Ended, OpenLab};

/// Labs that differ in the guests' kernel or machine.
pub struct Several {
    labs: Vec<Box<dyn OpenLab>>,
    /// The label of each side, and its lab.
    sides: Vec<(String, usize)>,
}

impl Several {
    /// The labs, and for each label of a side the position of its lab.
    pub fn new(labs: Vec<Box<dyn OpenLab>>, sides: Vec<(String, usize)>) -> Several {
        Several { labs, sides }
    }

    fn of(&self, cell: &Cell) -> Result<&dyn OpenLab> {
        let name = &cell.configuration.name;
        let side = side_of(self.sides.iter().map(|(label, _)| label.as_str()), name);
        let lab = side.and_then(|(at, _)| self.labs.get(self.sides[at].1));
        lab.map(Box::as_ref).with_context(|| format!("{name} is on no side of its plan"))
    }

    /// The first reason of a lab.
    fn first(&self, reason: impl Fn(&dyn OpenLab) -> Result<Option<String>>) -> Result<Option<String>> {
        for lab in &self.labs {
            if let Some(found) = reason(lab.as_ref())? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl OpenLab for Several {
    fn title(&self) -> String {
        let mut titles: Vec<String> = self.labs.iter().map(|lab| lab.title()).collect();
        titles.dedup();
        titles.join("; ")
    }

    /// What one of them cannot run is compared on none.
    fn unavailable(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.first(|lab| lab.unavailable(configuration))
    }

    fn make_available(&self, configuration: &Configuration) -> Result<Option<String>> {
        self.first(|lab| lab.make_available(configuration))
    }

    fn lacks(&self, program: &Program) -> Result<Option<String>> {
        self.first(|lab| lab.lacks(program))
    }

    fn prepare(&self, cell: &Cell) -> Result<()> {
        self.of(cell)?.prepare(cell)
    }

    fn programs(&self, cell: &Cell) -> Result<Option<Vec<String>>> {
        self.of(cell)?.programs(cell)
    }

    fn run(&self, cell: &Cell, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<Ended> {
        self.of(cell)?.run(cell, stop, on_event)
    }

    fn key(&self, cell: &Cell) -> Result<Option<CellKey>> {
        self.of(cell)?.key(cell)
    }

    fn remarks(&self) -> Vec<String> {
        let mut all: Vec<String> = self.labs.iter().flat_map(|lab| lab.remarks()).collect();
        all.dedup();
        all
    }

    fn environment(&self, cell: &Cell) -> Result<Environment> {
        self.of(cell)?.environment(cell)
    }
}
