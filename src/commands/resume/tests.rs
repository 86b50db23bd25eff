use std::collections::BTreeMap;

use mountmark_model::{Cell, Lab, Machine};
use mountmark_record::{CellRecord, RunId, Timestamp};
use serde_json::json;

use super::*;

const FILESYSTEMS: [&str; 2] = ["ext4", "xfs"];
const TOLD: &str = "6.12.117+deb12-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1 (2026-09-01)";

pub(super) fn machine() -> Machine {
    let machine = json!({"name": "m", "about": "", "shift": 1, "ram": 768 << 20, "disk": "ram", "second_disk": "ram", "sources": []});
    serde_json::from_value(machine).unwrap()
}

/// Two file systems, two repeats.
pub(in crate::commands) fn plan() -> Plan {
    let cell = |index: u64| -> PlannedCell {
        let name = FILESYSTEMS[index as usize % 2];
        let filesystem = json!({"name": name, "about": "", "mount_type": name, "modules": [name], "min_size": 1 << 20,
            "mkfs": ["mkfs", "{device}"], "fsck": null, "no_fsck": "it has none"});
        serde_json::from_value::<Cell>(json!({
            "index": index, "repeat": index / 2, "seed": 1, "disk_size": 1 << 30, "second_disk": null, "ram": 768 << 20,
            "configuration": {"name": name, "filesystem": filesystem, "mkfs_options": [], "mount_options": []},
            "disk": {"name": "ram", "about": "memory", "sources": [], "model": "ram"},
            "parameters": {}, "pause_seconds": 0.0, "tasks": [{"id": "a", "title": "a", "run": "true"}], "tools": [], "packages": []
        }))
        .unwrap()
        .into()
    };
    let mut plan: Plan = serde_json::from_value(json!({
        "suite": "tiny", "suite_about": "", "lab": "virtual", "machine": machine(), "scale": 1.0, "repeats": 2, "seed": 1,
        "configurations": FILESYSTEMS, "kernel": "6.12", "tasks": [], "decisions": [], "cells": []
    }))
    .unwrap();
    plan.cells = (0..4).map(cell).collect();
    plan
}

/// The environment of a configuration's cells, as the lab knows it before they run.
fn environment(name: &str) -> Environment {
    Environment {
        mountmark: "0.1.0".into(),
        kernel: "6.12.117+deb12-amd64".into(),
        emulator: "QEMU 7.2".into(),
        packages: BTreeMap::from([(format!("{name}-tools"), "1.0".into()), ("tar".into(), "1.34".into())]),
        image: format!("image of {name}"),
        kernel_image: "kernel".into(),
        ..Environment::default()
    }
}

fn now(cell: &PlannedCell) -> Result<Environment> {
    Ok(environment(&cell.configuration.filesystem.name))
}

/// A run in which the cells with these indices have ended and named their kernel.
pub(in crate::commands) fn run(ended: &[usize]) -> RunRecord {
    let plan = plan();
    let cells = ended.iter().map(|index| {
        let cell = &plan.cells[*index];
        let mut environment = now(cell).unwrap();
        environment.name_kernel(TOLD);
        CellRecord::new(cell, &environment)
    });
    RunRecord {
        id: RunId::new("20261122-1000-abcd"),
        started: Timestamp(0),
        ended: None,
        status: RunStatus::Interrupted,
        program: "0.1.0".into(),
        command_line: "mountmark run".into(),
        environment: environment("ext4"),
        cells: cells.collect(),
        side: None,
        plan,
    }
}

#[test]
fn whichever_cells_have_ended_a_run_can_go_on_with_what_it_began_with() {
    for ended in [&[][..], &[0], &[1], &[2], &[3], &[1, 3], &[0, 2], &[0, 1, 2]] {
        assert_eq!(incomparable(&run(ended), &now).unwrap(), None, "{ended:?}");
        assert_eq!(rest(&run(ended)).unwrap().cells.len(), 4 - ended.len());
    }
}

#[test]
fn each_configuration_is_compared_with_its_own_image() {
    let otherwise = |name: &'static str, change: fn(&mut Environment)| {
        move |cell: &PlannedCell| {
            let mut environment = now(cell)?;
            if cell.configuration.name == name {
                change(&mut environment);
            }
            Ok(environment)
        }
    };
    let updated = otherwise("xfs", |now| {
        now.image = "another image of xfs".into();
        now.packages.insert("xfs-tools".into(), "1.1".into());
    });
    for ended in [&[1][..], &[3], &[0, 1]] {
        let text = incomparable(&run(ended), &updated).unwrap().unwrap();
        assert_eq!(text, "its guests of xfs had the package xfs-tools 1.0, which is 1.1 now");
    }
    // No cell of xfs has been measured yet: all will be measured alike.
    for ended in [&[][..], &[0], &[0, 2]] {
        assert_eq!(incomparable(&run(ended), &updated).unwrap(), None);
    }
    // The run's own environment applies even if no cell has ended.
    let built = otherwise("ext4", |now| now.image = "another image of ext4".into());
    for ended in [&[][..], &[0], &[1], &[2]] {
        let text = incomparable(&run(ended), &built).unwrap().unwrap();
        assert!(text.contains("guests of ext4 ran another build of mountmark"), "{text}");
    }
}

#[test]
fn another_kernel_or_emulator_is_named() {
    let changed = |change: fn(&mut Environment)| {
        let now = move |cell: &PlannedCell| {
            let mut environment = now(cell)?;
            change(&mut environment);
            Ok(environment)
        };
        incomparable(&run(&[1, 2]), &now).unwrap().unwrap()
    };
    let text = changed(|now| now.kernel = "6.12.118+deb12-amd64".into());
    assert_eq!(text, "its kernel was 6.12.117+deb12-amd64, and is 6.12.118+deb12-amd64 now");
    assert!(changed(|now| now.kernel_image = "another".into()).contains("was built again"));
    assert!(changed(|now| now.emulator = "QEMU 10.0".into()).contains("its emulator was QEMU 7.2, and is QEMU 10.0"));
}

#[test]
fn what_has_ended_is_not_resumed() {
    let done = RunRecord { status: RunStatus::Done, ..run(&[0, 1, 2, 3]) };
    assert!(rest(&done).unwrap_err().to_string().contains("is complete"));
    // Killed after its last cell: nothing remains to be measured, in any lab.
    for lab in [Lab::Virtual, Lab::Host] {
        let mut run = run(&[0, 1, 2, 3]);
        run.plan.lab = lab;
        assert!(rest(&run).unwrap().cells.is_empty());
    }
}

#[test]
fn under_wall_time_tools_place_and_build_are_the_same_too() {
    let mut host = run(&[0, 2]);
    host.plan.lab = Lab::Host;
    assert_eq!(rest(&host).unwrap().cells.iter().map(|cell| cell.index).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(incomparable(&host, &now).unwrap(), None);
    let moved = |cell: &PlannedCell| Ok(Environment { clock: "elsewhere".into(), ..now(cell)? });
    assert_eq!(incomparable(&host, &moved).unwrap(), None, "what is not known of both is not compared");
    for cell in &mut host.cells {
        cell.environment.clock = "the disk is /dev/sdb".into();
    }
    let text = incomparable(&host, &moved).unwrap().unwrap();
    assert_eq!(text, "its place was the disk is /dev/sdb, and is elsewhere now");
}
