//! A comparison with a study with its words, for JSON.

use serde::Serialize;

use crate::studies::find::{Agreement, OverallComparison, StudyComparison, TestComparison};
use crate::studies::say;

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
