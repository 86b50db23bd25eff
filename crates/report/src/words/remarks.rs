//! What limits the findings of a run, in words.

use mountmark_analyse::{Findings, Remark};

use super::number::percent;

/// One sentence or two each.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    findings.remarks.iter().map(|remark| sentence(findings, remark)).collect()
}

fn sentence(findings: &Findings, remark: &Remark) -> String {
    match remark {
        Remark::UnknownBaseline(asked) => {
            format!("There is no configuration {asked:?} in this run: ratios are against the first one.")
        }
        Remark::NoCell => "No cell has ended: there is nothing to judge.".into(),
        Remark::OneRepeat { exact: true } => {
            "One repeat: no intervals, no verdicts. The figures are exact for their seed: the same plan gives the same \
             figures to the nanosecond. What other seeds would give, only more repeats can say (--repeat 5)."
                .into()
        }
        Remark::OneRepeat { exact: false } => {
            "One repeat: no intervals, no verdicts. Repeat it to tell differences from noise (--repeat 5).".into()
        }
        Remark::SeedsAlone => {
            "Repeats differ by their seed alone, since the lab's clock has no noise: intervals say how much the workload \
             varies, not how well a figure was measured."
                .into()
        }
        Remark::NoMedianIntervals { repeats, fewest } => {
            format!("{repeats} repeats: medians are given without an interval, which takes {fewest}.")
        }
        Remark::HowShown => format!(
            "A difference is shown where it would turn up by chance in fewer than {} of runs without any, all comparisons \
             of the run taken together. One of less than {} does not count.",
            percent(1.0 - findings.level),
            percent(findings.matters)
        ),
        Remark::Scores => {
            "On average: the geometric mean of a file system's ratios to the best of each test, in which each test counts \
             the same. 1 is the best in every test. Where several are equally good at a test, its best is so by luck, and \
             scores come out larger by that."
                .into()
        }
        Remark::Scale { scale, in_titles: true } => {
            format!("Titles of tests state what was run: {scale} of the suite's own counts and sizes.")
        }
        Remark::Scale { scale, in_titles: false } => {
            format!("Titles of tests name the suite's own counts and sizes; here it is {scale} of them.")
        }
    }
}
