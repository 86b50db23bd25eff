//! Compares a run with an earlier one.

use anyhow::Result;
use clap::Args;
use mountmark_findings::changes::{Changes, changes};
use mountmark_findings::find_metric;
use mountmark_record::RunRecord;

use super::Arguments;
use crate::common::{self, WrongUse};

/// Options of the comparison of two runs.
#[derive(Args)]
pub struct Options {
    /// Exit with 1 when a regression larger than this is shown, or a task of both has no figure any more, in all repeats or in
    /// some: 5%, 0.05
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["study", "claims", "agreement"])]
    fail_on: Option<f64>,
    /// Compare this metric alone; otherwise those that tasks are judged by
    #[arg(long, value_name = "METRIC", conflicts_with_all = ["study", "claims", "agreement"])]
    metric: Option<String>,
    /// Compare runs of different suites, works, scales or corpora all the same; with --claims, judge claims about other suites
    /// and machines too
    #[arg(long)]
    pub anyway: bool,
}

/// `5%` or `0.05`.
pub(in crate::commands) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text.trim(), 1.0),
    };
    let value = number.trim().parse::<f64>().ok().map(|value| value * unit);
    if unit == 1.0 && value.is_some_and(|value| value >= 1.0) {
        return Err(format!("{text} is a share of {text} times the earlier figure; did you mean {text}%?"));
    }
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| "write a share that is not negative, such as 5% or 0.05".into())
}

pub fn run(arguments: &Arguments, before: &str, after: &str) -> Result<u8> {
    common::format_of::<mountmark_findings::changes::RunBeside>(arguments.format.as_deref())?;
    let Options { fail_on, metric, anyway } = &arguments.between;
    let metric = metric.as_deref().map(find_metric).transpose();
    let metric = metric.map_err(|error| WrongUse(format!("--metric: {error}")))?;
    let (before, after) = (arguments.store.load(before)?, arguments.store.load(after)?);
    if before.name() == after.name() {
        return Err(WrongUse(format!("both are run {}: name two runs", before.name())).into());
    }
    let reasons = other_work(&before, &after, *anyway)?;
    let options = fail_on.map_or_else(mountmark_findings::Options::default, mountmark_findings::Options::of_gate);
    let found = changes(&before, &after, metric, &options);
    common::show(&mountmark_findings::changes::RunBeside(&found), arguments.format.as_deref())?;
    for reason in reasons {
        say!("mountmark: compared anyway, though {reason}");
    }
    match fail_on {
        Some(limit) => gate(&found, *limit),
        None => Ok(common::DONE),
    }
}

/// Why the runs are not of the same work, if `anyway` lets that pass.
pub(super) fn other_work(before: &RunRecord, after: &RunRecord, anyway: bool) -> Result<Vec<String>> {
    match common::other_work(before, after) {
        Some((_, sentence)) if !anyway => {
            Err(WrongUse(format!("{sentence}. Add --anyway to compare them all the same")).into())
        }
        found => Ok(found.map(|(reasons, _)| reasons).unwrap_or_default()),
    }
}

/// The exit code for scripts: whether anything became worse.
fn gate(found: &Changes, limit: f64) -> Result<u8> {
    if !found.is_judged() {
        return Err(WrongUse(format!(
            "--fail-on: nothing could be judged: {}",
            if found.changes.is_empty() {
                "the runs have no figure in common"
            } else {
                "see the notes of the comparison"
            }
        ))
        .into());
    }
    let beyond = found.beyond(limit);
    for change in &beyond {
        say!("mountmark: regression: {}", mountmark_findings::changes::say::sentence(found, change));
    }
    Ok(if beyond.is_empty() { common::DONE } else { common::FAILED })
}
