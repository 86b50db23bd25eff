//! A judged claim with its words, for JSON.

use mountmark_model::Over;
use serde::Serialize;

use crate::claims::find::{JudgedClaim, JudgedClause, JudgedComparison};
use crate::claims::say;

#[derive(Serialize)]
pub(crate) struct WordedClaim<'a> {
    #[serde(flatten)]
    claim: &'a JudgedClaim,
    sentence: String,
    clauses: Vec<Clause<'a>>,
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_all_the_same: Option<String>,
}

#[derive(Serialize)]
struct Clause<'a> {
    test: String,
    #[serde(flatten)]
    clause: &'a JudgedClause,
    sentence: String,
    figures: String,
    comparisons: Vec<Comparison<'a>>,
}

#[derive(Serialize)]
struct Comparison<'a> {
    task: String,
    #[serde(flatten)]
    comparison: &'a JudgedComparison,
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
