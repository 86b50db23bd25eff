//! Sentences about the comparison of a run with a published study.

use mountmark_analyse::study::{Agreement, Limit, NotMeasured, RESAMPLES, Single, StudyComparison, Warning};

/// Reasons why the two cannot be compared in seconds.
pub(crate) fn warnings(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(warning).collect()
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::Unfinished { status, done, planned } => {
            format!("The run is {}: {done} of {planned} cells have ended.", status.word())
        }
        Warning::OtherSuite { of_run, of_study } => format!(
            "The run's suite is {of_run}; the study is repeated by {}. Only mkfs, mount, umount and capacity are the same \
             work in both.",
            of_study.as_deref().unwrap_or("no suite of this program")
        ),
        Warning::Scale(scale) => format!(
            "The run used {scale} of the study's counts and sizes. Ranks and ratios can be compared, with care, because small \
             work fits in memory; seconds cannot."
        ),
        Warning::OtherMachine { of_run, of_study } => format!(
            "The run's machine is {of_run}; the study's is modelled by {of_study}. Ranks and ratios can be compared, seconds \
             cannot."
        ),
        Warning::OwnMachine => {
            "The run was made on this computer. Ranks and ratios can be compared, seconds cannot.".into()
        }
        Warning::NoProfile { of_run } => format!(
            "No profile models the study's computer; the run's is {of_run}. Ranks and ratios can be compared, seconds cannot."
        ),
        Warning::VirtualSeconds => {
            "Measured seconds are virtual: they are those of a model of the machine and its disk.".into()
        }
        Warning::OneRepeat => "One repeat: a measured figure is one sample, not a mean.".into(),
    }
}

/// Tasks with a figure in the study and none in the run.
pub(crate) fn not_measured(study: &StudyComparison) -> Vec<String> {
    let text = |found: &NotMeasured| format!("{} ({}): {}", found.task, found.title, found.metrics.join(", "));
    study.not_measured.iter().map(text).collect()
}

/// Figures that only one file system has on both sides.
pub(crate) fn single(study: &StudyComparison) -> Vec<String> {
    let text = |found: &Single| {
        let metric = found.metric;
        let [published, measured] = [found.published, found.measured].map(|value| metric.format(value));
        let what = format!("{} on {}, {} ({})", found.task, found.fs, metric.title, metric.unit_text());
        format!("{what}: {published}, now {measured}")
    };
    study.single.iter().map(text).collect()
}

/// Why tau or its interval is missing.
pub(crate) fn limit(agreement: &Agreement) -> Option<String> {
    Some(match agreement.remark? {
        Limit::FewItems { items, fewest } => format!("too few file systems: {items}, and tau needs {fewest}"),
        Limit::AllEqual => "all figures of one side are equal".into(),
        Limit::FewForInterval { items, fewest } => format!("too few file systems for an interval: {items} of {fewest}"),
    })
}

/// How ranks, ratios and taus are computed, with sources.
pub(crate) fn remarks() -> Vec<String> {
    vec![
        "Ranks: 1 is the best; equal figures share the mean of their ranks. Only file systems with both figures are ranked.".into(),
        "Ratio to the group: a figure over the geometric mean of the ranked file systems.".into(),
        "tau: Kendall's tau-b (Biometrika 33, 1945) of the published and the measured figures: 1 the same order, 0 no \
         connection, -1 the reverse. p: the share of all orders whose tau is at least as far from 0, by counting them (up to 8 \
         file systems; the normal approximation beyond)."
            .into(),
        "Interval of a tau: 95 %, by inverting the exact distribution of reversed pairs under Mallows' model (Biometrika 44, \
         1957); ties count against both ends. With few file systems it is wide, because they say little."
            .into(),
        format!(
            "Interval of the mean tau: 95 %, percentile bootstrap over tests (Efron, Annals of Statistics 7, 1979), {RESAMPLES} \
             resamplings. It says what other tests of this kind might give, not other file systems."
        ),
    ]
}
