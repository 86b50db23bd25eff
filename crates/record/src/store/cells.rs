//! Writes a cell that has ended.

use std::collections::HashSet;

use mountmark_model::Outcome;
use rusqlite::{OptionalExtension, params};

use super::{Store, devices, json, outputs};
use crate::error::StoreError;
use crate::{CellRecord, DeviceUse, Output, Profiles, RunId, SampleRef, Samples, TaskOutcome};

/// A cell that has ended, with what is kept of it beside its figures.
#[derive(Clone, Copy, Debug)]
pub struct CellToRecord<'a> {
    pub cell: &'a CellRecord,
    pub outputs: &'a [Output],
    pub devices: &'a [DeviceUse],
    pub profiles: Option<&'a Profiles>,
}

impl Store {
    /// Stores cells that have ended, all or none: when this returns they survive a power failure, and if it does not
    /// return nothing of them is in the store.
    pub fn record_cells(&self, run: &RunId, cells: &[CellToRecord]) -> Result<(), StoreError> {
        let mut checked = Vec::new();
        cells.iter().try_for_each(|one| check_samples(one.cell, &mut checked))?;
        let transaction = self.write()?;
        let number = self.own_run(run)?;
        let mut packing = devices::Packing::default();
        for CellToRecord { cell, outputs, devices, profiles } in cells {
            let id = self.insert_cell(run, number, cell)?;
            outputs::insert(&self.connection, id, outputs).map_err(|source| self.error(source))?;
            packing.insert(&self.connection, id, devices).map_err(|source| self.error(source))?;
            if let Some(profiles) = profiles {
                self.execute("INSERT INTO profile VALUES (?1, ?2)", params![id, profiles.bytes()])?;
            }
        }
        self.commit(transaction)
    }

    /// The inserts of one cell, inside the transaction of [`Store::record_cells`]; returns the cell's id.
    pub(super) fn insert_cell(&self, run: &RunId, number: i64, cell: &CellRecord) -> Result<i64, StoreError> {
        let taken: Option<i64> = self
            .connection
            .prepare_cached("SELECT id FROM cell WHERE run = ?1 AND position = ?2")
            .and_then(|mut statement| statement.query_row(params![number, cell.index], |row| row.get(0)).optional())
            .map_err(|source| self.error(source))?;
        if taken.is_some() {
            return Err(StoreError::CellExists { run: run.clone(), index: cell.index });
        }
        let disk_size = i64::try_from(cell.disk_size.0)
            .map_err(|_| StoreError::TooLarge { what: "the disk's size", value: cell.disk_size.0 })?;
        let insert = || -> rusqlite::Result<i64> {
            self.connection
                .prepare_cached(
                    "INSERT INTO cell (run, position, repeat, configuration, seed, disk, disk_size, started, ended,
                         outcome, reason, detail, environment, corpus, log)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                )?
                .execute(params![
                    number,
                    cell.index,
                    cell.repeat,
                    cell.configuration,
                    cell.seed.to_string(),
                    cell.disk,
                    disk_size,
                    cell.started.0,
                    cell.ended.0,
                    cell.outcome.word(),
                    cell.outcome.reason(),
                    detail(&cell.outcome),
                    json(&cell.environment),
                    cell.corpus.as_deref().map(json),
                    cell.log,
                ])?;
            let id = self.connection.last_insert_rowid();
            self.insert_measured(id, cell)?;
            Ok(id)
        };
        insert().map_err(|source| self.error(source))
    }

    /// The outcomes, notes and samples of the cell with this id.
    fn insert_measured(&self, id: i64, cell: &CellRecord) -> rusqlite::Result<()> {
        let mut statement =
            self.connection.prepare_cached("INSERT INTO task_outcome VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for (position, TaskOutcome { task, outcome }) in (0_i64..).zip(&cell.outcomes) {
            statement.execute(params![id, position, task, outcome.word(), outcome.reason(), detail(outcome)])?;
        }
        let mut statement = self.connection.prepare_cached("INSERT INTO note VALUES (?1, ?2, ?3)")?;
        for (position, text) in (0_i64..).zip(&cell.notes) {
            statement.execute(params![id, position, text])?;
        }
        let mut statement = self.connection.prepare_cached("INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        let mut last = None;
        // There may be millions: what is as in the last one is not bound again.
        statement.raw_bind_parameter(1, id)?;
        for (position, SampleRef { task, iteration, metric, value }) in (0_i64..).zip(&cell.samples) {
            if last != Some((task, iteration)) {
                statement.raw_bind_parameter(3, task)?;
                statement.raw_bind_parameter(4, iteration)?;
                last = Some((task, iteration));
            }
            statement.raw_bind_parameter(2, position)?;
            statement.raw_bind_parameter(5, metric)?;
            statement.raw_bind_parameter(6, value)?;
            statement.raw_execute()?;
        }
        Ok(())
    }
}

/// What a failure was like beside its reason.
fn detail(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { detail, .. } => Some(detail),
        _ => None,
    }
}

/// Rejects samples that would corrupt figures computed from them. `distinct` are those that have no figure twice.
fn check_samples<'a>(cell: &'a CellRecord, distinct: &mut Vec<&'a Samples>) -> Result<(), StoreError> {
    let samples = &cell.samples;
    if let Some(SampleRef { task, iteration, metric, value }) = samples.iter().find(|sample| !sample.value.is_finite())
    {
        let (task, metric) = (task.to_owned(), metric.to_owned());
        return Err(StoreError::NotFinite { index: cell.index, task, iteration, metric, value });
    }
    if distinct.iter().any(|known| known.is_like(samples)) {
        return Ok(());
    }
    let mut seen = HashSet::with_capacity(samples.len());
    for SampleRef { task, iteration, metric, .. } in samples {
        if !seen.insert((task, iteration, metric)) {
            let (task, metric) = (task.to_owned(), metric.to_owned());
            return Err(StoreError::DuplicateSample { index: cell.index, task, iteration, metric });
        }
    }
    distinct.push(samples);
    Ok(())
}
