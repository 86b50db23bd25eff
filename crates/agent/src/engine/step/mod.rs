//! Single operations: one function each, chosen before the loop.
//!
//! A step does its work and returns bytes, or a negative error number. It does not know what time it is, how often it
//! is done, or what is counted.

mod data;
mod listed;
mod names;
mod whole;

use mountmark_model::workload::{Operation, Pattern};

use super::io::Engine;
use super::resolve::Work;
use super::worker::{Core, NO_FILE, Worker};

pub(super) use listed::Listing;

/// Runs one operation; returns bytes moved, or a negative error number.
pub(super) type Step<E> = fn(&mut Worker<'_, E>, Pick) -> i64;

/// Finds the next file of an operation on names: its number, or `u64::MAX` if there is none.
pub(super) type Pick = fn(&mut Core<'_>) -> u64;

pub(super) struct Entry<E> {
    pub(super) operation: Operation,
    pub(super) step: Step<E>,
    pub(super) pick: Pick,
    /// 1 if it counts towards the next sync, because it writes or because all operations count; else 0.
    pub(super) writes: u64,
}

// Not derived: that would require engines to be Clone too.
impl<E> Clone for Entry<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Entry<E> {}

/// The operations of a phase, in the order of its mix.
pub(super) fn entries<E: Engine>(work: &Work) -> Vec<Entry<E>> {
    work.mix.iter().map(|(operation, _)| entry(work, *operation)).collect()
}

fn entry<E: Engine>(work: &Work, operation: Operation) -> Entry<E> {
    use Operation as O;
    let characters = work.pattern == Pattern::PerCharacter;
    let listed = work.pattern == Pattern::Listed;
    let step: Step<E> = match (operation, work.verify) {
        (O::Read, false) if characters => data::read_characters,
        (O::Read, false) => data::read,
        (O::Read, true) => data::read_checked,
        (O::Write, false) if characters => data::write_characters,
        (O::Write, false) => data::write,
        (O::Write, true) => data::write_tagged,
        (O::Rewrite, false) => data::rewrite,
        (O::Rewrite, true) => data::rewrite_checked,
        (O::Fallocate, _) => data::fallocate,
        (O::Fsync, _) if work.sync.data_only => data::sync::<E, true>,
        (O::Fsync, _) => data::sync::<E, false>,
        (O::ReadFile, false) => whole::read_file::<E, false>,
        (O::ReadFile, true) => whole::read_file::<E, true>,
        (O::WriteFile, false) => whole::write_file::<E, false>,
        (O::WriteFile, true) => whole::write_file::<E, true>,
        (O::AppendFile, _) => whole::append_file,
        (O::CopyFile, _) => whole::copy_file,
        (O::ReflinkFile, _) => whole::reflink_file,
        (O::Truncate, _) => whole::truncate,
        (O::Create, _) => names::create,
        (O::Open, _) => names::open,
        (O::Stat, _) if listed => listed::stat,
        (O::Stat, _) => names::stat,
        (O::Readdir, _) => names::readdir,
        (O::Rename, _) => names::rename,
        (O::Link, _) => names::link,
        (O::Symlink, _) => names::symlink,
        (O::Chmod, _) => names::chmod,
        (O::Setxattr, _) => names::setxattr,
        (O::Getxattr, _) => names::getxattr,
        (O::Unlink, _) if listed => listed::unlink,
        (O::Unlink, _) => names::unlink,
        (O::Mkdir, _) => names::mkdir,
        (O::Rmdir, _) => names::rmdir,
    };
    let pick: Pick = match operation {
        _ if !work.changes_population() => next,
        O::Create | O::WriteFile | O::Mkdir => missing,
        O::Unlink | O::Rmdir => doomed,
        _ => present,
    };
    let writes = matches!(operation, O::Write | O::Rewrite | O::Fallocate | O::WriteFile | O::AppendFile)
        || work.sync.all_operations;
    Entry { operation, step, pick, writes: u64::from(writes) }
}

fn next(core: &mut Core<'_>) -> u64 {
    core.walk.numbers.number()
}

fn found(core: &Core<'_>, file: Option<u64>) -> u64 {
    file.map_or(u64::MAX, |file| core.walk.first + file)
}

fn missing(core: &mut Core<'_>) -> u64 {
    let file = core.walk.population.as_mut().and_then(|population| population.make());
    found(core, file)
}

fn doomed(core: &mut Core<'_>) -> u64 {
    let file = core.walk.population.as_mut().and_then(|population| population.take());
    found(core, file)
}

fn present(core: &mut Core<'_>) -> u64 {
    let file = core.walk.population.as_mut().and_then(|population| population.any());
    found(core, file)
}

/// Sets the name to that of the next file; returns its number, or an error if there is none.
#[inline(always)]
fn choose(core: &mut Core<'_>, pick: Pick) -> Result<u64, i64> {
    let file = pick(core);
    if file == u64::MAX {
        return Err(NO_FILE);
    }
    core.set.name(core.set.prefix(), file, &mut core.name);
    Ok(file)
}
