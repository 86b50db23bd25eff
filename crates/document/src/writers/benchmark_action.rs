//! What github-action-benchmark takes as `customSmallerIsBetter`: a list of figures
//! (<https://github.com/benchmark-action/github-action-benchmark>). It knows one direction for all, so that figures of
//! which more is better are left out.

use serde_json::{Value, json};

use crate::forms::Form;
use crate::writers::Writer;

pub const BENCHMARK_ACTION: Writer = Writer {
    name: "github-action-benchmark",
    endings: &["benchmark.json"],
    form: Form::Gauges,
    mark: "\u{0}",
    write: |subject, _| {
        let gauges = subject.gauges()?;
        let fit = gauges.into_iter().filter(|gauge| gauge.is_lower_better);
        let all: Vec<Value> = fit
            .map(|gauge| {
                let [low, high] = gauge.range;
                json!({
                    "name": format!("{} {}", gauge.name, gauge.measure), "unit": gauge.unit, "value": gauge.value,
                    "range": format!("{low} to {high}"),
                })
            })
            .collect();
        Some(serde_json::to_string_pretty(&all).map(|text| text + "\n").map_err(Into::into))
    },
};
