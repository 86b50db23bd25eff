//! A verdict in words, with the numbers that carry it.

use mountmark_model::Better;

use super::{Judged, Relation};
use crate::estimate::{ratio, ratio_interval};
use crate::figures::{Figures, Series};
use crate::words::{and, figure, is_best, than, times};
use crate::{Options, VerdictOutcome};

/// What is said where nothing is judged: the order, as it was in this run.
pub(super) fn not_judged(figures: &Figures, series: &Series, order: &[usize], reason: &str) -> String {
    let name = |configuration: usize| figures.configurations[configuration].as_str();
    let value = |configuration: usize| figure(series.metric, series.median(configuration).unwrap_or_default());
    let (Some(first), rest) = (order.first().copied(), order.get(1..).unwrap_or_default()) else {
        return "No configuration has a figure.".into();
    };
    if rest.is_empty() {
        return format!("{} took {}; {reason}: there is nothing to compare it with.", name(first), value(first));
    }
    let others: Vec<String> = rest.iter().map(|other| format!("{} {}", name(*other), value(*other))).collect();
    let reason = if reason == "one repeat" { "one repeat: no interval, no verdict" } else { reason };
    format!("In order: {} {}, {} ({reason}).", name(first), value(first), others.join(", "))
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
    match outcome {
        VerdictOutcome::Winner { configuration } => {
            let winner = *configuration;
            let Some(next) = order.iter().copied().find(|other| *other != winner) else { return String::new() };
            let by = advantage(series, judged, winner, next, options).unwrap_or_default();
            format!("{} {}: {}, {by} {}.", name(winner), is_best(series.metric), value(winner), with_value(next))
        }
        VerdictOutcome::Tied { configurations } => {
            let leaders = and(configurations.iter().map(|leader| with_value(*leader)));
            let rest: Vec<usize> = order.iter().copied().filter(|other| !configurations.contains(other)).collect();
            let below_all = rest.iter().all(|other| configurations.iter().all(|one| relation.is_better(*one, *other)));
            let next = rest.first().map(|next| with_value(*next)).unwrap_or_default();
            let how = if below_all { "are better than all others" } else { "none is shown to be better" };
            format!("{leaders} cannot be told apart, and {how}; the next is {next}.")
        }
        VerdictOutcome::NoDifferenceShown { detectable } => {
            let (low, high) = (median(order[0]), median(order[order.len() - 1]));
            let range = match series.metric.better {
                Better::Lower => (low, high),
                Better::Higher => (high, low),
            };
            let medians = format!("medians {} to {}", figure(series.metric, range.0), figure(series.metric, range.1));
            let smaller = crate::words::percent(options.matters);
            if relation.has_small {
                return format!("No difference that matters: what is shown is less than {smaller} ({medians}).");
            }
            match detectable {
                Some(found) if *found > options.matters => {
                    let found = crate::words::percent(*found);
                    format!("No difference shown ({medians}); one of {found} would be, four times out of five.")
                }
                _ => format!("No difference of {smaller} or more ({medians})."),
            }
        }
        VerdictOutcome::NotJudged { reason } => not_judged(figures, series, order, reason),
    }
}

/// "1.18 times as fast as", with its interval: how much better `one` is than `other`.
pub(crate) fn advantage(
    series: &Series,
    judged: &Judged,
    one: usize,
    other: usize,
    options: &Options,
) -> Option<String> {
    // How often the worse has what the better has: above 1 both ways.
    let (top, bottom) = match series.metric.better {
        Better::Lower => (other, one),
        Better::Higher => (one, other),
    };
    let factor = ratio(series, top, bottom)?;
    let interval = judged
        .contrast(top, bottom)
        .and_then(|(mean, tested)| ratio_interval(factor, mean, &tested))
        .map(|interval| crate::words::interval(&interval, options.level));
    let interval = interval.map(|text| format!(" ({text})")).unwrap_or_default();
    Some(format!("{}{interval} {}", times(factor), than(series.metric)))
}
