//! What limits the findings of a run, and how they are to be read: sentences.

use mountmark_model::Scale;
use mountmark_record::RunRecord;

use crate::Options;
use crate::figures::Figures;
use crate::words::percent;

/// What limits the findings.
pub(crate) fn remarks(run: &RunRecord, figures: &Figures, options: &Options, baseline_unknown: bool) -> Vec<String> {
    let mut out = Vec::new();
    let repeats = figures.repeats.len();
    if baseline_unknown {
        let asked = options.baseline.as_deref().unwrap_or_default();
        out.push(format!("There is no configuration {asked:?} in this run: ratios are against the first one."));
    }
    match (run.plan.lab.nature().exact_clock, repeats) {
        (_, 0) => out.push("No cell has ended: there is nothing to judge.".into()),
        (true, 1) => out.push(
            "One repeat: no intervals, no verdicts. The figures are exact for their seed: the same plan gives the same \
             figures to the nanosecond. What other seeds would give, only more repeats can say (--repeat 5)."
                .into(),
        ),
        (_, 1) => out.push("One repeat: no intervals, no verdicts. Repeat it to tell differences from noise (--repeat 5).".into()),
        (true, _) => out.push(
            "Repeats differ by their seed alone, since the lab's clock has no noise: intervals say how much the workload \
             varies, not how well a figure was measured."
                .into(),
        ),
        (..) => {}
    }
    if (2..crate::stats::interval::FEWEST).contains(&repeats) {
        let fewest = crate::stats::interval::FEWEST;
        out.push(format!("{repeats} repeats: medians are given without an interval, which takes {fewest}."));
    }
    if repeats > 1 {
        out.push(format!(
            "A difference is shown where it would turn up by chance in fewer than {} of runs without any, all comparisons \
             of the run taken together. One of less than {} does not count.",
            percent(options.error()),
            percent(options.matters)
        ));
    }
    if figures.configurations.len() > 1 && repeats > 0 {
        out.push(
            "On average: the geometric mean of a file system's ratios to the best of each test, in which each test counts \
             the same. 1 is the best in every test. Where several are equally good at a test, its best is so by luck, and \
             scores come out larger by that."
                .into(),
        );
    }
    let scale = run.plan.scale;
    if scale != Scale::ONE {
        out.push(match run.plan.titles_are_scaled() {
            true => format!("Titles of tests state what was run: {scale} of the suite's own counts and sizes."),
            false => format!("Titles of tests name the suite's own counts and sizes; here it is {scale} of them."),
        });
    }
    out
}
