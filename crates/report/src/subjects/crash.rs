//! What power cuts showed, configuration by configuration.

use anyhow::Result;
use mountmark_crash::campaign::{Campaign, Cause, Tried};
use mountmark_model::{Bytes, format_seconds};
use serde::Serialize;

use super::{Object, Rows, Subject};
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
}

const HEAD: [&str; 6] = ["file system", "workloads", "images", "shown", "causes", "seconds"];

fn parts(Crash(campaigns): &Crash) -> Vec<Part> {
    let row = |campaign: &Campaign| {
        vec![
            campaign.configuration.clone(),
            campaign.tried.len().to_string(),
            campaign.total(|explored| explored.states).to_string(),
            campaign.total(|explored| explored.shown).to_string(),
            campaign.causes().len().to_string(),
            format_seconds(campaign.seconds),
        ]
    };
    let rows = campaigns.iter().map(row).collect();
    let mut parts: Vec<Part> = campaigns.first().map(about).unwrap_or_default();
    parts.push(Part::Table(Table { head: HEAD.map(str::to_owned).into(), rows, keys: 1, last: Last::Figure }));
    for campaign in *campaigns {
        parts.push(Part::Heading(campaign.configuration.clone()));
        parts.push(Part::Paragraph(words::promised(campaign)));
        parts.push(Part::Paragraph(words::explored(campaign)));
        for cause in campaign.causes() {
            parts.push(Part::Item(words::found(&cause)));
            parts.push(Part::Command(again(campaign, &cause)));
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
    let mut command = vec![
        "mountmark crash".to_owned(),
        format!("--fs {}", shell_word(&campaign.configuration)),
        format!("--workload {}", shell_word(&cause.workload.to_string())),
        format!("--state {}", cause.finding.state),
    ];
    let device = campaign.device.to_string();
    command.extend((device != "sector").then(|| format!("--device {device}")));
    command.extend((cause.policy != "fifo").then(|| format!("--policy {}", cause.policy)));
    command.join(" ")
}

fn rows(Crash(campaigns): &Crash, out: &mut Rows) -> Result<()> {
    out.head("configuration,kernel,device,policy,workload,epochs,images,shown,seconds,state,begun,returned,fault")?;
    for campaign in *campaigns {
        for Tried { workload, policy, explored } in &campaign.tried {
            let mut line = |state: &str, begun: &str, returned: &str, fault: &str| {
                out.line([
                    &campaign.configuration,
                    &campaign.kernel,
                    &campaign.device.to_string(),
                    policy,
                    &workload.to_string(),
                    &explored.epochs.to_string(),
                    &explored.states.to_string(),
                    &explored.shown.to_string(),
                    &format!("{:.3}", explored.seconds[1]),
                    state,
                    begun,
                    returned,
                    fault,
                ])
            };
            if explored.findings.is_empty() {
                line("", "", "", "")?;
            }
            for finding in &explored.findings {
                let (begun, returned) = (finding.moment.begun.to_string(), finding.moment.returned.to_string());
                line(&finding.state.to_string(), &begun, &returned, &finding.fault.signature(workload))?;
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
