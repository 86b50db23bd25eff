//! What to try, on the command line.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use mountmark_crash::record::{Asked, Pauses};
use mountmark_crash::states::{Device, Fault};
use mountmark_crash::trace::Policy;
use mountmark_crash::workload::{Generator, Workload};
use mountmark_lab::emulator::MOST_DISKS;
use mountmark_lab::emulator::options::KERNEL;
use mountmark_model::{Bytes, Configuration, Study};
use mountmark_plan::Catalogue;

use super::log::LogOptions;
use crate::catalogue;
use crate::commands::run::LabOptions;
use crate::common::{self, WrongUse};
use crate::work_options::{Checked, WorkOptions};

/// Workloads of two and three operations that are generated if no count is given: more than any budget tries.
const MANY: u64 = 100_000;

/// The disk of a campaign, if nothing else is asked: a kind, and its size.
pub(super) const DEVICE: &str = "request";
pub(super) const DISK_SIZE: &str = "512MiB";

/// Bytes of a page: a guest's disk is made of them.
const PAGE: u64 = 4096;

/// What decides which images there are.
#[derive(Args)]
pub(super) struct Options {
    /// File systems and variants, as for `mountmark run`
    #[arg(long, value_name = "LIST", default_value = "ext4")]
    pub fs: String,
    /// A workload: operations in a line, of which those before a `|` set the stage; a name of `mountmark list crash`; or
    /// a file such as ./mine.toml. May be repeated
    #[arg(long, value_name = "WORKLOAD", visible_alias = "app")]
    pub workload: Vec<String>,
    #[command(flatten)]
    pub log: LogOptions,
    #[command(flatten)]
    pub work: WorkOptions,
    /// Of a command: a line for a shell that ends with 0 if a file system is sound after the cut. It sees $BEGUN and $RETURNED,
    /// the numbers of runs that had begun and that had returned
    #[arg(long, value_name = "LINE")]
    pub check: Option<String>,
    /// Of a command: run it so many times, each with its number in $STEP, from 1 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub times: Option<u16>,
    /// Also all workloads of operations that `mountmark list crash` has
    #[arg(long)]
    pub catalogue: bool,
    /// Also the power cuts that studies make claims about, before, while and after a document is saved: what became of its files
    #[arg(long)]
    pub cases: bool,
    /// Also all workloads of one operation, or samples of two or three
    #[arg(long, value_name = "OPERATIONS", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub generate: Option<u8>,
    /// How many workloads to generate at most [default: all of one operation, otherwise as many as fit the budget]
    #[arg(long, value_name = "COUNT", requires = "generate", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Wall time for each configuration, such as 90s, 30m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = common::duration)]
    pub budget: Duration,
    /// Seed of all random choices
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
    /// The modelled disk, and none of this machine: `request` writes each request whole, `sector` may tear it between its
    /// sectors; `trim` behind a plus if it takes trims, and a fault, such as sector+i1 or request+trim+i1
    #[arg(long, value_name = "DEVICE", default_value = DEVICE)]
    pub device: Device,
    /// When the disk replies to writes: fifo, lifo, delayed[:SEED] or held[:EVERY]. May be repeated
    #[arg(long, value_name = "POLICY", default_value = "fifo", value_delimiter = ',')]
    pub policy: Vec<Policy>,
    /// Let 5 to 35 seconds pass between the steps of applications, drawn by this seed, in all recordings; `none` in none
    /// [default: in every second recording, drawn by --seed]
    #[arg(long, value_name = "SEED", value_parser = pauses)]
    pub pauses: Option<Pauses>,
    /// Size of the disk
    #[arg(long, value_name = "SIZE", default_value = DISK_SIZE)]
    pub disk_size: Bytes,
    /// The guest's kernel
    #[arg(long, value_name = "KERNEL", default_value = mountmark_lab::image::kernel::DEFAULT)]
    pub kernel: String,
    /// Most images of one tier at one moment [default: 4096, and 256 with --generate, --catalogue or --cases]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub images: Option<u32>,
    /// In how many recoveries of each workload the power is cut again [default: 1, and 0 with --generate, --catalogue or --cases]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub recoveries: Option<u32>,
    /// Do not look for smaller workloads that break the same promise
    #[arg(long)]
    pub no_shrink: bool,
}

impl Options {
    /// What was asked for, with nothing left open.
    pub fn asked(&self, configurations: &[Configuration], catalogue: &Catalogue) -> Result<Asked> {
        if self.budget.is_zero() {
            bail!(WrongUse("--budget 0: nothing can be tried in no time".into()));
        }
        LabOptions::usual().with(&KERNEL, &self.kernel).check_one()?;
        let mut workloads = self.workloads(catalogue)?;
        workloads.extend(self.work.application(Checked { check: self.check.as_deref(), times: self.times })?);
        let mut disk_size = self.disk_size.0;
        if let Some((log, size)) = self.log.workload(disk_size)? {
            configurations.iter().try_for_each(|one| check_one_disk("--log", one))?;
            self.check_made()?;
            workloads.push(log);
            disk_size = size;
        }
        if let Some(one) = configurations.iter().find(|one| !one.filesystem.attach.is_empty()) {
            bail!(WrongUse(format!(
                "--fs {}: power cuts are not tried on file systems with servers that stay when it is unmounted; leave it out",
                one.name
            )));
        }
        configurations.iter().try_for_each(|one| check_gone(one, self.device))?;
        check_size(configurations, disk_size, self.log.base.as_deref())?;
        let generate = self.generate.map(|length| {
            let all = if length == 1 { Generator::new().count() as u64 } else { MANY };
            (length, self.count.unwrap_or(all).min(all))
        });
        let many = generate.is_some() || self.catalogue || self.cases;
        if workloads.is_empty() && generate.is_none() {
            bail!(WrongUse(
                "there is nothing to do: give --workload, --app, --catalogue, --cases, --generate, --log, or a command after --"
                    .into()
            ));
        }
        Ok(Asked {
            configurations: configurations.iter().map(|configuration| configuration.name.clone()).collect(),
            workloads,
            generate,
            policies: self.policy.clone(),
            device: self.device,
            seed: self.seed,
            budget: self.budget.as_secs(),
            disk_size,
            kernel: self.kernel.clone(),
            images: self.images.unwrap_or(if many { 256 } else { 4096 }) as usize,
            recoveries: self.recoveries.unwrap_or(u32::from(!many)) as usize,
            shrink: !self.no_shrink,
            pauses: self.pauses.unwrap_or_default(),
        })
    }

    /// Refuses what only a recording that is made shows, where there is one already.
    fn check_made(&self) -> Result<()> {
        let wrong = |option: String| {
            let reason = "a log is of a disk that has replied already, and nothing is recorded; leave it out";
            Err(WrongUse(format!("{option}: {reason}")).into())
        };
        let Device { trims, fault, .. } = self.device;
        // Trims that left something else are in the log as any.
        let is_offered = trims && fault != Some(Fault::PoisonTrim);
        if is_offered || matches!(fault, Some(Fault::Fail { .. } | Fault::WriteThrough)) {
            return wrong(format!("--device {}", self.device));
        }
        if let Some(policy) = self.policy.iter().find(|policy| **policy != Policy::default()) {
            return wrong(format!("--policy {policy}"));
        }
        match self.recoveries {
            Some(count) if count > 0 => wrong(format!("--recoveries {count}")),
            _ => Ok(()),
        }
    }

    /// Those that were named, then those of the catalogue.
    fn workloads(&self, catalogue: &Catalogue) -> Result<Vec<Workload>> {
        let mut chosen: Vec<Workload> =
            self.workload.iter().map(|text| workload(text, catalogue)).collect::<Result<_>>()?;
        if self.catalogue {
            let all = catalogue::scenarios(catalogue)?;
            for scenario in all.iter().filter(|scenario| !scenario.is_application()) {
                chosen.push(catalogue::workload(catalogue, &scenario.name)?);
            }
        }
        if self.cases {
            // In the order of their studies.
            let mut named = BTreeSet::new();
            let cases = catalogue.list::<Study>().flat_map(|study| &study.cases);
            for case in cases.filter(|case| named.insert(&case.workload)) {
                chosen.push(catalogue::workload(catalogue, &case.workload)?);
            }
        }
        Ok(chosen)
    }
}

/// Refuses what has several disks where a log of one is read or written.
pub(super) fn check_one_disk(option: &str, one: &Configuration) -> Result<()> {
    if one.disks() > 1 {
        let (name, disks) = (&one.name, one.disks());
        bail!(WrongUse(format!("{option} is of one disk, and {name} has {disks}: give a file system on one")));
    }
    Ok(())
}

/// Refuses a disk that is gone where there is none, or none can be gone.
fn check_gone(one: &Configuration, device: Device) -> Result<()> {
    let Some(Fault::Gone { disk }) = device.fault else { return Ok(()) };
    let (name, disks) = (&one.name, one.disks());
    let wrong = |reason: String| Err(WrongUse(format!("--device {device}: {reason}")).into());
    if disks == 1 {
        return wrong(format!(
            "{name} has one disk, and nothing is left when it is gone; try an array, such as --fs {name}@raid5"
        ));
    }
    if one.base().layers.last().is_none_or(|layer| layer.attach_degraded.is_empty()) {
        return wrong(format!(
            "nothing says how {name} is attached without one of its disks (attach_degraded of a layer)"
        ));
    }
    match disk {
        Some(disk) if disk >= disks => wrong(format!("{name} has the disks 0 to {}", disks - 1)),
        _ => Ok(()),
    }
}

/// Refuses a disk on which a file system cannot be made; `base` is the image that says its size, if there is one.
fn check_size(configurations: &[Configuration], size: u64, base: Option<&Path>) -> Result<()> {
    let wrong = |reason: String, cure: Option<&str>| {
        let (given, cure) = match base {
            None => (format!("--disk-size {size}: "), cure.map(|cure| format!("take --disk-size {cure}"))),
            Some(base) => {
                let append = |cure| format!("append zeros: truncate -s {cure} {}", base.display());
                (format!("--base {}: it has {size} bytes; ", base.display()), cure.map(append))
            }
        };
        let cure = cure.map(|cure| format!(": {cure}")).unwrap_or_default();
        Err(WrongUse(format!("{given}{reason}{cure}")).into())
    };
    if !size.is_multiple_of(PAGE) {
        let next = size.next_multiple_of(PAGE).to_string();
        return wrong(format!("it is no multiple of {PAGE} bytes, of which a guest's disk is made"), Some(&next));
    }
    for one in configurations {
        let Configuration { name, filesystem, .. } = one;
        if size.saturating_mul(one.disks().into()) > MOST_DISKS {
            return wrong(format!("a guest's disks have at most {} together", Bytes(MOST_DISKS)), None);
        }
        let room = one.base().layers.iter().map(|layer| layer.room.0).sum::<u64>();
        if size < filesystem.min_size.0.saturating_add(room) {
            let least = Bytes(filesystem.min_size.0.saturating_add(room));
            return wrong(format!("{name} can only be made on {least} and more"), Some(DISK_SIZE));
        }
        if let Some(most) = filesystem.max_size.filter(|most| most.0 < size) {
            return wrong(format!("{name} can only be made on {most} and less"), None);
        }
    }
    Ok(())
}

fn pauses(text: &str) -> Result<Pauses, String> {
    match text {
        "none" => Ok(Pauses::None),
        seed => seed.parse().map(Pauses::Drawn).map_err(|_| "take a number, or none".to_owned()),
    }
}

/// One word is a name; but `sync` and `evict` are operations of one word.
fn workload(text: &str, catalogue: &Catalogue) -> Result<Workload> {
    let parsed = text.parse::<Workload>();
    let is_word = !text.contains(|sign: char| sign.is_whitespace() || matches!(sign, ';' | '|'));
    if text.ends_with(".toml") || (is_word && parsed.is_err()) {
        return catalogue::workload(catalogue, text);
    }
    let workload = parsed.map_err(|error| WrongUse(format!("--workload: {error}")))?;
    mountmark_crash::workload::check(&workload).map_err(|error| WrongUse(format!("--workload: {error}")))?;
    Ok(workload)
}
