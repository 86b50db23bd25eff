//! Shows a run in every possible way.

use std::hint::black_box;

use mountmark_document::forms::Subject;
use mountmark_document::writers::Options;
use mountmark_findings::changes::{RunBeside, changes};
use mountmark_findings::{
    Device, Format, Options as Analysis, Report, Reports, Run, Runs, Verdicts, configurations, doubts, findings,
};
use mountmark_model::Metric;
use mountmark_record::{DeviceUse, Output, RunRecord, RunSummary};

pub(super) fn options(width: usize, terminal: bool) -> Options {
    Options { width, terminal, color: terminal }
}

/// Writes a subject in all its formats.
pub(super) fn all<S: Subject>(subject: &S, options: &Options) {
    for format in Format::all::<S>() {
        shown(format.write(subject, options));
    }
}

/// Shows `run` in all formats, and compared with itself.
pub(super) fn everything(run: &RunRecord, devices: &[DeviceUse], results: &[Output]) {
    let ways = [options(100, false), options(0, true)];
    for way in &ways {
        for metric in [None, Some(&Metric::RATE), Some(&Metric::ELAPSED)] {
            all(&Run { run, metric }, way);
        }
        all(&Device { run, uses: devices }, way);
    }
    let found = findings(run, &Analysis::default());
    black_box((doubts(run), configurations(run)));
    all(&Verdicts { run, findings: &found }, &ways[0]);
    let report = Report { devices, results, ..Report::of(run, &found) };
    all(&Reports::of(&[report]), &ways[0]);
    all(&RunBeside(&changes(run, run, None, &Analysis::default())), &ways[1]);
}

/// The list of runs.
pub(super) fn list(runs: &[RunSummary]) {
    all(&Runs(runs), &options(80, true));
}

/// Formats the error if there is nothing to show.
fn shown(text: anyhow::Result<String>) {
    black_box(text.map_err(|error| format!("{error:#}")).is_ok());
}
