//! A judged claim with its words, for JSON.

use mountmark_model::Over;
use serde::Serialize;

use crate::claims::find::{JudgedClaim, JudgedClause, JudgedComparison};
use crate::claims::say;

/// A claim, its verdict, and both in words.
#[derive(Serialize)]
pub(crate) struct WordedClaim<'a> {
    #[serde(flatten)]
    claim: &'a JudgedClaim,
    /// The verdict as a sentence.
    sentence: String,
    /// Its parts.
    clauses: Vec<Clause<'a>>,
    /// Why figures are missing.
    missing: Vec<String>,
    /// How the run differs from what the claim is about, if it was judged with `--anyway`.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_all_the_same: Option<String>,
}

/// A part of a claim in words.
#[derive(Serialize)]
struct Clause<'a> {
    /// What is claimed.
    test: String,
    #[serde(flatten)]
    clause: &'a JudgedClause,
    /// The verdict as a sentence.
    sentence: String,
    /// The figures behind it.
    figures: String,
    /// Each comparison that was possible.
    comparisons: Vec<Comparison<'a>>,
}

/// Two figures in words.
#[derive(Serialize)]
struct Comparison<'a> {
    /// Where they are compared.
    task: String,
    #[serde(flatten)]
    comparison: &'a JudgedComparison,
    /// What `left` is compared with.
    right: String,
}

impl<'a> WordedClaim<'a> {
    pub(crate) fn new(claim: &'a JudgedClaim) -> WordedClaim<'a> {
        WordedClaim {
            claim,
            sentence: say::sentence(claim),
            clauses: claim.clauses.iter().map(Clause::new).collect(),
            missing: say::lacks(claim),
            judged_all_the_same: say::stretched(claim),
        }
    }
}

impl<'a> Clause<'a> {
    fn new(clause: &'a JudgedClause) -> Clause<'a> {
        Clause {
            test: say::test(&clause.clause),
            clause,
            sentence: say::clause(clause),
            figures: say::figures(clause),
            comparisons: clause.comparisons.iter().map(|found| Comparison::new(found, clause.clause.over)).collect(),
        }
    }
}

impl<'a> Comparison<'a> {
    fn new(comparison: &'a JudgedComparison, over: Over) -> Comparison<'a> {
        let (task, right) = (say::subject(&comparison.subject, over), say::against(&comparison.right));
        Comparison { task, comparison, right }
    }
}
