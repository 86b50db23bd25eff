//! How many guests run at once.

use std::fs;

use anyhow::{Result, bail};
use mountmark_cells::Plan;
use mountmark_model::Bytes;

use crate::common::WrongUse;

/// Rejects `--jobs 0`.
pub fn check_jobs(given: Option<usize>) -> Result<()> {
    match given {
        Some(0) => bail!(WrongUse("--jobs 0: give at least 1".into())),
        _ => Ok(()),
    }
}

/// Number of guests at the same time: `given`, else one per processor, limited by this machine's memory even if the
/// guests fill their disks, which are in memory; `memory` is what there is, if somebody knows.
pub fn jobs(given: Option<usize>, plan: &Plan, memory: Option<Bytes>) -> usize {
    if !plan.lab.capabilities().guest {
        if let Some(more @ 2..) = given {
            say!("mountmark: --jobs {more}: the host lab runs one cell at a time, as its figures are wall time");
        }
        return 1;
    }
    let wanted = given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let wanted = wanted.min(plan.cells.len());
    let need = need(plan);
    let Some(available) = memory.map(|memory| memory.0).or_else(available_memory) else { return wanted };
    let (need_text, available_text) = (Bytes(need), Bytes(available));
    if need > available {
        say!(
            "mountmark: a guest with full disks takes {need_text} of memory, and {available_text} are available: it may \
             be killed; a smaller --scale, corpus or --disk-size takes less"
        );
    }
    let fitting = usize::try_from(available / need).unwrap_or(wanted).clamp(1, wanted.max(1));
    if fitting < wanted {
        say!(
            "mountmark: {fitting} at a time: {wanted} guests of up to {need_text} each would not fit in {available_text} of memory"
        );
    }
    fitting
}

/// Bytes of memory that a guest of a plan takes if it fills its disks.
pub fn need(plan: &Plan) -> u64 {
    let need = plan.cells.iter().map(|cell| {
        let sizes = cell.second_disk.as_ref().map_or([0, 0], |medium| [medium.size.0, medium.corpus.tar_bytes]);
        let disk = plan.disk_written.map_or(cell.disk_size.0, |written| written.0.min(cell.disk_size.0));
        let disk = disk.saturating_mul(cell.configuration.disks().into());
        [disk, sizes[0], sizes[1]].into_iter().fold(cell.ram.0, u64::saturating_add)
    });
    need.max().unwrap_or(0).max(1)
}

/// Bytes of memory available to new processes: the machine's, or the rest of a container's limit.
fn available_memory() -> Option<u64> {
    // In a container its own control group appears as the root.
    let number = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let limit = number("memory.max").map(|most| most.saturating_sub(number("memory.current").unwrap_or(0)));
    mountmark_job::machine::available_memory().into_iter().chain(limit).min()
}
