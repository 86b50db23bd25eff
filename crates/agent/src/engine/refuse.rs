//! Refuses phases that contradict themselves, with a sentence that says what to change.

use mountmark_model::format_bytes;
use mountmark_model::workload::{Data, Engine, OpenSync, Operation, Pattern};

use super::access_pattern::share;
use super::error::EngineError;
use super::resolve::{End, SizeLaw, Work};
use super::tags::UNIT;

/// Returns the sentence for a phase that contradicts itself.
pub(super) fn refuse(work: &Work) -> Result<(), String> {
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
    refuse_sync(work)?;
    refuse_verify(work)
}

/// Refuses phases that cannot run beside each other.
pub(super) fn refuse_groups(works: &[Work]) -> Result<(), EngineError> {
    let fail = |work: &Work, reason: &str| Err(EngineError::phase(&work.name, reason));
    if let Some(first) = works.first().filter(|work| work.beside) {
        return fail(first, "beside: there is no phase before it that it could run together with");
    }
    for group in works.chunk_by(|_, next| next.beside) {
        let together = group.len() > 1;
        for work in group {
            if together && work.processes {
                return fail(work, "phases that run beside each other have threads: leave out processes");
            }
            if together && work.verify {
                return fail(work, "what phases beside each other write cannot be verified: leave out verify");
            }
            if together && work.changes_population() {
                return fail(
                    work,
                    "phases beside each other cannot make and remove files by turns: give it a task alone",
                );
            }
            if work.end == End::Beside && group.iter().all(|other| other.end == End::Beside) {
                return fail(work, "run = \"beside\": no phase beside it ends by itself; give one of them another end");
            }
            if work.end == End::Beside && work.warm_up > 0 {
                return fail(work, "run = \"beside\" has no warm_up: it begins with the others");
            }
        }
    }
    Ok(())
}

fn refuse_pattern(work: &Work) -> Result<(), String> {
    let fail = |reason: &str| Err(reason.to_owned());
    match work.pattern {
        Pattern::Zipf(theta) if !(theta > 0.0 && theta <= 10.0) => {
            return Err(format!("pattern.zipf is {theta}, must be above 0 and at most 10"));
        }
        Pattern::Strided(0) => return fail("pattern.strided is 0, must be at least 1"),
        Pattern::Listed if work.mix.len() > 1 || work.has(|o| !matches!(o, Operation::Stat | Operation::Unlink)) => {
            return fail("the pattern listed goes with stat alone or unlink alone");
        }
        Pattern::Listed if work.threads > 1 || work.files.existing => {
            return fail("the pattern listed is for one thread, and for files that the workload made");
        }
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
    if work.changes_population() && work.shared && work.threads > 1 {
        return fail(
            "its mix makes and removes files, and threads that share them would remove what others work on: leave out \
             shared, so that each thread has files of its own",
        );
    }
    refuse_repeated(work)?;
    if !work.shared && !work.files.existing && work.files.count < u64::from(work.threads) {
        return Err(format!(
            "{} threads and {} files: say shared = true, or have at least as many files as threads",
            work.threads, work.files.count
        ));
    }
    Ok(())
}

/// A name can be created or removed once: what comes back to a file would fail.
fn refuse_repeated(work: &Work) -> Result<(), String> {
    let fail = |reason: &str| Err(reason.to_owned());
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
    if !work.has(once) || work.changes_population() {
        return Ok(());
    }
    let part = |items: u64, thread: u32| {
        let (from, to) = share(items, thread, work.threads);
        to - from
    };
    if matches!(work.pattern, Pattern::Random | Pattern::Zipf(_) | Pattern::SameRecord) {
        return fail(
            "its operation can be done once to each file, and this pattern comes back to files: use sequential or \
             shuffled, or mix it with the operation that undoes it (create or write-file with unlink, mkdir with \
             rmdir)",
        );
    }
    if matches!(work.end, End::Time(_) | End::Beside) || matches!(work.end, End::Passes(passes) if passes > 1) {
        return fail("its operation can be done once to each file: run it once, or for a number of operations");
    }
    if work.warm_up > 0 {
        return fail("its operation can be done once to each file, and warm_up would do it before: leave out warm_up");
    }
    if let (End::Operations(operations), [_]) = (work.end, &work.mix[..])
        && !work.files.existing
        && let Some(thread) =
            (0..work.threads).find(|thread| part(operations, *thread) > part(work.files.count, *thread))
    {
        return Err(format!(
            "its operation can be done once to each file, and thread {thread} has {} files for its part of {operations} \
             operations: ask for fewer of them, or leave out run",
            part(work.files.count, thread)
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

fn refuse_sync(work: &Work) -> Result<(), String> {
    let sync = &work.sync;
    let asked = sync.every > 0 || sync.end || sync.open != OpenSync::None;
    if asked
        && !work.can_sync()
        && let Some((operation, _)) = work.mix.first()
    {
        return Err(format!(
            "sync has nothing to sync, as {} leaves no file open that was written: leave it out, and let a phase of fsync \
             follow where that is to be timed",
            operation.name()
        ));
    }
    if sync.every > 1 && !work.on_blocks() {
        return Err(
            "sync.every above 1 needs files that stay open (read, write); whole files are synced with every = 1".into(),
        );
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
    // Linux does not keep a read apart from a write of the same block: it may return some old bytes and some new ones.
    let reads = |o| matches!(o, Operation::Read | Operation::Rewrite | Operation::ReadFile);
    let writes = |o| matches!(o, Operation::Write | Operation::Rewrite | Operation::WriteFile);
    if work.has(reads) && work.has(writes) && (work.shared && work.threads > 1 || work.depth > 1) {
        return fail(
            "a block that is read while it is written cannot be verified: leave out verify, or shared and queue_depth",
        );
    }
    Ok(())
}
