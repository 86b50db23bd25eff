//! Draws the order of writes before a power cut: time goes down, a bar for each write from its sending to its reply.

use mountmark_crash::order::Order;
use mountmark_crash::trace::{Event, Mark, Request};
use mountmark_crash::workload::Workload;
use mountmark_document::markup::Markup;
use mountmark_document::put;

use crate::crash::say as words;

/// Height of an event.
const ROW: f64 = 18.0;
const WIDTH: f64 = 760.0;
/// Where operations, bars and the text of requests begin.
const OPERATIONS: f64 = 4.0;
const BARS: f64 = 250.0;
/// Width of a bar, and of the place that it has.
const BAR: f64 = 12.0;
const LANE: f64 = 16.0;
/// Bars side by side; requests that would be more are drawn over the last.
const LANES: usize = 8;
const RIGHT: f64 = BARS + LANES as f64 * LANE + 10.0;
/// Letters of an operation.
const LETTERS: usize = 34;

/// The drawing.
pub(crate) fn write_order(order: &Order, workload: &Workload) -> Markup {
    let mut out = Markup::new();
    // A reply ends a bar, and has no row of its own.
    let rows = |events: &[Event]| events.iter().filter(|event| !matches!(event, Event::Done { .. })).count() as f64;
    let all = rows(&order.events);
    let height = (all + 1.5) * ROW;
    put!(
        out,
        "<svg class=\"write-order\" role=\"img\" aria-label=\"",
        words::DRAWING,
        "\" viewBox=\"0 0 ",
        WIDTH,
        " ",
        height,
        "\">\n<defs><pattern id=\"torn\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect class=\"held\" width=\"2\" height=\"4\"/></pattern></defs>\n"
    );
    // The number of the request in each lane.
    let mut lanes: [Option<u32>; LANES] = [None; LANES];
    for (index, event) in order.events.iter().enumerate() {
        let y = rows(&order.events[..index]) * ROW;
        match event {
            Event::Mark(mark) => operation(&mut out, mark, workload, y),
            Event::Sent { number, request } => {
                let lane = lanes.iter().position(Option::is_none).unwrap_or(LANES - 1);
                lanes[lane] = Some(*number);
                let is_end = |event: &Event| matches!(event, Event::Done { number: done, .. } if done == number);
                let end =
                    order.events.iter().skip(index).position(is_end).map_or(order.events.len(), |end| index + end);
                let height = rows(&order.events[index..end]).max(1.0) * ROW;
                bar(&mut out, order, *number, request, [BARS + lane as f64 * LANE, y, height]);
            }
            Event::Done { number, .. } => {
                if let Some(lane) = lanes.iter_mut().find(|lane| **lane == Some(*number)) {
                    *lane = None;
                }
            }
        }
    }
    let y = (all + 0.5) * ROW;
    put!(out, "<line class=\"cut\" x1=\"0\" x2=\"", WIDTH, "\" y1=\"", y, "\" y2=\"", y, "\"/>");
    put!(out, "<text class=\"cut\" x=\"", OPERATIONS, "\" y=\"", y + 13.0, "\">", words::CUT, "</text>\n</svg>\n");
    out
}

fn operation(out: &mut Markup, mark: &Mark, workload: &Workload, y: f64) {
    let text: String = words::mark(mark, workload).chars().take(LETTERS).collect();
    let class = if matches!(mark, Mark::Begin(_)) { "begin" } else { "end" };
    put!(out, "<text class=\"", class, "\" x=\"", OPERATIONS, "\" y=\"", y + 13.0, "\">", text, "</text>\n");
}

fn bar(out: &mut Markup, order: &Order, number: u32, request: &Request, [x, y, height]: [f64; 3]) {
    let text = words::request(number, request);
    let class = match (request, order.held(number)) {
        (Request::Write { length, .. }, Some(held)) if held == *length => "held",
        (_, Some(0)) => "lost",
        (_, Some(_)) => "torn",
        _ => "other",
    };
    if request.is_flush() {
        let middle = y + ROW / 2.0;
        put!(out, "<line class=\"flush\" x1=\"", BARS, "\" x2=\"", RIGHT - 6.0);
        put!(out, "\" y1=\"", middle, "\" y2=\"", middle, "\"/>");
    }
    put!(out, "<rect class=\"", class, "\" x=\"", x, "\" y=\"", y + 3.0, "\" width=\"", BAR);
    put!(out, "\" height=\"", (height - 4.0).max(6.0), "\"><title>", text, "</title></rect>");
    put!(out, "<text class=\"request\" x=\"", RIGHT, "\" y=\"", y + 13.0, "\">", text, "</text>\n");
}
