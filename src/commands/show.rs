//! `mountmark show`: the figures of one run.

mod io;
mod raw;
mod safety;

use anyhow::Result;
use clap::Args;
use mountmark_findings::{Device, Options, Outputs, Safety, Verdicts};

use crate::catalogue;
use crate::common::{self, FormatOptions, StoreOptions, SurviveOptions, WrongUse};
use crate::costs::CostsOptions;

/// Print the figures of a run
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark show latest\n  mountmark show 20260131-0902 --metric durable\n  mountmark show latest --format json > run.json\n  mountmark show latest --verdict --baseline ext4\n  mountmark show latest --raw bonnie\n  mountmark show latest --io\n  mountmark show latest --io 003 --format json > io.json\n  mountmark show latest --safety\n  mountmark show latest --verdict --survive fsync       a ranking without those that lose what was synced"
)]
pub struct Arguments {
    /// Name of the run, its first letters, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print what the command of a task printed, or what the engine found, as it is; of all tasks or of one. Of a command
    /// that is no benchmark program the first and the last 16 KiB of each stream are kept
    #[arg(long, value_name = "TASK", num_args = 0..=1, default_missing_value = "")]
    raw: Option<String>,
    /// Print the I/O of tasks at the device in iostat's columns, of all tasks or of one; as json with what happened over
    /// time, request sizes and addresses
    #[arg(long, value_name = "TASK", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["raw", "verdict"])]
    io: Option<String>,
    /// Print conclusions, verdicts by task and rankings, with intervals
    #[arg(long, conflicts_with = "raw")]
    verdict: bool,
    /// With --verdict: the configuration that figures are divided by [default: the first configuration]
    #[arg(long, value_name = "CONFIGURATION", requires = "verdict")]
    baseline: Option<String>,
    /// Print what safety costs: what is promised, what power cuts showed, and what the suite safety measures
    #[arg(long, conflicts_with_all = ["raw", "io", "verdict"])]
    safety: bool,
    /// What power cuts showed, with --safety [default: of each file system the latest on a disk without a fault]
    #[arg(long, value_name = "CAMPAIGN")]
    campaign: Option<String>,
    #[command(flatten)]
    survive: SurviveOptions,
    #[command(flatten)]
    costs: CostsOptions,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    match (arguments.io.is_some(), arguments.verdict) {
        _ if arguments.safety => drop(common::format_of::<Safety>(arguments.format.format.as_deref())?),
        (true, _) => drop(common::format_of::<Device>(arguments.format.format.as_deref())?),
        _ if arguments.raw.is_some() => drop(common::format_of::<Outputs>(arguments.format.format.as_deref())?),
        (_, true) => drop(common::format_of::<Verdicts>(arguments.format.format.as_deref())?),
        _ => arguments.format.check()?,
    }
    refuse_ignored(&arguments)?;
    if let Some(task) = &arguments.io {
        return io::io(&arguments.store, &arguments.run, task, arguments.format.format.as_deref());
    }
    if arguments.safety {
        let (campaign, format) = (arguments.campaign.as_deref(), arguments.format.format.as_deref());
        return safety::safety(&arguments.store, &arguments.run, campaign, format);
    }
    if arguments.verdict {
        return verdict(&arguments);
    }
    let record = arguments.survive.keep(arguments.store.load(&arguments.run)?)?;
    if let Some(task) = &arguments.raw {
        let (store, format) = (arguments.store.open_read_only()?, arguments.format.format.as_deref());
        common::print(&raw::raw(&store, &record, task, format)?)?;
        return Ok(common::DONE);
    }
    common::print(&arguments.format.render(&record)?)?;
    Ok(common::DONE)
}

/// Rejects options that another one makes ineffective.
fn refuse_ignored(arguments: &Arguments) -> Result<()> {
    let of_its_own = [
        ("--raw", arguments.raw.is_some()),
        ("--io", arguments.io.is_some()),
        ("--verdict", arguments.verdict),
        ("--safety", arguments.safety),
    ];
    if arguments.survive.is_given() && (arguments.raw.is_some() || arguments.io.is_some() || arguments.safety) {
        return Err(WrongUse("--survive is for tables and --verdict".into()).into());
    }
    if arguments.costs.is_given() && !arguments.verdict {
        return Err(WrongUse("--costs says whether orders hold: add --verdict".into()).into());
    }
    let given = of_its_own.iter().find(|(_, is_given)| *is_given);
    if arguments.campaign.is_some() && !arguments.safety {
        return Err(WrongUse("--campaign chooses what power cuts showed: add --safety".into()).into());
    }
    if let Some((name, _)) = given.filter(|_| arguments.format.metric.is_some()) {
        return Err(WrongUse(format!("--metric chooses the figure of tables, and {name} prints others")).into());
    }
    Ok(())
}

fn verdict(arguments: &Arguments) -> Result<u8> {
    let record = arguments.survive.keep(arguments.store.load(&arguments.run)?)?;
    let known = mountmark_findings::configurations(&record);
    if let Some(name) = arguments.baseline.as_ref().filter(|name| !known.contains(name)) {
        let run = &record.id;
        return Err(WrongUse(format!("--baseline: {run} has no {name:?}; it has {}", known.join(", "))).into());
    }
    let asked = arguments.costs.asked(&catalogue::load()?, &arguments.store.open_read_only()?, &record)?;
    let options = Options { baseline: arguments.baseline.clone(), asked: Some(asked), ..Options::default() };
    let findings = mountmark_findings::findings(&record, &options);
    common::show(&Verdicts { run: &record, findings: &findings }, arguments.format.format.as_deref())
}
