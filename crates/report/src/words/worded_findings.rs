//! Findings with their words, for JSON.

use mountmark_analyse::{CategoryFindings, Findings, MetricFindings, Overall, TaskFindings, Verdict};
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
