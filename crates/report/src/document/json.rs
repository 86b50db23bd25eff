//! What was found, for programs.

use anyhow::Result;
use mountmark_analyse::Findings;
use mountmark_analyse::claim::JudgedClaim;
use mountmark_analyse::study::StudyComparison;
use serde::Serialize;

use super::{Document, Report};

pub(crate) struct Json;

/// The key that every file begins with.
const KEY: &str = "{\"mountmark_reports\":[";

#[derive(Serialize)]
struct Found<'a> {
    run: &'a str,
    command: String,
    #[serde(flatten)]
    compared: Compared<'a>,
    findings: &'a Findings,
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<&'a StudyComparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<&'a [JudgedClaim]>,
}

#[derive(Serialize)]
struct Compared<'a> {
    suite: &'a str,
    scale: f64,
    lab: &'static str,
    clock: String,
    machine: &'a str,
    kernel: &'a str,
    seed: u64,
    mountmark: &'a str,
}

impl Document for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "everything that was found, for programs; `mountmark show --format json` has the samples"
    }

    fn render(&self, reports: &[Report]) -> Result<String> {
        let mut out = String::from(KEY);
        for (index, report) in reports.iter().enumerate() {
            let plan = &report.run.plan;
            let found = Found {
                run: report.run.id.as_str(),
                command: crate::command::again(report.run),
                compared: Compared {
                    suite: &plan.suite,
                    scale: plan.scale.factor(),
                    lab: plan.lab.name(),
                    clock: crate::header::clock(report.run),
                    machine: &plan.machine.name,
                    kernel: &plan.kernel,
                    seed: plan.seed,
                    mountmark: &report.run.program,
                },
                findings: report.findings,
                study: report.study,
                claims: report.claims,
            };
            out += if index == 0 { "\n" } else { ",\n" };
            out += &serde_json::to_string(&found)?;
        }
        out += "\n]}\n";
        Ok(out)
    }

    fn is_ours(&self, start: &str) -> bool {
        start.starts_with(KEY)
    }
}
