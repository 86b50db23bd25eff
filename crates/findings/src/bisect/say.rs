//! Sentences about the step at which a task became slower.

use mountmark_document::number::{and, percent, ratio, share};
use mountmark_model::{Better, Metric, heading};
use mountmark_record::RunRecord;

use crate::bisect::find::{Bisection, Tried, Verdict};
use crate::figures::say::quantity::quantity;
use crate::figures::say::subject;

/// Which task on which configuration.
pub(crate) fn title(found: &Bisection) -> String {
    format!("{}, task {}, by its {}", heading(&found.configuration), found.task, subject(found.metric))
}

/// `1.43 times as long`: a figure beside an earlier one.
fn times(metric: &Metric, before: f64, after: f64) -> String {
    let size = if metric.better == Better::Lower { "long" } else { "much" };
    format!("{} times as {size}", ratio(after / before))
}

/// Why nothing is looked for between two ends. `is_better`: the bad end is better by as much as was asked for.
pub fn not_there(metric: &Metric, [good, bad]: [f64; 2], fail_on: f64, is_better: bool) -> String {
    let (before, after) = (quantity(metric, good), quantity(metric, bad));
    let figures = format!("{} {before} and {after}, {}", subject(metric), times(metric, good, bad));
    match is_better {
        true => format!("the bad end is better than the good one ({figures}): --any finds where that began"),
        false => format!("the ends differ by less than {} ({figures}): there is no step to find", percent(fail_on)),
    }
}

/// One that was tried, for a line of its own; `good` is the good end's figure.
pub fn tried(tried: &Tried, metric: &Metric, good: f64) -> String {
    let figure = tried
        .figure
        .map_or(String::new(), |figure| format!("{}, {}: ", quantity(metric, figure), times(metric, good, figure)));
    format!("{}: {figure}{}", tried.name, verdict(tried))
}

/// The verdict, with its reason if it was skipped.
pub(crate) fn verdict(tried: &Tried) -> String {
    let word = tried.verdict.word();
    match &tried.reason {
        Some(reason) if tried.verdict == Verdict::Skipped => format!("{word}: {reason}"),
        _ => word.into(),
    }
}

/// The step, and how much of the whole change it is.
pub(crate) fn step(found: &Bisection) -> String {
    let [before, after] = found.figures();
    let [from, to] = found.pair.map(|at| &found.tried[at].name);
    let part = match found.part() {
        _ if found.pair == [0, 1] => String::new(),
        part if part > 1.0 => ", more than the ends are apart".into(),
        part => format!(", {} of what the ends are apart", share(part)),
    };
    let metric = found.metric;
    let (was, is) = (quantity(metric, before), quantity(metric, after));
    format!("The step is from {from} to {to}: {was} became {is}, {}{part}.", times(metric, before, after))
}

/// Those between the pair that could not be tried.
pub(crate) fn hidden(names: &[String]) -> String {
    let (was, them) = if names.len() == 1 { ("was", "it") } else { ("were", "any of them") };
    format!("{} {was} skipped between the two: the change may be in {them}.", and(names))
}

/// Where the kernel's authors tell what they changed, if both kernels are Debian's, of different upstream versions.
pub(crate) fn change(runs: [&RunRecord; 2]) -> Option<String> {
    let [before, after] = runs.map(|run| upstream(&run.cells.first()?.environment.kernel_build));
    let (before, after) = (before?, after?);
    let series = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    let major = after.split('.').next().unwrap_or_default();
    let log = match series(&before) == series(&after) {
        // Each release of a series has one.
        true => format!("; https://cdn.kernel.org/pub/linux/kernel/v{major}.x/ChangeLog-{after}, and those before it"),
        false => String::new(),
    };
    let told = format!("Linux {before} to {after}: git log v{before}..v{after} in the stable kernels' repository{log}");
    (before != after).then_some(told)
}

/// `6.1.162` of `#1 SMP PREEMPT_DYNAMIC Debian 6.1.162-1 (2026-02-08)`.
fn upstream(build: &str) -> Option<String> {
    let (_, debian) = build.split_once("Debian ")?;
    let version = debian.split([' ', '-', '~', '+']).next()?;
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debian_kernel_names_its_upstream_version() {
        assert_eq!(upstream("#1 SMP PREEMPT_DYNAMIC Debian 6.1.162-1 (2026-02-08)").as_deref(), Some("6.1.162"));
        assert_eq!(upstream("#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1~deb12u1 (2026)").as_deref(), Some("6.12.9"));
        assert_eq!(upstream("#3 SMP Tue Feb 3 10:00:00 UTC 2026"), None);
    }

    #[test]
    fn a_step_is_told_as_a_multiple_and_as_a_part() {
        let tried = |name: &str, figure: Option<f64>, verdict| {
            let reason = figure.is_none().then(|| "it does not boot".to_owned());
            Tried { name: name.into(), figure, run: None, verdict, reason }
        };
        let mut found = Bisection {
            configuration: "ext4".into(),
            task: "mount".into(),
            metric: &Metric::DURABLE,
            tried: vec![
                tried("6.1", Some(1.0), Verdict::Good),
                tried("6.12", Some(4.0), Verdict::Bad),
                tried("6.5", None, Verdict::Skipped),
                tried("6.7", Some(3.0), Verdict::Bad),
            ],
            pair: [0, 3],
            hidden: vec!["6.5".into()],
        };
        let said = step(&found);
        assert!(said.contains("from 6.1 to 6.7") && said.contains("3.00 times as long, 79 % of what"), "{said}");
        assert_eq!(hidden(&found.hidden), "6.5 was skipped between the two: the change may be in it.");
        assert_eq!(super::tried(&found.tried[2], found.metric, 1.0), "6.5: skipped: it does not boot");
        assert!(super::tried(&found.tried[3], found.metric, 1.0).contains("3.00 times as long: bad"));
        found.pair = [0, 1];
        assert!(step(&found).ends_with("4.00 times as long."), "{}", step(&found));
        let equal = not_there(&Metric::RATE, [1000.0, 990.0], 0.03, false);
        assert!(equal.contains("less than 3 %") && equal.contains("0.990 times as much"), "{equal}");
        assert!(not_there(&Metric::DURABLE, [2.0, 1.0], 0.03, true).contains("0.50 times as long"));
    }
}
