//! `--compare`: the cells of all sides in one plan, and what is rejected before anything runs.

mod support;

use std::path::PathBuf;

use mountmark_model::{CorpusSource, Own, Plan, RealisedCorpus};
use mountmark_plan::{Catalogue, CommandLine, CorpusRequest, Options, Side, SideChange, plan_with, put_command, vary};

/// A catalogue with a command that brings `tool`, and its name.
fn catalogue() -> (Catalogue, String) {
    let mut catalogue = support::catalogue(&[]);
    let command = CommandLine {
        words: vec!["./tool".into(), "$N".into()],
        with: vec!["tool=/a/old".into()],
        parameters: [("N".to_owned(), mountmark_model::Bytes(10))].into(),
        ..CommandLine::default()
    };
    let name = put_command(&mut catalogue, &command).unwrap();
    (catalogue, name)
}

fn options(name: &str, fs: &str) -> Options {
    Options { repeats: 2, ..support::options(fs, name, "plain") }
}

type Corpora = Result<(PathBuf, RealisedCorpus), Box<dyn std::error::Error + Send + Sync>>;

/// The tar of what is brought is called by its first path.
fn realise(request: &CorpusRequest) -> Corpora {
    let CorpusSource::Bring(bring) = &request.source else { panic!("{request:?}") };
    Ok((bring.with[0].path.clone(), RealisedCorpus { tar_bytes: 1 << 20, ..RealisedCorpus::default() }))
}

fn builds() -> [Side; 2] {
    let own = |path: &str| SideChange::Own(Own { name: Some("tool".into()), path: path.into() });
    [Side { label: "old".into(), change: own("/a/old") }, Side { label: "new".into(), change: own("/a/new") }]
}

fn values(values: [u64; 2]) -> [Side; 2] {
    values.map(|value| Side { label: format!("N-{value}"), change: SideChange::Parameter("N".into(), value) })
}

fn of_repeat(plan: &Plan, repeat: u32) -> Vec<(String, String)> {
    let cells = plan.cells.iter().filter(|cell| cell.repeat == repeat);
    let mut found: Vec<_> = cells
        .map(|cell| {
            (cell.configuration.name.clone(), cell.second_disk.as_ref().map(|medium| medium.tar.clone()).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn each_repeat_has_all_configurations_with_each_build() {
    let (catalogue, name) = catalogue();
    let plan = plan_with(&catalogue, &options(&name, "ext4,xfs:nocrc#a"), None, &builds(), &mut realise).unwrap();
    assert_eq!(plan.configurations, ["ext4#old", "ext4#new", "xfs:nocrc#a-old", "xfs:nocrc#a-new"]);
    assert_eq!(plan.sides, ["old", "new"]);
    let wanted =
        [("ext4#new", "/a/new"), ("ext4#old", "/a/old"), ("xfs:nocrc#a-new", "/a/new"), ("xfs:nocrc#a-old", "/a/old")];
    let wanted: Vec<_> = wanted.iter().map(|(name, tar)| ((*name).to_owned(), (*tar).to_owned())).collect();
    assert_eq!([of_repeat(&plan, 0), of_repeat(&plan, 1)], [wanted.clone(), wanted]);
    assert!(plan.cells.iter().zip(0..).all(|(cell, index)| cell.index == index));
    let seeds = |repeat| plan.cells.iter().filter(move |cell| cell.repeat == repeat).map(|cell| cell.seed);
    assert!(seeds(0).all(|seed| seed == seeds(0).next().unwrap()), "one seed a repeat: sides are pairs");
}

#[test]
fn a_parameter_has_its_values_and_points_of_another_kind_may_be_varied() {
    let (catalogue, name) = catalogue();
    let options = options(&name, "ext4");
    let points = vary(&catalogue, &options, "ram=512MiB..1GiB:2").unwrap();
    let plan = plan_with(&catalogue, &options, Some(&points), &values([10, 20]), &mut realise).unwrap();
    let mut found: Vec<_> = plan
        .cells
        .iter()
        .map(|cell| (cell.configuration.name.as_str(), cell.point, cell.parameters["N"], cell.repeat))
        .collect();
    found.sort();
    assert_eq!(found.len(), 8);
    assert_eq!(found[0], ("ext4#N-10", Some(0), 10, 0));
    assert_eq!(found[7], ("ext4#N-20", Some(1), 20, 1));
    assert!(plan.vary.is_some());
}

#[test]
fn sides_that_cannot_be_are_refused() {
    let (catalogue, name) = catalogue();
    let mut never = |_: &CorpusRequest| -> Corpora { panic!("before corpora are made") };
    let options = options(&name, "ext4");
    let refused = |options: &Options, text: Option<&str>, sides: &[Side], realise: &mut mountmark_plan::Realise<'_>| {
        let points = text.map(|text| vary(&catalogue, options, text).unwrap());
        plan_with(&catalogue, options, points.as_ref(), sides, realise).unwrap_err().to_string()
    };
    let [old, new] = builds();
    let other = SideChange::Own(Own { name: None, path: "/a/other".into() });
    let unknown = SideChange::Parameter("M".into(), 1);
    let with = |change| [old.clone(), Side { label: "x".into(), change }];
    for (text, sides, says) in [
        (None, &[old.clone()][..], "it has 1 sides"),
        (None, &with(other), "brings no other"),
        (None, &with(unknown), "has no parameter M"),
        (Some("N=1..2:2"), &values([1, 2]), "--vary gives N its values"),
    ] {
        let error = refused(&options, text, sides, &mut never);
        assert!(error.contains(says), "{error}");
    }
    let twins = Options { fs: vec!["ext4,ext4:noatime".into()], ..options.clone() };
    let error = refused(&twins, None, &[old, new], &mut realise);
    assert!(error.contains("both ext4#old") && error.contains("#LABEL"), "{error}");
}
