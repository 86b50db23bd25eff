//! A verdict in words: the metric that it is by, and the numbers that carry it.

use mountmark_model::Better;

use super::{Judged, Relation};
use crate::estimate::{ratio, ratio_interval};
use crate::figures::{Figures, Series};
use crate::words::{and, capital, figure, is_best, is_worse, of_that, subject};
use crate::{Options, VerdictOutcome};

/// What is said where nothing is judged: the order, as it was in this run. `task` is a position in the figures.
pub(super) fn not_judged(figures: &Figures, task: usize, series: &Series, order: &[usize], reason: &str) -> String {
    let name = |configuration: usize| figures.configurations[configuration].as_str();
    let value = |configuration: usize| figure(series.metric, series.median(configuration).unwrap_or_default());
    let subject = capital(subject(series.metric, figures.tasks[task].step));
    let all: Vec<String> = order.iter().map(|one| format!("{} {}", name(*one), value(*one))).collect();
    match order {
        [] => "No configuration has a figure.".into(),
        [_] => format!("{subject}: {}; {reason}: there is nothing to compare it with.", all[0]),
        _ if reason == super::ONE_REPEAT => {
            format!("{subject} in this one repeat: {}. One repeat shows no difference.", all.join(", "))
        }
        _ => format!("{subject}: {} ({reason}: not judged).", all.join(", ")),
    }
}

/// What is said of configurations that have figures and could not be judged with the others.
pub(super) fn apart(figures: &Figures, series: &Series, apart: &[usize]) -> String {
    if apart.is_empty() {
        return String::new();
    }
    let value = |one: usize| figure(series.metric, series.median(one).unwrap_or_default());
    let all = apart.iter().map(|one| format!("{} ({})", figures.configurations[*one], value(*one)));
    format!(" Not judged, for want of repeats that the others have too: {}.", and(all))
}

/// What is said of a judged series.
pub(super) fn verdict(
    figures: &Figures,
    series: &Series,
    judged: &Judged,
    relation: &Relation,
    order: &[usize],
    outcome: &VerdictOutcome,
    options: &Options,
) -> String {
    let name = |configuration: usize| figures.configurations[configuration].clone();
    let median = |configuration: usize| series.median(configuration).unwrap_or_default();
    let value = |configuration: usize| figure(series.metric, median(configuration));
    let with_value = |configuration: usize| format!("{} ({})", name(configuration), value(configuration));
    let said = match outcome {
        VerdictOutcome::Winner { configuration } => {
            let winner = *configuration;
            let Some(next) = order.iter().copied().find(|other| *other != winner) else { return String::new() };
            let by = beside(series, judged, next, winner, options).map_or(String::new(), |by| format!(": {by}"));
            let best = is_best(series.metric);
            format!(
                "{} {best} with {}; the next is {} with {}{by}.",
                name(winner),
                value(winner),
                name(next),
                value(next)
            )
        }
        VerdictOutcome::Tied { configurations } => {
            let leaders = and(configurations.iter().map(|leader| with_value(*leader)));
            let rest: Vec<usize> = order.iter().copied().filter(|other| !configurations.contains(other)).collect();
            let below_all = rest.iter().all(|other| configurations.iter().all(|one| relation.is_better(*one, *other)));
            let (next, worse) =
                (rest.first().map(|next| with_value(*next)).unwrap_or_default(), is_worse(series.metric));
            let others = match (below_all, rest.len()) {
                (true, 1) => format!("{next} is {worse}"),
                (true, _) => format!("all others are {worse}, the next is {next}"),
                // A tied one that varies much may have a worse median than one that is shown to be worse.
                (false, 1) => format!("{next} is {worse} than at least one of them"),
                (false, _) => format!("every other is {worse} than at least one of them, the next is {next}"),
            };
            let none = if relation.has_small { "no difference that matters" } else { "no difference" };
            format!("{leaders} share the first place, {none} between them is shown; {others}.")
        }
        VerdictOutcome::NoDifferenceShown { detectable } => {
            let (low, high) = (median(order[0]), median(order[order.len() - 1]));
            let range = match series.metric.better {
                Better::Lower => (low, high),
                Better::Higher => (high, low),
            };
            let medians = format!("medians {} to {}", figure(series.metric, range.0), figure(series.metric, range.1));
            let smaller = crate::words::percent(options.matters);
            match detectable {
                // Another pair may be far apart and not shown: what could have been seen is said then.
                Some(found) if relation.has_small && *found > options.matters => {
                    let found = crate::words::percent(*found);
                    format!(
                        "no difference that matters is shown ({medians}); one of {found} would be, four times out of five."
                    )
                }
                _ if relation.has_small => {
                    format!("no difference that matters, what is shown is less than {smaller} ({medians}).")
                }
                Some(found) if *found > options.matters => {
                    let found = crate::words::percent(*found);
                    format!("no difference is shown ({medians}); one of {found} would be, four times out of five.")
                }
                _ => format!("no difference of {smaller} or more ({medians})."),
            }
        }
        VerdictOutcome::NotJudged { reason } => return not_judged(figures, judged.task, series, order, reason),
    };
    format!("{}: {said}", capital(subject(series.metric, figures.tasks[judged.task].step)))
}

/// "1.18 times that (95 %: 1.15 to 1.21)": what `other` has beside `one`, as a ratio and its interval.
pub(crate) fn beside(series: &Series, judged: &Judged, other: usize, one: usize, options: &Options) -> Option<String> {
    let factor = ratio(series, other, one)?;
    let interval = judged
        .contrast(other, one)
        .and_then(|(mean, tested)| ratio_interval(factor, mean, &tested))
        .map(|interval| format!(" ({})", crate::words::interval(&interval, options.level)));
    Some(format!("{}{}", of_that(factor), interval.unwrap_or_default()))
}
