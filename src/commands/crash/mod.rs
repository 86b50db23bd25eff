//! `mountmark crash`: cut the power at every moment that matters, and see what is left.

mod explore;
mod list;
mod log;
mod options;
mod resume;
mod show;
mod state;

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use mountmark_crash::campaign::Campaign;
use mountmark_crash::record::{Asked, Pauses};
use mountmark_crash::states::{Fault, ImageId};
use mountmark_crash::trace::Policy;
use mountmark_crash::workload::Workload;
use mountmark_findings::{Cases, Crash, CrashState};
use mountmark_lab::emulator::Witnesses;
use mountmark_lab::emulator::options::KERNEL;
use mountmark_model::{Bytes, Cell, Configuration, Disk, Machine};
use mountmark_plan::Catalogue;
use mountmark_record::RunId;
use mountmark_run::crash::witness_client;

use super::run::{LabOptions, Stop};
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};
use crate::work_options::{MEASURED, brought_by};
use crate::written;

/// Cut the power: what survives on a file system
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  mountmark crash --fs ext4,xfs --generate 1\n  mountmark crash --fs ext4:data=writeback --workload 'creat foo; write foo 0+8192; creat bar; fsync bar'\n  mountmark crash --fs btrfs --workload 'creat foo; write foo 0+8192; fsync foo; rename foo bar; fsync bar'\n  mountmark crash --fs xfs --generate 2 --budget 30m --seed 7\n  mountmark crash --fs ext4 --workload 'creat foo; fsync foo' --device sector+i1   a disk that ignores flushes\n  mountmark crash --fs ext4 --app sqlite-wal                                       an application of `mountmark list crash`, or ./mine.toml\n  mountmark crash --fs ext4 --with ./mydb --check './mydb verify' -- ./mydb insert           a program of your own\n  mountmark crash --fs ext2,ext3,ext4,xfs --cases                                  what is left of a document\n  mountmark crash show latest --finding 1                                          an image, with the order of writes\n\nA workload runs in a guest while its disk records every request. From the recording follow all images that a disk with a volatile cache may hold after a power cut; guests mount them, and what they find is compared with what the file system promises. Ctrl-C ends it; `mountmark crash resume` goes on.\n\nExit codes: 0 no promise was broken, 1 one was or an application was damaged, 2 wrong use, 3 cannot run here or nothing was tried, 128+N ended by signal N.",
    mut_arg("command", |command| command.help("Cut the power while this command runs, in the root of the file system. A single word may be a line for a shell")),
    mut_args(|argument| match MEASURED.contains(&argument.get_id().as_str()) {
        true => argument.hide(true),
        false => argument,
    }),
    mut_arg("then", |then| then.help("Run another command after it"))
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: options::Options,
    /// Guests side by side [default: the number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Make this image of the workload again and show it
    #[arg(long, value_name = "STATE", conflicts_with = "generate")]
    state: Option<ImageId>,
    /// Write the image to this file
    #[arg(long, value_name = "FILE", requires = "state")]
    export: Option<std::path::PathBuf>,
    /// Do not look for images: write what the disk saw of the workload as a log of dm-log-writes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "generate", "log"])]
    export_log: Option<std::path::PathBuf>,
    /// Write what the disk held before that log to this file
    #[arg(long, value_name = "FILE", requires = "export_log")]
    export_base: Option<std::path::PathBuf>,
    /// How to print: table, markdown, csv, json or html [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Subcommand)]
enum Command {
    Show(show::Arguments),
    Resume(resume::Arguments),
    List(list::Arguments),
}

/// The computer of guests. Its clock has no part in what is found.
const MACHINE: &str = "modern";
/// A disk with a drive, so that the guest has what it takes to serve one.
const DISK: &str = "nvme";

pub fn run(arguments: Arguments) -> Result<u8> {
    match arguments.command {
        None => {}
        Some(Command::Show(arguments)) => return show::run(&arguments),
        Some(Command::Resume(arguments)) => return resume::run(&arguments),
        Some(Command::List(arguments)) => return list::run(&arguments),
    }
    let catalogue = catalogue::load()?;
    let options = &arguments.options;
    let configurations = mountmark_plan::configurations(&catalogue, std::slice::from_ref(&options.fs))?;
    let asked = options.asked(&configurations, &catalogue)?;
    super::run::check_jobs(arguments.jobs)?;
    let files = [
        ("--export", &arguments.export),
        ("--export-log", &arguments.export_log),
        ("--export-base", &arguments.export_base),
    ];
    files.into_iter().try_for_each(|(option, path)| written::free(option, path.as_deref()))?;
    if arguments.export_log.is_some() && arguments.export_log == arguments.export_base {
        bail!(WrongUse("--export-log and --export-base name one file: name two".into()));
    }
    let stop = Stop::on_signals()?;
    if let Some(state) = &arguments.state {
        common::format_of::<CrashState>(arguments.format.as_deref())?;
        let (configuration, workload, policy) = one("--state", &asked, &configurations)?;
        let (workload, wanted) = (&workload, None);
        let (export, format) = (arguments.export.as_deref(), arguments.format.as_deref());
        let image = state::Image { asked: &asked, configuration, workload, policy, state, wanted, export, format };
        return stop.or(image.show(&catalogue, &stop), stop.code());
    }
    if let Some(log) = &arguments.export_log {
        let (configuration, workload, policy) = one("--export-log", &asked, &configurations)?;
        options::check_one_disk("--export-log", configuration)?;
        let base = arguments.export_base.as_deref();
        let export = log::Export { asked: &asked, configuration, workload: &workload, policy, log, base };
        return stop.or(export.run(&catalogue, &stop), stop.code());
    }
    match options.cases {
        true => common::format_of::<Cases>(arguments.format.as_deref())?,
        false => common::format_of::<Crash>(arguments.format.as_deref())?,
    };
    let effort = explore::Effort {
        store: &arguments.store,
        catalogue: &catalogue,
        configurations: &configurations,
        jobs: arguments.jobs,
        format: arguments.format.as_deref(),
        cases: options.cases,
        stop: &stop,
    };
    stop.or(effort.begin(asked), stop.code())
}

/// What a command other than `crash` asks of power cuts: these workloads, on the usual disk.
pub struct Few<'a> {
    pub workloads: Vec<Workload>,
    pub kernel: &'a str,
    pub seed: u64,
    pub budget: Duration,
    /// Most images of one tier at one moment.
    pub images: usize,
}

/// Cuts the power on one configuration, with guests side by side and a store for the campaign; `None` if the user ended it.
pub fn few(
    few: &Few,
    catalogue: &Catalogue,
    configurations: &[Configuration],
    (jobs, store): (Option<usize>, &StoreOptions),
    stop: &Stop,
) -> Result<Option<(RunId, Campaign)>> {
    let asked = Asked {
        configurations: configurations.iter().map(|one| one.name.clone()).collect(),
        workloads: few.workloads.clone(),
        generate: None,
        policies: vec![Policy::default()],
        device: options::DEVICE.parse().map_err(anyhow::Error::msg)?,
        seed: few.seed,
        budget: few.budget.as_secs().max(1),
        disk_size: options::DISK_SIZE.parse::<Bytes>()?.0,
        kernel: few.kernel.to_owned(),
        images: few.images,
        recoveries: 0,
        shrink: false,
        pauses: Pauses::default(),
    };
    let effort = explore::Effort { store, catalogue, configurations, jobs, format: None, cases: false, stop };
    let found = effort.collect(asked)?;
    Ok(found.and_then(|(id, record)| Some((id, record.campaigns().next()?.clone()))))
}

/// What an option is about that is of one run.
fn one<'a>(
    option: &str,
    asked: &'a Asked,
    configurations: &'a [Configuration],
) -> Result<(&'a Configuration, Workload, Policy)> {
    // Of an application the recording without pauses, unless they are asked for.
    let drawn = matches!(asked.pauses, Pauses::Drawn(_)).then(|| asked.named());
    let [workload] = drawn.as_ref().unwrap_or(&asked.workloads).as_slice() else {
        bail!(WrongUse(format!("{option} is of one workload: give one --workload")))
    };
    let [configuration] = configurations else {
        bail!(WrongUse(format!("{option} is of one configuration: give one --fs")))
    };
    let [policy] = asked.policies.as_slice() else {
        bail!(WrongUse(format!("{option} is of one policy: give one --policy")))
    };
    if asked.device.fault.is_some_and(Fault::is_in_turn) {
        bail!(WrongUse(format!(
            "{option} is of one disk: give --device the number of a request in the place of `each`"
        )));
    }
    Ok((configuration, workload.clone(), *policy))
}

/// The lab of a campaign, and what a guest of each configuration is made of.
fn lab(catalogue: &Catalogue, asked: &Asked, configurations: &[Configuration]) -> Result<(Witnesses, Vec<Cell>)> {
    let machine = catalogue.get::<Machine>(MACHINE)?;
    let options = LabOptions::usual().with(&KERNEL, &asked.kernel).options(machine);
    let lab = Witnesses::open(options)?.with_device(asked.device).with_brought(brought_by(&asked.workloads)?);
    let disk = catalogue.get::<Disk>(DISK)?;
    let mut cells = Vec::new();
    for configuration in configurations {
        if let Some(reason) = lab.unavailable(configuration)? {
            bail!("{}: {reason}", configuration.name);
        }
        let cell = witness_client::cell(configuration, disk, Bytes(asked.disk_size), &asked.workloads);
        lab.prepare(&cell)?;
        cells.push(cell);
    }
    Ok((lab, cells))
}

#[cfg(test)]
mod tests {
    use mountmark_crash::application::Application;

    use super::*;

    /// What is asked of one workload.
    pub(super) fn asked(workload: Workload, pauses: Pauses) -> Asked {
        Asked {
            configurations: vec!["ext4".into()],
            workloads: vec![workload],
            generate: None,
            policies: vec![Policy::default()],
            device: options::DEVICE.parse().unwrap(),
            seed: 1,
            budget: 60,
            disk_size: 1 << 29,
            kernel: "6.12".into(),
            images: 16,
            recoveries: 0,
            shrink: false,
            pauses,
        }
    }

    #[test]
    fn one_recording_has_the_pauses_that_are_asked_for() {
        let catalogue = Catalogue::built_in().unwrap();
        let configurations = mountmark_plan::configurations(&catalogue, &["ext4".to_owned()]).unwrap();
        let application = Application { steps: vec!["true".into(), "true".into()], ..Application::default() };
        let workload = Workload { application: Some(Box::new(application)), ..Workload::default() };
        let paused = |pauses| {
            let asked = asked(workload.clone(), pauses);
            let (_, workload, _) = one("--state", &asked, &configurations).unwrap();
            workload.application.unwrap().pauses
        };
        assert_eq!([Pauses::Both, Pauses::None, Pauses::Drawn(7)].map(paused), [None, None, Some(7)]);
    }
}
