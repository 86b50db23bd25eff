//! What tasks asked of their device, in iostat's columns: `mountmark show --io`.
//!
//! Times of all repeats are added up before anything is divided. Not a request is interpreted here.

use anyhow::Result;
use mountmark_analyse::{Iostat, Stream, configurations};
use mountmark_model::device::{DeviceOperation, ROWS, SECTOR, Slice};
use mountmark_model::{DeviceRecord, protocol_task};
use mountmark_record::{CellRecord, DeviceUse, RunRecord};
use serde::Serialize;

use crate::format::{Options, UnknownName, unknown};
use crate::header::header;
use crate::section::{Section, markdown, text};
use crate::text::{three_digits, titled};

/// The formats; the first is the default.
pub const IO_FORMATS: [&str; 3] = ["table", "markdown", "json"];

/// Refuses formats that device use does not have.
pub fn check_io_format(name: &str) -> Result<(), UnknownName> {
    if IO_FORMATS.contains(&name) { Ok(()) } else { Err(unknown("format", name, IO_FORMATS.to_vec())) }
}

/// What was asked of the device in `run`, as text that ends with a line end.
pub fn io(run: &RunRecord, uses: &[DeviceUse], format: &str, options: &Options) -> Result<String> {
    check_io_format(format)?;
    Ok(match format {
        "json" => json(run, uses)?,
        "markdown" => markdown(&sections(run, uses)),
        _ => text(&sections(run, uses), options),
    })
}

/// Ids of tasks and steps with their titles, in the order in which they run.
pub(crate) fn in_order(run: &RunRecord) -> Vec<(&str, &str)> {
    let step = |id: &'static str| (id, id);
    let before = [step(protocol_task::MKFS), step(protocol_task::MOUNT)];
    let tasks = run.plan.tasks.iter().map(|(id, title)| (id.as_str(), title.as_str()));
    before.into_iter().chain(tasks).chain([step(protocol_task::UMOUNT), step(protocol_task::FSCK)]).collect()
}

fn cell_of<'a>(run: &'a RunRecord, found: &DeviceUse) -> Option<&'a CellRecord> {
    run.cells.iter().find(|cell| cell.index == found.cell)
}

fn sections(run: &RunRecord, uses: &[DeviceUse]) -> Vec<Section> {
    let mut out: Vec<Section> =
        header(run).into_iter().map(|(label, text)| Section::Labelled(label.into(), text)).collect();
    out.push(Section::Labelled(
        "device".into(),
        "iostat's columns for the disk under test, from a command's start until the device was at rest again: requests \
         a second, MiB a second, mean size in KiB, mean wait in ms (r: read, w: write, d: discard, f: flush), mean queue, \
         and the share of the time that the device was busy. All repeats together."
            .into(),
    ));
    let mut lacking: Vec<&str> = Vec::new();
    for reason in uses.iter().filter_map(|found| found.record.lacking.as_deref()) {
        if !lacking.contains(&reason) {
            lacking.push(reason);
        }
    }
    out.extend(lacking.iter().map(|reason| Section::Labelled("note".into(), (*reason).to_owned())));
    let mut idle: Vec<&str> = Vec::new();
    for (id, title) in in_order(run) {
        let of_task: Vec<&DeviceUse> = uses.iter().filter(|found| found.task == id).collect();
        if of_task.is_empty() {
            continue;
        }
        if of_task.iter().all(|found| found.record.moved_nothing()) {
            // What was not seen is not nothing; the note above says why.
            if of_task.iter().all(|found| found.record.lacking.is_none()) {
                idle.push(id);
            }
            continue;
        }
        out.push(Section::Heading(titled(id, title)));
        out.push(table(run, &of_task));
    }
    if !idle.is_empty() {
        out.push(Section::Paragraph(format!("Nothing was read or written by {}.", idle.join(", "))));
    }
    out
}

/// One task: a row for each configuration.
fn table(run: &RunRecord, uses: &[&DeviceUse]) -> Section {
    let rows: Vec<(String, f64, Iostat)> = configurations(run)
        .into_iter()
        .filter_map(|name| {
            let of: Vec<&DeviceRecord> = uses
                .iter()
                .filter(|found| cell_of(run, found).is_some_and(|cell| cell.configuration == name))
                .map(|found| &found.record)
                .collect();
            let mut totals = Slice::default();
            of.iter().for_each(|record| totals.add(&record.totals()));
            let seconds: f64 = of.iter().map(|record| record.seconds()).sum();
            (!of.is_empty()).then(|| (name, seconds / of.len() as f64, Iostat::of(&totals, seconds)))
        })
        .collect();
    let has_discards = rows.iter().any(|(_, _, found)| found.discard.rate > 0.0);
    let mut head: Vec<&str> = vec!["", "s"];
    head.extend(["r/s", "rMiB/s", "rareq-sz", "r_await", "w/s", "wMiB/s", "wareq-sz", "w_await"]);
    if has_discards {
        head.extend(["d/s", "dMiB/s", "dareq-sz", "d_await"]);
    }
    head.extend(["f/s", "f_await", "aqu-sz", "%util"]);
    let rows = rows.into_iter().map(|(name, seconds, found)| {
        let mut row = vec![name, figure(seconds)];
        row.extend(columns(&found.read));
        row.extend(columns(&found.write));
        if has_discards {
            row.extend(columns(&found.discard));
        }
        row.extend([figure(found.flush.rate), wait(&found.flush), figure(found.queue)]);
        row.push(format!("{:.1}", found.utilisation));
        row
    });
    Section::Table(head.into_iter().map(str::to_owned).collect(), rows.collect(), 1)
}

/// Rate, MiB a second, mean KiB, mean ms.
fn columns(stream: &Stream) -> [String; 4] {
    let size = stream.size.map_or("-".into(), |bytes| figure(bytes / 1024.0));
    [figure(stream.rate), figure(stream.bytes_per_second / f64::from(1 << 20)), size, wait(stream)]
}

fn wait(stream: &Stream) -> String {
    stream.wait.map_or("-".into(), |seconds| figure(seconds * 1e3))
}

/// Three digits or a little more.
pub(crate) fn figure(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value >= 0.01 => three_digits(value),
        value if value >= 0.0001 => format!("{value:.4}"),
        _ => "<0.0001".into(),
    }
}

#[derive(Serialize)]
struct Use<'a> {
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
    iostat: Columns,
    slice_seconds: f64,
    slices: Vec<Columns>,
    sizes: Vec<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<Map>,
}

/// iostat's columns, in bytes and seconds.
#[derive(Serialize)]
struct Columns {
    read: Kind,
    write: Kind,
    discard: Kind,
    flush: Kind,
    queue: f64,
    utilisation_percent: f64,
}

#[derive(Serialize)]
struct Kind {
    requests: u64,
    bytes: u64,
    requests_per_second: f64,
    bytes_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_wait_seconds: Option<f64>,
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

fn columns_of(slice: &Slice, seconds: f64) -> Columns {
    let found = Iostat::of(slice, seconds);
    let kind = |operation: DeviceOperation, stream: &Stream| Kind {
        requests: slice.count(operation),
        bytes: slice.bytes(operation),
        requests_per_second: stream.rate,
        bytes_per_second: stream.bytes_per_second,
        mean_bytes: stream.size,
        mean_wait_seconds: stream.wait,
    };
    Columns {
        read: kind(DeviceOperation::Read, &found.read),
        write: kind(DeviceOperation::Write, &found.write),
        discard: kind(DeviceOperation::Discard, &found.discard),
        flush: kind(DeviceOperation::Flush, &found.flush),
        queue: found.queue,
        utilisation_percent: found.utilisation,
    }
}

/// The run's id and one object a task, each on a line.
fn json(run: &RunRecord, uses: &[DeviceUse]) -> Result<String> {
    let mut out = format!("{{\"run\":{},\n\"devices\":[", serde_json::to_string(run.id.as_str())?);
    for (index, found) in uses.iter().enumerate() {
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
        let object = Use {
            task: &found.task,
            configuration: cell.map_or("", |cell| &cell.configuration),
            repeat: cell.map_or(0, |cell| cell.repeat),
            iteration: found.iteration,
            device_bytes: record.size,
            seconds: record.seconds(),
            returned_seconds: record.returned as f64 / 1e9,
            durable_seconds: record.durable as f64 / 1e9,
            lacking: record.lacking.as_deref(),
            iostat: columns_of(&record.totals(), record.seconds()),
            slice_seconds,
            slices: record.slices.iter().map(|slice| columns_of(slice, slice_seconds)).collect(),
            sizes: sizes.collect(),
            map,
        };
        out += if index == 0 { "\n" } else { ",\n" };
        out += &serde_json::to_string(&object)?;
    }
    out += "\n]}\n";
    Ok(out)
}

#[cfg(test)]
mod tests {
    use mountmark_model::device::{Field, IoMap};
    use serde_json::Value;

    use super::*;

    fn found(cell: u32, task: &str, reads: u64) -> DeviceUse {
        let slice = Slice {
            count: [reads, 0, 0, 1],
            bytes: [reads << 12, 0, 0, 0],
            wait: [reads * 1_000_000, 0, 0, 2_000_000],
            queued: 500_000_000,
            busy: 250_000_000,
        };
        let map = IoMap { row_bytes: 1 << 20, fields: vec![Field { column: 0, row: 3, read: 8, written: 0 }] };
        DeviceUse {
            cell,
            task: task.into(),
            iteration: 0,
            record: DeviceRecord {
                size: 96 << 20,
                returned: 500_000_000,
                durable: 600_000_000,
                settled: 1_000_000_000,
                slice: 1 << 30,
                slices: if reads > 0 { vec![slice] } else { Vec::new() },
                sizes: [vec![0; 12].into_iter().chain([reads]).collect(), Vec::new(), Vec::new()],
                map: Some(map),
                lacking: (cell == 1).then(|| "Half of it was not seen.".to_owned()),
            },
        }
    }

    #[test]
    fn a_table_holds_the_columns_of_all_repeats() {
        let run = crate::tests::run(&["ext4", "xfs"], 2);
        let uses: Vec<DeviceUse> = [(0, 100), (1, 10), (2, 300), (3, 10)].map(|(cell, n)| found(cell, "001", n)).into();
        let options = Options { width: 200, ..Options::default() };
        let text = io(&run, &[&uses[..], &[found(0, "mkfs", 0)]].concat(), "table", &options).unwrap();
        let line = text.lines().find(|line| line.starts_with("ext4 ")).unwrap();
        // 400 reads in two seconds, 4 KiB each, a millisecond each; the device busy for a quarter of the time.
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = "ext4 1.00 200 0.78 4.00 1.00 0 0 - - 1.00 2.00 0.50 25.0";
        assert_eq!(words, expected.split(' ').collect::<Vec<_>>(), "{text}");
        assert!(text.contains("r_await") && !text.contains("d_await"), "{text}");
        assert!(text.contains("Half of it was not seen.") && text.contains("by mkfs."), "{text}");
        assert!(io(&run, &uses, "markdown", &options).unwrap().contains("| r/s | rMiB/s |"));
        assert!(
            io(&run, &uses, "html", &options).unwrap_err().to_string().contains("there are: table, markdown, json")
        );
    }

    #[test]
    fn json_holds_slices_sizes_and_map() {
        let run = crate::tests::run(&["ext4", "xfs"], 1);
        let value: Value =
            serde_json::from_str(&io(&run, &[found(1, "001", 10)], "json", &Options::default()).unwrap()).unwrap();
        let one = &value["devices"][0];
        assert_eq!((&one["configuration"], &one["task"], &one["repeat"]), (&"xfs".into(), &"001".into(), &0.into()));
        assert_eq!(one["slices"][0]["read"]["requests"], 10);
        assert_eq!(one["iostat"]["read"]["mean_wait_seconds"], 0.001);
        assert_eq!(one["sizes"], serde_json::json!([{"operation": "read", "from_bytes": 4096, "requests": 10}]));
        assert_eq!(one["map"]["fields"], serde_json::json!([[0, 3, 4096, 0]]));
        assert_eq!(one["lacking"], "Half of it was not seen.");
    }
}
