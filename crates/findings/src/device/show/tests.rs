use mountmark_model::device::{Field, IoMap};
use serde_json::Value;

use super::*;
use crate::tests;
use crate::tests::written;

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
            fua: None,
            followed: Some(reads / 2),
            size: 96 << 20,
            returned: 500_000_000,
            durable: 600_000_000,
            settled: 1_000_000_000,
            slice: 1 << 30,
            slices: if reads > 0 { vec![slice] } else { Vec::new() },
            sizes: [vec![0; 12].into_iter().chain([reads]).collect(), Vec::new(), Vec::new()],
            map: Some(map),
            lacking: (cell == 1).then(|| "Half of it was not seen.".to_owned()),
            more: Vec::new(),
        },
    }
}

#[test]
fn a_table_holds_the_columns_of_all_repeats() {
    let run = tests::run(&["ext4", "xfs"], 2);
    let uses: Vec<DeviceUse> = [(0, 100), (1, 10), (2, 300), (3, 10)].map(|(cell, n)| found(cell, "001", n)).into();
    let text = written(&Device { run: &run, uses: &[&uses[..], &[found(0, "mkfs", 0)]].concat() }, "table", 200);
    let line = text.lines().find(|line| line.starts_with("ext4 ")).unwrap();
    // 400 reads in two seconds, 4 KiB each, a millisecond each; the device is busy for a quarter of the time.
    // Of 99 and of 299 reads behind another, 50 and 150 follow it.
    let words: Vec<&str> = line.split_whitespace().collect();
    let expected = "ext4 1.00 200 0.78 4.00 1.00 0 0 - - 1.00 2.00 0.50 25.0 50.3";
    assert_eq!(words, expected.split(' ').collect::<Vec<_>>(), "{text}");
    assert!(text.contains("r_await") && !text.contains("d_await"), "{text}");
    assert!(text.contains("Half of it was not seen.") && text.contains("by mkfs."), "{text}");
    assert!(written(&Device { run: &run, uses: &uses }, "markdown", 200).contains("| r/s | rMiB/s |"));
}

#[test]
fn json_holds_slices_sizes_and_map() {
    let run = tests::run(&["ext4", "xfs"], 1);
    let value: Value =
        serde_json::from_str(&written(&Device { run: &run, uses: &[found(1, "001", 10)] }, "json", 100)).unwrap();
    let one = &value["devices"][0];
    assert_eq!((&one["configuration"], &one["task"], &one["repeat"]), (&"xfs".into(), &"001".into(), &0.into()));
    assert_eq!(one["slices"][0]["read"]["requests"], 10);
    assert_eq!(one["iostat"]["read"]["mean_wait_seconds"], 0.001);
    assert_eq!(one["layout_score_percent"].as_f64().unwrap().round(), 56.0);
    assert_eq!(one["sizes"], serde_json::json!([{"operation": "read", "from_bytes": 4096, "requests": 10}]));
    assert_eq!(one["map"]["fields"], serde_json::json!([[0, 3, 4096, 0]]));
    assert_eq!(one["lacking"], "Half of it was not seen.");
}
