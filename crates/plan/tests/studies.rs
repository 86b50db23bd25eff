//! A user's own study, and messages about faults in one.

use mountmark_crash::scenario::Scenario;
use mountmark_model::{Printed, Study};
use mountmark_plan::{Catalogue, Origin};
use proptest::prelude::*;

const HEAD: &str = "study,run,fs,task,metric,unit,value,qualifier,note\n";

const STUDY: &str = r#"
name = "mine"
about = "mine"
title = "Mine"
year = 2026
published = "nowhere"

[[run]]
id = "1"
about = "the only run"
filesystems = ["ext4", "xfs"]

[[claim]]
id = "M01"
text = "XFS is faster."
clauses = [{ tasks = ["one"], order = "xfs > ext4" }]
"#;

/// The catalogue with a study of the user's own, or the error.
fn with(study: &str, csv: Option<&str>) -> Result<Catalogue, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("studies")).unwrap();
    std::fs::write(folder.path().join("studies/mine.toml"), study).unwrap();
    if let Some(csv) = csv {
        std::fs::write(folder.path().join("studies/mine.csv"), csv).unwrap();
    }
    Catalogue::load(Some(folder.path())).map_err(|error| error.to_string())
}

fn lines(lines: &str) -> Result<Catalogue, String> {
    with(STUDY, Some(&format!("{HEAD}{lines}")))
}

#[test]
fn a_users_study_is_read_beside_the_others() {
    let catalogue = lines("mine,1,ext4,one,elapsed,s,12.5,exact,\"a, note\"\n").unwrap();
    let study = catalogue.get::<Study>("mine").unwrap();
    assert_eq!(study.figures[0].value, Printed::Number(12.5));
    assert_eq!(study.figures[0].note, "a, note");
    assert!(matches!(catalogue.origin::<Study>("mine"), Some(Origin::File(_))));
    assert!(catalogue.get::<Study>("piszcz-2006").unwrap().figures.len() > 500);
    // Without a CSV it has only claims; columns may be in any order.
    assert!(with(STUDY, None).unwrap().get::<Study>("mine").unwrap().figures.is_empty());
    let turned = "note,qualifier,value,unit,metric,task,fs,run,study\n,exact,1,s,elapsed,one,xfs,1,mine\n";
    assert_eq!(with(STUDY, Some(turned)).unwrap().get::<Study>("mine").unwrap().figures[0].point(), Some(1.0));
}

#[test]
fn what_is_wrong_with_figures_is_told_with_its_line() {
    let good = "mine,1,ext4,one,elapsed,s,1,exact,\n";
    for (bad, said) in [
        ("mine,1,ext4,one,elapsed,s,abc,exact,\n", "\"abc\" is no number"),
        ("mine,1,ext4,one,elapsed,s,NaN,exact,\n", "not a finite number"),
        ("mine,1,ext4,one,elapsed,s,inf,exact,\n", "not a finite number"),
        ("mine,1,ext4,one,elapsed,s,1e999,exact,\n", "not a finite number"),
        ("mine,1,ext4,one,elapsed,s,\"1,5\",exact,\n", "\"1,5\" is no number"),
        ("mine,1,ext4,one,elapsed,s,-1,exact,\n", "cannot be below 0"),
        ("mine,1,ext4,one,elapsed,min,1,exact,\n", "elapsed is in s, not in \"min\""),
        ("mine,1,ext4,one,elapsed,s,1,perhaps,\n", "\"perhaps\" is unknown: one of mean_of_3"),
        ("mine,1,ext4,one,elapsed,s,,exact,\n", "must not be empty"),
        ("mine,1,ext4,one,elapsed,s,1,too_fast,\n", "must be empty"),
        ("mine,2,ext4,one,elapsed,s,1,exact,\n", "\"2\" is none of the study's runs, 1"),
        ("yours,1,ext4,one,elapsed,s,1,exact,\n", "\"yours\" in a file of \"mine\""),
        ("mine,1,,one,elapsed,s,1,exact,\n", "column fs is empty"),
        ("mine,1,ext4,one,elapsed,s,1\n", "7 fields, 9 expected"),
        (good, "is there twice"),
    ] {
        let error = lines(&format!("{good}{bad}")).expect_err(bad);
        assert!(error.contains("mine.csv:3: ") && error.contains(said), "{bad}: {error}");
    }
}

#[test]
fn tables_are_bounded_and_faults_are_counted() {
    let many = |column: &str| {
        let line = |number: u32| "mine,1,ext4,one,elapsed,s,1,exact,\n".replace(column, &format!("{column}{number}"));
        lines(&(0..1001).map(line).collect::<String>()).expect_err("too many names")
    };
    assert!(many("one").contains("it names 1001 tasks, and 1000 are the most"));
    assert!(many("ext4").contains("it names 1001 file systems, and 1000 are the most"));
    let error = lines(&"mine,2,ext4,one,elapsed,s,1,exact,\n".repeat(5000)).expect_err("no such run");
    assert!(error.lines().count() == 11 && error.ends_with("and 4990 more"), "{error}");
}

#[test]
fn wrong_columns_are_told_with_the_right_ones() {
    for (head, said) in [
        ("study,run,fs,task,metric,unit,value,qualifier\n", "column \"note\" is missing: the columns are study,run,fs"),
        ("study,run,fs,task,metric,unit,value,qualifier,note,more\n", "column \"more\" is unknown"),
        ("study,run,fs,fs,metric,unit,value,qualifier,note\n", "column \"fs\" is there twice"),
        ("", "column \"study\" is missing"),
    ] {
        let error = with(STUDY, Some(head)).expect_err(head);
        assert!(error.contains("mine.csv:1: ") && error.contains(said), "{head}: {error}");
    }
}

#[test]
fn what_is_wrong_with_claims_is_told() {
    let replaced = |from: &str, to: &str| with(&STUDY.replace(from, to), None).expect_err(to);
    for (from, to, said) in [
        ("xfs > ext4", "xfs >", "is no order"),
        ("order = \"xfs > ext4\"", "", "a clause needs one of order"),
        ("tasks = [\"one\"], ", "", "a clause needs `tasks`"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", value = true, at_most = 1", "not several"),
        ("order = \"xfs > ext4\"", "value = true", "need at_least or at_most"),
        ("order = \"xfs > ext4\"", "spread = true, at_least = 3, at_most = 2", "is above at_most"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", metric = \"speed\"", "no metric of ours"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", better = \"higher\"", "contradicts the metric"),
        ("order = \"xfs > ext4\"", "first = 2", "`on` must name"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", within = 7", "a share from 0 to 1"),
        ("clauses = [{ tasks = [\"one\"], order = \"xfs > ext4\" }]", "", "add clauses"),
        ("text = \"XFS is faster.\"", "text = \"\"\nundecidable = \"no\"", "keep one of them"),
        (
            "text = \"XFS is faster.\"",
            "text = \"\"\npower_cuts = { cases = [\"C1\"], on = [\"xfs\"], only = [\"new\"] }",
            "it has clauses and `power_cuts`",
        ),
        (
            "clauses = [{ tasks = [\"one\"], order = \"xfs > ext4\" }]",
            "power_cuts = { cases = [\"C1\"], on = [\"xfs\"] }",
            "either `only` or `seen`",
        ),
        (
            "clauses = [{ tasks = [\"one\"], order = \"xfs > ext4\" }]",
            "power_cuts = { cases = [\"C1\"], on = [\"xfs\"], seen = [\"mixed\"] }",
            "\"C1\" is none of the study's cases",
        ),
        (
            "clauses = [{ tasks = [\"one\"], order = \"xfs > ext4\" }]",
            "power_cuts = { cases = [\"C1\"], on = [\"xfs\"], seen = [\"luck\"] }",
            "unknown variant `luck`",
        ),
        ("tasks = [\"one\"]", "run = \"2\", tasks = [\"one\"]", "\"2\" is none of the study's runs, 1"),
        ("order = \"xfs > ext4\"", "runs_order = \"2 > 1\", on = [\"xfs\"]", "\"2\" is none of the study's runs, 1"),
        ("order = \"xfs > ext4\"", "runs_order = \"1 > 2\", on = [\"xfs\"], run = \"1\"", "leave `run` out"),
        ("order = \"xfs > ext4\"", "runs_order = \"1 > 2\"", "`on` must name"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", run = \"1\", suite = \"oltp\"", "leave one out"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", among = \"most\"", "`among` belongs to spread"),
        ("order = \"xfs > ext4\"", "spread = true, at_least = 2, among = \"few\"", "unknown variant `few`"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", over = \"quotient\"", "takes two tasks"),
        ("tasks = [\"one\"]", "tasks = [\"one\", \"all\"], over = \"quotient\"", "takes two tasks"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", over = \"median\"", "unknown variant `median`"),
        ("order = \"xfs > ext4\"", "order = \"xfs > ext4\", unless = \"it rains\"", "unknown field `unless`"),
        ("[[claim]]", "[[run]]\nid = \"1\"\nabout = \"\"\nfilesystems = []\n[[claim]]", "two runs with the id"),
    ] {
        let error = replaced(from, to);
        assert!(error.contains("mine.toml") && error.contains(said), "{to}: {error}");
    }
}

proptest! {
    // Each case reads the whole catalogue.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_are_read_or_refused(text in "[a-z0-9,\"\n.-]{0,200}") {
        let _ = with(STUDY, Some(&text));
        let _ = lines(&text);
    }
}

/// IOzone 3.489 overwrites a file where the article's version wrote a new one.
#[test]
fn iozones_fwrite_judges_no_claim_about_a_new_file() {
    let catalogue = Catalogue::built_in().unwrap();
    for study in catalogue.list::<Study>() {
        let clauses = study.claims.iter().flat_map(|claim| &claim.clauses);
        assert!(clauses.clone().all(|clause| clause.suite.as_deref() != Some("fsbench-2004-real")), "{}", study.name);
        assert!(!study.is_repeated_by("fsbench-2004-real"), "{}", study.name);
    }
}

/// Bonnie++ 2.00 makes a system call for each character where 1.03 of the page went through the C library.
#[test]
fn bonnies_characters_of_today_judge_no_claim_about_those_of_2007() {
    let catalogue = Catalogue::built_in().unwrap();
    let characters = |claim: &mountmark_model::Claim| format!("{:?}", claim.clauses);
    for study in catalogue.list::<Study>() {
        let is_about = study.claims.iter().map(characters).any(|text| text.contains("getc") || text.contains("putc"));
        for suite in ["wiki-2007-loop", "wiki-2007-real", "bonnie-real"] {
            assert!(!is_about || !study.is_repeated_by(suite), "{}: {suite}", study.name);
        }
    }
}

/// A study that a suite repeats on the model of its computer is judged by runs on that machine alone.
#[test]
fn studies_name_the_machines_that_model_their_computers() {
    let catalogue = Catalogue::built_in().unwrap();
    let named: Vec<(&str, Option<&str>)> =
        catalogue.list::<Study>().map(|study| (study.name.as_str(), study.machine.as_deref())).collect();
    let wanted = [
        ("hans-2006", Some("celeron-2006")),
        ("journaling-2010", None),
        ("linux-magazin-2004", Some("p4-2004")),
        ("piszcz-2006", Some("p3-2006")),
        ("wiki-2007", Some("core2-2007")),
    ];
    assert_eq!(named, wanted);
    for machine in wanted.iter().filter_map(|(_, machine)| *machine) {
        catalogue.get::<mountmark_model::Machine>(machine).unwrap();
    }
}

#[test]
fn cases_of_studies_are_about_files_of_known_workloads() {
    let catalogue = Catalogue::load(None).unwrap();
    let cases: Vec<_> = catalogue.list::<Study>().flat_map(|study| &study.cases).collect();
    assert!(cases.len() >= 9, "the article of 2010 tells seven cases apart");
    for case in cases {
        let written = catalogue.scenario(&case.workload).unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let workload = written.read(Scenario::faults).unwrap().runs(&case.workload).unwrap();
        let line = workload.to_string();
        assert!(case.file == "." || line.contains(&case.file), "{}: no {} in {line}", case.id, case.file);
    }
}
