//! Findings with their words, for JSON.

use serde::Serialize;

use crate::figures::find::{MetricFindings, TaskFindings};
use crate::figures::say::{basis, category};
use crate::found::Findings;
use crate::rankings::find::rank::{CategoryFindings, Overall};
use crate::verdicts::find::verdict::Verdict;
use crate::verdicts::say;
use crate::{curves, missing, overview, remarks};

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
                .map(|verdict| WordedVerdict { verdict, sentence: say::sentence(findings, found) }),
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
            sentence: overview::say::category(findings, found),
        };
        WordedFindings {
            findings,
            tasks: findings.tasks.iter().map(task).collect(),
            categories: findings.categories.iter().map(of_category).collect(),
            overall: All { overall: &findings.overall, basis: basis(findings.overall.basis) },
            conclusions: overview::say::sentences(findings),
            cliffs: findings.curves.as_ref().map(|curves| curves::say::cliffs(findings, curves)).unwrap_or_default(),
            missing: missing::say::sentences(&findings.missing),
            remarks: remarks::say::sentences(findings),
        }
    }
}
