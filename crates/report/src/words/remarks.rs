//! Sentences about the limits of findings.

use mountmark_analyse::{Findings, Remark};

use super::number::percent;

/// One or two sentences each.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    findings.remarks.iter().map(|remark| sentence(findings, remark)).collect()
}

fn sentence(findings: &Findings, remark: &Remark) -> String {
    match remark {
        Remark::UnknownBaseline(asked) => {
            format!("This run has no configuration {asked:?}: ratios are to the first one.")
        }
        Remark::NoCell => "No cell has ended: there is nothing to judge.".into(),
        Remark::OneRepeat { exact: true } => {
            "One repeat: no intervals, no verdicts. The figures are exact for their seed: the same plan gives the same \
             figures to the nanosecond. Only more repeats can show what other seeds give (--repeat 5)."
                .into()
        }
        Remark::OneRepeat { exact: false } => {
            "One repeat: no intervals, no verdicts. Only more repeats can tell differences from noise (--repeat 5).".into()
        }
        Remark::SeedsAlone => {
            "Repeats differ only in their seed, because the lab's clock has no noise: intervals show how much the workload \
             varies, not how precisely a figure was measured."
                .into()
        }
        Remark::NoMedianIntervals { repeats, fewest } => {
            format!("{repeats} repeats: medians have no interval, which needs at least {fewest}.")
        }
        Remark::HowShown => format!(
            "A difference counts as shown where chance alone would produce one in fewer than {} of runs, over all \
             comparisons of the run together. Differences below {} decide nothing.",
            percent(1.0 - findings.level),
            percent(findings.matters)
        ),
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
    }
}
