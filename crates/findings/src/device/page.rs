//! Device activity: iostat's columns for each test, and a map of addresses over time for each file system.
//!
//! Shows the first repeat only: a map is a picture of one repeat, and the figures beside it are from the same one.

pub(crate) mod map;

use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::number::counted;
use mountmark_document::put;
use mountmark_model::device::DeviceOperation;
use mountmark_model::{DeviceRecord, format_bytes, format_seconds, protocol_task};

use crate::device::find::Iostat;
use crate::device::page::map::{Picture, Shades};
use crate::device::show::{COLUMNS, Row, Use, iostat, lacking, layout_score};
use crate::figures::find::TaskFindings;
use crate::view::{View, label};

#[cfg(test)]
mod tests;

/// The device records of each file system in one test: first iteration of the first repeat.
type Uses<'a> = Vec<(usize, &'a DeviceRecord)>;

/// The section, if the run has such records.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let mut out = Vec::new();
    if view.report.devices.is_empty() {
        return out;
    }
    explain(&mut out, view);
    let tasks = view.findings().tasks.iter().filter(|task| !task.step || task.id == protocol_task::MKFS);
    let mut idle: Vec<String> = Vec::new();
    for task in tasks {
        let uses = uses(view, task);
        if uses.is_empty() {
            continue;
        }
        match Use::of(uses.iter().map(|(_, record)| *record)) {
            Use::Unknown => continue,
            Use::Nothing => {
                idle.push(label(task));
                continue;
            }
            Use::Something => {}
        }
        let row = |(name, record): (String, &DeviceRecord)| {
            let seconds = record.seconds();
            let found = Iostat::of(&record.totals(), seconds);
            Row { name, seconds: format_seconds(seconds), found, layout_score: layout_score(record) }
        };
        let members = members(view, &uses);
        let alone = members.iter().map(|(name, record)| (name.clone(), record));
        let all = uses.iter().map(|(at, record)| (view.name(*at).to_owned(), *record));
        out.push(iostat(label(task), all.clone().chain(alone.clone()).map(row).collect()));
        let mut drawing = Markup::new();
        let single = all.filter(|(_, record)| record.more.is_empty());
        maps(&mut drawing, &single.chain(alone).collect::<Vec<_>>());
        out.push(Block::Drawn(drawing, Vec::new()));
    }
    if !idle.is_empty() {
        out.push(Block::Text(format!("No file system read or wrote anything in: {}.", idle.join("; "))));
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

/// The disks of those that have several, each by its name.
fn members(view: &View, uses: &Uses) -> Vec<(String, DeviceRecord)> {
    let of = |(at, record): &(usize, &DeviceRecord)| {
        let name = view.name(*at).to_owned();
        let members = record.members().into_iter().enumerate();
        members.map(move |(number, disk)| (format!("{name}, disk {}", number + 1), disk)).collect::<Vec<_>>()
    };
    uses.iter().flat_map(of).collect()
}

fn explain(out: &mut Vec<Block>, view: &View) {
    out.push(Block::Text(format!("In the first repeat, {COLUMNS}.")));
    if view.report.devices.iter().any(|found| found.record.map.is_some()) {
        let mut legend = Markup::new();
        put!(
            legend,
            "<p>A map shows addresses over time: each line across is a part of the device, its first byte at the bottom; ",
            "the stronger the colour, the more bytes. Maps of a test have the same axes.</p>\n",
            "<p class=\"legend swatches\"><span><span class=\"swatch io-read\"></span>read</span> ",
            "<span><span class=\"swatch io-written\"></span>written</span> ",
            "<span><span class=\"swatch io-both\"></span>both</span> ",
            "<span><span class=\"swatch io-flush\"></span>flush of the disk’s cache, below the map</span> ",
            "<span><span class=\"swatch io-end\"></span>the command returned</span></p>\n"
        );
        out.push(Block::Drawn(legend, Vec::new()));
    }
    let records = view.report.devices.iter().map(|found| &found.record);
    out.extend(lacking(records).into_iter().map(|reason| Block::Text(reason.to_owned())));
}

/// The maps of one test side by side, all on the time axis of the longest.
fn maps(out: &mut Markup, uses: &[(String, &DeviceRecord)]) {
    let drawn: Vec<_> = uses.iter().filter(|(_, record)| record.map.is_some()).collect();
    if drawn.is_empty() {
        return;
    }
    let shades = Shades::of(drawn.iter().map(|(_, record)| *record));
    let span = drawn.iter().map(|(_, record)| map::span(record)).max().unwrap_or(1).max(1);
    put!(out, "<div class=\"maps\">\n");
    for (name, record) in drawn {
        let name = name.as_str();
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
