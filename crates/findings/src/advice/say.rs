//! The answer in sentences.

use mountmark_document::number::and;

use crate::advice::find::{Advice, Candidate, Order, Turn};
use crate::effects::find::Gain;
use crate::effects::say::signed;

/// `27 % faster (24 to 31 %)`.
fn faster(gain: &Gain) -> String {
    let percent = |ratio: f64| format!("{:.0}", 100.0 * (ratio - 1.0));
    let between = gain.interval.map(|interval| match gain.ratio >= 2.0 {
        true => format!(" ({:.1} to {:.1})", interval.low, interval.high),
        false => format!(" ({} to {} %)", percent(interval.low), percent(interval.high)),
    });
    let between = between.unwrap_or_default();
    match gain.ratio {
        many if many >= 2.0 => format!("{many:.1} times as fast{between}"),
        more => format!("{} % faster{between}", percent(more)),
    }
}

/// How it is made and mounted: `xfs with noatime and mkfs=-m reflink=0`.
pub(crate) fn named(candidate: &Candidate) -> String {
    match candidate.options.is_empty() {
        true => format!("{} as it is", candidate.filesystem),
        false => format!("{} with {}", candidate.filesystem, and(&candidate.options)),
    }
}

/// The answer in one breath.
pub(crate) fn headline(advice: &Advice) -> String {
    let name = named(&advice.answer);
    let Some(over) = &advice.over_simplest else {
        return format!(
            "Take {name}: of {} configurations none is shown to be faster for {} than this default.",
            advice.tried.len(),
            advice.work
        );
    };
    let second = advice.second.as_ref().filter(|second| second.configuration != advice.simplest).map(|second| {
        match second.gain {
            gain if gain.shown && gain.ratio > 1.0 => {
                format!(", and {} than {}, the second", faster(&gain), second.configuration)
            }
            _ => format!(", and level with {}", second.configuration),
        }
    });
    format!(
        "Take {name}: for {} it is {} than {}, the default{}.",
        advice.work,
        faster(over),
        advice.simplest,
        second.unwrap_or_default()
    )
}

/// What its own options bring.
pub(crate) fn over_defaults(advice: &Advice) -> Option<String> {
    let gain = advice.over_defaults.as_ref()?;
    Some(format!("{} than {} with its defaults.", faster(gain), advice.answer.filesystem))
}

/// What becomes of the order in a situation.
pub(crate) fn order(turn: &Turn) -> &'static str {
    match turn.order {
        Order::Holds => "holds",
        Order::Turns => "TURNS",
        Order::Open => "no difference shown",
    }
}

/// The sentence about situations.
pub(crate) fn turns(advice: &Advice) -> String {
    let turned: Vec<String> = advice
        .turns
        .iter()
        .filter(|turn| turn.order == Order::Turns)
        .map(|turn| format!("{} ({} is {} there)", turn.situation, turn.beside, signed(1.0 / turn.gain.ratio)))
        .collect();
    match (advice.turns.len(), turned.len()) {
        (0, _) => "Nobody asked in which other situations it holds.".into(),
        (all, 0) => format!("In none of {all} other comparisons is another one shown to be faster."),
        (_, _) => format!("It would be another with {}.", and(&turned)),
    }
}

/// A gain in a cell of a table: `+12.0 %`, in brackets if it is not shown.
pub(crate) fn cell(gain: &Gain) -> String {
    crate::effects::say::gain(gain)
}
