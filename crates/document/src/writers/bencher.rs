//! Bencher Metric Format: an object of benchmarks, each with its measures
//! (<https://bencher.dev/docs/reference/bencher-metric-format/>).

use serde_json::{Map, Value, json};

use crate::forms::Form;
use crate::writers::Writer;

pub const BENCHER: Writer = Writer {
    name: "bencher",
    endings: &["bencher.json"],
    form: Form::Gauges,
    mark: "\u{0}",
    write: |subject, _| {
        let mut all: Map<String, Value> = Map::new();
        for gauge in subject.gauges()? {
            let [low, high] = gauge.range;
            let measure = json!({ "value": gauge.value, "lower_value": low, "upper_value": high });
            let name =
                if gauge.unit.is_empty() { gauge.measure } else { format!("{} ({})", gauge.measure, gauge.unit) };
            all.entry(gauge.name).or_insert_with(|| json!({}))[name] = measure;
        }
        Some(serde_json::to_string_pretty(&all).map(|text| text + "\n").map_err(Into::into))
    },
};
