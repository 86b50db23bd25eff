//! What power cuts showed, configuration by configuration.

use anyhow::Result;
use mountmark_crash::campaign::{Campaign, Cause, Tried};
use mountmark_crash::policy::Policy;
use mountmark_model::{Bytes, format_count, format_seconds};
use serde::Serialize;

use super::{Object, Rows, Subject};
use crate::html::crash::Shown;
use crate::markup::Markup;
use crate::shell_word;
use crate::words::crash as words;
use crate::writers::{Last, Part, Table};

/// In the user's order.
#[derive(Clone, Copy, Debug)]
pub struct Crash<'a>(pub &'a [Campaign]);

impl Subject for Crash<'_> {
    const COMMAND: &'static str = "crash";
    const NAME: &'static str = "what power cuts showed";
    const PARTS: Option<fn(&Self) -> Vec<Part>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
    const PAGE: Option<fn(&Self) -> Result<Markup>> = Some(page);
}

const HEAD: [&str; 8] =
    ["file system", "workloads", "images", "mounted", "promises broken", "given up", "seconds", "images/s a guest"];

fn summary(campaigns: &[Campaign]) -> Table {
    let row = |campaign: &Campaign| {
        let causes = campaign.causes();
        let broken = causes.iter().filter(|cause| cause.promised).count();
        vec![
            campaign.configuration.clone(),
            campaign.chosen().count().to_string(),
            campaign.total(|explored| explored.states).to_string(),
            campaign.total(|explored| explored.shown).to_string(),
            broken.to_string(),
            (causes.len() - broken).to_string(),
            format_seconds(campaign.seconds),
            campaign.rate().map_or("-".into(), format_count),
        ]
    };
    let rows = campaigns.iter().map(row).collect();
    Table { head: HEAD.map(str::to_owned).into(), rows, keys: 1, last: Last::Figure }
}

fn page(Crash(campaigns): &Crash) -> Result<Markup> {
    let about = campaigns.first().map(about).unwrap_or_default();
    let shown: Vec<Shown> = campaigns.iter().map(|campaign| Shown { campaign, again }).collect();
    Ok(crate::html::crash::page(&about, &summary(campaigns), &shown))
}

fn parts(Crash(campaigns): &Crash) -> Vec<Part> {
    let mut parts: Vec<Part> = campaigns.first().map(about).unwrap_or_default();
    parts.push(Part::Table(summary(campaigns)));
    for campaign in *campaigns {
        parts.push(Part::Heading(campaign.configuration.clone()));
        parts.push(Part::Paragraph(words::promised(campaign)));
        parts.push(Part::Paragraph(words::explored(campaign)));
        let causes = campaign.causes();
        let (broken, given_up): (Vec<&Cause>, Vec<&Cause>) = causes.iter().partition(|cause| cause.promised);
        for (causes, lead) in [(broken, words::BROKEN), (given_up, words::GIVEN_UP)] {
            if !causes.is_empty() {
                parts.push(Part::Paragraph(lead.into()));
            }
            for cause in causes {
                parts.push(Part::Item(words::found(cause)));
                parts.push(Part::Command(again(campaign, cause)));
            }
        }
        let suspicious = words::suspicious(campaign);
        if !suspicious.is_empty() {
            parts.push(Part::Paragraph(words::SUSPICIOUS.into()));
            parts.extend(suspicious.into_iter().map(Part::Item));
        }
        let failed = campaign.tried.iter().filter_map(|tried| Some((tried, tried.explored.error.as_ref()?)));
        parts.extend(failed.map(|(tried, error)| Part::Item(words::not_explored(tried, error))));
    }
    parts
}

fn about(campaign: &Campaign) -> Vec<Part> {
    let facts = [
        ("kernel", campaign.kernel.clone()),
        ("disk", format!("{}, {}", Bytes(campaign.disk_size), words::device(campaign))),
        ("seed", campaign.seed.to_string()),
    ];
    facts.map(|(label, text)| Part::Labelled(label.into(), text)).into()
}

/// A command that shows a finding again.
fn again(campaign: &Campaign, cause: &Cause) -> String {
    let mut command = vec!["mountmark crash".to_owned(), format!("--fs {}", shell_word(&campaign.configuration))];
    command.extend(cause.workload.options().iter().map(|(option, value)| format!("{option} {}", shell_word(value))));
    command.push(format!("--state {}", cause.finding.state));
    let device = cause.finding.device.unwrap_or(campaign.device).to_string();
    command.extend((device != "sector").then(|| format!("--device {device}")));
    command.extend((cause.policy != Policy::Fifo).then(|| format!("--policy {}", cause.policy)));
    command.join(" ")
}

fn rows(Crash(campaigns): &Crash, out: &mut Rows) -> Result<()> {
    out.head("configuration,kernel,device,policy,workload,epochs,images,shown,seconds,state,begun,returned,fault,promised,fault_images")?;
    for campaign in *campaigns {
        for Tried { workload, policy, explored, .. } in &campaign.tried {
            let mut line = |device: String, [state, begun, returned, fault, promised, images]: [&str; 6]| {
                out.line([
                    &campaign.configuration,
                    &campaign.kernel,
                    &device,
                    &policy.to_string(),
                    &workload.to_string(),
                    &explored.epochs.to_string(),
                    &explored.states.to_string(),
                    &explored.shown.to_string(),
                    &format!("{:.3}", explored.seconds[1]),
                    state,
                    begun,
                    returned,
                    fault,
                    promised,
                    images,
                ])
            };
            if explored.findings.is_empty() {
                line(campaign.device.to_string(), [""; 6])?;
            }
            for finding in &explored.findings {
                let (begun, returned) = (finding.moment.begun.to_string(), finding.moment.returned.to_string());
                let (state, images) = (finding.state.to_string(), finding.images.to_string());
                let promised = if finding.promised { "yes" } else { "no" };
                let device = finding.device.unwrap_or(campaign.device).to_string();
                line(device, [&state, &begun, &returned, &finding.fault.signature(workload), promised, &images])?;
            }
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Configuration<'a> {
    #[serde(flatten)]
    campaign: &'a Campaign,
    causes: Vec<Cause<'a>>,
}

fn object(Crash(campaigns): &Crash, out: &mut Object) -> Result<()> {
    out.list("configurations", campaigns.iter().map(|campaign| Configuration { campaign, causes: campaign.causes() }))
}
