//! A comparison with a study with its words, for JSON.

use serde::Serialize;

use crate::studies::find::{Agreement, OverallComparison, StudyComparison, TestComparison};
use crate::studies::say;

/// A run beside a study, with remarks in words.
#[derive(Serialize)]
pub(crate) struct WordedStudy<'a> {
    #[serde(flatten)]
    study: &'a StudyComparison,
    /// What makes the comparison doubtful.
    warnings: Vec<String>,
    /// Each test with figures on both sides.
    tests: Vec<Agreeing<'a, TestComparison>>,
    /// All tests of each metric combined.
    overall: Vec<Agreeing<'a, OverallComparison>>,
    /// Tests that only the study has.
    not_measured: Vec<String>,
    /// Figures that only one file system has on both sides.
    single: Vec<String>,
    /// What the comparison shows.
    remarks: Vec<String>,
}

/// A comparison and how far both orders agree.
#[derive(Serialize)]
struct Agreeing<'a, T> {
    #[serde(flatten)]
    of: &'a T,
    /// Agreement of both orders.
    agreement: WordedAgreement<'a>,
}

/// How far two orders agree.
#[derive(Serialize)]
struct WordedAgreement<'a> {
    #[serde(flatten)]
    agreement: &'a Agreement,
    /// A reservation, if there is one.
    remark: Option<String>,
}

impl<'a, T> Agreeing<'a, T> {
    fn new(of: &'a T, agreement: &'a Agreement) -> Agreeing<'a, T> {
        Agreeing { of, agreement: WordedAgreement { agreement, remark: say::limit(agreement) } }
    }
}

impl<'a> WordedStudy<'a> {
    pub(crate) fn new(study: &'a StudyComparison) -> WordedStudy<'a> {
        WordedStudy {
            study,
            warnings: say::warnings(&study.warnings),
            tests: study.tests.iter().map(|test| Agreeing::new(test, &test.agreement)).collect(),
            overall: study.overall.iter().map(|all| Agreeing::new(all, &all.agreement)).collect(),
            not_measured: say::not_measured(study),
            single: say::single(study),
            remarks: say::remarks(),
        }
    }
}
