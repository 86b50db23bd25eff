//! Repeats that a plan gets on its way are those that a longer plan has.

mod support;

use std::path::PathBuf;

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::RealisedCorpus;
use mountmark_model::conditions::Way;
use mountmark_plan::{CorpusRequest, Options, next_block, plan, with_sampling};

const SUITE: &str = r#"
name = "mine"
about = "mine"
corpus = "small"
source = "tar"
room = "100 MiB"
any_order = true

[[task]]
id = "one"
title = "one"
run = "true"

[[task]]
id = "two"
title = "two"
run = "true"

[[task]]
id = "three"
title = "three"
run = "true"
"#;

type Corpora = Result<(PathBuf, RealisedCorpus), Box<dyn std::error::Error + Send + Sync>>;

fn realise(request: &CorpusRequest) -> Corpora {
    let bytes = (100 << 20) + request.seed.unwrap_or(0) % 1000;
    let facts = RealisedCorpus { files: 100, bytes, tar_bytes: bytes, seed: request.seed, ..Default::default() };
    Ok((format!("/cache/{:?}.tar", request.seed).into(), facts))
}

fn planned(repeats: u32, way: Way) -> Plan {
    let catalogue = support::catalogue(&[("corpora/small.toml", support::CORPUS), ("suites/mine.toml", SUITE)]);
    let options = Options { repeats, conditions: way, ..support::options("ext4,xfs,btrfs", "mine", "plain") };
    let plan = plan(&catalogue, &options, &mut realise).unwrap();
    let plan = with_sampling(&catalogue, &options, Some(0.02), None, plan).unwrap();
    let sampling = plan.sampling.as_ref().unwrap();
    assert_eq!((sampling.least, sampling.any_order), (repeats, way == Way::Varied));
    assert_eq!(sampling.corpus.as_ref().unwrap().name, "small");
    plan
}

#[test]
fn a_plan_that_grows_is_the_longer_plan() {
    for way in Way::ALL {
        let (mut grown, long) = (planned(3, way), planned(6, way));
        while grown.repeats < long.repeats {
            let cells = next_block(&grown, &|_| true, &mut realise).unwrap();
            grown.cells.extend(cells);
            grown.repeats += 1;
        }
        assert_eq!(grown.cells, long.cells, "{way:?}");
    }
}

#[test]
fn only_what_is_wanted_is_in_the_next_repeat_and_in_its_order() {
    let plan = planned(3, Way::Varied);
    let names =
        |cells: &[PlannedCell]| -> Vec<String> { cells.iter().map(|cell| cell.configuration.name.clone()).collect() };
    let all = names(&next_block(&plan, &|_| true, &mut realise).unwrap());
    let some = next_block(&plan, &|name| name != "xfs", &mut realise).unwrap();
    assert_eq!(names(&some), all.iter().filter(|name| *name != "xfs").cloned().collect::<Vec<_>>());
    assert_eq!(some.iter().map(|cell| cell.index).collect::<Vec<_>>(), [9, 10]);
    assert!(some.iter().all(|cell| cell.repeat == 3 && cell.seed == some[0].seed));
}

#[test]
fn a_corpus_that_does_not_fit_and_a_plan_of_another_kind_are_refused() {
    let mut large = |request: &CorpusRequest| -> Corpora {
        let (path, facts) = realise(request)?;
        Ok((path, RealisedCorpus { tar_bytes: 200 << 20, ..facts }))
    };
    let error = next_block(&planned(3, Way::Varied), &|_| true, &mut large).unwrap_err().to_string();
    assert!(error.contains("corpus of repeat 4") && error.contains("--repeat"), "{error}");
    let mut fixed = planned(3, Way::Varied);
    fixed.sampling = None;
    assert!(next_block(&fixed, &|_| true, &mut realise).is_err());
}
