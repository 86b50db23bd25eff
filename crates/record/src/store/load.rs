//! Reads runs: lists, and whole runs with their samples.

use std::collections::BTreeMap;

use std::sync::Arc;

use mountmark_cells::{Known, Plan};
use mountmark_model::profile::TaskProfile;
use mountmark_model::{Bytes, Environment};
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior};

use super::row::{ProcessView, number, outcome, repeat, run_id};
use super::{Store, devices, outputs, there};
use crate::error::StoreError;
use crate::samples::Reader;
use crate::{
    CellEnvironment, CellRecord, CellWork, DeviceUse, DeviceUses, Output, OutputKind, RunId, RunRecord, RunSummary,
    Samples, TaskOutcome, Timestamp,
};
use crate::{profiles, work};

impl Store {
    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let witness = ProcessView::of(&self.path);
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT id, started, ended, number, status, process, program, command_line, suite, lab, machine, kernel, scale,
                     seed, repeats, configurations, planned,
                     (SELECT count(*) FROM cell WHERE cell.run = run.number),
                     (SELECT count(*) FROM cell WHERE cell.run = run.number AND (outcome = 'failed' OR EXISTS (
                         SELECT 1 FROM task_outcome WHERE cell = cell.id AND outcome = 'failed'))),
                     CASE WHEN json_valid(plan) THEN plan -> '$.vary' END
                 FROM run ORDER BY started, number",
            )
            .map_err(|source| self.error(source))?;
        let mut rows = statement.query([]).map_err(|source| self.error(source))?;
        let mut runs = Vec::new();
        while let Some(row) = rows.next().map_err(|source| self.error(source))? {
            let get = || -> rusqlite::Result<_> {
                let id = run_id(row, 0)?;
                let (configurations, vary): (String, Option<String>) = (row.get(15)?, row.get(19)?);
                let summary = RunSummary {
                    id,
                    started: Timestamp(row.get(1)?),
                    ended: row.get::<_, Option<i64>>(2)?.map(Timestamp),
                    status: witness.status(row, 3)?.0,
                    program: row.get(6)?,
                    command_line: row.get(7)?,
                    suite: row.get(8)?,
                    lab: row.get(9)?,
                    machine: row.get(10)?,
                    kernel: row.get(11)?,
                    scale: row.get(12)?,
                    vary: None,
                    seed: number(row, 13)?,
                    repeats: row.get(14)?,
                    configurations: Vec::new(),
                    planned: row.get(16)?,
                    recorded: row.get(17)?,
                    failed: row.get(18)?,
                };
                Ok((summary, configurations, vary))
            };
            let (mut summary, configurations, vary) = get().map_err(|source| self.error(source))?;
            summary.configurations = parse("list of configurations", &summary.id, &configurations)?;
            summary.vary = vary.map_or(Ok(None), |vary| parse("varied parameter", &summary.id, &vary))?;
            runs.push(summary);
        }
        Ok(runs)
    }

    /// Outputs of programs and of the engine in the cells of a run, in the plan's order; of all tasks, or only of
    /// `task`. Runs recorded by an older program have none.
    pub fn outputs(&self, run: &RunId, task: Option<&str>) -> Result<Vec<Output>, StoreError> {
        let number = self.run_number(run)?;
        outputs::load(&self.connection, number, task, None, None).map_err(|source| self.error(source))
    }

    /// The engine's results in the cells of one repeat, from 0, in the plan's order: JSON documents.
    pub fn results(&self, run: &RunId, repeat: u32) -> Result<Vec<Output>, StoreError> {
        let number = self.run_number(run)?;
        outputs::load(&self.connection, number, None, Some(OutputKind::Result), Some(repeat))
            .map_err(|source| self.error(source))
    }

    /// Device records selected by `wanted`, in the plan's order. Runs recorded by an older program have none.
    pub fn devices(&self, run: &RunId, wanted: &DeviceUses) -> Result<Vec<DeviceUse>, StoreError> {
        let number = self.run_number(run)?;
        let found = devices::load(&self.connection, number, wanted).map_err(|source| self.error(source))?;
        let unreadable = |source| StoreError::Unreadable { what: "record of a device", run: run.clone(), source };
        found.into_iter().map(|found| found.map_err(unreadable)).collect()
    }

    /// Where the time of some tasks of a cell went, by its index in the plan; empty if it ran without the profiler.
    pub fn profiles(
        &self,
        run: &RunId,
        cell: u32,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<TaskProfile>, StoreError> {
        let number = self.run_number(run)?;
        if !there(&self.connection, "profile").map_err(|source| self.error(source))? {
            return Ok(Vec::new());
        }
        let sql = "SELECT record FROM cell JOIN profile ON cell = cell.id WHERE run = ?1 AND position = ?2";
        let packed = self.connection.query_row(sql, [number, i64::from(cell)], |row| row.get::<_, Vec<u8>>(0));
        match packed.optional().map_err(|source| self.error(source))? {
            None => Ok(Vec::new()),
            Some(packed) => profiles::unpack(&packed, wanted).map_err(|source| StoreError::Unreadable {
                what: "profile of a cell",
                run: run.clone(),
                source,
            }),
        }
    }

    /// What the tasks of a run did, by class of work, for each cell that ran with the profiler, in the plan's order.
    pub fn work(&self, run: &RunId) -> Result<Vec<CellWork>, StoreError> {
        let number = self.run_number(run)?;
        if !there(&self.connection, "profile").map_err(|source| self.error(source))? {
            return Ok(Vec::new());
        }
        let sql = "SELECT position, record FROM cell JOIN profile ON cell = cell.id WHERE run = ?1 ORDER BY position";
        let mut statement = self.connection.prepare_cached(sql).map_err(|source| self.error(source))?;
        let rows = statement.query_map([number], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?)));
        let of_cell = |row: rusqlite::Result<(u32, Vec<u8>)>| {
            let (cell, packed) = row.map_err(|source| self.error(source))?;
            let unreadable = |source| StoreError::Unreadable { what: "profile of a cell", run: run.clone(), source };
            Ok(CellWork { cell, tasks: work::work(&packed).map_err(unreadable)? })
        };
        rows.map_err(|source| self.error(source))?.map(of_cell).collect()
    }

    /// What the profiles of a run take in the store.
    pub fn profile_size(&self, run: &RunId) -> Result<Bytes, StoreError> {
        let number = self.run_number(run)?;
        if !there(&self.connection, "profile").map_err(|source| self.error(source))? {
            return Ok(Bytes(0));
        }
        let sql = "SELECT total(length(record)) FROM cell JOIN profile ON cell = cell.id WHERE run = ?1";
        let size: f64 =
            self.connection.query_row(sql, [number], |row| row.get(0)).map_err(|source| self.error(source))?;
        Ok(Bytes(size as u64))
    }

    /// A run with all its cells and samples.
    pub fn load(&self, run: &RunId) -> Result<RunRecord, StoreError> {
        // One transaction, to read the store at one moment while others write.
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)
            .map_err(|source| self.error(source))?;
        let number = self.run_number(run)?;
        let mut cells = self.load_cells(run, number)?;
        self.load_rows(number, &mut cells)?;
        let witness = ProcessView::of(&self.path);
        let (started, ended, status, program, command_line, plan, environment) = self
            .connection
            .query_row(
                "SELECT started, ended, number, status, process, program, command_line, plan, environment
                 FROM run WHERE number = ?1",
                [number],
                |row| {
                    Ok((
                        Timestamp(row.get(0)?),
                        row.get::<_, Option<i64>>(1)?.map(Timestamp),
                        witness.status(row, 2)?.0,
                        row.get(5)?,
                        row.get(6)?,
                        row.get::<_, String>(7)?,
                        row.get::<_, String>(8)?,
                    ))
                },
            )
            .map_err(|source| self.error(source))?;
        drop(transaction);
        let unreadable = |source| StoreError::Unreadable { what: "plan", run: run.clone(), source };
        let plan = Plan::from_stored(&plan).map_err(unreadable)?;
        if let Some(reason) = Plan::too_large(plan.tasks.len(), plan.configurations.len()) {
            return Err(StoreError::Damaged { path: self.path.clone(), reason: format!("run {run}: {reason}") });
        }
        Ok(RunRecord {
            id: run.clone(),
            started,
            ended,
            status,
            program,
            command_line,
            plan,
            environment: parse_environment("environment", run, &environment)?,
            cells: cells.into_iter().map(|(_, cell)| cell).collect(),
            side: None,
        })
    }

    /// Adds outcomes, notes and samples to the cells of a run.
    fn load_rows(&self, number: i64, cells: &mut [(i64, CellRecord)]) -> Result<(), StoreError> {
        let position: BTreeMap<i64, usize> = cells.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        // A corrupt index may refer to cells that the table lacks.
        let place = |row: &Row<'_>| -> rusqlite::Result<usize> {
            let cell: i64 = row.get(0)?;
            position.get(&cell).copied().ok_or(rusqlite::Error::IntegralValueOutOfRange(0, cell))
        };
        self.each(
            "SELECT cell, task, task_outcome.outcome, task_outcome.reason, task_outcome.detail
             FROM cell JOIN task_outcome ON cell = cell.id WHERE run = ?1 ORDER BY cell.position, task_outcome.position",
            number,
            |row| {
                let ended = TaskOutcome { task: row.get(1)?, outcome: outcome(row, 2)? };
                let at = place(row)?;
                // Cells mostly have as many as the one before.
                let expected = at.checked_sub(1).map_or(0, |before| cells[before].1.outcomes.len());
                let outcomes = &mut cells[at].1.outcomes;
                if outcomes.is_empty() {
                    outcomes.reserve_exact(expected);
                }
                outcomes.push(ended);
                Ok(())
            },
        )?;
        self.each(
            "SELECT cell, text FROM cell JOIN note ON cell = cell.id WHERE run = ?1 ORDER BY cell.position, note.position",
            number,
            |row| {
                cells[place(row)?].1.notes.push(row.get(1)?);
                Ok(())
            },
        )?;
        let (mut samples, mut last) = (Reader::default(), None);
        self.each(
            "SELECT cell, task, iteration, metric, value
             FROM cell JOIN sample ON cell = cell.id WHERE run = ?1 ORDER BY cell.position, sample.position",
            number,
            |row| {
                let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
                let at = place(row)?;
                if let Some(before) = last.replace(at).filter(|before| *before != at) {
                    cells[before].1.samples = samples.end();
                }
                samples.push((text(1)?, row.get(2)?, text(3)?), row.get(4)?);
                Ok(())
            },
        )?;
        if let Some(last) = last {
            cells[last].1.samples = samples.end();
        }
        Ok(())
    }

    fn load_cells(&self, run: &RunId, number: i64) -> Result<Vec<(i64, CellRecord)>, StoreError> {
        let (mut environments, mut corpora) = (Known::default(), Known::default());
        let mut fault = None;
        let mut parsed = |configuration: &str, environment: &str, corpus: Option<&str>| {
            let whole = parse_environment("environment of a cell", run, environment)?;
            let CellEnvironment { key, taken, alike } = whole.into();
            let alike = environments.get(configuration.to_owned(), Arc::unwrap_or_clone(alike));
            let corpus = corpus.map(|corpus| parse("corpus of a cell", run, corpus)).transpose()?;
            Ok((CellEnvironment { key, taken, alike }, corpus.map(|corpus| corpora.get((), corpus))))
        };
        let cells = self.rows(
            "SELECT id, position, repeat, configuration, seed, disk, disk_size, started, ended, outcome, reason,
                 detail, log, environment, corpus
             FROM cell WHERE run = ?1 ORDER BY position",
            number,
            |row| {
                let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
                let corpus = row.get_ref(14)?.as_str_or_null()?;
                let (environment, corpus) = parsed(text(3)?, text(13)?, corpus).unwrap_or_else(|error| {
                    fault.get_or_insert(error);
                    Default::default()
                });
                let cell = CellRecord {
                    index: row.get(1)?,
                    repeat: repeat(row, 2)?,
                    configuration: row.get(3)?,
                    seed: self::number(row, 4)?,
                    disk: row.get(5)?,
                    disk_size: Bytes(row.get::<_, i64>(6)?.unsigned_abs()),
                    started: Timestamp(row.get(7)?),
                    ended: Timestamp(row.get(8)?),
                    outcome: outcome(row, 9)?,
                    environment,
                    corpus,
                    outcomes: Vec::new(),
                    samples: Samples::default(),
                    notes: Vec::new(),
                    log: row.get(12)?,
                };
                Ok((row.get(0)?, cell))
            },
        )?;
        fault.map_or(Ok(cells), Err)
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        parameter: i64,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut out = Vec::new();
        self.each(sql, parameter, |row| {
            out.push(read(row)?);
            Ok(())
        })?;
        Ok(out)
    }

    fn each(
        &self,
        sql: &str,
        parameter: i64,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut all = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([parameter])?;
            while let Some(row) = rows.next()? {
                read(row)?;
            }
            Ok(())
        };
        all().map_err(|source| self.error(source))
    }
}

fn parse<T: serde::de::DeserializeOwned>(what: &'static str, run: &RunId, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Unreadable { what, run: run.clone(), source })
}

/// An environment; older programs wrote release and build of a cell's kernel into one field.
fn parse_environment(what: &'static str, run: &RunId, text: &str) -> Result<Environment, StoreError> {
    let mut environment: Environment = parse(what, run, text)?;
    let kernel = environment.kernel.clone();
    if kernel.contains(' ') {
        environment.name_kernel(&kernel);
    }
    Ok(environment)
}
