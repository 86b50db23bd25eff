//! `mountmark self-check profiler`: whether the profiler changes a figure, and what it takes of this machine.
//!
//! Each cell runs three times, one after the other: plainly, with the profiler without callers, and with them. It does not
//! look at what was recorded: a recording that does not add up to the figures is refused by `mountmark why`.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_cells::PlannedCell;
use mountmark_lab::emulator::Profiler;
use mountmark_lab::emulator::options::KERNEL;
use mountmark_lab::{Ended, OpenLab};
use mountmark_model::{Cell, Event, Scale};
use mountmark_plan::Options;

use super::{SUITE, compare, median, plan, print_differing, usual};
use crate::catalogue;
use crate::commands::run::{DEFAULT_FILESYSTEMS, LabOptions, Stop};
use crate::common::{self, WrongUse};

/// The largest processor time of a guest with the profiler over that without, median over cells: without and with callers.
const LIMITS: [f64; 2] = [1.5, 5.0];
/// The ways to profile, as they are told.
const WAYS: [&str; 2] = ["without callers", "with callers"];

/// Run cells with and without the profiler, and compare their figures and what they took of this machine
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark self-check profiler\n  mountmark self-check profiler --kernel 6.12,6.1 --disk ram,hdd,ssd,nvme\n\nExit code 1 if a figure is not equal to the last bit. The same if guests take more processor time than this with the\nprofiler: 1.5 times without callers, 5 times with callers (medians over all cells)."
)]
pub struct Arguments {
    /// File systems to try
    #[arg(long, value_name = "LIST", default_value = DEFAULT_FILESYSTEMS)]
    fs: String,
    /// Disks to try, separated by commas
    #[arg(long, value_name = "LIST", default_value = "ram,ssd", value_delimiter = ',')]
    disk: Vec<String>,
    /// Kernels to try, separated by commas
    #[arg(long, value_name = "LIST", default_value = mountmark_lab::image::kernel::DEFAULT, value_delimiter = ',')]
    kernel: Vec<String>,
    /// How much the suite piszcz-2006 is shrunk
    #[arg(long, value_name = "SCALE", default_value = "0.005")]
    scale: String,
}

/// What a cell's guest said, and its processor time in seconds.
type Seen = (BTreeMap<String, u64>, f64);

pub fn run(arguments: &Arguments) -> Result<u8> {
    let scale = arguments.scale.parse::<Scale>().map_err(|error| WrongUse(format!("--scale: {error}")))?;
    let stop = Stop::on_signals()?;
    stop.or(check(arguments, scale, &stop), stop.code())
}

fn check(arguments: &Arguments, scale: Scale, stop: &Stop) -> Result<u8> {
    let catalogue = catalogue::load()?;
    let _in_use = mountmark_lab::cache::open(&mountmark_lab::cache::default_folder())?;
    let mut plans = Vec::new();
    for kernel in &arguments.kernel {
        for disk in &arguments.disk {
            let options = Options { scale, ..usual(&arguments.fs, SUITE, disk, kernel) };
            plans.push((kernel, disk, plan(&catalogue, &options)?));
        }
    }
    let mut head = Some(format!("Profiler: {SUITE} at scale {scale}, {}\n", arguments.fs));
    let mut good = true;
    let mut ratios: [Vec<f64>; 2] = Default::default();
    for (kernel, disk, plan) in &plans {
        let options = LabOptions::usual().with(&KERNEL, kernel).options(&plan.machine);
        let labs = [Profiler::open(options.clone(), false)?, Profiler::open(options, true)?];
        // Not before it is known that this QEMU can load the profiler.
        common::print(&head.take().unwrap_or_default())?;
        let (mut figures, mut differ) = (0, [0, 0]);
        let mut beside: [Vec<f64>; 2] = Default::default();
        for cell in &plan.cells.iter().map(PlannedCell::whole).collect::<Vec<_>>() {
            labs[0].prepare(cell)?;
            // Makes the guest's snapshot, too, whose boot is no part of any of the three.
            if labs[0].functions(cell, stop)?.is_none() {
                return Ok(stop.code());
            }
            let Some((plain, alone)) = measure(labs[0].plain(), cell, stop)? else { return Ok(stop.code()) };
            figures += plain.len();
            for (way, lab) in labs.iter().enumerate() {
                let Some((seen, time)) = measure(lab, cell, stop)? else { return Ok(stop.code()) };
                let count = compare(&plain, &seen).0;
                if count > 0 {
                    common::print(&format!("  {}, {}:\n", cell.configuration.name, WAYS[way]))?;
                    print_differing(&plain, &seen, ["plainly", "profiled"])?;
                }
                differ[way] += count;
                beside[way].push(time / alone);
                if let Err(reason) = lab.take(cell) {
                    bail!("{} on {}: {reason}", WAYS[way], cell.configuration.name);
                }
            }
        }
        good &= differ == [0, 0];
        let verdict = match differ {
            [0, 0] => "all equal to the last bit".to_owned(),
            [one, other] => format!("{one} differ {}, {other} {}", WAYS[0], WAYS[1]),
        };
        let [flat, with_callers] = [0, 1].map(|way| median(&mut beside[way]));
        common::print(&format!(
            "  {kernel:<6} {disk:<6} {figures} figures: {verdict}; processor time {flat:.2} and {with_callers:.2} times as much\n"
        ))?;
        ratios.iter_mut().zip(beside).for_each(|(all, some)| all.extend(some));
    }
    good &= within_limits(&mut ratios)?;
    Ok(if good { common::DONE } else { common::FAILED })
}

/// Prints what the profiler costs; whether it is not more than it may.
fn within_limits(ratios: &mut [Vec<f64>; 2]) -> Result<bool> {
    let mut good = true;
    for ((ratios, limit), way) in ratios.iter_mut().zip(LIMITS).zip(WAYS) {
        let middle = median(ratios);
        good &= middle <= limit;
        common::print(&format!(
            "Processor time of guests {way}, over that without the profiler: {middle:.2}, median of {} cells ({:.2} to {:.2}; at \
             most {limit})\n",
            ratios.len(),
            ratios.first().copied().unwrap_or(f64::NAN),
            ratios.last().copied().unwrap_or(f64::NAN)
        ))?;
    }
    Ok(good)
}

/// Runs a cell; `None` if the user stopped it.
fn measure(lab: &dyn OpenLab, cell: &Cell, stop: &Stop) -> Result<Option<Seen>> {
    let name = &cell.configuration.name;
    let mut figures = BTreeMap::new();
    let before = children_time();
    let ended = lab.run(cell, stop, &mut |event| {
        if let Event::Sample { task, iteration, values } = event {
            figures.extend(
                values.into_iter().map(|(metric, value)| (format!("{task} {iteration} {metric}"), value.to_bits())),
            );
        }
    })?;
    match ended {
        Ended::Interrupted => return Ok(None),
        Ended::Refused { reason, .. } => bail!("{name}: a guest's figures cannot be believed: {reason}"),
        Ended::Outcome { outcome, .. } => {
            if let Some(reason) = outcome.reason() {
                bail!("{name} failed: {reason}");
            }
        }
    }
    Ok(Some((figures, children_time() - before)))
}

/// Processor time of this program's children that have ended, in seconds: getrusage(2).
fn children_time() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, which zeros are a value of too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
