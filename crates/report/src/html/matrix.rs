//! The matrix of tests and file systems as a table. Written for one metric; the script of the page shows others in it,
//! from the data that lies beside it.

use mountmark_analyse::{MetricFindings, TaskFindings};
use mountmark_model::{Metric, Scale, Unit};

use super::markup::{Markup, put};
use super::view::{HEAT, View, best, counted, figures, heat, judged, median, quantity, shown};

/// The section with the matrix, for the metric by which file systems are judged.
pub(super) fn matrix(view: &View) -> Markup {
    let mut out = Markup::new();
    let (findings, metric) = (view.findings(), view.main());
    // A test that nobody got through belongs into the matrix all the same.
    let rows: Vec<(&TaskFindings, Option<&MetricFindings>)> = findings
        .tasks
        .iter()
        .map(|task| (task, shown(task, metric)))
        .filter(|(task, found)| found.is_some() || (!task.step && task.metrics.is_empty()))
        .collect();
    let is_mixed = is_mixed(view);
    out.heading(view.level + 1, &view.id("matrix"), "Tests and file systems");
    if rows.iter().all(|(_, found)| found.is_none()) {
        put!(out, "<p>There is no figure of ", metric.title, " in this run.</p>\n");
        return out;
    }
    controls(&mut out, view);
    let caption = view.id("matrix-caption");
    put!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"", caption, "\">\n");
    put!(out, "<table class=\"matrix\" id=\"", view.id("matrix-table"), "\" data-run=\"", view.id(""), "\">\n");
    let text = if is_mixed { MIXED.to_owned() } else { caption_text(metric) };
    put!(out, "<caption id=\"", caption, "\">", text, "</caption>\n");
    put!(out, "<thead><tr><th scope=\"col\">test</th>");
    for name in &findings.configurations {
        put!(out, "<th scope=\"col\">", name, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
    for (task, found) in &rows {
        put!(out, "<tr><th scope=\"row\">", label(task));
        // What a rate counts is the task's own.
        if let Some(found) = found.filter(|found| is_mixed || found.metric.id == Metric::RATE.id) {
            put!(out, " <span class=\"unit\">", found.metric.unit_text(), "</span>");
        }
        put!(out, "</th>");
        let best = found.map(best).unwrap_or_default();
        for configuration in 0..findings.configurations.len() {
            let figure = found.and_then(|found| Some((found, median(task, found.metric, configuration)?)));
            match figure {
                Some((found, value)) => {
                    let text = found.metric.format(value);
                    cell(&mut out, &text, best.contains(&configuration), heat(found, value));
                }
                None => put!(out, "<td class=\"none\">", view.absent(configuration, &task.id), "</td>"),
            }
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n");
    if !is_mixed {
        foot(&mut out, view, metric);
    }
    put!(out, "</table>\n</div>\n");
    legend(&mut out, view);
    out
}

/// The caption where rows have different metrics.
pub(super) const MIXED: &str = "What each test is judged by: rates, of which more is better, and times in seconds until durable, of which less is better";

/// Whether tests are judged by different metrics.
pub(super) fn is_mixed(view: &View) -> bool {
    let main = view.main();
    view.tasks().filter_map(judged).any(|found| found.metric.id != main.id)
}

/// What a metric is and which way is better.
pub(super) fn caption_text(metric: &Metric) -> String {
    let unit = match metric.unit {
        Unit::Seconds => " in seconds",
        Unit::Percent => " in per cent",
        Unit::KibPerSecond => " in KiB a second",
        Unit::Throughput => " in KiB or operations a second",
        Unit::Bytes | Unit::Count | Unit::Ratio | Unit::PerSecond => "",
    };
    let better = match metric.better {
        mountmark_model::Better::Lower => "less is better",
        mountmark_model::Better::Higher => "more is better",
    };
    format!("{}{unit}; {better}. {}", metric.title, metric.about)
}

/// A task's id and title, the id apart.
pub(super) fn label(task: &TaskFindings) -> Markup {
    let mut out = Markup::new();
    if task.title.is_empty() || task.title == task.id {
        put!(out, task.id);
    } else {
        put!(out, "<span class=\"id\">", task.id, "</span> ", task.title);
    }
    out
}

fn cell(out: &mut Markup, text: &str, is_best: bool, heat: usize) {
    match (is_best, heat) {
        (true, _) => put_best(out, text),
        (false, 0) => put!(out, "<td>", text, "</td>"),
        (false, heat) => put!(out, "<td class=\"heat", heat, "\">", text, "</td>"),
    }
}

/// A best figure: a star and bold beside the shade, and a word for who cannot see them.
pub(super) fn put_best(out: &mut Markup, text: &str) {
    put!(out, "<td class=\"best\"><span class=\"star\" aria-hidden=\"true\">★</span>", text);
    put!(out, "<span class=\"unseen\"> best</span></td>");
}

/// Whether a sum over tasks says anything.
pub(super) fn adds_up(metric: &Metric) -> bool {
    match metric.unit {
        Unit::Seconds | Unit::Count => true,
        Unit::Bytes => ![Metric::PEAK_MEMORY.id, Metric::CAPACITY_BYTES.id].contains(&metric.id),
        Unit::Percent | Unit::Ratio | Unit::KibPerSecond | Unit::PerSecond | Unit::Throughput => false,
    }
}

fn foot(out: &mut Markup, view: &View, metric: &Metric) {
    let tasks: Vec<&TaskFindings> = view.tasks().filter(|task| figures(task, metric).is_some()).collect();
    if tasks.len() < 2 || !adds_up(metric) {
        return;
    }
    put!(out, "<tfoot><tr><th scope=\"row\">sum of ", tasks.len(), " tests</th>");
    for configuration in 0..view.findings().configurations.len() {
        let sum: Option<f64> = tasks.iter().map(|task| median(task, metric, configuration)).sum();
        match sum {
            Some(sum) => put!(out, "<td>", metric.format(sum), "</td>"),
            None => put!(out, "<td class=\"none\">–</td>"),
        }
    }
    put!(out, "</tr></tfoot>\n");
}

/// What the script acts on; it is shown where there is a script.
fn controls(out: &mut Markup, view: &View) {
    let (findings, main) = (view.findings(), view.main());
    let select = view.id("metric");
    put!(out, "<div class=\"controls\" hidden data-run=\"", view.id(""), "\">\n");
    put!(out, "<label for=\"", select, "\">Metric</label> <select id=\"", select, "\">\n");
    let is_mixed = is_mixed(view);
    if is_mixed {
        put!(out, "<option value=\"judged\" selected>what each test is judged by</option>\n");
    }
    for metric in Metric::ALL {
        if findings.tasks.iter().any(|task| figures(task, metric).is_some()) {
            let selected = if metric.id == main.id && !is_mixed { " selected" } else { "" };
            put!(out, "<option value=\"", metric.id, "\"", selected, ">");
            let unit = metric.unit_text();
            put!(out, metric.title, " (", unit, ")</option>\n");
        }
    }
    put!(out, "</select>\n");
    let baseline = view.name(findings.baseline);
    put!(out, "<span class=\"switch\" role=\"group\" aria-label=\"What the matrix shows\">");
    put!(out, "<button type=\"button\" data-mode=\"value\" aria-pressed=\"true\">values</button>");
    put!(out, "<button type=\"button\" data-mode=\"ratio\" aria-pressed=\"false\">ratios to ", baseline, "</button>");
    put!(out, "</span>\n<span class=\"unseen\" aria-live=\"polite\" id=\"", view.id("said"), "\"></span>\n</div>\n");
}

/// What the mark of the best says: without repeats nothing is judged.
pub(crate) fn best_means(view: &View) -> &'static str {
    if view.findings().repeats > 1 {
        "of its row, and what cannot be told from it; of figures that are not judged, what prints as the best."
    } else {
        "of its row as printed: one repeat shows no difference."
    }
}

fn legend(out: &mut Markup, view: &View) {
    let [warm, warmer, warmest] = HEAT;
    put!(
        out,
        "<p class=\"legend\"><span class=\"chip best\"><span class=\"star\" aria-hidden=\"true\">★</span>best</span> "
    );
    put!(out, best_means(view), " How many times the best, from: ");
    put!(out, "<span class=\"chip heat1\">", warm, "</span> <span class=\"chip heat2\">", warmer, "</span> ");
    put!(out, "<span class=\"chip heat3\">", warmest, "</span>. ");
    let repeats = view.findings().repeats;
    if repeats > 1 {
        let repeats = counted(repeats as usize, "repeat", "repeats");
        put!(out, "Figures are medians over ", repeats, ". ");
    }
    let scale = view.run().plan.scale;
    if scale != Scale::ONE {
        put!(out, "Titles name the suite's own counts and sizes; here it is ", scale.to_string(), " of them. ");
    }
    put!(out, "</p>\n");
}

/// A figure with its unit, or a dash.
pub(super) fn figure_text(metric: &Metric, value: Option<f64>) -> String {
    value.map_or("–".into(), |value| quantity(metric, value))
}
