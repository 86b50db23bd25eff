//! Latencies and rates of workloads: latency quantiles, and throughput over time.
//!
//! Shows the engine's results of the first iteration of the first repeat.

use std::collections::BTreeMap;

use mountmark_document::draw::curve::{Curve, Frame, Names, Tick, draw, swatch};
use mountmark_document::draw::plot::{self, AxisScale};
use mountmark_document::forms::{Block, Last, Table};
use mountmark_document::markup::Markup;
use mountmark_document::number::counted;
use mountmark_document::put;
use mountmark_document::text::{figure, three_digits};
use mountmark_model::WorkloadResult;
use mountmark_model::workload::{Latency, Operation, PhaseResult, Series};

use crate::view::View;

/// Quantiles with a tick on the axis, and their labels.
const SHARES: [(f64, &str); 5] = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];
/// The quantile axis ends at 99.99 %, which is 4 on its scale.
const LAST: f64 = 4.0;
/// Points of a latency curve, from 0 to [`LAST`].
const POINTS: usize = 80;
/// Maximum number of points of a curve over time.
const STEPS: usize = 128;
/// Maximum number of charts of a run: suites with a matrix of sizes have thousands of phases.
const MOST: usize = 60;

/// One phase of one task on all file systems.
struct Phase<'a> {
    task: &'a str,
    phase: &'a str,
    /// By configuration.
    results: BTreeMap<usize, &'a PhaseResult>,
}

/// The section, if the run has such results.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let (documents, damaged) = documents(view);
    let phases = phases(&documents);
    let charts: Vec<(&Phase, Operation)> = phases
        .iter()
        .flat_map(|phase| operations(phase).into_iter().map(move |operation| (phase, operation)))
        .collect();
    if charts.is_empty() && damaged == 0 {
        return Vec::new();
    }
    let mut out = vec![Block::Text(ABOUT.into())];
    if damaged > 0 {
        let what = counted(damaged, "document", "documents");
        out.push(Block::Text(format!("{what} of the engine cannot be read; `mountmark show --raw` prints them.")));
    }
    if charts.len() > MOST {
        let (shown, all) = (MOST, charts.len());
        out.push(Block::Text(format!(
            "The first {shown} of {all} are here; `mountmark show --raw TASK` has the figures of all."
        )));
    }
    let mut cards = Markup::new();
    put!(cards, "<div class=\"cards\">\n");
    let mut over_time: Option<&Phase> = None;
    let mut tables = Vec::new();
    for (phase, operation) in charts.into_iter().take(MOST) {
        if let Some(before) = over_time.filter(|before| !std::ptr::eq(*before, phase)) {
            course(&mut cards, view, before);
        }
        over_time = Some(phase);
        tables.push(table(view, phase, operation));
        shares(&mut cards, view, phase, operation);
    }
    if let Some(phase) = over_time {
        course(&mut cards, view, phase);
    }
    put!(cards, "</div>\n");
    out.push(Block::Drawn(cards, tables));
    out
}

const ABOUT: &str = "Workloads of the engine, in the first repeat: the time that a share of the operations did not exceed, \
                     to within a sixty-fourth; curves are on scales of factors of ten, and show what was done over time too.";

/// The quantiles of the table, as [`SHARES`], and the longest time.
fn times(latency: &Latency) -> [String; 5] {
    let values = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
    values.map(|value| duration(value as f64))
}

/// The times of one kind of operation.
fn table(view: &View, phase: &Phase, operation: Operation) -> Block {
    let found = phase.results.iter().filter_map(|(at, result)| Some((*at, of(result, operation)?)));
    let rows = found.map(|(at, latency)| {
        [view.name(at).to_owned(), latency.count.to_string()].into_iter().chain(times(latency)).collect()
    });
    let shares = SHARES[..4].iter().map(|(_, text)| *text);
    let head = ["file system", "operations"].into_iter().chain(shares).chain(["max"]);
    let phase_name = if phase.phase == phase.task { String::new() } else { format!(", {}", phase.phase) };
    let caption = format!("{}{phase_name}, {}: time by share of the operations", phase.task, operation.name());
    Block::Table(Table { caption, ..Table::new(head, rows, 1, Last::Figure) })
}

/// The engine's results: task, configuration, document; and the number of unreadable documents.
type Documents<'a> = Vec<(&'a str, usize, WorkloadResult)>;

fn documents<'a>(view: &View<'a>) -> (Documents<'a>, usize) {
    let mut documents = Documents::new();
    let mut damaged = 0;
    for output in view.report.results.iter().filter(|output| output.iteration == 0) {
        let cell = view.run().cells.iter().find(|cell| cell.index == output.cell);
        let names = &view.findings().configurations;
        let at = cell.and_then(|cell| names.iter().position(|name| *name == cell.configuration));
        match (at, serde_json::from_str(&output.text)) {
            (Some(at), Ok(result)) => documents.push((&output.task, at, result)),
            (None, _) => {}
            (_, Err(_)) => damaged += 1,
        }
    }
    (documents, damaged)
}

fn phases<'a>(documents: &'a Documents) -> Vec<Phase<'a>> {
    let mut phases: Vec<Phase> = Vec::new();
    for (task, configuration, result) in documents {
        for phase in result.phases.iter().filter(|phase| !phase.setup) {
            let known = phases.iter().position(|known| known.task == *task && known.phase == phase.name);
            let at = known.unwrap_or_else(|| {
                phases.push(Phase { task, phase: &phase.name, results: BTreeMap::new() });
                phases.len() - 1
            });
            phases[at].results.entry(*configuration).or_insert(phase);
        }
    }
    phases
}

/// The kinds of operations with recorded latencies.
fn operations(phase: &Phase) -> Vec<Operation> {
    let found = |operation: &Operation| phase.results.values().any(|result| of(result, *operation).is_some());
    Operation::ALL.into_iter().filter(found).collect()
}

fn of(result: &PhaseResult, operation: Operation) -> Option<&Latency> {
    let found = result.operations.iter().find(|found| found.operation == operation)?;
    found.latency.as_ref().filter(|latency| latency.count > 0 && !latency.histogram.is_empty())
}

/// Task, and phase unless they have the same name.
fn head(out: &mut Markup, view: &View, phase: &Phase) {
    let title = view.run().plan.tasks.iter().find(|(id, _)| *id == phase.task);
    let title = title.map_or("", |(_, title)| title.as_str());
    put!(out, "<strong><span class=\"id\">", phase.task, "</span>");
    if title != phase.task && !title.is_empty() {
        put!(out, " ", title);
    }
    put!(out, "</strong>");
    if phase.phase != phase.task {
        put!(out, ", ", phase.phase);
    }
}

/// Latency quantiles.
fn shares(out: &mut Markup, view: &View, phase: &Phase, operation: Operation) {
    let found: Vec<(usize, &Latency)> =
        phase.results.iter().filter_map(|(at, result)| Some((*at, of(result, operation)?))).collect();
    let least = found.iter().map(|(_, latency)| latency.min.max(1)).min().unwrap_or(1) as f64;
    let most = found.iter().map(|(_, latency)| latency.max.max(1)).max().unwrap_or(1) as f64;
    let low = least.log10().floor();
    let high = most.log10().ceil().max(low + 1.0);
    let y = |nanoseconds: u64| ((nanoseconds.max(1) as f64).log10() - low) / (high - low);
    let curves = found.iter().map(|(at, latency)| {
        // The slowest of n operations is the one above the quantile 1 - 1/n.
        let end = (latency.count as f64).log10();
        let steps = (0..=POINTS).map(|step| LAST * step as f64 / POINTS as f64).take_while(|x| *x < end);
        let points = steps.map(|x| (x / LAST, y(latency.quantile(1.0 - 10f64.powf(-x)))));
        let slowest = (end <= LAST).then(|| (end / LAST, y(latency.max)));
        Curve { look: *at, points: points.chain(slowest).collect(), has_dots: false }
    });
    let shares = SHARES.iter().map(|(share, text)| Tick { at: -(1.0 - share).log10() / LAST, text: (*text).into() });
    let decades = (low as i32..=high as i32)
        .map(|power| Tick { at: (f64::from(power) - low) / (high - low), text: duration(10f64.powi(power)) });
    let frame = Frame { x: shares.collect(), y: decades.collect(), names: Names::Level, bands: Vec::new() };
    put!(out, "<figure class=\"card\">\n<figcaption>");
    head(out, view, phase);
    put!(out, "<span class=\"verdict\">", operation.name(), ": time by share of the operations</span></figcaption>\n");
    draw(out, &frame, &curves.collect::<Vec<_>>());
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Times of ", operation.name());
    put!(out, "\">");
    let shares = SHARES[..4].iter().map(|(_, text)| plot::head(text));
    let heads = [plot::unseen("file system"), plot::head("operations")].into_iter().chain(shares);
    plot::begin_chart(out, "lines", heads.chain([plot::head("max")]));
    for (at, latency) in found {
        put!(out, "<tr><th scope=\"row\">", swatch(at), view.name(at), "</th><td>", latency.count, "</td>");
        for time in times(latency) {
            put!(out, "<td>", time, "</td>");
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table></div>\n</figure>\n");
}

/// Throughput over time, in MiB or operations per second.
fn course(out: &mut Markup, view: &View, phase: &Phase) {
    let found: Vec<(usize, &Series)> = phase.results.iter().map(|(at, result)| (*at, &result.series)).collect();
    let found: Vec<_> = found.into_iter().filter(|(_, series)| series.points.len() > 1 && series.step > 0.0).collect();
    if found.is_empty() {
        return;
    }
    let moves = found.iter().any(|(_, series)| series.points.iter().any(|point| point.bytes > 0));
    let rates = |series: &Series| -> Vec<(f64, f64)> {
        let join = series.points.len().div_ceil(STEPS);
        let seconds = series.step * join as f64;
        let sum = |points: &[mountmark_model::workload::SeriesPoint]| {
            let all = points.iter().map(|point| if moves { point.bytes } else { point.operations }).sum::<u64>() as f64;
            let unit = if moves { f64::from(1 << 20) } else { 1.0 };
            all / unit / (series.step * points.len() as f64)
        };
        let points = series.points.chunks(join).enumerate();
        points.map(|(index, chunk)| ((index as f64 + 0.5) * seconds, sum(chunk))).collect()
    };
    let lines: Vec<(usize, Vec<(f64, f64)>)> = found.into_iter().map(|(at, series)| (at, rates(series))).collect();
    let all = || lines.iter().flat_map(|(_, points)| points);
    let (across, up) = (AxisScale::covering(all().map(|(x, _)| *x)), AxisScale::covering(all().map(|(_, y)| *y)));
    let curves = lines.iter().map(|(at, points)| {
        let points = points.iter().map(|(x, y)| (x / across.max, y / up.max));
        Curve { look: *at, points: points.collect(), has_dots: false }
    });
    let unit = if moves { "MiB/s" } else { "1/s" };
    let tick = |scale: AxisScale, part: f64, unit: &str| Tick {
        at: part,
        text: format!("{} {unit}", figure(scale.max * part)),
    };
    let frame = Frame {
        x: [0.0, 0.5, 1.0].map(|part| tick(across, part, "s")).into(),
        y: [0.0, 0.5, 1.0].map(|part| tick(up, part, unit)).into(),
        names: Names::Level,
        bands: Vec::new(),
    };
    put!(out, "<figure class=\"card\">\n<figcaption>");
    head(out, view, phase);
    put!(out, "<span class=\"verdict\">", unit, " over time, all operations together</span></figcaption>\n");
    draw(out, &frame, &curves.collect::<Vec<_>>());
    put!(out, "<p class=\"key\">");
    for (at, points) in &lines {
        let least = points.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
        let most = points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
        put!(
            out,
            "<span class=\"line\">",
            swatch(*at),
            view.name(*at),
            " ",
            figure(least),
            " to ",
            figure(most),
            "</span> "
        );
    }
    put!(out, "</p>\n</figure>\n");
}

/// Nanoseconds with three digits and a unit.
fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    if value.fract() == 0.0 { format!("{value} {unit}") } else { format!("{} {unit}", three_digits(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        let texts = [1.0, 999.0, 1e3, 12_345.0, 1_234_567.0, 123_456_789.0, 1e9, 61e9].map(duration);
        assert_eq!(texts, ["1 ns", "999 ns", "1 µs", "12.3 µs", "1.23 ms", "123 ms", "1 s", "61 s"]);
    }
}
