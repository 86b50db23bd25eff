//! `mountmark self-check verdicts`: counts false verdicts, and how often intervals hold.
//!
//! It measures one plan many times, and plans that differ from it in nothing that matters. Groups of its repeats are
//! then judged as if each were a run of its own. The folder knows neither how runs are compared nor how intervals come
//! about.

mod judge;
mod table;
mod variants;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_cells::Plan;
use mountmark_lab::OpenLab;
use mountmark_lab::emulator::options::KERNEL;
use mountmark_model::Metric;
use mountmark_model::conditions::Way;
use mountmark_plan::Options;
use mountmark_record::{RunRecord, Store};

use crate::catalogue;
use crate::commands::run::{self, LabOptions, Session, Stop, check_jobs, jobs};
use crate::common::{self, FormatOptions, StoreOptions, WrongUse};
use judge::GROUPS;
use variants::VARIANTS;

const SUITE: &str = include_str!("verdicts/suite.toml");
/// The slowdown that must be found.
const SLOWDOWN: f64 = 0.03;

/// Measure one plan many times, and plans that differ in nothing that matters, and count false verdicts
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark self-check verdicts\n  mountmark self-check verdicts --fs ext4,xfs,btrfs --repeat 100\n  mountmark self-check verdicts --conditions fixed     what they were worth without varied conditions\n\nThe plans differ in a task that does nothing, 4 MiB of memory, a larger guest image, the order of tasks, the seed and the date. Groups of 5 and of 10 repeats are compared as runs of their own; all comparisons of a pair are a family. In one more plan each task takes 3 % longer.\nExit code 1 if more than 5 % of families have a false verdict, or with few families more than chance allows. The same if fewer than 90 % of slowdowns are found with ten repeats, among figures not marked as depending on conditions."
)]
pub struct Arguments {
    /// File systems to try
    #[arg(long, value_name = "LIST", default_value = "ext4,xfs,btrfs")]
    fs: String,
    /// The disk under test
    #[arg(long, value_name = "DISK", default_value = "ssd")]
    disk: String,
    /// How often each plan is measured, and the one that others are compared with twice as often; a multiple of 10
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(10..=1000))]
    repeat: u32,
    /// Seed of all random choices: the same seed gives the same files, orders and conditions
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Whether repeats draw their conditions
    #[arg(long, value_name = "CONDITIONS", value_parser = run::ways(), default_value = Way::Varied.name())]
    conditions: Way,
    /// The guest's kernel
    #[arg(long, value_name = "KERNEL", default_value = mountmark_lab::image::kernel::DEFAULT)]
    kernel: String,
    /// Keep the runs in this results store
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Guests side by side [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    if !arguments.repeat.is_multiple_of(10) {
        bail!(WrongUse(format!("--repeat {}: give a multiple of 10, for groups of 10", arguments.repeat)));
    }
    check_jobs(arguments.jobs)?;
    let stop = Stop::on_signals()?;
    stop.or(check(arguments, &stop), stop.code())
}

fn check(arguments: &Arguments, stop: &Stop) -> Result<u8> {
    let folder = tempfile::Builder::new().prefix("mountmark-self-check-").tempdir().context("no temporary folder")?;
    let suite = folder.path().join("verdicts.toml");
    std::fs::write(&suite, SUITE).with_context(|| format!("cannot write {}", suite.display()))?;
    let kept = arguments.keep.clone().unwrap_or_else(|| folder.path().to_owned());
    let store = StoreOptions { out: Some(kept) }.open()?;
    let suite = suite.to_string_lossy().into_owned();
    let catalogue = catalogue::load()?;
    // Twice as long as the others, for what many repeats show.
    let planned = |seed: u64, repeats: u32| {
        let usual = super::usual(&arguments.fs, &suite, &arguments.disk, &arguments.kernel);
        super::plan(&catalogue, &Options { seed, repeats, conditions: arguments.conditions, ..usual })
    };
    let long_plan = planned(arguments.seed, 2 * arguments.repeat)?;
    let plan = planned(arguments.seed, arguments.repeat)?;
    let _in_use = mountmark_lab::cache::open(&mountmark_lab::cache::default_folder())?;
    let lab = LabOptions::usual().with(&KERNEL, &arguments.kernel).open(&plan.machine)?;
    let measure = |plan: &Plan, what: &str| measure(arguments, lab.as_ref(), &store, stop, plan, what);

    let Some(long) = measure(&long_plan, "the plan")? else { return Ok(stop.code()) };
    let (mut equals, mut with_nothing) = (Vec::new(), None);
    for variant in &VARIANTS {
        let base = planned(arguments.seed.wrapping_add(variant.seed), arguments.repeat)?;
        let Some(other) = measure(&variant.of(&base), variant.name)? else { return Ok(stop.code()) };
        equals.push((variant.name, GROUPS.map(|size| judge::compare(&long, &other, size))));
        with_nothing.get_or_insert(other);
    }
    let found = mountmark_findings::findings(&long, &mountmark_findings::Options::default());
    let seconds = |name: &str, task: &str| {
        // It is in cells alone and not in the plan, so that both runs have the same tasks.
        if task == variants::NOTHING {
            return judge::durable(with_nothing.as_ref()?, name, task);
        }
        let at = found.configurations.iter().position(|known| known == name)?;
        found.tasks.iter().find(|known| known.id == task)?.median(&Metric::DURABLE, at)
    };
    let slowed = variants::slowed(&plan, SLOWDOWN, &seconds)?;
    let Some(slowed) = measure(&slowed, "each task 3 % slower")? else { return Ok(stop.code()) };

    let result = table::Result {
        plan: &long_plan,
        equals,
        coverage: GROUPS.map(|size| judge::coverage(&long, size)),
        slowdowns: GROUPS.map(|size| judge::slowdowns(&long, &slowed, &found, size)),
    };
    common::print(&result.text())?;
    Ok(if result.is_good() { common::DONE } else { common::FAILED })
}

/// Runs a plan; `None` if the user requested an end.
fn measure(
    arguments: &Arguments,
    lab: &dyn OpenLab,
    store: &Store,
    stop: &Stop,
    plan: &Plan,
    what: &str,
) -> Result<Option<RunRecord>> {
    say!("mountmark: {what}");
    for cell in &plan.cells {
        lab.prepare(&cell.whole())?;
    }
    let jobs = jobs(arguments.jobs, plan, None);
    let format = FormatOptions::default();
    Session { lab, profiler: None, store, jobs, stop, verbose: false, format: &format, sitting: 1 }.collect(plan)
}
