//! Synthetic runs: a figure of every task on every configuration in every repeat.

#![allow(dead_code, reason = "each test binary uses a part of this")]

pub mod bca;
pub mod studies;

use mountmark_cells::Plan;
use mountmark_model::{Cell, Environment, Outcome};
use mountmark_record::{CellRecord, RunId, RunRecord, RunStatus, Sample, TaskOutcome, Timestamp};
use mountmark_stats::random::Random;
use serde_json::json;

/// A plan of `configurations` c0, c1, ... and `tasks` t0, t1, ...
pub fn plan(configurations: usize, tasks: usize, repeats: u32) -> Plan {
    let names: Vec<String> = (0..configurations).map(|at| format!("c{at}")).collect();
    let disk = json!({"name": "ram", "about": "memory", "sources": [], "model": "ram"});
    let category = |at: usize| if at.is_multiple_of(2) { "small files" } else { "large files" };
    let definitions: Vec<_> = (0..tasks)
        .map(|at| json!({"id": format!("t{at}"), "title": format!("task {at}"), "category": category(at), "run": "true"}))
        .collect();
    let mut plan: Plan = serde_json::from_value(json!({
        "suite": "made-up", "suite_about": "", "lab": "virtual",
        "machine": {"name": "slow", "about": "", "shift": 1, "ram": 1 << 29, "disk": "ram", "second_disk": "ram",
            "sources": []},
        "scale": 1.0, "repeats": repeats, "seed": 7, "configurations": names, "kernel": "6.12",
        "tasks": (0..tasks).map(|at| (format!("t{at}"), format!("task {at}"))).collect::<Vec<_>>(),
        "decisions": [], "cells": []
    }))
    .unwrap();
    for repeat in 0..repeats {
        for name in &names {
            let cell: Cell = serde_json::from_value(json!({
                "index": plan.cells.len(), "repeat": repeat, "seed": 7 + repeat, "disk": disk, "disk_size": 1 << 30,
                "configuration": {
                    "name": name, "mkfs_options": [], "mount_options": [],
                    "filesystem": {"name": name, "about": "", "mount_type": name, "modules": [], "min_size": 1 << 20}
                },
                "second_disk": null, "ram": 1 << 29, "parameters": {}, "pause_seconds": 0.0,
                "tasks": if plan.cells.is_empty() { definitions.clone() } else { Vec::new() },
                "tools": [], "packages": []
            }))
            .unwrap();
            plan.cells.push(cell.into());
        }
    }
    plan
}

/// A run of `plan` in which `figure(configuration, task, repeat)` is the durable time of each task.
pub fn run(plan: &Plan, mut figure: impl FnMut(usize, usize, u32) -> f64) -> RunRecord {
    let environment = Environment { mountmark: "0.1.0".into(), kernel: "6.12.57".into(), ..Environment::default() };
    let configurations = plan.configurations.len();
    let cells = plan.cells.iter().map(|cell| {
        let mut record = CellRecord::new(cell, &environment);
        (record.started, record.ended) = (Timestamp(0), Timestamp(1000));
        for (at, (task, _)) in plan.tasks.iter().enumerate() {
            let value = figure(cell.index as usize % configurations, at, cell.repeat);
            record.samples.push(sample(task, "durable", value));
            record.outcomes.push(TaskOutcome { task: task.clone(), outcome: Outcome::Ok });
        }
        record
    });
    RunRecord {
        id: RunId::new("20261121-0345-a1b2"),
        started: Timestamp(1_795_232_712_000),
        ended: Some(Timestamp(1_795_232_772_000)),
        status: RunStatus::Done,
        program: "0.1.0".into(),
        command_line: "mountmark run".into(),
        cells: cells.collect(),
        plan: plan.clone(),
        environment,
        side: None,
    }
}

pub fn sample(task: &str, metric: &str, value: f64) -> Sample {
    Sample { task: task.into(), iteration: 0, metric: metric.into(), value }
}

/// Kinds of noise: the distribution of a factor on figures.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    /// Normal, 2 %.
    Normal,
    /// Lognormal with sigma 0.3: skewed, 31 %.
    Lognormal,
    /// Half of all figures 10 % higher; 1 % within each half.
    Halves,
    /// One figure in ten 20 % higher; 1 % otherwise.
    Seldom,
    /// One figure in five twice as high, 0.1 % otherwise: modes that are sharp and far apart.
    Sharp,
    /// Normal, with a different size for each task: 0.1 to 10 %.
    ByTask,
    /// Normal, 1 %; the last two configurations 5 %.
    ByConfiguration,
}

impl Noise {
    pub const ALL: [Noise; 7] = [
        Noise::Normal,
        Noise::Lognormal,
        Noise::Halves,
        Noise::Seldom,
        Noise::Sharp,
        Noise::ByTask,
        Noise::ByConfiguration,
    ];

    /// A factor near 1.
    pub fn draw(self, random: &mut Random, configuration: usize, configurations: usize, task: usize) -> f64 {
        let mut modes = |share: f64, by: f64, within: f64| {
            let slow = if random.unit() < share { by } else { 0.0 };
            (1.0 + slow) * (1.0 + within * random.normal())
        };
        match self {
            Noise::Halves => modes(0.5, 0.1, 0.01),
            Noise::Seldom => modes(0.1, 0.2, 0.01),
            Noise::Sharp => modes(0.2, 1.0, 0.001),
            Noise::Normal => 1.0 + 0.02 * random.normal(),
            Noise::Lognormal => (0.3 * random.normal()).exp(),
            Noise::ByTask => 1.0 + 0.001 * 10f64.powf((task % 5) as f64 / 2.0) * random.normal(),
            Noise::ByConfiguration => {
                let noisy = configuration + 2 >= configurations;
                1.0 + if noisy { 0.05 } else { 0.01 } * random.normal()
            }
        }
    }
}
