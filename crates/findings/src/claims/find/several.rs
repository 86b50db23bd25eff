//! Claims that several runs judge, each of them once.

use crate::claims::find::{ClaimOutcome, JudgedClaim, MissingReason};

/// The claims of `judged`, a list for each run, in the order of the first: each by the run whose figures decide it, with
/// the fewest missing, and by all of them where they disagree; else by the run that is nearest to what it asks for.
pub fn by_several(judged: Vec<Vec<JudgedClaim>>) -> Vec<JudgedClaim> {
    let mut all: Vec<Vec<JudgedClaim>> = Vec::new();
    for claim in judged.into_iter().flatten() {
        match all.iter_mut().find(|known| known[0].study == claim.study && known[0].id == claim.id) {
            Some(known) => known.push(claim),
            None => all.push(vec![claim]),
        }
    }
    let each = all.into_iter().flat_map(|mut of_one| {
        if of_one.iter().any(JudgedClaim::is_by_figures) {
            of_one.retain(JudgedClaim::is_by_figures);
        }
        match of_one.iter().any(|one| one.is_by_figures() && one.outcome != of_one[0].outcome) {
            true => of_one,
            false => of_one.into_iter().min_by_key(|one| (distance(one), one.missing.len())).into_iter().collect(),
        }
    });
    each.collect()
}

/// How far a run that does not decide a claim is from doing so.
fn distance(claim: &JudgedClaim) -> u8 {
    let is_other_suite = |lack: &MissingReason| matches!(lack, MissingReason::Misfit(found) if found.suite.is_some());
    match claim.outcome {
        outcome if outcome.is_decided() || outcome == ClaimOutcome::NotMeasured => 0,
        _ if claim.missing.iter().all(is_other_suite) => 2,
        _ => 1,
    }
}
