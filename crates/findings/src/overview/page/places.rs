//! The picture that a page opens with: the places of the file systems, with their intervals, and what they risk when the
//! power fails.

use mountmark_document::draw::plot::{self, AxisScale, Drawing, axis, draw};
use mountmark_document::markup::Markup;
use mountmark_document::number::{counted, range, ratio};
use mountmark_document::put;
use mountmark_model::Metric;
use mountmark_model::promises::Level;
use mountmark_stats::interval::Interval;

use crate::figures::say::quantity::{end, quantity};
use crate::overview::find::Conclusion;
use crate::overview::say::kind::kind;
use crate::rankings;
use crate::safety::say as safety;
use crate::verdicts::page::head;
use crate::view::View;

/// The most file systems in the picture; the ranking below has all.
const SHOWN: usize = 12;

/// One file system at its place.
struct Place {
    configuration: usize,
    value: f64,
    interval: Option<Interval>,
    text: String,
}

/// What the places are by.
struct Places {
    caption: &'static str,
    column: &'static str,
    end: String,
    scale: AxisScale,
    all: Vec<Place>,
}

/// The picture; empty if nothing has a place.
pub(crate) fn places(view: &View) -> Markup {
    let mut out = Markup::new();
    let Some(found) = usable(view).or_else(|| overall(view)) else { return out };
    let findings = view.findings();
    put!(out, "<figure class=\"places\">\n<figcaption>", found.caption, "</figcaption>\n");
    let drawn = ("drawn", axis("0", &found.end));
    let risk = ("words", plot::head("when the power fails").1);
    plot::begin_chart(&mut out, "", [plot::head(kind(findings)[0]), drawn, plot::head(found.column), risk]);
    for place in found.all.iter().take(SHOWN) {
        let safety = &findings.safety[place.configuration];
        head(&mut out, view.name(place.configuration));
        let drawing = Drawing { bar: Some(place.value), interval: place.interval, ..Drawing::default() };
        put!(out, "<td class=\"drawn\">", draw(found.scale, &drawing), "</td><td>", place.text);
        if let Some(interval) = place.interval {
            put!(out, "<span class=\"range\">", range(interval), "</span>");
        }
        let class = if safety.lost > 0.0 { "words lost" } else { "words" };
        put!(out, "</td><td class=\"", class, "\">", strip(view, place.configuration), safety::risk(safety));
        put!(out, "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n<p class=\"legend\">");
    if found.all.iter().any(|place| place.interval.is_some()) {
        put!(out, "<span class=\"swatch interval\"></span>95 % interval. ");
    }
    let [one, several] = kind(findings);
    let more = found.all.len().saturating_sub(SHOWN);
    if more > 0 {
        put!(out, counted(more, &format!("further {one}"), &format!("further {several}")), " below. ");
    }
    let unplaced = findings.configurations.len() - found.all.len();
    if unplaced > 0 {
        put!(
            out,
            counted(unplaced, one, several),
            if unplaced == 1 { " has" } else { " have" },
            " no place, as figures are missing. "
        );
    }
    put!(out, "Squares: what its documents promise of a power cut, from the least (it mounts by itself) to the most ");
    put!(out, "(data in its order), as <code>mountmark show --safety</code> tells.</p>\n</figure>\n");
    out
}

/// How soon each is usable again, where that is what the run asks.
fn usable(view: &View) -> Option<Places> {
    let Some(Conclusion::Usable { task, order, .. }) = view.findings().conclusions.first() else { return None };
    let found = view.findings().tasks[*task].judged()?;
    let place = |one: &usize| {
        let estimate = found.estimates[*one].as_ref()?;
        let value = estimate.summary.median;
        let text = quantity(found.metric, value);
        Some(Place { configuration: *one, value, interval: estimate.median_interval, text })
    };
    let all: Vec<Place> = order.iter().filter_map(place).collect();
    let scale = covering(&all);
    Some(Places {
        caption: "How soon each is usable again after a power cut",
        column: Metric::ELAPSED.title,
        end: end(found.metric, scale.max),
        scale,
        all,
    })
}

/// The ranking over all tests.
fn overall(view: &View) -> Option<Places> {
    let ranking = &view.findings().overall.ranking;
    let place = |rank: &rankings::find::rank::Rank| Place {
        configuration: rank.configuration,
        value: rank.score,
        interval: rank.interval,
        text: ratio(rank.score),
    };
    let all: Vec<Place> = ranking.iter().map(place).collect();
    let scale = covering(&all);
    (all.len() > 1).then(|| Places {
        caption: match view.findings().overall.unranked.is_empty() {
            true => "Places over all tests: times the best of each test, on average; 1 is the best everywhere",
            false => "Places over the tests that are ranked: times the best of each, on average; 1 is the best in all",
        },
        column: "times the best",
        end: ratio(scale.max),
        scale,
        all,
    })
}

/// An axis for those that are drawn: the last of many may be far away.
fn covering(places: &[Place]) -> AxisScale {
    let shown = places.iter().take(SHOWN);
    AxisScale::covering(shown.flat_map(|place| [place.value, place.interval.map_or(0.0, |found| found.high)]))
}

/// A square for each promise: full if made, empty if not.
fn strip(view: &View, configuration: usize) -> Markup {
    let mut out = Markup::new();
    let promises = &view.findings().safety[configuration].promises;
    put!(out, "<svg class=\"promises\" viewBox=\"0 0 94 11\" aria-hidden=\"true\">");
    for (at, level) in Level::ALL.into_iter().enumerate() {
        let class = if promises.has(level) { "made" } else { "not" };
        put!(out, "<rect class=\"", class, "\" x=\"", 12 * at, ".5\" y=\".5\" width=\"9\" height=\"9\"/>");
    }
    put!(out, "</svg>");
    out
}
