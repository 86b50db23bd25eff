//! `--vary`: the cells of all points in one plan, and what is rejected before anything runs.

mod support;

use std::path::PathBuf;

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::{Bytes, RealisedCorpus};
use mountmark_plan::{Catalogue, CorpusRequest, Options, plan_with, vary};

const SUITE: &str = r#"
name = "mine"
about = "mine"
room = "64 MiB"

[parameters.FILES]
value = 1000
min = 10

[[task]]
id = "one"
title = "make {FILES} files"
run = "true"

[[task]]
id = "two"
title = "two"
run = "true"
"#;

fn catalogue() -> Catalogue {
    support::catalogue(&[("suites/mine.toml", SUITE)])
}

fn options() -> Options {
    Options { repeats: 2, ..support::options("ext4,xfs", "mine", "plain") }
}

type Corpora = Result<(PathBuf, RealisedCorpus), Box<dyn std::error::Error + Send + Sync>>;

fn planned(options: &Options, text: &str) -> Plan {
    let mut never = |_: &CorpusRequest| -> Corpora { panic!("the suite has no corpus") };
    let (catalogue, options) = (catalogue(), options.clone());
    let vary = vary(&catalogue, &options, text).unwrap();
    plan_with(&catalogue, &options, Some(&vary), &[], &mut never).unwrap()
}

/// The one value of `what` of all cells at each point.
fn by_point<T: PartialEq + std::fmt::Debug>(plan: &Plan, what: impl Fn(&PlannedCell) -> T) -> Vec<T> {
    let points = 0..plan.vary.as_ref().unwrap().points.len() as u32;
    let of = |point| {
        let mut values = plan.cells.iter().filter(|cell| cell.point == Some(point)).map(&what);
        let first = values.next().unwrap();
        assert!(values.all(|other| other == first));
        first
    };
    points.map(of).collect()
}

#[test]
fn each_repeat_has_all_points_and_configurations_in_a_shuffled_block() {
    let plan = planned(&options(), "ram=512MiB..2GiB:3");
    assert_eq!(by_point(&plan, |cell| cell.ram.0 >> 20), [512, 1024, 2048]);
    assert_eq!((plan.machine.ram, plan.cells.len()), (Bytes(1 << 30), 12));
    assert!(plan.cells.iter().zip(0..).all(|(cell, index)| cell.index == index));
    for repeat in 0..2 {
        let block = &plan.cells[repeat * 6..][..6];
        assert!(block.iter().all(|cell| cell.repeat == repeat as u32 && cell.seed == block[0].seed));
        let mut all: Vec<_> = block.iter().map(|cell| (cell.point, &cell.configuration.name)).collect();
        assert!(!all.is_sorted(), "{all:?}");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
    let names: Vec<&str> = plan.tasks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["one@512MiB", "one@1GiB", "one@2GiB", "two@512MiB", "two@1GiB", "two@2GiB"]);
    let cell = plan.cells.iter().find(|cell| cell.point == Some(1)).unwrap();
    assert_eq!(plan.recorded(cell, "mkfs"), "mkfs@1GiB");
    assert_eq!((plan.of_recorded("mkfs@1GiB"), plan.of_recorded("a@b")), (("mkfs", Some(1)), ("a@b", None)));
}

#[test]
fn a_parameter_varies_alone_on_disks_of_one_size() {
    let plan = planned(&options(), "files=100..100000:4");
    assert_eq!(by_point(&plan, |cell| cell.parameters["FILES"]), [100, 1000, 10_000, 100_000]);
    assert!(plan.cells.iter().all(|cell| cell.disk_size == plan.cells[0].disk_size));
    // A hundred times the files need more room.
    let usual = planned(&options(), "FILES=100..1000:2").cells[0].disk_size;
    assert!(plan.cells[0].disk_size > usual, "{usual}");
    assert_eq!(plan.tasks[3], ("one@100000".into(), "make 100,000 files".into()));
    let scales = planned(&options(), "scale=0.1..10:3");
    assert_eq!(by_point(&scales, |cell| cell.parameters["FILES"]), [100, 1000, 10_000]);
    let sizes = planned(&options(), "disk-size=512MiB..2GiB:3");
    assert_eq!(by_point(&sizes, |cell| cell.disk_size.0 >> 20), [512, 1024, 2048]);
}

#[test]
fn a_scale_that_nothing_follows_is_refused() {
    let options = Options { suite: "piszcz-2006".into(), ..support::options("ext4", "", "modern") };
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("a.fio");
    std::fs::write(&job, "[a]\nrw=read\nsize=1m\n").unwrap();
    let built_in = Catalogue::built_in().unwrap();
    assert!(vary(&built_in, &options, "scale=0.1..1:3").is_ok());
    let options = Options { suite: job.display().to_string(), ..options };
    let said = vary(&built_in, &options, "scale=0.1..1:3").unwrap_err().to_string();
    assert!(said.contains("nothing of the suite a follows --scale"), "{said}");
}

#[test]
fn what_the_suite_or_the_machine_cannot_have_is_refused_with_the_mend() {
    let given = Options { disk_size: Some(Bytes(1 << 30)), ..options() };
    for (options, text, said) in [
        (
            &options(),
            "rams=512MiB..2GiB:8",
            "--vary rams: the suite mine has no such parameter; it has ram, scale, disk-size, FILES",
        ),
        (
            &options(),
            "ram=2GiB..512MiB:8",
            "--vary ram=2GiB..512MiB:8: the range is reversed; write ram=512MiB..2GiB:8",
        ),
        (
            &options(),
            "ram=1GiB..16GiB:2",
            "--vary, at ram=16GiB: ram is 16.0 GiB; it must be a multiple of 128 MiB and at most",
        ),
        (&options(), "files=1..100:3", "--vary, at FILES=1: FILES is at least 10; begin there"),
        (
            &options(),
            "files=100..104:8",
            "files has whole numbers, and 8 points of this range are not all different; 5 are: write files=100..104:5",
        ),
        (&options(), "scale=0..1:3", "\"0\" is not a scale"),
        (&options(), "scale=1..2000:3", "\"2000\" is not a scale"),
        (&given, "disk-size=512MiB..2GiB:3", "--vary disk-size: --disk-size gives it one value"),
    ] {
        let catalogue = catalogue();
        let mut never = |_: &CorpusRequest| -> Corpora { panic!("the suite has no corpus") };
        let found = vary(&catalogue, options, text)
            .and_then(|vary| plan_with(&catalogue, options, Some(&vary), &[], &mut never))
            .unwrap_err()
            .to_string();
        assert!(found.contains(said), "{text}: {found}");
    }
}
