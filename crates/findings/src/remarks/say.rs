//! Sentences about the limits of findings.

use mountmark_document::number::{and, percent};
use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, heading};

use crate::agreement;
use crate::found::Findings;
use crate::remarks::find::Remark;
use crate::remarks::find::drift::Drift;

/// One or two sentences each.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    findings.remarks.iter().map(|remark| sentence(findings, remark)).collect()
}

/// A configuration is slower for want of room alone.
pub fn cramped(configuration: &str, size: Bytes, roomy: Bytes) -> String {
    let configuration = heading(configuration);
    format!(
        "A disk of {size} is small for {configuration}: with {roomy} and more it may be several times faster (--disk-size, or a \
         larger device)."
    )
}

fn one_repeat(exact: bool, planned: u32) -> String {
    let (there, how) = match planned {
        0 | 1 => ("One repeat".to_owned(), "--repeat 5"),
        _ => (format!("Of {planned} repeats one has figures"), "mountmark resume"),
    };
    let what = match exact {
        true => {
            "The figures are exact for their seed: the same plan gives the same figures to the nanosecond. \
             Only more repeats can show what other seeds give"
        }
        false => "Only more repeats can tell differences from noise",
    };
    format!("{there}: no intervals, no verdicts. {what} ({how}).")
}

fn sentence(findings: &Findings, remark: &Remark) -> String {
    match remark {
        Remark::UnknownBaseline(asked) => {
            format!("This run has no configuration {asked:?}: ratios are to the first one.")
        }
        Remark::NoCell => "No cell has ended: there is nothing to judge.".into(),
        Remark::OneRepeat { exact, planned } => one_repeat(*exact, *planned),
        Remark::SeedsAlone(Way::Varied) => {
            "The lab's clock has no noise. Repeats differ in their workload and in conditions that no question asks for (idle \
             time, free memory, the disk's state, block groups, the date), and intervals cover both."
                .into()
        }
        Remark::SeedsAlone(Way::Fixed) => {
            "The lab's clock has no noise, and conditions are the same in all repeats: intervals show how much the workload \
             varies. Under other conditions figures may lie outside (--conditions varied)."
                .into()
        }
        Remark::NoMedianIntervals { repeats, fewest } => {
            format!("{repeats} repeats: medians have no interval, which needs at least {fewest}.")
        }
        Remark::Drifts(drifts) => drifting(findings, drifts),
        Remark::HowShown => format!(
            "A difference counts as shown where chance alone would produce one in fewer than {} of runs, over all \
             comparisons of the run together. Differences below {} decide nothing.",
            percent(1.0 - findings.level),
            percent(findings.matters)
        ),
        Remark::ProcessorTime => {
            "Where other programs take their turns on the processors, times become longer, and processor times often hardly. So the \
             processor time of a test's programs, user and system, is judged as well, and told where it shows a difference. These \
             comparisons are apart from the others, with a chance of their own to show one that is none. What the kernel's \
             threads or a file system's own server do is not in it, nor any waiting."
                .into()
        }
        Remark::Scores => {
            "\"On average\" is the geometric mean of a file system's ratios to the best of each test: 1 is the best in every \
             test, and each test counts the same. Where several are equally good at a test, chance decides which is its \
             best, and all scores become slightly larger."
                .into()
        }
        Remark::Scale { scale, in_titles: true } => {
            format!("Test titles state what was run: {scale} of the suite's full counts and sizes.")
        }
        Remark::Scale { scale, in_titles: false } => {
            format!("Test titles name the suite's full counts and sizes; this run used {scale} of them.")
        }
        Remark::Cramped { configuration, size, roomy } => cramped(configuration, *size, *roomy),
        Remark::Trust(trust) => agreement::say::trust(trust),
    }
}

/// Which tests changed with time, the most first, and by how much.
fn drifting(findings: &Findings, drifts: &[Drift]) -> String {
    /// Number of tests that are named.
    const NAMED: usize = 5;
    let mut drifts: Vec<&Drift> = drifts.iter().collect();
    drifts.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    let named = drifts.iter().take(NAMED).filter_map(|drift| {
        let task = findings.tasks.get(drift.task)?;
        let direction = if drift.worse { "worse" } else { "better" };
        Some(format!("{} by {} ({direction})", task.id, percent(drift.change.abs())))
    });
    let more = if drifts.len() > NAMED { format!(" and {} more", drifts.len() - NAMED) } else { String::new() };
    format!(
        "Figures changed while the run went on, whatever the file system: from its first cell to its last {}{more}. Chance \
         alone would show any such trend in fewer than 5 % of runs. File systems take turns in random order, so comparisons \
         stand; medians and spreads hold the drift.",
        and(named)
    )
}
