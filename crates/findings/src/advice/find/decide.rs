//! How a search decides between what it measured.

use mountmark_stats::summary::mean;

use crate::advice::find::Candidate;
use crate::advice::find::gains::gains;
use crate::advice::find::speeds::Speeds;
use crate::effects::find::Gain;

/// Configurations by their mean speed, the fastest first; without those that have a repeat without a figure.
pub fn in_order<'a>(speeds: &Speeds, candidates: &'a [Candidate]) -> Vec<&'a Candidate> {
    let mean_of = |candidate: &Candidate| {
        let all: Vec<f64> = speeds.get(&candidate.name)?.iter().copied().collect::<Option<_>>()?;
        mean(&all)
    };
    let mut found: Vec<(&Candidate, f64)> =
        candidates.iter().filter_map(|candidate| Some((candidate, mean_of(candidate)?))).collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.options.len().cmp(&other.0.options.len())));
    found.into_iter().map(|(candidate, _)| candidate).collect()
}

/// What is taken of these candidates if nothing is better: `usual`; if that is not among them or has a repeat without a figure,
/// the one with the fewest options, of the file system that stands first.
pub fn simplest<'a>(
    speeds: &Speeds,
    candidates: &'a [Candidate],
    usual: &str,
    filesystems: &[String],
) -> Option<&'a Candidate> {
    let order = in_order(speeds, candidates);
    let place = |one: &Candidate| filesystems.iter().position(|name| *name == one.filesystem);
    let first = order.iter().min_by_key(|one| (one.options.len(), place(one).unwrap_or(usize::MAX)));
    order.iter().find(|one| one.name == usual).or(first).copied()
}

/// The answer of a search: the configuration with the fewest options that is shown to be faster than `simplest` and is not
/// shown to be slower than the fastest; `simplest` itself if nothing is faster. `None` if that has a repeat without a figure: then
/// nothing is compared with it, and another is the [`simplest`].
pub fn decide<'a>(
    speeds: &Speeds,
    candidates: &'a [Candidate],
    simplest: &str,
    searched: usize,
) -> Option<&'a Candidate> {
    let order = in_order(speeds, candidates);
    let fastest = *order.first()?;
    let simple = order.iter().find(|candidate| candidate.name == simplest)?;
    let is_shown = |gain: &Option<Gain>| gain.is_some_and(|gain| gain.shown && gain.ratio > 1.0);
    // All that was searched is one family, as in the table of the answer.
    let all: Vec<&str> = speeds.keys().map(String::as_str).collect();
    let faster = gains(speeds, &all.iter().map(|one| (*one, simplest)).collect::<Vec<_>>(), searched);
    let pairs: Vec<(&str, &str)> = order.iter().map(|one| (fastest.name.as_str(), one.name.as_str())).collect();
    let behind = gains(speeds, &pairs, 1);
    let is_able = |(place, one): &(usize, &&Candidate)| {
        let at = all.iter().position(|name| *name == one.name);
        at.is_some_and(|at| is_shown(&faster[at])) && !is_shown(&behind[*place])
    };
    let able = order.iter().enumerate().filter(is_able).map(|(_, one)| *one);
    Some(able.min_by_key(|one| one.options.len()).unwrap_or(simple))
}
