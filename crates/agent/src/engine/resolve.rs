//! A phase with all its quantities as numbers.

use std::collections::BTreeMap;

use mountmark_model::Quantity;
use mountmark_model::workload::{
    Data, Engine, FileSet, NameOrder, OpenSync, Operation, Pattern, Phase, Run, Sizes, Workload,
};
use serde::{Deserialize, Serialize};

use super::error::EngineError;
use super::refuse::{refuse, refuse_groups};

/// Limit of a block in bytes: each thread has `queue_depth` buffers of one block.
const LARGEST_BLOCK: u64 = 1 << 30;
const MOST_THREADS: u64 = 1024;
const DEEPEST_QUEUE: u64 = 4096;
/// Limit of a set's files: tables hold file numbers in 32 bits.
const MOST_FILES: u64 = 1 << 31;

/// A phase in numbers: everything a worker needs, without further look-ups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    pub(super) name: String,
    /// Operations and weights in the order of [`Operation::ALL`], weights above 0.
    pub(super) mix: Vec<(Operation, u32)>,
    pub(super) files: Files,
    pub(super) engine: Engine,
    pub(super) block: u64,
    pub(super) pattern: Pattern,
    pub(super) threads: u32,
    pub(super) processes: bool,
    pub(super) shared: bool,
    pub(super) depth: u32,
    pub(super) direct: bool,
    pub(super) sync: Syncs,
    /// Operations a second of all threads together; 0: unlimited.
    pub(super) rate: u64,
    pub(super) end: End,
    /// Nanoseconds.
    pub(super) warm_up: u64,
    pub(super) verify: bool,
    pub(super) data: Data,
    pub(super) latency: bool,
    pub(super) cold: bool,
    pub(super) fresh: bool,
    /// Whether it runs together with the previous phase.
    pub(super) beside: bool,
    pub(super) setup: bool,
    pub(super) target: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Files {
    pub(super) folder: String,
    pub(super) count: u64,
    pub(super) directories: u64,
    pub(super) sizes: SizeLaw,
    pub(super) prefix: String,
    pub(super) random_names: bool,
    pub(super) existing: bool,
}

/// File sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum SizeLaw {
    Fixed(u64),
    Uniform { min: u64, max: u64 },
    Lognormal { mu: f64, sigma: f64, min: u64, max: u64 },
    Gamma { mean: u64, shape: f64, max: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Syncs {
    /// 0: never.
    pub(super) every: u64,
    pub(super) end: bool,
    pub(super) data_only: bool,
    pub(super) all_files: bool,
    pub(super) all_operations: bool,
    pub(super) open: OpenSync,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum End {
    Passes(u64),
    Operations(u64),
    /// Nanoseconds.
    Time(u64),
    /// Until the phases that it runs beside have ended.
    Beside,
}

impl Work {
    pub(super) fn has(&self, wanted: impl Fn(Operation) -> bool) -> bool {
        self.mix.iter().any(|(operation, _)| wanted(*operation))
    }

    /// Whether operations write data to the set, which then needs room on the file system.
    pub(super) fn writes(&self) -> bool {
        self.has(|operation| {
            matches!(
                operation,
                Operation::Write
                    | Operation::Rewrite
                    | Operation::Fallocate
                    | Operation::WriteFile
                    | Operation::AppendFile
                    | Operation::CopyFile
            )
        })
    }

    /// Whether operations work on blocks of files that stay open.
    pub(super) fn on_blocks(&self) -> bool {
        self.has(Operation::works_on_blocks)
    }

    /// Whether files are open while data is written or shared, so that they can be synced.
    pub(super) fn can_sync(&self) -> bool {
        let whole = |o| {
            matches!(o, Operation::WriteFile | Operation::AppendFile | Operation::CopyFile | Operation::ReflinkFile)
        };
        self.on_blocks() || self.has(whole)
    }

    /// Whether some operations create what others remove, so that the existing files change all the time.
    pub(super) fn changes_population(&self) -> bool {
        let makes = self.has(|o| matches!(o, Operation::Create | Operation::WriteFile));
        let makes_directories = self.has(|o| o == Operation::Mkdir);
        (makes && self.has(|o| o == Operation::Unlink)) || (makes_directories && self.has(|o| o == Operation::Rmdir))
    }
}

/// All phases in numbers.
///
/// # Errors
/// The first field without a value or in contradiction to another, by phase and name.
pub(super) fn resolve(workload: &Workload, parameters: &BTreeMap<String, u64>) -> Result<Vec<Work>, EngineError> {
    if workload.phases.is_empty() {
        return Err(EngineError::Workload("the workload has no phase: add [[workload.phases]]".to_owned()));
    }
    let mut works: Vec<Work> = Vec::new();
    for phase in &workload.phases {
        if works.iter().any(|work| work.name == phase.name) {
            let reason = "the name is used twice; give each phase its own";
            return Err(EngineError::phase(&phase.name, reason));
        }
        let work = numbers(phase, phase.files.as_ref().unwrap_or(&workload.files), parameters)?;
        refuse(&work).map_err(|reason| EngineError::phase(&phase.name, reason))?;
        works.push(work);
    }
    refuse_groups(&works)?;
    Ok(works)
}

fn numbers(phase: &Phase, files: &FileSet, parameters: &BTreeMap<String, u64>) -> Result<Work, EngineError> {
    let value = |field: &'static str, quantity: &Quantity| {
        quantity.value(parameters).map_err(|error| EngineError::Quantity { phase: phase.name.clone(), field, error })
    };
    let within = |field: &'static str, quantity: &Quantity, most: u64| match value(field, quantity)? {
        number if (1..=most).contains(&number) => Ok(number),
        number => Err(EngineError::phase(&phase.name, format!("{field} is {number}, must be 1 to {most}"))),
    };
    let seconds = |field: &'static str, seconds: f64| match seconds {
        seconds if (0.0..=1e9).contains(&seconds) => Ok((seconds * 1e9) as u64),
        _ => Err(EngineError::phase(&phase.name, format!("{field} is {seconds}, must be 0 to 10^9"))),
    };
    let law = match &files.sizes {
        None => SizeLaw::Fixed(value("files.size", &files.size)?),
        Some(Sizes::Uniform { min, max }) => {
            SizeLaw::Uniform { min: value("files.sizes.min", min)?, max: value("files.sizes.max", max)? }
        }
        Some(Sizes::Lognormal { mu, sigma, min, max }) => {
            SizeLaw::Lognormal { mu: *mu, sigma: *sigma, min: min.0, max: max.0 }
        }
        Some(Sizes::Gamma { mean, shape, max }) => SizeLaw::Gamma {
            mean: value("files.sizes.mean", mean)?,
            shape: *shape,
            max: value("files.sizes.max", max)?,
        },
    };
    Ok(Work {
        name: phase.name.clone(),
        mix: phase.what.0.iter().map(|(operation, weight)| (*operation, *weight)).filter(|(_, w)| *w > 0).collect(),
        files: Files {
            folder: files.folder.clone(),
            count: within("files.count", &files.count, MOST_FILES)?,
            directories: value("files.directories", &files.directories)?,
            sizes: law,
            prefix: files.prefix.clone(),
            random_names: files.names == NameOrder::Random,
            existing: files.existing,
        },
        engine: phase.engine,
        block: within("block", &phase.block, LARGEST_BLOCK)?,
        pattern: phase.pattern,
        threads: within("threads", &phase.threads, MOST_THREADS)? as u32,
        processes: phase.processes,
        shared: phase.shared,
        depth: within("queue_depth", &phase.queue_depth, DEEPEST_QUEUE)? as u32,
        direct: phase.direct,
        sync: Syncs {
            every: value("sync.every", &phase.sync.every)?,
            end: phase.sync.end,
            data_only: phase.sync.data_only,
            all_files: phase.sync.all_files,
            all_operations: phase.sync.all_operations,
            open: phase.sync.open,
        },
        rate: phase.rate.as_ref().map_or(Ok(0), |rate| within("rate", rate, 1_000_000_000))?,
        end: match &phase.run {
            Run::Once => End::Passes(1),
            Run::Passes(passes) => End::Passes(within("run.passes", passes, u64::MAX)?),
            Run::Operations(count) => End::Operations(within("run.operations", count, u64::MAX)?),
            Run::Seconds(length) if *length > 0.0 => End::Time(seconds("run.seconds", *length)?),
            Run::Seconds(length) => {
                return Err(EngineError::phase(&phase.name, format!("run.seconds is {length}, must be above 0")));
            }
            Run::Beside => End::Beside,
        },
        warm_up: seconds("warm_up", phase.warm_up)?,
        verify: phase.verify,
        data: phase.data,
        latency: phase.latency,
        cold: phase.cold,
        fresh: phase.fresh,
        beside: phase.beside,
        setup: phase.setup,
        target: phase.target.clone(),
    })
}
