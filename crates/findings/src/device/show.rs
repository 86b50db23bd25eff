//! Device I/O of tasks, in iostat's columns.
//!
//! Times of all repeats are added up before any division. This file does not interpret single requests.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Subject, Table};
use mountmark_document::text::{figure, titled};
use mountmark_model::device::{DeviceOperation, ROWS, SECTOR, Slice};
use mountmark_model::{DeviceRecord, heading, protocol_task};
use mountmark_record::{CellRecord, DeviceUse, RunRecord};
use serde::Serialize;

use crate::analysis::configurations;
use crate::device::find::{Iostat, Stream};
use crate::group::each_once;
use crate::run::show::about::about;

#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    pub run: &'a RunRecord,
    /// By task, as far as loaded.
    pub uses: &'a [DeviceUse],
}

impl Subject for Device<'_> {
    const COMMAND: &'static str = "show --io";
    const NAME: &'static str = "the use of the device";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

/// Ids and titles of tasks and steps, in execution order.
pub(crate) fn in_order(run: &RunRecord) -> Vec<(&str, &str)> {
    let step = |id: &'static str| (id, id);
    let before = [step(protocol_task::MKFS), step(protocol_task::MOUNT)];
    let tasks = run.plan.tasks.iter().map(|(id, title)| (id.as_str(), title.as_str()));
    before.into_iter().chain(tasks).chain([step(protocol_task::UMOUNT), step(protocol_task::FSCK)]).collect()
}

fn cell_of<'a>(run: &'a RunRecord, found: &DeviceUse) -> Option<&'a CellRecord> {
    run.cells.iter().find(|cell| cell.index == found.cell)
}

fn parts(Device { run, uses }: &Device) -> Vec<Block> {
    let mut out = about(run);
    out.push(Block::Fact("device".into(), format!("All repeats together, {COLUMNS}.")));
    let lacking = lacking(uses.iter().map(|found| &found.record));
    out.extend(lacking.into_iter().map(|reason| Block::Fact("note".into(), reason.to_owned())));
    let mut idle: Vec<&str> = Vec::new();
    for (id, title) in in_order(run) {
        let of_task: Vec<&DeviceUse> = uses.iter().filter(|found| found.task == id).collect();
        if of_task.is_empty() {
            continue;
        }
        match Use::of(of_task.iter().map(|found| &found.record)) {
            Use::Unknown => {}
            Use::Nothing => idle.push(id),
            Use::Something => {
                out.push(Block::Heading(titled(id, title)));
                out.push(table(run, &of_task));
            }
        }
    }
    if !idle.is_empty() {
        out.push(Block::Text(format!("Nothing was read or written by {}.", idle.join(", "))));
    }
    out
}

/// Whether a task used the device.
pub(crate) enum Use {
    Something,
    Nothing,
    /// Nothing that was recorded; but an incomplete record does not prove that nothing happened, and says why it is
    /// incomplete.
    Unknown,
}

impl Use {
    pub(crate) fn of<'a>(mut records: impl Iterator<Item = &'a DeviceRecord> + Clone) -> Use {
        match () {
            () if !records.clone().all(DeviceRecord::moved_nothing) => Use::Something,
            () if records.all(|record| record.lacking.is_none()) => Use::Nothing,
            () => Use::Unknown,
        }
    }
}

/// Iostat's columns in words.
pub(crate) const COLUMNS: &str = "iostat's columns for the disk under test, from a command's start until the device was at rest again: requests a \
     second, MiB a second, mean size in KiB, mean wait in ms from a request's arrival at the device to its completion \
     (r: read, w: write, d: discard, f: flush), mean queue, and the share of the time that the device was busy; behind them \
     %inorder, the share of reads that begin where the one before ended (dynamic layout score)";

/// Why records are incomplete, each reason once.
pub(crate) fn lacking<'a>(records: impl Iterator<Item = &'a DeviceRecord>) -> Vec<&'a str> {
    each_once(records.filter_map(|record| record.lacking.as_deref()))
}

/// One task: a row per configuration.
fn table(run: &RunRecord, uses: &[&DeviceUse]) -> Block {
    let row = |name: String| {
        let of_name = |found: &&&DeviceUse| cell_of(run, found).is_some_and(|cell| cell.configuration == name);
        let of: Vec<&DeviceRecord> = uses.iter().filter(of_name).map(|found| &found.record).collect();
        let mut totals = Slice::default();
        of.iter().for_each(|record| totals.add(&record.totals()));
        let seconds: f64 = of.iter().map(|record| record.seconds()).sum();
        let mean = figure(seconds / of.len() as f64);
        let scores: Vec<f64> = of.iter().filter_map(|record| layout_score(record)).collect();
        let row = || Row {
            name: heading(&name).into_owned(),
            seconds: mean,
            found: Iostat::of(&totals, seconds),
            layout_score: mountmark_stats::summary::mean(&scores),
        };
        (!of.is_empty()).then(row)
    };
    iostat(String::new(), configurations(run).into_iter().filter_map(row).collect())
}

/// A row of a table of devices.
pub(crate) struct Row {
    /// Whose it is.
    pub name: String,
    /// How long it was looked at, with its unit or in seconds.
    pub seconds: String,
    /// Its figures.
    pub found: Iostat,
    /// From 0 to 1, if it is known.
    pub layout_score: Option<f64>,
}

/// A row for each, in iostat's columns.
pub(crate) fn iostat(caption: String, rows: Vec<Row>) -> Block {
    let has_discards = rows.iter().any(|row| row.found.discard.rate > 0.0);
    let has_scores = rows.iter().any(|row| row.layout_score.is_some());
    let mut head: Vec<&str> = vec!["", "s"];
    head.extend(["r/s", "rMiB/s", "rareq-sz", "r_await", "w/s", "wMiB/s", "wareq-sz", "w_await"]);
    if has_discards {
        head.extend(["d/s", "dMiB/s", "dareq-sz", "d_await"]);
    }
    head.extend(["f/s", "f_await", "aqu-sz", "%util"]);
    head.extend(has_scores.then_some("%inorder"));
    let rows = rows.into_iter().map(|Row { name, seconds, found, layout_score }| {
        let mut row = vec![name, seconds];
        row.extend(columns(&found.read));
        row.extend(columns(&found.write));
        if has_discards {
            row.extend(columns(&found.discard));
        }
        row.extend([figure(found.flush.rate), wait(&found.flush), figure(found.queue)]);
        row.push(format!("{:.1}", found.utilisation));
        if has_scores {
            row.push(layout_score.map_or("-".into(), |share| format!("{:.1}", 100.0 * share)));
        }
        row
    });
    Block::Table(Table { caption, look: "iostat", ..Table::new(head, rows, 1, Last::Figure) })
}

/// The layout score of a disk; several together have none.
pub(crate) fn layout_score(record: &DeviceRecord) -> Option<f64> {
    record.layout_score().filter(|_| record.more.is_empty())
}

/// Rate, MiB per second, mean KiB, mean ms.
fn columns(stream: &Stream) -> [String; 4] {
    let size = stream.size.map_or("-".into(), |bytes| figure(bytes / 1024.0));
    [figure(stream.rate), figure(stream.bytes_per_second / f64::from(1 << 20)), size, wait(stream)]
}

fn wait(stream: &Stream) -> String {
    stream.wait.map_or("-".into(), |seconds| figure(seconds * 1e3))
}

#[derive(Serialize)]
struct Used<'a> {
    task: &'a str,
    configuration: &'a str,
    repeat: u32,
    iteration: u32,
    device_bytes: u64,
    seconds: f64,
    returned_seconds: f64,
    durable_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacking: Option<&'a str>,
    iostat: Iostat,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout_score_percent: Option<f64>,
    slice_seconds: f64,
    slices: Vec<Iostat>,
    sizes: Vec<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<Map>,
    /// Each disk, if there are several: `iostat` is all of them together, and what else is above is the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disks: Vec<Member>,
}

/// One disk of several.
#[derive(Serialize)]
struct Member {
    device_bytes: u64,
    iostat: Iostat,
}

#[derive(Serialize)]
struct Size {
    operation: &'static str,
    from_bytes: u64,
    requests: u64,
}

#[derive(Serialize)]
struct Map {
    rows: usize,
    row_bytes: u64,
    /// `[slice, row, bytes read, bytes written]`
    fields: Vec<(u32, u32, u64, u64)>,
}

/// The run's id and one object per task.
fn object(Device { run, uses }: &Device, out: &mut Object) -> Result<()> {
    out.head(&std::collections::BTreeMap::from([("run", run.id.as_str())]))?;
    out.list("devices", uses.iter().map(|found| used(run, found)))
}

fn used<'a>(run: &'a RunRecord, found: &'a DeviceUse) -> Used<'a> {
    let record = &found.record;
    let cell = cell_of(run, found);
    let slice_seconds = record.slice as f64 / 1e9;
    let sizes = DeviceOperation::ALL.into_iter().zip(&record.sizes).flat_map(|(operation, classes)| {
        let classes = classes.iter().enumerate().filter(|(_, requests)| **requests > 0);
        classes.map(move |(class, requests)| Size {
            operation: operation.name(),
            from_bytes: 1 << class,
            requests: *requests,
        })
    });
    let map = record.map.as_ref().map(|map| Map {
        rows: ROWS,
        row_bytes: map.row_bytes,
        fields: map
            .fields
            .iter()
            .map(|f| (f.column, f.row, u64::from(f.read) * SECTOR, u64::from(f.written) * SECTOR))
            .collect(),
    });
    Used {
        task: &found.task,
        configuration: cell.map_or("", |cell| &cell.configuration),
        repeat: cell.map_or(0, |cell| cell.repeat),
        iteration: found.iteration,
        device_bytes: record.size,
        seconds: record.seconds(),
        returned_seconds: record.returned as f64 / 1e9,
        durable_seconds: record.durable as f64 / 1e9,
        lacking: record.lacking.as_deref(),
        iostat: Iostat::of(&record.totals(), record.seconds()),
        layout_score_percent: layout_score(record).map(|share| 100.0 * share),
        slice_seconds,
        slices: record.slices.iter().map(|slice| Iostat::of(slice, slice_seconds)).collect(),
        sizes: sizes.collect(),
        map,
        disks: record
            .members()
            .iter()
            .map(|disk| Member { device_bytes: disk.size, iostat: Iostat::of(&disk.totals(), disk.seconds()) })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
