//! What power cuts showed, configuration by configuration.

pub(crate) mod list;
pub(crate) mod state;

use anyhow::Result;
use mountmark_crash::campaign::{Campaign, Cause, Tried};
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table};
use mountmark_document::markup::Markup;
use mountmark_model::{format_count, format_seconds, heading};
use serde::Serialize;

use crate::crash::page::Shown;
use crate::crash::say::explored;
use crate::crash::{page, say as words};
use crate::run::say::again::shell_word;
use crate::run::show::about::labels;

/// In the user's order.
#[derive(Clone, Copy, Debug)]
pub struct Crash<'a>(pub &'a [Campaign]);

impl Subject for Crash<'_> {
    const COMMAND: &'static str = "crash";
    const NAME: &'static str = "what power cuts showed";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
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
        // Where nothing was tried 0 would read as a good result.
        let known = |count: usize| if campaign.is_empty() { "-".to_owned() } else { count.to_string() };
        vec![
            heading(&campaign.configuration).into_owned(),
            campaign.chosen().count().to_string(),
            campaign.total(|explored| explored.states).to_string(),
            campaign.total(|explored| explored.shown).to_string(),
            known(broken),
            known(causes.len() - broken),
            format_seconds(campaign.seconds),
            campaign.rate().map_or("-".into(), format_count),
        ]
    };
    Table::new(HEAD, campaigns.iter().map(row), 1, Last::Figure)
}

fn page(Crash(campaigns): &Crash) -> Result<Markup> {
    let about = about(campaigns);
    let shown: Vec<Shown> = campaigns.iter().map(|campaign| Shown { campaign, again }).collect();
    Ok(page::page(&about, &summary(campaigns), &shown))
}

fn parts(Crash(campaigns): &Crash) -> Vec<Block> {
    let mut parts = about(campaigns);
    parts.push(Block::Table(summary(campaigns)));
    for campaign in *campaigns {
        parts.push(Block::Heading(heading(&campaign.configuration).into_owned()));
        parts.push(Block::Text(words::promised(campaign)));
        parts.push(Block::Text(explored::explored(campaign)));
        for causes in campaign.causes().chunk_by(|one, next| one.standing() == next.standing()) {
            parts.push(Block::Text(words::lead(causes[0].standing()).into()));
            for cause in causes {
                parts.push(Block::Item(words::found(cause)));
                parts.push(Block::Command(again(campaign, cause)));
            }
        }
        let suspicious = words::suspicious(campaign);
        if !suspicious.is_empty() {
            parts.push(Block::Text(words::SUSPICIOUS.into()));
            parts.extend(suspicious.into_iter().map(Block::Item));
        }
        parts.extend(explored::not_judged(campaign).into_iter().map(Block::Item));
    }
    parts
}

fn about(campaigns: &[Campaign]) -> Vec<Block> {
    let Some(campaign) = campaigns.first() else { return Vec::new() };
    let facts =
        [("kernel", campaign.kernel.clone()), ("disk", words::disk(campaigns)), ("seed", campaign.seed.to_string())];
    let facts = facts.into_iter().map(|(label, text)| Block::Fact(label.into(), text));
    facts.chain(labels(campaigns.iter().map(|campaign| campaign.configuration.as_str()))).collect()
}

/// A command that shows a finding again: all that determines what it shows, as defaults may change.
fn again(campaign: &Campaign, cause: &Cause) -> String {
    let kernel = [&campaign.kernel_option, &campaign.kernel].into_iter().find(|kernel| !kernel.is_empty());
    let mut options = vec![("--fs", campaign.configuration.clone())];
    options.extend(cause.workload.options());
    options.extend([
        ("--state", cause.finding.state.to_string()),
        ("--device", cause.finding.device.unwrap_or(campaign.device).to_string()),
        ("--policy", cause.policy.to_string()),
        ("--seed", campaign.seed.to_string()),
    ]);
    // An image that is given has its own size.
    let is_given = cause.workload.log.as_ref().is_some_and(|log| log.base.is_some());
    options.extend((!is_given).then(|| ("--disk-size", size(campaign.disk_size))));
    options.extend(kernel.map(|kernel| ("--kernel", kernel.clone())));
    let options = options.iter().map(|(option, value)| format!("{option} {}", shell_word(value)));
    // A command is last, and what follows it is its own.
    let command = cause.workload.said().map(|(_, said)| &said.words[..]).unwrap_or_default();
    let command = command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let command = if command.is_empty() { None } else { Some(format!("-- {command}")) };
    std::iter::once("mountmark crash".to_owned()).chain(options).chain(command).collect::<Vec<_>>().join(" ")
}

/// A size as an option takes it, exact.
fn size(bytes: u64) -> String {
    match bytes % (1 << 20) {
        0 => format!("{}MiB", bytes >> 20),
        _ => bytes.to_string(),
    }
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
