//! `mountmark self-check engines`: compares benchmark programs with Mountmark's engine, phase by phase.
//!
//! The comparisons are in `engines/`: one file per program, with the suite that measures both sides in one cell of the
//! virtual lab, so that both have the same machine, disk, file system and parameters. This file runs such a suite as a
//! user would, and judges. It does not know what a phase does.

mod judge;
mod pairs;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::common::{self, WrongUse};
use judge::Verdict;
use pairs::{Check, PROGRAMS};

/// Run benchmark programs and the own engine side by side, and compare what they measure
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark self-check engines\n  mountmark self-check engines --fs ext4,xfs --disk ssd --programs fio,sysbench\n\nBoth sides run in one guest, on one file system, with the same sizes, blocks, order, counts and syncs. A phase passes if its rates are within 10 % of each other, or if there is a stated reason for the difference that fits its size.\nExit code 1 if a phase differs without a reason, or failed."
)]
pub struct Arguments {
    /// File systems to try
    #[arg(long, value_name = "LIST", default_value = "ext4")]
    fs: String,
    /// Disks to try, separated by commas
    #[arg(long, value_name = "LIST", default_value = "ram,ssd", value_delimiter = ',')]
    disk: Vec<String>,
    /// Shrinks files and counts; programs that call a short test too fast need 1
    #[arg(long, value_name = "SCALE", default_value = "1")]
    scale: String,
    /// Programs to try, separated by commas
    #[arg(long, value_name = "LIST", default_value = "bonnie++,iozone,sysbench,fio", value_delimiter = ',')]
    programs: Vec<String>,
    /// The guest's kernel
    #[arg(long, value_name = "KERNEL", default_value = mountmark_lab::image::kernel::DEFAULT)]
    kernel: String,
    /// Guests side by side [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Keep the runs in this results store, with all that the programs printed
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let checks: Vec<Check> = arguments.programs.iter().map(|name| pairs::find(name)).collect::<Result<_>>()?;
    // A wrong scale is reported before anything runs.
    checks.iter().try_for_each(|check| check.parameters(&arguments.scale).map(drop))?;
    let folder = tempfile::Builder::new().prefix("mountmark-self-check-").tempdir().context("no temporary folder")?;
    let out = arguments.keep.clone().unwrap_or_else(|| folder.path().join("out"));
    let mut good = true;
    let mut measured = 0;
    for check in &checks {
        let suite = folder.path().join(format!("{}.toml", check.suite_name()));
        std::fs::write(&suite, check.suite_text()?).with_context(|| format!("cannot write {}", suite.display()))?;
        for disk in &arguments.disk {
            let mut command = Command::new("/proc/self/exe");
            command.args(["run", "--repeat", "1", "--format", "json", "--fs", &arguments.fs, "--disk", disk]);
            command.args(["--scale", &arguments.scale, "--kernel", &arguments.kernel]);
            command.arg("--suite").arg(&suite).arg("--out").arg(&out);
            if let Some(jobs) = arguments.jobs {
                command.args(["--jobs", &jobs.to_string()]);
            }
            let Some(seen) = Seen::of(&mut command, check, disk, &arguments.scale)? else { continue };
            for (filesystem, figures) in &seen.cells {
                let verdicts: Vec<Verdict> = check
                    .phases
                    .iter()
                    .map(|phase| judge::judge(phase, figures, filesystem, disk, check.by_time))
                    .collect();
                good &= verdicts.iter().all(Verdict::is_good);
                measured += verdicts.iter().filter(|verdict| verdict.is_measured()).count();
                let head =
                    table::Head { check, filesystem, disk, scale: &arguments.scale, parameters: &seen.parameters };
                common::print(&table::text(&head, &verdicts))?;
            }
        }
    }
    if measured == 0 {
        say!("mountmark: no phase could be compared");
        return Ok(if good { common::CANNOT_RUN } else { common::FAILED });
    }
    Ok(if good { common::DONE } else { common::FAILED })
}

/// Figures of one cell: values by task and metric, and reasons for missing ones.
#[derive(Default)]
pub struct Figures {
    values: BTreeMap<(String, String), f64>,
    missing: BTreeMap<String, Missing>,
}

/// Why a task has no figures.
#[derive(Clone, Debug)]
struct Missing {
    failed: bool,
    reason: String,
}

/// Output of a run.
struct Seen {
    /// By file system.
    cells: BTreeMap<String, Figures>,
    /// The suite's parameters at the run's scale.
    parameters: BTreeMap<String, u64>,
}

impl Seen {
    /// Runs it; `None` if the program is unavailable, which the run itself has reported.
    fn of(command: &mut Command, check: &Check, disk: &str, scale: &str) -> Result<Option<Seen>> {
        say!("mountmark: {} on the disk {disk}", check.title);
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().context("cannot start this program again")?;
        match output.status.code().map(|code| code as u8) {
            Some(common::DONE | common::FAILED) => {}
            Some(common::WRONG_USE) => bail!(WrongUse(format!("the run of {} was refused", check.title))),
            code => bail!("the run of {} on the disk {disk} ended with code {code:?}", check.title),
        }
        let run: Value = serde_json::from_slice(&output.stdout).context("a run printed no JSON")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut cells: BTreeMap<String, Figures> = BTreeMap::new();
        for cell in run["cells"].as_array().context("a run's JSON has no cells")? {
            let figures = cells.entry(text(&cell["configuration"])).or_default();
            for ended in cell["tasks"].as_array().into_iter().flatten().filter(|ended| ended["outcome"] != "ok") {
                let missing = Missing { failed: ended["outcome"] == "failed", reason: text(&ended["reason"]) };
                figures.missing.insert(text(&ended["task"]), missing);
            }
            if cell["outcome"] != "ok" {
                bail!("{} on the disk {disk}: {}", text(&cell["configuration"]), text(&cell["reason"]));
            }
        }
        for sample in run["samples"].as_array().context("a run's JSON has no samples")? {
            let value = sample["value"].as_f64().context("a sample without a value")?;
            let figures = cells.entry(text(&sample["configuration"])).or_default();
            figures.values.insert((text(&sample["task"]), text(&sample["metric"])), value);
        }
        let parameters = check.parameters(scale)?;
        let lacks = check.phases.iter().all(|phase| {
            cells.values().all(|cell| cell.missing.get(&phase.real).is_some_and(|missing| !missing.failed))
        });
        if lacks {
            let reason = cells.values().flat_map(|cell| cell.missing.values()).next();
            let reason = reason.map_or("no reason given", |missing| &missing.reason);
            say!("mountmark: {} is skipped on the disk {disk}: {reason}", check.title);
            return Ok(None);
        }
        Ok(Some(Seen { cells, parameters }))
    }
}

/// The names of all programs, for a message.
fn known() -> String {
    PROGRAMS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}
