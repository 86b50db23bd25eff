//! Groups of phases that run at the same time, mostly of one phase: makes files ready, starts threads together,
//! collects counts.
//!
//! It does not know what an operation does, or how the counts are used.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::Options;
use super::check;
use super::error::EngineError;
use super::process;
use super::recorder::Found;
use super::resolve::{End, Work};
use super::set::Set;
use super::sys::{self, Name};
use super::thread;
use super::worker::Orders;

pub(super) struct Member<'a> {
    pub(super) work: &'a Work,
    pub(super) set: Set,
    pub(super) generation: u32,
    /// The oldest generation that its files may hold.
    pub(super) oldest: u32,
}

/// Notifies threads without an end of their own when all others are done.
struct Ending {
    at_work: AtomicU32,
    over: AtomicBool,
}

impl Ending {
    fn leave(&self) {
        if self.at_work.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.over.store(true, Ordering::SeqCst);
        }
    }
}

/// Deregisters on drop, even on panic, so that waiting phases end.
struct Leaving<'a>(&'a Ending);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Runs the phases of a group at the same time. Returns results by member and thread.
///
/// # Errors
/// A file that cannot be created, opened or removed; a worker process that fails; a thread that panics.
pub(super) fn run(group: &[Member<'_>], folder: &Path, options: &Options) -> Result<Vec<Vec<Found>>, EngineError> {
    for Member { work, set, .. } in group {
        set.make_directories()?;
        if work.fresh {
            remove(set)?;
        }
        if work.cold {
            chill(set);
        }
    }
    let sets: Vec<_> = group.iter().map(|member| (member.work, member.set.count())).collect();
    let orders = |(member, capacity): (&Member<'_>, u64)| -> Vec<Orders> {
        let (seed, generation, oldest) = (options.seed, member.generation, member.oldest.min(member.generation));
        (0..member.work.threads).map(|thread| Orders { thread, seed, generation, oldest, capacity }).collect()
    };
    let capacities = check::capacities(&sets);
    let orders: Vec<_> = group.iter().zip(capacities).map(orders).collect();
    if let ([member], [orders]) = (group, &orders[..]) {
        if member.work.processes {
            return process::run(member.work, folder, orders, &options.worker).map(|found| vec![found]);
        }
        if let [orders] = orders[..] {
            let over = AtomicBool::new(false);
            let found = thread::run(member.work, &member.set, orders, &over, |fit| fit)?;
            return Ok(vec![found.into_iter().collect()]);
        }
    }
    threads(group, &orders)
}

fn threads(group: &[Member<'_>], orders: &[Vec<Orders>]) -> Result<Vec<Vec<Found>>, EngineError> {
    let count = |counted: fn(End) -> bool| {
        let own = group.iter().zip(orders).filter(|(member, _)| counted(member.work.end));
        own.map(|(_, orders)| orders.len()).sum::<usize>()
    };
    let ending =
        Ending { at_work: AtomicU32::new(count(|end| end != End::Beside) as u32), over: AtomicBool::new(false) };
    let (barrier, all_fit) = (Barrier::new(count(|_| true)), AtomicBool::new(true));
    let ready = |fit: bool| {
        all_fit.fetch_and(fit, Ordering::SeqCst);
        barrier.wait();
        all_fit.load(Ordering::SeqCst)
    };
    let one = |member: &Member<'_>, orders: Orders| {
        let _leaving = (member.work.end != End::Beside).then_some(Leaving(&ending));
        thread::run(member.work, &member.set, orders, &ending.over, ready)
    };
    let one = &one;
    let ended: Vec<Vec<_>> = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(group.len());
        for (member, orders) in group.iter().zip(orders) {
            let started: Vec<_> = orders.iter().map(|orders| scope.spawn(move || one(member, *orders))).collect();
            threads.push(started);
        }
        threads.into_iter().map(|started| started.into_iter().map(|thread| thread.join()).collect()).collect()
    });
    let mut all = Vec::with_capacity(group.len());
    for (member, ended) in group.iter().zip(ended) {
        let mut found = Vec::with_capacity(ended.len());
        for thread in ended {
            match thread {
                Ok(thread) => found.extend(thread?),
                Err(_) => {
                    return Err(EngineError::Workload(format!("a thread of phase {} broke down", member.work.name)));
                }
            }
        }
        all.push(found);
    }
    Ok(all)
}

/// Removes all files that exist.
fn remove(set: &Set) -> Result<(), EngineError> {
    let mut name = Name::new();
    for file in 0..set.count() {
        set.name(set.prefix(), file, &mut name);
        let answer = sys::unlink(set.folder(), &name);
        if answer < 0 && answer != -i64::from(libc::ENOENT) {
            return Err(EngineError::io("cannot remove", set.full_path(&name))(sys::error(answer)));
        }
    }
    Ok(())
}

/// Writes back and drops the pages of all files that exist.
fn chill(set: &Set) {
    let mut name = Name::new();
    for file in 0..set.count() {
        set.name(set.prefix(), file, &mut name);
        let opened = sys::openat(set.folder(), &name, libc::O_RDONLY);
        if opened >= 0 {
            let opened = opened as c_int;
            // The kernel does not drop dirty pages, so write them first.
            sys::fsync(opened);
            sys::drop_pages(opened);
            sys::close(opened);
        }
    }
}
