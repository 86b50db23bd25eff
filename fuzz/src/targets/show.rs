//! A run through everything that shows runs.

use std::hint::black_box;

use mountmark_analyse::{Options as Analysis, changes, configurations, doubts, findings};
use mountmark_model::Metric;
use mountmark_record::{DeviceUse, Output, RunRecord};
use mountmark_report::{ALL, COMPARISON_FORMATS, DOCUMENTS, IO_FORMATS, Options, Report, VERDICT_FORMATS};

pub(super) fn options(width: usize, terminal: bool) -> Options {
    let metric = if terminal { &Metric::RATE } else { &Metric::ELAPSED };
    Options { metric, width, terminal, color: terminal }
}

/// Shows `run` in all formats, and beside itself.
pub(super) fn everything(run: &RunRecord, devices: &[DeviceUse], results: &[Output]) {
    let ways = [options(100, false), options(0, true)];
    for way in &ways {
        for format in ALL {
            shown(format.render(run, way));
        }
        for format in IO_FORMATS {
            shown(mountmark_report::io(run, devices, format, way));
        }
    }
    for style in ["bonnie", "bonnie-csv", "bonnie-2-csv", "iozone", "sysbench"] {
        let _ = black_box(mountmark_report::classic(run, style));
    }
    let found = findings(run, &Analysis::default());
    black_box((doubts(run), configurations(run)));
    for format in VERDICT_FORMATS {
        shown(mountmark_report::verdict(run, &found, format, &ways[0]));
    }
    let report = Report { run, findings: &found, study: None, claims: None, devices, results };
    for document in DOCUMENTS {
        shown(document.render(&[report]));
    }
    let changed = changes(run, run, None, &Analysis::default());
    for format in COMPARISON_FORMATS {
        shown(mountmark_report::changes(&changed, format, &ways[1]));
    }
}

/// Where nothing is to be shown, a sentence says so.
fn shown(text: anyhow::Result<String>) {
    black_box(text.map_err(|error| format!("{error:#}")).is_ok());
}
