//! Device activity: iostat's columns for each test, and a map of addresses over time for each file system.
//!
//! Shows the first repeat only: a map is a picture of one repeat, and the figures beside it are from the same one.

pub(crate) mod map;

use mountmark_document::markup::Markup;
use mountmark_document::number::counted;
use mountmark_document::put;
use mountmark_document::text::figure;
use mountmark_model::device::DeviceOperation;
use mountmark_model::{DeviceRecord, format_bytes, format_seconds, protocol_task};

use crate::device::find::{Iostat, Stream};
use crate::device::page::map::{Picture, Shades};
use crate::figures::find::TaskFindings;
use crate::matrix::page::label;
use crate::sections::Section;
use crate::view::View;

#[cfg(test)]
mod tests;

/// The device records of each file system in one test: first iteration of the first repeat.
type Uses<'a> = Vec<(usize, &'a DeviceRecord)>;

/// The section, if the run has such records.
pub(crate) fn device(view: &View) -> Markup {
    let mut out = Markup::new();
    if view.report.devices.is_empty() {
        return out;
    }
    view.heading(&mut out, &Section::DEVICE);
    explain(&mut out, view);
    let tasks = view.findings().tasks.iter().filter(|task| !task.step || task.id == protocol_task::MKFS);
    let mut idle: Vec<&TaskFindings> = Vec::new();
    for task in tasks {
        let uses = uses(view, task);
        if uses.is_empty() {
            continue;
        }
        if uses.iter().all(|(_, record)| record.moved_nothing()) {
            // An incomplete record does not prove that nothing happened.
            if uses.iter().all(|(_, record)| record.lacking.is_none()) {
                idle.push(task);
            }
            continue;
        }
        put!(out, card(view, task, &uses));
    }
    if !idle.is_empty() {
        put!(out, "<p>No file system read or wrote anything in: ");
        for (index, task) in idle.into_iter().enumerate() {
            if index > 0 {
                put!(out, "; ");
            }
            put!(out, label(task));
        }
        put!(out, ".</p>\n");
    }
    out
}

fn uses<'a>(view: &View<'a>, task: &TaskFindings) -> Uses<'a> {
    let configuration = |cell: u32| {
        let cell = view.run().cells.iter().find(|known| known.index == cell)?;
        view.findings().configurations.iter().position(|name| *name == cell.configuration)
    };
    let mut uses = Uses::new();
    for found in view.report.devices.iter().filter(|found| found.task == task.id && found.iteration == 0) {
        // Of a cell that was run again, the first run counts here.
        if let Some(at) = configuration(found.cell).filter(|at| uses.iter().all(|(known, _)| known != at)) {
            uses.push((at, &found.record));
        }
    }
    uses.sort_by_key(|(at, _)| *at);
    uses
}

fn explain(out: &mut Markup, view: &View) {
    put!(
        out,
        "<p>Requests at the disk under test in the first repeat, from the start of a command until the device was at ",
        "rest again, in iostat’s columns: requests and MiB a second, mean size, and mean time from a request’s arrival ",
        "at the device to its completion; the mean number of requests at the device (queue), and the share of the time ",
        "with at least one (busy).</p>\n"
    );
    let has_map = view.report.devices.iter().any(|found| found.record.map.is_some());
    if has_map {
        put!(
            out,
            "<p>A map shows addresses over time: each line across is a part of the device, its first byte at the bottom; ",
            "the stronger the colour, the more bytes. Maps of a test have the same axes.</p>\n",
            "<p class=\"legend swatches\"><span><span class=\"swatch io-read\"></span>read</span> ",
            "<span><span class=\"swatch io-written\"></span>written</span> ",
            "<span><span class=\"swatch io-both\"></span>both</span> ",
            "<span><span class=\"swatch io-flush\"></span>flush of the disk’s cache, below the map</span> ",
            "<span><span class=\"swatch io-end\"></span>the command returned</span></p>\n"
        );
    }
    let mut lacking: Vec<&str> = Vec::new();
    for reason in view.report.devices.iter().filter_map(|found| found.record.lacking.as_deref()) {
        if !lacking.contains(&reason) {
            lacking.push(reason);
        }
    }
    for reason in lacking {
        put!(out, "<p>", reason, "</p>\n");
    }
}

/// One test: the table, and the maps.
fn card(view: &View, task: &TaskFindings, uses: &Uses) -> Markup {
    let mut out = Markup::new();
    let caption = view.id(&format!("device-{}", position(view, task)));
    put!(out, "<div class=\"device\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"");
    put!(
        out,
        caption,
        "\">\n<table class=\"plain iostat\">\n<caption id=\"",
        caption,
        "\">",
        label(task),
        "</caption>\n"
    );
    let has_discards = uses.iter().any(|(_, record)| record.totals().count(DeviceOperation::Discard) > 0);
    let streams: &[&str] = if has_discards { &["read", "write", "discard"] } else { &["read", "write"] };
    put!(out, "<thead><tr><th scope=\"col\" rowspan=\"2\">file system</th><th scope=\"col\" rowspan=\"2\">s</th>");
    for name in streams {
        put!(out, "<th scope=\"colgroup\" colspan=\"4\">", name, "</th>");
    }
    put!(out, "<th scope=\"colgroup\" colspan=\"2\">flush</th><th scope=\"col\" rowspan=\"2\">queue</th>");
    put!(out, "<th scope=\"col\" rowspan=\"2\">busy %</th></tr>\n<tr>");
    for _ in streams {
        put!(out, "<th scope=\"col\">1/s</th><th scope=\"col\">MiB/s</th><th scope=\"col\">KiB</th>");
        put!(out, "<th scope=\"col\">ms</th>");
    }
    put!(out, "<th scope=\"col\">1/s</th><th scope=\"col\">ms</th></tr></thead>\n<tbody>\n");
    for (at, record) in uses {
        let found = Iostat::of(&record.totals(), record.seconds());
        put!(out, "<tr><th scope=\"row\">", view.name(*at), "</th><td>", format_seconds(record.seconds()), "</td>");
        for stream in [Some(&found.read), Some(&found.write), has_discards.then_some(&found.discard)] {
            stream.into_iter().for_each(|stream| columns(&mut out, stream));
        }
        put!(out, "<td>", short(found.flush.rate), "</td><td>", milliseconds(&found.flush), "</td>");
        put!(out, "<td>", short(found.queue), "</td><td>", format!("{:.1}", found.utilisation), "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
    maps(&mut out, view, uses);
    put!(out, "</div>\n");
    out
}

fn position(view: &View, task: &TaskFindings) -> usize {
    view.findings().tasks.iter().position(|known| known.id == task.id).unwrap_or(0)
}

/// In iostat's units: rate, MiB per second, KiB, ms.
fn columns(out: &mut Markup, stream: &Stream) {
    let size = stream.size.map_or("–".into(), |bytes| figure(bytes / 1024.0));
    put!(out, "<td>", short(stream.rate), "</td><td>", short(stream.bytes_per_second / f64::from(1 << 20)), "</td>");
    put!(out, "<td>", size, "</td><td>", milliseconds(stream), "</td>");
}

/// An exact 0 is shown as a dash, unlike a value that rounds to 0.
fn short(value: f64) -> String {
    if value == 0.0 { "–".into() } else { figure(value) }
}

fn milliseconds(stream: &Stream) -> String {
    stream.wait.map_or("–".into(), |seconds| figure(seconds * 1e3))
}

/// The maps of one test side by side, all on the time axis of the longest.
fn maps(out: &mut Markup, view: &View, uses: &Uses) {
    let drawn: Vec<_> = uses.iter().filter(|(_, record)| record.map.is_some()).collect();
    if drawn.is_empty() {
        return;
    }
    let shades = Shades::of(drawn.iter().map(|(_, record)| *record));
    let span = drawn.iter().map(|(_, record)| map::span(record)).max().unwrap_or(1).max(1);
    put!(out, "<div class=\"maps\">\n");
    for (at, record) in drawn {
        let name = view.name(*at);
        put!(out, "<figure class=\"map\"><figcaption>", name, "</figcaption><div class=\"plate\">");
        match map::picture(record, &shades) {
            Some(Picture { data, nanoseconds }) => {
                let share = |ns: u64| format!("{:.2}", 100.0 * ns as f64 / span as f64);
                put!(out, "<img src=\"data:image/png;base64,", data, "\" style=\"width:", share(nanoseconds));
                put!(out, "%\" alt=\"", words(name, record), "\"/><span class=\"io-mark\" style=\"left:");
                put!(out, share(record.returned.min(span)), "%\"></span>");
            }
            None => put!(out, "<span class=\"none\">nothing read or written</span>"),
        }
        put!(out, "</div><span class=\"axis\"><span>0</span><span>", format_seconds(span as f64 / 1e9));
        put!(out, " s</span></span></figure>\n");
    }
    put!(out, "</div>\n");
}

/// Text alternative of a map.
fn words(name: &str, record: &DeviceRecord) -> String {
    let totals = record.totals();
    let requests = |operation: DeviceOperation, done: &str| {
        let count = totals.count(operation) as usize;
        format!("{} {done} in {}", format_bytes(totals.bytes(operation)), counted(count, "request", "requests"))
    };
    let mut text = format!(
        "{name}: {}, {}, {}, within {} s; the command returned after {} s",
        requests(DeviceOperation::Read, "read"),
        requests(DeviceOperation::Write, "written"),
        counted(totals.count(DeviceOperation::Flush) as usize, "flush", "flushes"),
        format_seconds(record.seconds()),
        format_seconds(record.returned as f64 / 1e9),
    );
    if let Some(map) = &record.map
        && let (Some(first), Some(last)) =
            (map.fields.iter().map(|field| field.row).min(), map.fields.iter().map(|field| field.row).max())
    {
        text += &format!(
            "; between {} and {} of {}",
            format_bytes(u64::from(first) * map.row_bytes),
            format_bytes(((u64::from(last) + 1) * map.row_bytes).min(record.size)),
            format_bytes(record.size)
        );
    }
    text
}
