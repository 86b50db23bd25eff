//! Adds words to findings, changes, claims and studies for JSON. The typed data serialises itself; the structures here
//! add the fields in words.

use mountmark_analyse::claim::{JudgedClaim, JudgedClause, JudgedComparison};
use mountmark_analyse::study::{Agreement, OverallComparison, StudyComparison, TestComparison};
use mountmark_analyse::{
    Accordance, CategoryFindings, Change, Changes as TwoRuns, Findings, MetricFindings, Overall, TaskFindings, Verdict,
};
use mountmark_model::Over;
use serde::Serialize;

use crate::words;
use crate::words::metric::{basis, category};

#[derive(Serialize)]
pub(crate) struct WordedFindings<'a> {
    #[serde(flatten)]
    findings: &'a Findings,
    tasks: Vec<Task<'a>>,
    categories: Vec<Category<'a>>,
    overall: All<'a>,
    conclusions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cliffs: Vec<String>,
    missing: Vec<String>,
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct Task<'a> {
    #[serde(flatten)]
    task: &'a TaskFindings,
    category: &'a str,
    metrics: Vec<OfMetric<'a>>,
}

#[derive(Serialize)]
struct OfMetric<'a> {
    #[serde(flatten)]
    found: &'a MetricFindings,
    verdict: Option<WordedVerdict<'a>>,
}

#[derive(Serialize)]
struct WordedVerdict<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    sentence: String,
}

#[derive(Serialize)]
struct Category<'a> {
    name: &'a str,
    basis: &'static str,
    #[serde(flatten)]
    category: &'a CategoryFindings,
    sentence: String,
}

#[derive(Serialize)]
struct All<'a> {
    #[serde(flatten)]
    overall: &'a Overall,
    basis: &'static str,
}

impl<'a> WordedFindings<'a> {
    pub(crate) fn new(findings: &'a Findings) -> WordedFindings<'a> {
        let metric = |found: &'a MetricFindings| OfMetric {
            found,
            verdict: found
                .verdict
                .as_ref()
                .map(|verdict| WordedVerdict { verdict, sentence: words::verdict::sentence(findings, found) }),
        };
        let task = |task: &'a TaskFindings| Task {
            task,
            category: category(&task.category),
            metrics: task.metrics.iter().map(metric).collect(),
        };
        let of_category = |found: &'a CategoryFindings| Category {
            name: category(&found.category),
            basis: basis(found.basis),
            category: found,
            sentence: words::conclusions::category(findings, found),
        };
        WordedFindings {
            findings,
            tasks: findings.tasks.iter().map(task).collect(),
            categories: findings.categories.iter().map(of_category).collect(),
            overall: All { overall: &findings.overall, basis: basis(findings.overall.basis) },
            conclusions: words::conclusions::sentences(findings),
            cliffs: findings.curves.as_ref().map(|curves| words::curves::cliffs(findings, curves)).unwrap_or_default(),
            missing: words::missing::sentences(&findings.missing),
            remarks: words::remarks::sentences(findings),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct WordedChanges<'a> {
    #[serde(flatten)]
    found: &'a TwoRuns,
    remarks: Vec<String>,
    changes: Vec<WordedChange<'a>>,
}

#[derive(Serialize)]
struct WordedChange<'a> {
    #[serde(flatten)]
    change: &'a Change,
    sentence: String,
}

impl<'a> WordedChanges<'a> {
    pub(crate) fn new(found: &'a TwoRuns) -> WordedChanges<'a> {
        let worded = |change| WordedChange { change, sentence: words::change(found, change) };
        let changes = found.changes.iter().map(worded).collect();
        WordedChanges { found, remarks: words::changes::remarks(found), changes }
    }
}

#[derive(Serialize)]
pub(crate) struct WordedAccordance<'a> {
    #[serde(flatten)]
    found: &'a Accordance,
    sentence: String,
    misleading: Vec<String>,
    remarks: Vec<String>,
}

impl<'a> WordedAccordance<'a> {
    pub(crate) fn new(found: &'a Accordance) -> WordedAccordance<'a> {
        let (sentence, misleading) = (words::accord::answer(found), words::accord::misleading(found));
        WordedAccordance { found, sentence, misleading, remarks: words::accord::remarks() }
    }
}

#[derive(Serialize)]
pub(crate) struct WordedStudy<'a> {
    #[serde(flatten)]
    study: &'a StudyComparison,
    warnings: Vec<String>,
    tests: Vec<Agreeing<'a, TestComparison>>,
    overall: Vec<Agreeing<'a, OverallComparison>>,
    not_measured: Vec<String>,
    single: Vec<String>,
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct Agreeing<'a, T> {
    #[serde(flatten)]
    of: &'a T,
    agreement: WordedAgreement<'a>,
}

#[derive(Serialize)]
struct WordedAgreement<'a> {
    #[serde(flatten)]
    agreement: &'a Agreement,
    remark: Option<String>,
}

impl<'a, T> Agreeing<'a, T> {
    fn new(of: &'a T, agreement: &'a Agreement) -> Agreeing<'a, T> {
        Agreeing { of, agreement: WordedAgreement { agreement, remark: words::study::limit(agreement) } }
    }
}

impl<'a> WordedStudy<'a> {
    pub(crate) fn new(study: &'a StudyComparison) -> WordedStudy<'a> {
        WordedStudy {
            study,
            warnings: words::study::warnings(&study.warnings),
            tests: study.tests.iter().map(|test| Agreeing::new(test, &test.agreement)).collect(),
            overall: study.overall.iter().map(|all| Agreeing::new(all, &all.agreement)).collect(),
            not_measured: words::study::not_measured(study),
            single: words::study::single(study),
            remarks: words::study::remarks(),
        }
    }
}

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
