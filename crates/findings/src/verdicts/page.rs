//! A chart for each test with a bar, every sample and the interval, the processor's share beside it, and the verdict.
//! Protocol steps and usable space have the same form.

use mountmark_document::draw::plot::{self, AxisScale, Dot, Drawing, axis, draw};
use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::put;
use mountmark_document::writers::html::put_best;
use mountmark_model::{Metric, Unit, protocol_task};

use crate::dependence::say::depends;
use crate::figures::find::{Estimate, MetricFindings, Point, TaskFindings};
use crate::figures::say::quantity::{end, quantity};
use crate::matrix::page::label;
use crate::verdicts::say as verdict;
use crate::verdicts::show::{ratios, sentences};
use crate::view::View;
use crate::{view, why};

/// Above this number of results, a page shows only the best few of each test: browsers would be slow and files large.
const ROWS: usize = 2000;

/// Number of configurations shown then.
const SHOWN: usize = 10;

/// Whether charts show only the best of each test.
fn is_large(view: &View) -> bool {
    view.findings().tasks.len() * view.findings().configurations.len() > ROWS
}

/// The configurations in a chart: all, or on a large page the best and the baseline.
fn rows(view: &View, found: &MetricFindings) -> Vec<usize> {
    let all = 0..view.findings().configurations.len();
    if !is_large(view) {
        return all.collect();
    }
    let times = |one: &usize| found.times_best(*one).unwrap_or(f64::INFINITY);
    let mut order: Vec<usize> = all.collect();
    order.sort_by(|a, b| times(a).total_cmp(&times(b)));
    let baseline = view.findings().baseline;
    let keeps = |(place, one): &(usize, usize)| *place < SHOWN || *one == baseline;
    order.into_iter().enumerate().filter(keeps).map(|(_, one)| one).collect()
}

/// The section with one chart per test of the suite.
pub(crate) fn tests(view: &View) -> Vec<Block> {
    if view.tasks().next().is_none() {
        return Vec::new();
    }
    let mut told = sentences(view.findings(), view.tasks());
    told.extend(ratios(view.findings()));
    told.extend(view.report.whys.iter().flat_map(why::show::section));
    vec![Block::Drawn(tasks(view), told)]
}

fn tasks(view: &View) -> Markup {
    let mut out = Markup::new();
    explain(&mut out, view);
    if is_large(view) {
        put!(out, "<p>The run has more results than a page can draw: each test shows its best ", SHOWN, " file ");
        put!(out, "systems and the baseline. The matrix above has the figures of all, and the CSV and JSON reports ");
        put!(out, "every sample.</p>\n");
    }
    for category in view.categories() {
        if view.categories().len() > 1 {
            out.heading(view.level + 2, &view.id(&format!("tests-{}", slug(view, category))), category);
        }
        put!(out, "<div class=\"cards\">\n");
        for task in view.tasks().filter(|task| view::category(task) == category) {
            put!(out, card(view, task));
        }
        put!(out, "</div>\n");
    }
    out
}

/// The section about mkfs, mount, umount and usable space.
pub(crate) fn steps(view: &View) -> Vec<Block> {
    let steps: Vec<&TaskFindings> = view.findings().tasks.iter().filter(|task| task.step).collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let mut out = Markup::new();
    let told = sentences(view.findings(), steps.iter().copied());
    put!(out, "<div class=\"cards\">\n");
    for step in steps {
        if step.id == protocol_task::CAPACITY {
            put!(out, room(view, step));
        } else {
            put!(out, card(view, step));
        }
    }
    put!(out, "</div>\n");
    vec![Block::Drawn(out, told)]
}

/// Category number for ids: a name from a suite may not be valid in one.
fn slug(view: &View, category: &str) -> usize {
    view.categories().iter().position(|name| *name == category).unwrap_or(0)
}

fn explain(out: &mut Markup, view: &View) {
    put!(
        out,
        "<p class=\"legend swatches\"><span><span class=\"swatch bar\"></span>until the command returned</span> "
    );
    if view.tasks().any(|task| task.figures(&Metric::DURABLE).is_some()) {
        put!(
            out,
            "<span><span class=\"swatch to\"></span>until its data was on the medium too: what figures and dots "
        );
        put!(out, "show</span> ");
    }
    put!(out, "<span><span class=\"swatch dot\"></span>a sample</span> ");
    if !view.findings().doubts.is_empty() {
        put!(out, "<span><span class=\"swatch ring\"></span>a doubtful one</span> ");
    }
    let mut estimates =
        view.findings().tasks.iter().flat_map(|task| &task.metrics).flat_map(|found| found.estimates.iter().flatten());
    if estimates.any(|estimate| estimate.median_interval.is_some()) {
        put!(out, "<span><span class=\"swatch interval\"></span>95 % interval of the median</span> ");
    }
    put!(out, "<span>CPU: processor time of the command over its returned time; its bar ends at 100 %</span></p>\n");
}

fn card(view: &View, task: &TaskFindings) -> Markup {
    let mut out = Markup::new();
    let Some(found) = task.shown() else {
        put!(out, "<figure class=\"card\"><figcaption><strong>", label(task), "</strong></figcaption>");
        put!(out, "<p class=\"none\">No file system has a figure.</p></figure>\n");
        return out;
    };
    let metric = found.metric;
    let ends = found.estimates.iter().flatten().flat_map(|estimate| {
        let high = estimate.median_interval.map_or(0.0, |interval| interval.high);
        estimate.points.iter().map(|point| point.value).chain([estimate.summary.median, high])
    });
    let scale = AxisScale::covering(ends);
    let has_cpu = task.figures(&Metric::CPU_PERCENT).is_some();
    let why = why::page::of(view, &task.id);
    put!(out, "<figure class=\"card");
    if !why.is_empty() {
        put!(out, " spread");
    }
    put!(out, "\">\n<figcaption><strong>", label(task), "</strong>");
    if found.verdict.is_some() {
        put!(out, "<span class=\"verdict\">", verdict::sentences(view.findings(), task, found), "</span>");
    }
    put!(out, "</figcaption>\n");
    let drawn = ("drawn", axis("0", &end(metric, scale.max)));
    let cpu = has_cpu.then(|| plot::head("CPU"));
    let heads = [plot::unseen("file system"), drawn, plot::head(metric.title)].into_iter().chain(cpu);
    plot::begin_chart(&mut out, "", heads);
    for configuration in rows(view, found) {
        head(&mut out, view.name(configuration));
        match found.estimates.get(configuration).and_then(Option::as_ref) {
            Some(estimate) => figures(&mut out, task, found, (configuration, estimate), scale),
            None => {
                let columns: u32 = if has_cpu { 3 } else { 2 };
                put!(
                    out,
                    "<td class=\"none\" colspan=\"",
                    columns,
                    "\">",
                    view.absent(configuration, &task.id),
                    "</td>"
                );
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table>\n", why, "</figure>\n");
    out
}

/// The cells of a configuration with figures: bar, median, share of the processor.
fn figures(
    out: &mut Markup,
    task: &TaskFindings,
    found: &MetricFindings,
    (configuration, estimate): (usize, &Estimate),
    scale: AxisScale,
) {
    let metric = found.metric;
    let bar = if metric.id == Metric::DURABLE.id {
        task.median(&Metric::ELAPSED, configuration).unwrap_or(estimate.summary.median)
    } else {
        estimate.summary.median
    };
    let dots: Vec<Dot> = estimate.points.iter().map(dot).collect();
    let drawing =
        Drawing { bar: Some(bar), to: Some(estimate.summary.median), interval: estimate.median_interval, dots: &dots };
    put!(out, "<td class=\"drawn\">", draw(scale, &drawing), "</td>");
    let text = quantity(metric, estimate.summary.median);
    if found.best.contains(&configuration) {
        let mut titled = Markup::new();
        put!(titled, "<span title=\"", spread(metric, estimate), "\">", text, "</span>");
        put_best(out, &titled);
    } else {
        put!(out, "<td title=\"", spread(metric, estimate), "\">", text, "</td>");
    }
    if task.figures(&Metric::CPU_PERCENT).is_some() {
        let share = task.median(&Metric::CPU_PERCENT, configuration);
        put!(out, "<td class=\"cpu\">", share.map_or("-".to_owned(), |share| format!("{share:.0} %")));
        put!(out, small(share, PERCENT), "</td>");
    }
}

/// Begins a row of a chart with its configuration. A short name is not broken.
pub(crate) fn head(out: &mut Markup, name: &str) {
    put!(out, "<tr><th scope=\"row\"");
    if name.chars().count() <= 12 {
        put!(out, " class=\"short\"");
    }
    put!(out, ">");
    out.name(name);
    put!(out, "</th>");
}

/// The statistics behind a median, as a tooltip.
fn spread(metric: &Metric, estimate: &Estimate) -> String {
    let summary = &estimate.summary;
    if summary.n == 1 {
        return format!("one figure, {}", quantity(metric, summary.median));
    }
    let mut text =
        format!("{} figures, {} to {}", summary.n, quantity(metric, summary.min), quantity(metric, summary.max));
    if let Some(cv) = summary.cv {
        text += &format!(", coefficient of variation {:.2} %", 100.0 * cv);
    }
    if let Some(found) = &estimate.dependence {
        text += &format!("; {}", depends(metric, found));
    }
    text
}

/// Titles of the columns of the table about space.
const ROOM: [(&Metric, &str); 4] = [
    (&Metric::CAPACITY_BYTES, "usable"),
    (&Metric::CAPACITY_DEVICE, "of the device"),
    (&Metric::CAPACITY, "free after mkfs"),
    (&Metric::CAPACITY_RESIDUAL, "free after removal"),
];

/// A bar below a figure.
fn small(value: Option<f64>, scale: AxisScale) -> Markup {
    value.map_or_else(Markup::new, |value| draw(scale, &Drawing { bar: Some(value), ..Drawing::default() }))
}

/// The scale of shares.
const PERCENT: AxisScale = AxisScale { max: 100.0 };

fn room(view: &View, step: &TaskFindings) -> Markup {
    let mut out = Markup::new();
    let columns: Vec<_> = ROOM.into_iter().filter(|(metric, _)| step.figures(metric).is_some()).collect();
    let caption = view.id("room-caption");
    put!(out, "<figure class=\"card broad\">\n<figcaption id=\"", caption, "\"><strong>usable space</strong>");
    let judged = columns.iter().filter_map(|(metric, _)| step.figures(metric));
    if let Some(found) = judged.into_iter().find(|found| found.verdict.is_some()) {
        put!(out, "<span class=\"verdict\">", verdict::sentence(view.findings(), found), "</span>");
    }
    put!(out, "</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"", caption, "\">");
    let about = |(metric, text): &(&Metric, &str)| {
        let mut head = Markup::new();
        put!(head, "<span title=\"", metric.about, "\">", text, "</span>");
        ("", head)
    };
    plot::begin_chart(&mut out, "", std::iter::once(plot::unseen("file system")).chain(columns.iter().map(about)));
    for configuration in 0..view.findings().configurations.len() {
        head(&mut out, view.name(configuration));
        for (metric, _) in &columns {
            let median = step.median(metric, configuration);
            let mut text = Markup::new();
            put!(text, median.map_or("-".into(), |value| quantity(metric, value)));
            let values = (0..view.findings().configurations.len()).filter_map(|one| step.median(metric, one));
            let scale = if metric.unit == Unit::Percent { PERCENT } else { AxisScale::covering(values) };
            text.show(&small(median, scale));
            if step.figures(metric).is_some_and(|found| found.best.contains(&configuration)) {
                put_best(&mut out, &text);
            } else {
                put!(out, "<td>", text, "</td>");
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table></div>\n</figure>\n");
    out
}

fn dot(point: &Point) -> Dot {
    Dot { value: point.value, row: point.repeat, doubtful: point.doubtful }
}
