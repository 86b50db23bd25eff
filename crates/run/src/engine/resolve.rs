//! A phase with all its quantities worked out, and refused where it asks for what cannot be.

use std::collections::BTreeMap;

use mountmark_model::workload::{
    Data, Engine, FileSet, NameOrder, OpenSync, Operation, Pattern, Phase, Run, Sizes, Workload,
};
use mountmark_model::{Quantity, format_bytes};
use serde::{Deserialize, Serialize};

use super::error::EngineError;
use super::tags::UNIT;

/// The largest block: buffers are `queue_depth` of them in each thread.
const LARGEST_BLOCK: u64 = 1 << 30;
const MOST_THREADS: u64 = 1024;
const DEEPEST_QUEUE: u64 = 4096;
/// Tables hold file numbers in 32 bits.
const MOST_FILES: u64 = 1 << 31;

/// A phase in numbers: what a worker must know, and nothing that it must look up.
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
    /// Operations a second of all threads together; 0: no limit.
    pub(super) rate: u64,
    pub(super) end: End,
    /// Nanoseconds.
    pub(super) warm_up: u64,
    pub(super) verify: bool,
    pub(super) data: Data,
    pub(super) latency: bool,
    pub(super) cold: bool,
    pub(super) setup: bool,
    pub(super) target: String,
}

/// A file set in numbers.
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

/// How large files are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum SizeLaw {
    Fixed(u64),
    Uniform { min: u64, max: u64 },
    Lognormal { mu: f64, sigma: f64, min: u64, max: u64 },
    Gamma { mean: u64, shape: f64, max: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Syncs {
    /// 0: not.
    pub(super) every: u64,
    pub(super) end: bool,
    pub(super) data_only: bool,
    pub(super) all_files: bool,
    pub(super) open: OpenSync,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum End {
    Passes(u64),
    Operations(u64),
    /// Nanoseconds.
    Time(u64),
}

impl Work {
    pub(super) fn has(&self, wanted: impl Fn(Operation) -> bool) -> bool {
        self.mix.iter().any(|(operation, _)| wanted(*operation))
    }

    /// Whether data is written to files of the set, so that they need room.
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

    /// Whether files are open all the time, and blocks of them are worked on.
    pub(super) fn on_blocks(&self) -> bool {
        self.has(Operation::works_on_blocks)
    }

    /// Whether some operations make what others remove, so that which files there are changes all the time.
    pub(super) fn changes_population(&self) -> bool {
        let makes = self.has(|o| matches!(o, Operation::Create | Operation::WriteFile));
        let makes_directories = self.has(|o| o == Operation::Mkdir);
        (makes && self.has(|o| o == Operation::Unlink)) || (makes_directories && self.has(|o| o == Operation::Rmdir))
    }
}

/// All phases in numbers.
///
/// # Errors
/// The first field that has no value or contradicts another, by phase and name.
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
    Ok(works)
}

fn numbers(phase: &Phase, files: &FileSet, parameters: &BTreeMap<String, u64>) -> Result<Work, EngineError> {
    let value = |field: &'static str, quantity: &Quantity| {
        quantity.value(parameters).map_err(|source| EngineError::Quantity { phase: phase.name.clone(), field, source })
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
        },
        warm_up: seconds("warm_up", phase.warm_up)?,
        verify: phase.verify,
        data: phase.data,
        latency: phase.latency,
        cold: phase.cold,
        setup: phase.setup,
        target: phase.target.clone(),
    })
}

/// The sentence for a phase that contradicts itself.
fn refuse(work: &Work) -> Result<(), String> {
    let fail = |reason: &str| Err(reason.to_owned());
    let files = &work.files;
    if work.mix.is_empty() {
        return fail("nothing is asked for: give at least one operation a weight above 0");
    }
    if work.mix.iter().map(|(_, weight)| u64::from(*weight)).sum::<u64>() > 1_000_000 {
        return fail("the weights add up to more than 1,000,000; divide them all by the same number");
    }
    let plain = |text: &str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let folder_is_inside = files.folder.split('/').all(|part| !part.is_empty() && part != "..");
    if files.folder.len() > 1024 || !folder_is_inside || files.folder.contains('\0') {
        return Err(format!("the folder {:?} must be a path below the workload's own, without \"..\"", files.folder));
    }
    if !plain(&files.prefix) || !plain(&work.target) {
        return fail("prefix and target must be 1 to 64 letters, digits or any of . _ -");
    }
    let makes_names = |o| {
        matches!(
            o,
            Operation::Rename | Operation::Link | Operation::Symlink | Operation::CopyFile | Operation::ReflinkFile
        )
    };
    if work.has(makes_names) && work.target == files.prefix {
        return fail("target and the files' prefix are the same, so new names would be the old ones");
    }
    match files.sizes {
        SizeLaw::Uniform { min, max } | SizeLaw::Lognormal { min, max, .. } if min > max => {
            return Err(format!("files.sizes: min {} is above max {}", format_bytes(min), format_bytes(max)));
        }
        SizeLaw::Lognormal { mu, sigma, .. } if !(mu.abs() <= 60.0 && (0.0..=20.0).contains(&sigma)) => {
            return fail("files.sizes: mu must be -60 to 60 and sigma 0 to 20");
        }
        SizeLaw::Gamma { shape, mean, .. } if !(0.1..=100.0).contains(&shape) || mean == 0 => {
            return fail("files.sizes: shape must be 0.1 to 100 and mean above 0");
        }
        _ => {}
    }
    if files.directories > files.count && !files.existing {
        return Err(format!("{} directories for {} files: some would be empty", files.directories, files.count));
    }
    if let Data::Compressible(ratio) = work.data
        && !(1.0..=100.0).contains(&ratio)
    {
        return Err(format!("data.compressible is {ratio}, must be 1 to 100"));
    }
    refuse_pattern(work)?;
    refuse_engine(work)?;
    refuse_verify(work)
}

fn refuse_pattern(work: &Work) -> Result<(), String> {
    let fail = |reason: &str| Err(reason.to_owned());
    match work.pattern {
        Pattern::Zipf(theta) if !(theta > 0.0 && theta <= 10.0) => {
            return Err(format!("pattern.zipf is {theta}, must be above 0 and at most 10"));
        }
        Pattern::Strided(0) => return fail("pattern.strided is 0, must be at least 1"),
        Pattern::Append if work.has(|o| o != Operation::Write) => {
            return fail("the pattern append goes with write alone; for whole files there is append-file");
        }
        Pattern::PerCharacter if work.has(|o| !matches!(o, Operation::Read | Operation::Write)) => {
            return fail("the pattern per-character goes with read and write alone");
        }
        Pattern::PerCharacter if !matches!(work.engine, Engine::Psync | Engine::Stdio | Engine::Null) => {
            return fail("the pattern per-character needs the engine psync or stdio");
        }
        _ => {}
    }
    let on_blocks = work.on_blocks();
    if on_blocks && work.files.sizes == SizeLaw::Fixed(0) && !work.files.existing {
        return fail("its files have no size: say files.size, or files.sizes");
    }
    // What makes or removes a name can do so once; a pattern that hits a file twice would fail.
    let once = |o: Operation| {
        matches!(
            o,
            Operation::Create
                | Operation::Unlink
                | Operation::Rename
                | Operation::Link
                | Operation::Symlink
                | Operation::Mkdir
                | Operation::Rmdir
        )
    };
    if work.has(once) && !work.changes_population() {
        if matches!(work.pattern, Pattern::Random | Pattern::Zipf(_) | Pattern::SameRecord) {
            return fail(
                "its operation can be done once to each file, and this pattern comes back to files: use sequential or \
                 shuffled, or mix it with the operation that undoes it (create or write-file with unlink, mkdir with \
                 rmdir)",
            );
        }
        if matches!(work.end, End::Time(_)) || matches!(work.end, End::Passes(passes) if passes > 1) {
            return fail("its operation can be done once to each file: run it once, or for a number of operations");
        }
    }
    if !work.shared && !work.files.existing && work.files.count < u64::from(work.threads) {
        return Err(format!(
            "{} threads and {} files: say shared = true, or have at least as many files as threads",
            work.threads, work.files.count
        ));
    }
    Ok(())
}

fn refuse_engine(work: &Work) -> Result<(), String> {
    let fail = |reason: &str| Err(reason.to_owned());
    if work.depth > 1 && work.engine != Engine::Uring && work.engine != Engine::Null {
        return fail("queue_depth above 1 needs engine = \"uring\": the others have one operation in flight");
    }
    if work.engine == Engine::Uring {
        if work.has(|o| !matches!(o, Operation::Read | Operation::Write | Operation::Fsync)) {
            return fail("the engine uring does read, write and fsync; use psync for the rest");
        }
        if work.sync.all_files {
            return fail("the engine uring syncs the file written last: leave out sync.all_files");
        }
    }
    if work.direct {
        if matches!(work.engine, Engine::Mmap | Engine::Stdio) {
            return Err(format!("direct I/O goes past the page cache, and {} needs it", work.engine.name()));
        }
        if work.pattern == Pattern::PerCharacter {
            return fail("direct I/O moves whole sectors, not characters");
        }
        if !work.block.is_multiple_of(512) {
            return Err(format!("direct I/O needs a block of whole 512 bytes, not {}", work.block));
        }
        if work.has(|o| matches!(o, Operation::ReadFile | Operation::WriteFile | Operation::AppendFile)) {
            return fail("direct I/O is for read, write and rewrite: whole files have lengths of any number of bytes");
        }
    }
    if work.sync.every > 1 && !work.on_blocks() {
        return fail(
            "sync.every above 1 needs files that stay open (read, write); whole files are synced with every = 1",
        );
    }
    if work.engine == Engine::Mmap && work.pattern == Pattern::Append {
        return fail("a mapping does not grow: append needs psync, uring or stdio");
    }
    if work.processes && work.files.existing && work.changes_population() {
        return fail("existing files can be removed and made by threads, not by processes");
    }
    if work.files.existing && work.has(|o| matches!(o, Operation::Create | Operation::Mkdir | Operation::Rmdir)) {
        return fail("files that exist cannot be made: leave out existing");
    }
    Ok(())
}

fn refuse_verify(work: &Work) -> Result<(), String> {
    if !work.verify {
        return Ok(());
    }
    let fail = |reason: &str| Err(reason.to_owned());
    if !work.block.is_multiple_of(UNIT as u64) {
        return Err(format!("verify needs a block of whole {UNIT} bytes, not {}", work.block));
    }
    if work.files.existing {
        return fail("verify needs files that it wrote itself, and these exist already");
    }
    if matches!(work.pattern, Pattern::Append | Pattern::PerCharacter) {
        return fail("verify goes with whole blocks at known places: not with append or per-character");
    }
    if work.has(|o| matches!(o, Operation::AppendFile | Operation::Truncate | Operation::Fallocate)) {
        return fail("verify cannot tell what append-file, truncate and fallocate leave in a file");
    }
    if work.engine == Engine::Null {
        return fail("the engine null writes nothing that could be verified");
    }
    Ok(())
}
