//! Titles of tasks: scaled in a plan, constant in its cells.

mod support;

use std::path::{Path, PathBuf};

use mountmark_cells::Plan;
use mountmark_model::{RealisedCorpus, Suite};
use mountmark_plan::{Catalogue, Options, plan};

fn planned(catalogue: &Catalogue, suite: &str, scale: &str) -> Plan {
    let options = Options { scale: scale.parse().unwrap(), ..support::options("ext4", suite, "modern") };
    plan(catalogue, &options, &mut |_| Ok((PathBuf::from("/corpus.tar"), RealisedCorpus::default()))).unwrap()
}

fn titles(plan: &Plan) -> Vec<&str> {
    plan.tasks.iter().map(|(_, title)| title.as_str()).collect()
}

#[test]
fn titles_state_what_is_run() {
    let catalogue = Catalogue::built_in().unwrap();
    let own = planned(&catalogue, "piszcz-2006", "1");
    assert_eq!(titles(&own)[..3], ["touch 10,000 files", "find 10,000 files", "remove 10,000 files"]);
    assert_eq!(titles(&own)[11..15], OWN);
    assert!(!own.titles_are_scaled());
    let small = planned(&catalogue, "piszcz-2006", "0.01");
    assert_eq!(titles(&small)[..2], ["touch 100 files", "find 100 files"]);
    assert_eq!(titles(&small)[11..15], SMALL);
    assert_eq!(titles(&small)[20], "cat the 10 MiB file");
    assert!(small.titles_are_scaled());
    // The guest's input has the same length at every scale.
    assert_eq!(small.cells[0].tasks, own.cells[0].tasks);
    let rows = planned(&catalogue, "fsbench-2004", "1/2").tasks.clone();
    let title = |id: &str| rows.iter().find(|(known, _)| known == id).unwrap().1.clone();
    assert_eq!(title("seeks_4g"), "random seeks of 2 GiB");
    assert_eq!(title("fwrite_2g"), "fwrite a new file: 1 GiB, records of 1 MiB");
}

const OWN: [&str; 4] =
    ["copy the tarball 10 times", "create a 1 GB file", "copy the 1 GB file", "split 10 MB by 1000 bytes"];
const SMALL: [&str; 4] =
    ["copy the tarball 10 times", "create a 10 MiB file", "copy the 10 MiB file", "split 100 KB by 1000 bytes"];

#[test]
fn no_title_of_the_catalogue_keeps_a_placeholder() {
    let catalogue = Catalogue::built_in().unwrap();
    for suite in catalogue.list::<Suite>() {
        let plan = planned(&catalogue, &suite.name, "1/10");
        assert!(titles(&plan).iter().all(|title| !title.contains(['{', '}'])), "{:?}", plan.tasks);
    }
}

#[test]
fn a_title_that_names_no_parameter_is_refused() {
    let text = "name = \"mine\"\nabout = \"a\"\nroom = 0\n[parameters.MAILS]\nvalue = 2000\n\
                [[task]]\nid = \"one\"\ntitle = \"TITLE\"\nrun = \"true\"\n";
    let with = |title: &str| {
        let mut catalogue = Catalogue::built_in().unwrap();
        let added = catalogue.add::<Suite>(&text.replace("TITLE", title), Path::new("mine.toml"));
        added.map(|()| planned(&catalogue, "mine", "1/10")).map_err(|error| error.to_string())
    };
    let refused = with("write {MALES} mails").unwrap_err();
    assert!(refused.contains("task one: the title \"write {MALES} mails\": "), "{refused}");
    assert!(refused.contains("names the parameter MALES, which is not among the suite's: MAILS"), "{refused}");
    assert_eq!(titles(&with("write {MAILS} mails").unwrap()), ["write 200 mails"]);
    let plain = with("write 2,000 mails, {so} to say").unwrap();
    assert_eq!(titles(&plain), ["write 2,000 mails, {so} to say"]);
    assert!(!plain.titles_are_scaled());
}
