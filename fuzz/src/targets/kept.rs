//! Stores: files that are not databases, corrupt databases, and valid ones with forged contents.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mountmark_cells::Plan;
use mountmark_model::{DeviceRecord, Environment, Outcome, WorkloadResult, protocol_task};
use mountmark_plan::Catalogue;
use mountmark_record::{
    CellRecord, CellToRecord, DeviceUse, DeviceUses, Output, OutputKind, RunRecord, RunStatus, Sample, Store,
    TaskOutcome, Timestamp,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{definitions, folder, show};

/// A run of two file systems in two repeats, with a task of each kind, as read from a store.
pub(super) static RECORD: LazyLock<RunRecord> = LazyLock::new(|| {
    let path = folder().join("record.sqlite");
    fs::write(&path, &*SMALL).expect("a file in memory");
    let store = Store::open_read_only(&path).expect("a sound store");
    store.load(&store.resolve("latest").expect("a run")).expect("a sound run")
});

/// The bytes of a store with that run.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let plan = plan();
    let (store, path) = empty_store();
    let environment = Environment { kernel: "6.12.1".into(), clock: "instructions".into(), ..Environment::default() };
    let run = store.begin_run(&plan, &environment, "mountmark run --suite small").expect("a sound plan");
    for cell in &plan.cells {
        let mut record = CellRecord::new(cell, &environment);
        (record.started, record.ended) = (Timestamp(1_795_232_712_000), Timestamp(1_795_232_772_000));
        record.notes = vec!["tar is 1.35".into()];
        record.log = "EXT4-fs: mounted".into();
        let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT];
        for (at, task) in steps.into_iter().chain(cell.tasks.iter().map(|task| task.id.as_str())).enumerate() {
            let value = 1.0 + at as f64 + f64::from(cell.index) / 10.0;
            for metric in ["elapsed", "durable", "rate", "cpu_percent"] {
                record.samples.push(Sample { task: task.into(), iteration: 0, metric: metric.into(), value });
            }
            record.outcomes.push(TaskOutcome { task: task.into(), outcome: Outcome::Ok });
        }
        let failed = Outcome::Failed { reason: "exit code 3".into(), detail: "no such file".into() };
        record.outcomes.push(TaskOutcome { task: "touch".into(), outcome: failed });
        let outputs: Vec<Output> = outputs().into_iter().map(|output| Output { cell: cell.index, ..output }).collect();
        let device = DeviceUse { cell: cell.index, task: "touch".into(), iteration: 0, record: device() };
        store
            .record_cells(
                &run,
                &[CellToRecord { cell: &record, outputs: &outputs, devices: &[device], profiles: None }],
            )
            .expect("a sound cell");
    }
    store.end_run(&run, RunStatus::Done).expect("a run");
    drop(store);
    fs::read(path).expect("the store")
});

fn plan() -> Plan {
    let mut catalogue = Catalogue::built_in().expect("a sound catalogue");
    let text = include_str!("small.toml");
    catalogue.add::<mountmark_model::Suite>(text, Path::new("small.toml")).expect("a sound suite");
    definitions::plans(&catalogue, "small", "ext4,vfat").expect("a plan")
}

/// Outputs of a program and of the engine.
pub(super) fn outputs() -> Vec<Output> {
    let output =
        |task: &str, kind: OutputKind, text: String| Output { cell: 0, task: task.into(), iteration: 0, kind, text };
    let result = include_str!("result.json");
    let _: WorkloadResult = serde_json::from_str(result).expect("a result");
    vec![
        output("touch", OutputKind::Stdout, "1.98,2.00,host\n".into()),
        output("mix", OutputKind::Result, result.into()),
    ]
}

/// A device record of a task.
pub(super) fn device() -> DeviceRecord {
    serde_json::from_str(include_str!("../../../crates/model/tests/stored-device.json")).expect("a record")
}

/// A new path in memory; removes the files of the one before last.
fn fresh() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = |number: u32, end: &str| folder().join(format!("store-{number}.sqlite{end}"));
    for end in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(path(number.wrapping_sub(3), end));
    }
    path(number, "")
}

/// An empty store.
pub(super) fn empty_store() -> (Store, PathBuf) {
    let path = fresh();
    (Store::open(&path).expect("a new store"), path)
}

/// Bytes as a store's file: opened for reading and for writing, and shown.
pub(super) fn store(data: &[u8]) {
    let path = fresh();
    fs::write(&path, data).expect("a file in memory");
    if let Ok(store) = Store::open_read_only(&path).map_err(|error| error.to_string()) {
        read_back(&store);
    }
    if let Ok(store) = Store::open(&path).map_err(|error| error.to_string()) {
        read_back(&store);
    }
}

/// Shows the whole contents of a store.
pub(super) fn read_back(store: &Store) {
    if let Ok(runs) = store.runs().map_err(|error| error.to_string()) {
        show::list(&runs);
    }
    let Ok(id) = store.resolve("latest").map_err(|error| error.to_string()) else { return };
    let run = store.load(&id).map_err(|error| error.to_string());
    let all = DeviceUses::default();
    let devices = store.devices(&id, &all).map_err(|error| error.to_string()).unwrap_or_default();
    let _ = store.outputs(&id, None).map_err(|error| error.to_string());
    let results = store.results(&id, 0).map_err(|error| error.to_string()).unwrap_or_default();
    if let Ok(run) = run {
        show::everything(&run, &devices, &results);
    }
}

/// Lines `TABLE COLUMN ROW POINTER VALUE` set a value of the small store, or the part of it at a JSON pointer (`-` for
/// all of it), to VALUE, which is JSON or else text. `TABLE + ROW NUMBER` repeats a row that often.
pub(super) fn forged(data: &[u8]) {
    let path = fresh();
    fs::write(&path, &*SMALL).expect("a file in memory");
    let forge = || -> rusqlite::Result<()> {
        let connection = Connection::open(&path)?;
        // A forger need not obey constraints in the file itself.
        connection.execute_batch(
            "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN",
        )?;
        // Maximum number of rows that all lines together may add.
        let mut room = 1000;
        for line in String::from_utf8_lossy(data).lines().take(1000) {
            // An invalid line, or one that the schema rejects, has no effect.
            let _ = edit(&connection, line, &mut room);
        }
        connection.execute_batch("COMMIT")
    };
    forge().expect("the small store takes edits");
    if let Ok(store) = Store::open_read_only(&path).map_err(|error| error.to_string()) {
        read_back(&store);
    }
}

fn edit(connection: &Connection, line: &str, room: &mut u32) -> Option<()> {
    let mut words = line.splitn(4, ' ');
    let (table, column, row) = (words.next()?, words.next()?, words.next()?.parse::<u32>().ok()?);
    let rest = words.next()?;
    let keys = match table {
        "run" | "cell" => "rowid",
        "task_outcome" | "sample" | "note" | "output" | "device" => "(cell, position)",
        _ => return None,
    };
    let plain = keys.trim_matches(['(', ')']);
    let found = format!("{keys} = (SELECT {plain} FROM {table} LIMIT 1 OFFSET {row})");
    if column == "+" {
        let count = rest.parse::<u32>().ok()?.min(*room);
        *room -= count;
        for _ in 0..count {
            again(connection, table, &found)?;
        }
        return Some(());
    }
    if !column.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') || column.is_empty() {
        return None;
    }
    let (pointer, text) = rest.split_once(' ')?;
    let value = match pointer.strip_prefix('/') {
        None => sql(serde_json::from_str(text).unwrap_or(text.into())),
        Some(_) => {
            let old = connection
                .query_row(&format!("SELECT {column} FROM {table} WHERE {found}"), [], |row| row.get(0))
                .ok()?;
            pointed(old, pointer, text)?
        }
    };
    connection.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE {found}"), [value]).ok().map(|_| ())
}

/// Repeats a row after the last.
fn again(connection: &Connection, table: &str, found: &str) -> Option<()> {
    let mut statement = connection.prepare_cached(&format!("SELECT * FROM {table} WHERE {found}")).ok()?;
    let columns = statement.column_count();
    let at = statement.column_index("position").ok()?;
    let mut row: Vec<Value> =
        statement.query_row([], |row| (0..columns).map(|column| row.get(column)).collect()).ok()?;
    let most = format!("SELECT max(position) + 1 FROM {table}");
    row[at] = connection.query_row(&most, [], |row| row.get(0)).ok()?;
    if table == "cell" {
        row[0] = Value::Null;
    }
    let places = vec!["?"; columns].join(", ");
    connection
        .prepare_cached(&format!("INSERT INTO {table} VALUES ({places})"))
        .ok()?
        .execute(params_from_iter(row))
        .ok()?;
    Some(())
}

/// JSON in a column, packed or not, with one value replaced.
fn pointed(old: Value, pointer: &str, text: &str) -> Option<Value> {
    let change = |json: &str| -> Option<String> {
        let mut document: serde_json::Value = serde_json::from_str(json).ok()?;
        *document.pointer_mut(pointer)? = serde_json::from_str(text).unwrap_or(text.into());
        Some(document.to_string())
    };
    match old {
        Value::Text(json) => Some(Value::Text(change(&json)?)),
        Value::Blob(packed) => {
            let mut json = String::new();
            flate2::read::ZlibDecoder::new(&packed[..]).read_to_string(&mut json).ok()?;
            let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(change(&json)?.as_bytes()).ok()?;
            Some(Value::Blob(out.finish().ok()?))
        }
        _ => None,
    }
}

fn sql(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Number(number) if number.is_i64() => Value::Integer(number.as_i64().unwrap_or_default()),
        serde_json::Value::Number(number) => Value::Real(number.as_f64().unwrap_or_default()),
        serde_json::Value::String(text) => Value::Text(text),
        other => Value::Text(other.to_string()),
    }
}

/// A valid store.
pub(super) fn stores() -> Vec<(String, Vec<u8>)> {
    vec![("small.sqlite".into(), SMALL.clone())]
}

/// Examples of forged edits.
pub(super) fn edits() -> Vec<(String, Vec<u8>)> {
    let all = [
        "run plan 0 /scale 0.5\nrun plan 0 /repeats 4294967295\nrun planned 0 - -1",
        "run plan 0 /configurations/0 \"</script>\\u001b[31m\\u202e\"\ncell configuration 0 - </script>",
        "run plan 0 /tasks/0/1 \"| ` <b> \\n\"\nrun plan 0 /suite \"../x\"\nrun status 0 - running\nrun id 0 - x y",
        "run configurations 0 - [\"a\",\"a\"]\nrun started 0 - 9223372036854775807\nrun ended 0 - -9223372036854775808",
        "cell repeat 0 - 4294967295\ncell position 1 - 4294967295\ncell disk_size 0 - -9223372036854775808",
        "cell environment 0 /packages {\"a\":\"b\"}\ncell corpus 0 - null\ncell seed 0 - 18446744073709551615",
        "sample value 0 - 1e308\nsample value 4 - -1e308\nsample value 8 - 0\nsample metric 9 - x\nsample + 3 200",
        "task_outcome outcome 0 - failed\ntask_outcome reason 0 - \"\\u0000\"\nnote text 0 - \"a\\nb\"\nnote + 0 300",
        "output kind 0 - result\noutput text 1 /phases/0/seconds 1e-308\noutput text 1 /phases/0/operations/0/count 18446744073709551615",
        "device record 0 /slice 0\ndevice record 1 /size 18446744073709551615\ndevice record 2 /settled 0\ndevice record 3 /sizes [[],[],[]]",
        "device record 0 /map/row_bytes 0\ndevice record 0 /slices \"\"\ndevice record 1 /slices \"//////////////8B\"\ncell + 0 20",
    ];
    (0..)
        .zip(all)
        .map(|(number, text): (u32, &str)| (format!("edit-{number}"), format!("{text}\n").into_bytes()))
        .collect()
}
