//! Sentences about figures that a claim needs and a run lacks, and about claims of another suite, machine, scale or disk.

use mountmark_document::number::capital;
use mountmark_model::heading;

use crate::claims::find::{JudgedClaim, Misfit, MissingReason};
use crate::claims::say::subject;
use crate::figures::say::quantity::headings;
use crate::group::each_once;

/// Maximum number of tasks named as missing.
const GAPS: usize = 4;

/// What a claim lacks, a sentence each; all misfits are one sentence, which says nothing twice.
pub(crate) fn lacks(claim: &JudgedClaim) -> Vec<String> {
    let misfits = claim
        .missing
        .iter()
        .filter_map(|lack| if let MissingReason::Misfit(found) = lack { Some(found) } else { None });
    let parts = each_once(misfits.flat_map(|found| misfit(found)));
    let misfits = (!parts.is_empty()).then(|| format!("{}; --anyway judges all the same.", capital(&parts.join("; "))));
    misfits.into_iter().chain(claim.missing.iter().filter_map(|found| lack(&claim.run, found))).collect()
}

/// The sentence of one lack; misfits have theirs together.
fn lack(run: &str, lack: &MissingReason) -> Option<String> {
    let text = match lack {
        MissingReason::Misfit(_) => return None,
        MissingReason::FileSystems(names) => {
            format!("{} {} no figures in run {run}.", headings(names), if names.len() == 1 { "has" } else { "have" })
        }
        MissingReason::Metric(metric) => format!("Run {run} has no figure of {metric}."),
        MissingReason::Unavailable { filesystem, reason } => {
            format!("{} cannot be measured: {}.", heading(filesystem), reason.trim_end_matches('.'))
        }
        MissingReason::Tasks { filesystem, metric, over, tasks } => {
            let names: Vec<String> = tasks.iter().take(GAPS).map(|of| subject(of, *over)).collect();
            let more = if tasks.len() > GAPS { format!(" and {} more", tasks.len() - GAPS) } else { String::new() };
            format!("{} has no figure of {metric} at {}{more}.", heading(filesystem), names.join(", "))
        }
        MissingReason::TooFew => format!("Run {run} has too few file systems with figures."),
        MissingReason::NoRun => "No run of this store repeats it.".into(),
        MissingReason::OwnKernel(names) => {
            format!(
                "No distribution's kernel supports {}: give one that does (--kernel VMLINUX,MODULES).",
                headings(names)
            )
        }
        MissingReason::Points(vary) => {
            format!("It is about several points of a parameter: --vary {vary} measures them.")
        }
        MissingReason::StudyRun { run, can_be_given: true } => {
            format!("One part is about the study's run {run}: give an earlier run, which stands for it.")
        }
        MissingReason::StudyRun { run, can_be_given: false } => format!("No run can stand for the study's run {run}."),
        MissingReason::PowerCuts => {
            "It is about power cuts: `mountmark crash --cases` cuts the power and judges it.".into()
        }
        MissingReason::NotCut(names) => format!(
            "No power cut was tried at its moment on {}: `mountmark crash --cases --fs {}` tries.",
            headings(names),
            names.join(",")
        ),
        MissingReason::NoSuite(suite) => format!("This version has no suite {suite}."),
    };
    Some(text)
}

/// How a run differs from what a claim is about, in parts of a sentence.
fn misfit(Misfit { run, suite, machine, scale, disk_size }: &Misfit) -> Vec<String> {
    let suite = suite.as_ref().map(|suite| match &suite.of_claim {
        Some(of_claim) => format!("the suite of run {run} is {}, that of the claim {of_claim}", suite.of_run),
        None => format!("the suite of run {run} is {}, and none repeats the study", suite.of_run),
    });
    let machine = machine.as_ref().map(|machine| {
        let of_run = machine.of_run.as_deref().unwrap_or("this computer");
        format!("the machine of run {run} is {of_run}, that of the claim {}", machine.of_claim)
    });
    let scale = scale.map(|found| {
        format!(
            "not judged at this scale: run {run} is at {}, and the claim needs {} or more",
            found.of_run, found.needed
        )
    });
    let size = disk_size.map(|found| {
        format!(
            "not judged on this disk: that of run {run} has {}, and the claim needs {} or more",
            found.of_run, found.needed
        )
    });
    [suite, machine, scale, size].into_iter().flatten().collect()
}

/// That a run judged a claim about another suite or machine.
pub(crate) fn stretched(claim: &JudgedClaim) -> Option<String> {
    claim
        .stretched
        .as_ref()
        .filter(|_| claim.is_measured())
        .map(|found| format!("Judged all the same: {}.", misfit(found).join("; ")))
}
