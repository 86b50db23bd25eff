//! `mountmark crash show`: a campaign that is kept, or the image of one of its findings.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use mountmark_crash::campaign::Campaign;
use mountmark_crash::record::{Asked, Record};
use mountmark_crash::states::Device;
use mountmark_findings::{Cases, Crash, CrashState};
use mountmark_record::Campaigns;

use super::Stop;
use super::state::Image;
use crate::catalogue;
use crate::common::{self, StoreOptions, WrongUse};
use crate::written;

/// Show a campaign again, or the image of a finding
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark crash show\n  mountmark crash show latest --cases\n  mountmark crash show latest --finding 2\n  mountmark crash show latest --finding 2 --export image     for e2fsck, xfs_repair and the like\n  mountmark crash show latest --format html > crash.html"
)]
pub(super) struct Arguments {
    /// The campaign: its name, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    campaign: String,
    /// Make the image of this finding again, by its number in the list, and show what led to it
    #[arg(long, value_name = "NUMBER")]
    finding: Option<usize>,
    /// Show what became of files in the cases that studies tell apart, and what that says of their claims
    #[arg(long, conflicts_with = "finding")]
    cases: bool,
    /// Write the finding's image to this file
    #[arg(long, value_name = "FILE", requires = "finding")]
    export: Option<PathBuf>,
    /// How to print: table, markdown, csv, json or html [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8> {
    match arguments.finding {
        None if arguments.cases => common::format_of::<Cases>(arguments.format.as_deref())?,
        None => common::format_of::<Crash>(arguments.format.as_deref())?,
        Some(_) => common::format_of::<CrashState>(arguments.format.as_deref())?,
    };
    let campaigns = Campaigns::beside(&arguments.store.path());
    let id = campaigns.resolve(&arguments.campaign)?;
    let record = campaigns.load(&id, Record::from_pieces)?;
    let all: Vec<Campaign> = record.campaigns().cloned().collect();
    let Some(number) = arguments.finding else {
        let format = arguments.format.as_deref();
        return match arguments.cases {
            true => super::explore::print_cases(&all, &catalogue::load()?, format),
            false => common::show(&Crash(&all), format),
        };
    };
    let causes: Vec<_> =
        all.iter().flat_map(|campaign| campaign.causes().into_iter().map(move |cause| (campaign, cause))).collect();
    let Some((campaign, cause)) = number.checked_sub(1).and_then(|index| causes.get(index)) else {
        let count = mountmark_model::counted(causes.len(), "finding");
        bail!(WrongUse(format!("--finding {number}: campaign {id} has {count}, numbered from 1")));
    };
    written::free("--export", arguments.export.as_deref())?;
    let catalogue = catalogue::load()?;
    let configurations = mountmark_plan::configurations(&catalogue, std::slice::from_ref(&campaign.configuration))?;
    let stop = Stop::on_signals()?;
    let asked = asked_again(&record.asked, &campaign.kernel_option, cause.finding.device);
    let image = Image {
        asked: &asked,
        configuration: configurations.first().context("a configuration that was tried has a name")?,
        workload: cause.workload,
        policy: cause.policy,
        state: &cause.finding.state,
        wanted: Some(cause.signature.clone()),
        export: arguments.export.as_deref(),
        format: arguments.format.as_deref(),
    };
    stop.or(image.show(&catalogue, &stop), stop.code())
}

/// What makes the image of a finding again: its own disk, and the `kernel` that the campaign had, as what is newest may have
/// changed.
fn asked_again(asked: &Asked, kernel: &str, device: Option<Device>) -> Asked {
    let kernel = if kernel.is_empty() { asked.kernel.as_str() } else { kernel };
    Asked { device: device.unwrap_or(asked.device), kernel: kernel.to_owned(), ..asked.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::asked;
    use super::*;

    #[test]
    fn a_finding_is_shown_on_the_kernel_that_had_it() {
        let asked = asked(mountmark_crash::workload::Workload::default(), Default::default());
        let own: Device = "request+i5:7".parse().unwrap();
        let again = asked_again(&asked, "6.12.117+deb12-amd64", Some(own));
        assert_eq!((again.kernel.as_str(), again.device), ("6.12.117+deb12-amd64", own));
        assert_eq!(asked_again(&asked, "", None), asked, "of a record that does not say");
    }
}
