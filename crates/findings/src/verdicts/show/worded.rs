//! Findings with their words, for JSON.

use serde::Serialize;

use crate::figures::find::{MetricFindings, TaskFindings};
use crate::figures::say::{basis, category};
use crate::found::Findings;
use crate::rankings::find::rank::{CategoryFindings, Overall};
use crate::robustness::find::OrderCounts;
use crate::safety::find::AfterCut;
use crate::verdicts::find::verdict::Verdict;
use crate::verdicts::say;
use crate::{curves, missing, overview, remarks, robustness};

/// What was found in a run, with the sentences.
#[derive(Serialize)]
pub(crate) struct WordedFindings<'a> {
    #[serde(flatten)]
    findings: &'a Findings,
    /// Each task and protocol step, in execution order.
    tasks: Vec<Task<'a>>,
    /// Rankings by kind of work.
    categories: Vec<Category<'a>>,
    /// All tasks together.
    overall: All<'a>,
    /// What syncs are worth, by configuration.
    safety: Vec<OfConfiguration<'a>>,
    /// The most important first.
    conclusions: Vec<String>,
    /// Where curves have steps, if the plan varies a parameter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cliffs: Vec<String>,
    /// What could not be measured, and why.
    missing: Vec<String>,
    /// What else should be known.
    remarks: Vec<String>,
}

/// What the syncs of a configuration are worth.
#[derive(Serialize)]
struct OfConfiguration<'a> {
    /// Its name.
    configuration: &'a str,
    #[serde(flatten)]
    safety: &'a AfterCut,
    /// Whether a power cut took files whose fsync had returned.
    loses_synced: bool,
}

/// A task or a protocol step.
#[derive(Serialize)]
struct Task<'a> {
    #[serde(flatten)]
    task: &'a TaskFindings,
    /// The kind of work.
    category: &'a str,
    /// Each metric with a figure.
    metrics: Vec<OfMetric<'a>>,
    /// Whether its orders hold on real machines, as a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    holds: String,
}

/// One metric of a task.
#[derive(Serialize)]
struct OfMetric<'a> {
    #[serde(flatten)]
    found: &'a MetricFindings,
    /// Who is faster, if the metric is judged.
    verdict: Option<WordedVerdict<'a>>,
}

/// A verdict and its sentence.
#[derive(Serialize)]
struct WordedVerdict<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    /// The verdict as a sentence.
    sentence: String,
}

/// The ranking for one kind of work.
#[derive(Serialize)]
struct Category<'a> {
    /// The kind of work.
    name: &'a str,
    /// What the score is made of.
    basis: &'static str,
    #[serde(flatten)]
    category: &'a CategoryFindings,
    /// Who leads.
    sentence: String,
    /// How many orders of two file systems behind it hold on real machines, and how many turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    orders: Option<OrderCounts>,
}

/// All tasks together.
#[derive(Serialize)]
struct All<'a> {
    #[serde(flatten)]
    overall: &'a Overall,
    /// What the score is made of.
    basis: &'static str,
    /// How many orders of two file systems behind it hold on real machines, and how many turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    orders: Option<OrderCounts>,
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
            holds: robustness::say::verdict(findings, task).trim_start().to_owned(),
        };
        let of_category = |found: &'a CategoryFindings| Category {
            name: category(&found.category),
            basis: basis(found.basis),
            category: found,
            sentence: overview::say::category(findings, found),
            orders: robustness::say::counts(findings, |task| task.category == found.category),
        };
        let of_configuration = |(name, safety): (&'a String, &'a AfterCut)| OfConfiguration {
            configuration: name,
            safety,
            loses_synced: safety.loses_synced(),
        };
        WordedFindings {
            findings,
            tasks: findings.tasks.iter().map(task).collect(),
            categories: findings.categories.iter().map(of_category).collect(),
            overall: All {
                overall: &findings.overall,
                basis: basis(findings.overall.basis),
                orders: robustness::say::counts(findings, |_| true),
            },
            safety: findings.configurations.iter().zip(&findings.safety).map(of_configuration).collect(),
            conclusions: overview::say::sentences(findings),
            cliffs: findings.curves.as_ref().map(|curves| curves::say::cliffs(findings, curves)).unwrap_or_default(),
            missing: missing::say::sentences(&findings.missing),
            remarks: remarks::say::sentences(findings),
        }
    }
}
