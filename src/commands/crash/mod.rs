//! `mountmark crash`: cut the power at every moment that matters, and see what is left.

mod state;
mod workloads;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_crash::campaign::{Campaign, Tried};
use mountmark_crash::oracle::Promises;
use mountmark_crash::states::{Budget, Device, StateId};
use mountmark_crash::workload::Workload;
use mountmark_lab::emulator::Witnesses;
use mountmark_lab::guest::Policy;
use mountmark_model::{Bytes, Cell, Configuration, Disk, Machine};
use mountmark_plan::Catalogue;
use mountmark_report::Crash;
use mountmark_run::crash::explore::{Course, explore};
use mountmark_run::crash::talk::{self, Talk};

use super::run::{LabOptions, Stop};
use crate::common::{self, WrongUse};

/// Cut the power: what survives on a file system
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark crash --fs ext4,xfs --generate 1\n  mountmark crash --fs ext4:data=writeback --workload 'creat foo; write foo 0+8192; creat bar; fsync bar'\n  mountmark crash --fs btrfs --workload 'creat foo; write foo 0+8192; fsync foo; rename foo bar; fsync bar'\n  mountmark crash --fs xfs --generate 2 --budget 30m --seed 7\n  mountmark crash --fs ext4 --workload 'creat foo; fsync foo' --device sector+i1   a disk that ignores flushes\n  mountmark crash --fs ext4 --app sqlite-wal\n  mountmark crash --fs ext4 --app ./mine.toml\n\nA workload runs in a guest while its disk records every request. From the recording follow all images that a disk with a volatile cache may hold after a power cut; guests mount them, and what they find is compared with what the file system promises.\n\nExit codes: 0 no promise was broken, 1 one was, 2 wrong use, 3 cannot run here, 128+N ended by signal N."
)]
pub struct Arguments {
    /// File systems and variants, as for `mountmark run`
    #[arg(long, value_name = "LIST", default_value = "ext4")]
    fs: String,
    /// A workload: operations in a line, those before a `|` set the stage; a name, as `mountmark list crash` has them;
    /// or a file, as ./mine.toml. May be repeated
    #[arg(long, value_name = "WORKLOAD", visible_alias = "app")]
    workload: Vec<String>,
    /// Also all workloads of operations that `mountmark list crash` has
    #[arg(long)]
    catalogue: bool,
    /// Also all workloads of one operation, or samples of two or three
    #[arg(long, value_name = "OPERATIONS", value_parser = clap::value_parser!(u8).range(1..=3))]
    generate: Option<u8>,
    /// How many workloads to generate at most [default: all of one operation, otherwise as many as fit the budget]
    #[arg(long, value_name = "COUNT", requires = "generate", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Wall time for each configuration, such as 90s, 30m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    budget: Duration,
    /// Seed of everything random
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// The disk: `sector` may tear requests, `request` writes each whole; a fault behind a plus, such as sector+i1
    #[arg(long, value_name = "DEVICE", default_value = "sector")]
    device: Device,
    /// When the disk replies to writes: fifo, lifo, delayed or held. May be repeated
    #[arg(long, value_name = "POLICY", default_value = "fifo", value_delimiter = ',', value_parser = policy)]
    policy: Vec<Policy>,
    /// Size of the disk
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    disk_size: Bytes,
    /// Make this state of the workload again and show it
    #[arg(long, value_name = "STATE", conflicts_with = "generate")]
    state: Option<StateId>,
    /// Write the state's image to this file
    #[arg(long, value_name = "FILE", requires = "state")]
    export: Option<std::path::PathBuf>,
    /// The guest's kernel
    #[arg(long, value_name = "KERNEL", default_value = mountmark_lab::image::kernel::DEFAULT)]
    kernel: String,
    /// How to print: table, markdown, csv or json [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
}

/// The computer of guests. Its clock has no part in what is found.
const MACHINE: &str = "modern";
/// A disk with a drive, so that the guest has what it takes to serve one.
const DISK: &str = "nvme";

pub fn run(arguments: Arguments) -> Result<u8> {
    common::format_of::<Crash>(arguments.format.as_deref())?;
    if arguments.budget.is_zero() {
        bail!(WrongUse("--budget 0: nothing can be tried in no time".into()));
    }
    let catalogue = Catalogue::load(None)?;
    let configurations = mountmark_plan::configurations(&catalogue, std::slice::from_ref(&arguments.fs))?;
    let workloads = workloads::chosen(&arguments, &catalogue)?;
    let stop = Stop::on_signals()?;
    stop.or(all(&arguments, &catalogue, &configurations, &workloads, &stop), stop.code())
}

fn all(
    arguments: &Arguments,
    catalogue: &Catalogue,
    configurations: &[Configuration],
    workloads: &[Workload],
    stop: &Stop,
) -> Result<u8> {
    let machine = catalogue.get::<Machine>(MACHINE)?;
    let options = LabOptions { kernel: arguments.kernel.clone(), ..LabOptions::usual() }.options(machine);
    let lab = Witnesses::open(options)?;
    let disk = catalogue.get::<Disk>(DISK)?;
    let mut cells = Vec::new();
    for configuration in configurations {
        if let Some(reason) = lab.unavailable(configuration)? {
            bail!(WrongUse(format!("{}: {reason}", configuration.name)));
        }
        let cell = talk::cell(configuration, disk, arguments.disk_size, workloads);
        lab.prepare(&cell)?;
        cells.push(cell);
    }
    if let Some(state) = &arguments.state {
        let [workload] = workloads else { bail!(WrongUse("--state is of one workload: give one --workload".into())) };
        let [cell] = cells.as_slice() else { bail!(WrongUse("--state is of one configuration: give one --fs".into())) };
        return state::show(arguments, &lab, cell, workload, state, stop);
    }
    let mut campaigns = Vec::new();
    for cell in &cells {
        let Some(campaign) = campaign(arguments, &lab, cell, workloads, stop)? else { return Ok(stop.code()) };
        campaigns.push(campaign);
    }
    common::print(&common::written(&Crash(&campaigns), arguments.format.as_deref())?)?;
    let is_sound = campaigns.iter().all(|campaign| campaign.causes().is_empty());
    Ok(if is_sound { common::DONE } else { common::FAILED })
}

/// Tries all workloads on one configuration, as far as the budget goes.
fn campaign(
    arguments: &Arguments,
    lab: &Witnesses,
    cell: &Cell,
    workloads: &[Workload],
    stop: &Stop,
) -> Result<Option<Campaign>> {
    let begun = Instant::now();
    let configuration = &cell.configuration;
    let promises = Promises::least();
    let Some(mut talk) = Talk::start(lab, cell, stop)? else { return Ok(None) };
    let mut campaign = Campaign {
        configuration: configuration.name.clone(),
        kernel: lab.environment(cell)?.kernel,
        disk_size: arguments.disk_size.0,
        device: arguments.device,
        promises,
        seed: arguments.seed,
        tried: Vec::new(),
        seconds: 0.0,
        cut_short: false,
    };
    'all: for workload in workloads {
        for &policy in &arguments.policy {
            if begun.elapsed() > arguments.budget {
                campaign.cut_short = true;
                break 'all;
            }
            let course =
                Course { device: arguments.device, policy, budget: Budget::default(), seed: arguments.seed, promises };
            let explored = explore(&mut talk, &configuration.filesystem, workload, &course)
                .with_context(|| format!("{}: {workload}", configuration.name))?;
            let Some(explored) = explored else { return Ok(None) };
            let (states, shown, found) = (explored.states, explored.shown, explored.findings.len());
            campaign.tried.push(Tried { workload: workload.clone(), policy: name(policy), explored });
            say!(
                "mountmark: {} {}/{}: {states} images, {shown} shown, {found} findings: {workload}",
                configuration.name,
                campaign.tried.len(),
                workloads.len() * arguments.policy.len()
            );
        }
    }
    campaign.seconds = begun.elapsed().as_secs_f64();
    Ok(Some(campaign))
}

/// A policy, and its number behind a colon.
fn policy(text: &str) -> Result<Policy, String> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("fifo", "") => Ok(Policy::Fifo),
        ("lifo", "") => Ok(Policy::Lifo),
        ("delayed", seed) => number(seed).map(|seed| Policy::Delayed { seed }),
        ("held", every) => number(every).map(|every| Policy::Held { every: every as u32 }),
        _ => Err("there are fifo, lifo, delayed:SEED and held:EVERY".into()),
    }
}

fn number(text: &str) -> Result<u64, String> {
    match text {
        "" => Ok(1),
        text => text
            .parse()
            .ok()
            .filter(|number| (1..=1_000_000).contains(number))
            .ok_or_else(|| format!("`{text}` is no number from 1 to 1,000,000")),
    }
}

/// As it is written on the command line.
fn name(policy: Policy) -> String {
    match policy {
        Policy::Fifo => "fifo".into(),
        Policy::Lifo => "lifo".into(),
        Policy::Delayed { seed } => format!("delayed:{seed}"),
        Policy::Held { every } => format!("held:{every}"),
    }
}

/// `90s`, `30m`, `2h`, or seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time such as 90s, 30m or 2h");
    let (number, unit) = match text.find(|sign: char| sign.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).filter(|seconds| *seconds <= 30 * 86_400).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_policies_are_read_and_nonsense_is_refused() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("30m"), Ok(Duration::from_secs(1800)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "m", "-1s", "1d", "1.5h", "99999999999999999999h", "800h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        for text in ["fifo", "lifo", "delayed:7", "held:1"] {
            assert_eq!(name(policy(text).unwrap()), text);
        }
        for wrong in ["", "lifo:1", "held:0", "held:x", "later"] {
            assert!(policy(wrong).is_err(), "{wrong}");
        }
    }
}
