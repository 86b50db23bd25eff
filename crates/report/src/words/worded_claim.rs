//! A judged claim with its words, for JSON.

use mountmark_analyse::claim::{JudgedClaim, JudgedClause, JudgedComparison};
use mountmark_model::Over;
use serde::Serialize;

use crate::words;

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
            sentence: words::claims::sentence(claim),
            clauses: claim.clauses.iter().map(Clause::new).collect(),
            missing: words::claims::lacks(claim),
            judged_all_the_same: words::claims::stretched(claim),
        }
    }
}

impl<'a> Clause<'a> {
    fn new(clause: &'a JudgedClause) -> Clause<'a> {
        Clause {
            test: words::claims::test(&clause.clause),
            clause,
            sentence: words::claims::clause(clause),
            figures: words::claims::figures(clause),
            comparisons: clause.comparisons.iter().map(|found| Comparison::new(found, clause.clause.over)).collect(),
        }
    }
}

impl<'a> Comparison<'a> {
    fn new(comparison: &'a JudgedComparison, over: Over) -> Comparison<'a> {
        let (task, right) =
            (words::claims::subject(&comparison.subject, over), words::claims::against(&comparison.right));
        Comparison { task, comparison, right }
    }
}
