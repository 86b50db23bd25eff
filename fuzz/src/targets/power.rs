//! Logs of other disks and what power cuts leave of them, and files that say what a power cut interrupts.

use std::hint::black_box;

use mountmark_crash::log_writes::{export, import};
use mountmark_crash::scenario::Scenario;
use mountmark_crash::states::{Base, Budget, States};
use mountmark_plan::{Kind, Written};

use super::definitions::path_of;
use super::text;
use crate::seeds;

/// Size of the disk, as of the seeds.
const SIZE: u64 = 1 << 20;
/// Longer logs take long and show no more.
const MOST: usize = 64 << 10;

struct Zeros;

impl Base for Zeros {
    fn read(&self, _: u64, into: &mut [u8]) {
        into.fill(0);
    }
}

pub(super) fn log(data: &[u8]) {
    let Ok(imported) = import(&data[..data.len().min(MOST)], SIZE) else { return };
    let mut again = Vec::new();
    export(&imported.trace, &mut again).expect("a Vec takes every write");
    let device = "sector".parse().expect("a device");
    let states = States::new(&imported.trace, &Zeros, device, 0).expect("what is read lies on the disk");
    let budget = Budget { tiers: [8; 5], ..Budget::default() };
    for epoch in states.epochs().iter().take(8) {
        let pending = states.open(epoch.number).expect("it is one of them");
        pending.explore(&budget, 1).for_each(|state| drop(black_box(state)));
    }
}

/// A file of `catalog/crash/`, and what runs.
pub(super) fn scenario(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Written::new(Kind::Scenario, text, &path_of(text)).read(Scenario::faults) {
        Ok(scenario) => {
            let workload = scenario.runs("./mine.toml").expect("it has no faults");
            black_box((workload.to_string(), workload.length()));
        }
        Err(error) => drop(black_box(error.to_string())),
    }
}

pub(super) fn scenarios() -> Vec<(String, Vec<u8>)> {
    seeds::kept("catalog/crash", ".toml")
}

/// A log with each kind of entry.
pub(super) fn logs() -> Vec<(String, Vec<u8>)> {
    let sector = |words: [u64; 4], text: &str| {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(text.bytes());
        bytes.resize(512, 0);
        bytes
    };
    let write = |at: u64, flags: u64, fill: u8| [sector([at, 1, flags, 0], ""), vec![fill; 512]].concat();
    let parts = [
        sector([0x6a_7366_7773_6872, 1, 8, 512], ""),
        write(0, 0, 1),
        write(9, 2, 2),
        sector([0, 0, 1, 0], ""),
        sector([0, 0, 8, 4], "mkfs"),
        sector([4, 8, 4, 0], ""),
        sector([0, 0, 8, 7], "begin 0"),
        write(0, 3, 3),
        write(2047, 16, 4),
    ];
    vec![("log".into(), parts.concat())]
}
