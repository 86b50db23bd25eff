//! Factors: the cells of all sides in one plan, and what is rejected before anything runs.

mod support;

use std::path::PathBuf;

use mountmark_cells::Plan;
use mountmark_model::{CorpusSource, Own, RealisedCorpus};
use mountmark_plan::{
    Catalogue, CommandLine, CorpusRequest, CrossedFactor, CrossedLevel, Options, SideChange, plan_with, put_command,
    vary,
};

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

fn level(text: &str, change: SideChange) -> CrossedLevel {
    CrossedLevel { text: text.into(), label: text.into(), change }
}

fn factor(name: &str, levels: &[CrossedLevel]) -> CrossedFactor {
    CrossedFactor { option: "compare", name: name.into(), levels: levels.to_vec() }
}

fn builds() -> CrossedFactor {
    let own = |path: &str| SideChange::Own(Own { name: Some("tool".into()), path: path.into() });
    factor("tool", &[level("old", own("/a/old")), level("new", own("/a/new"))])
}

fn values(values: [u64; 2]) -> CrossedFactor {
    factor("N", &values.map(|value| level(&format!("N-{value}"), SideChange::Parameter("N".into(), value))))
}

fn kernels() -> CrossedFactor {
    factor("kernel", &["6.1", "6.12"].map(|kernel| level(kernel, SideChange::Kernel(kernel.into()))))
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
    let plan = plan_with(&catalogue, &options(&name, "ext4,xfs:nocrc#a"), None, &[builds()], &mut realise).unwrap();
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
    let plan = plan_with(&catalogue, &options, Some(&points), &[values([10, 20])], &mut realise).unwrap();
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
    let refused = |options: &Options,
                   text: Option<&str>,
                   sides: &CrossedFactor,
                   realise: &mut mountmark_plan::Realise<'_>| {
        let points = text.map(|text| vary(&catalogue, options, text).unwrap());
        plan_with(&catalogue, options, points.as_ref(), std::slice::from_ref(sides), realise).unwrap_err().to_string()
    };
    let old = builds().levels.remove(0);
    let other = SideChange::Own(Own { name: None, path: "/a/other".into() });
    let unknown = SideChange::Parameter("M".into(), 1);
    let with = |change| factor("tool", &[old.clone(), level("x", change)]);
    for (text, sides, says) in [
        (None, &factor("tool", std::slice::from_ref(&old)), "it has 1 levels"),
        (None, &factor("tool", &[old.clone(), old.clone()]), "old is there twice"),
        (None, &factor("kernel", &[old.clone(), level("", SideChange::Kernel(String::new()))]), "behind a comma"),
        (None, &with(SideChange::Machine("none".into())), "no machine named \"none\""),
        (None, &with(SideChange::Disk("none".into())), "no disk named \"none\""),
        (None, &with(other), "brings no other"),
        (None, &with(unknown), "has no parameter M"),
        (Some("N=1..2:2"), &values([1, 2]), "--vary gives N its values"),
    ] {
        let error = refused(&options, text, sides, &mut never);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn factors_are_crossed_and_options_stay_in_the_names() {
    let (catalogue, name) = catalogue();
    let options = options(&name, "ext4,ext4:noatime");
    let plan = plan_with(&catalogue, &options, None, &[kernels(), values([1, 2])], &mut realise).unwrap();
    assert_eq!(plan.sides, ["6.1-N-1", "6.1-N-2", "6.12-N-1", "6.12-N-2"]);
    assert_eq!(plan.configurations.len(), 8);
    assert_eq!(plan.configurations[4], "ext4:noatime#noatime-6.1-N-1", "two headings would be equal without it");
    assert_eq!(plan.cells.len(), 16);
    for cell in &plan.cells {
        let (side, _) = plan.side(&cell.configuration.name).unwrap();
        let levels = plan.levels(side);
        assert_eq!(cell.parameters["N"], [1, 2][levels[1]]);
        assert_eq!(plan.computer(side).0, ["6.1", "6.12"][levels[0]]);
        assert!(cell.configuration.name.ends_with(&plan.sides[side]));
    }
    let texts: Vec<&str> = plan.factors.iter().flat_map(|factor| &factor.levels).map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["6.1", "6.12", "N-1", "N-2"]);
}
