//! What safety costs: files lost after their fsync, requests that a save takes, and promises beside speed.

use serde_json::Value;

use crate::lab::{Lab, Results, assert_equal_figures};

/// With barriers nothing that was synced is lost; without them it is, and saves are cheaper: the negative control.
#[test]
fn a_save_costs_a_flush_and_without_it_files_are_lost() {
    let name = "a_save_costs_a_flush_and_without_it_files_are_lost";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let plan = ["--fs", "ext4,ext4:mount=nobarrier", "--suite", "safety", "--scale", "0.05", "--disk", "ssd"];
    let results = lab.run(&[&plan[..], &["--repeat", "1"]].concat()).ended_with(0).results();
    let value = |configuration: &str, task: &str, metric: &str| results.value(configuration, task, metric);
    let bare = "ext4:mount=nobarrier";
    assert_eq!(value("ext4", "lost", "lost"), 0.0);
    assert!(value(bare, "lost", "lost") > 0.0, "a cache that is never flushed loses nothing");
    assert!(value("ext4", "save", "flushes") >= value("ext4", "save", "operations"), "a save without a flush");
    assert!(value(bare, "save", "flushes") + value(bare, "save", "fua_writes") < value("ext4", "save", "flushes"));
    assert!(value(bare, "save", "rate") > value("ext4", "save", "rate"));

    let shown = |format: &str| {
        let out = lab.out().to_string_lossy().into_owned();
        lab.command(&["show", "latest", "--safety", "--format", format, "--out", &out]).ended_with(0).stdout
    };
    let table = shown("table");
    for text in ["L0-L6", "not tried", "files lost", "usable"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let answer: Value = serde_json::from_str(&shown("json")).unwrap();
    let rows = answer["configurations"].as_array().unwrap();
    let lost = |row: &Value| {
        let figures = row["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["metric"] == "lost").unwrap()["value"].as_f64().unwrap()
    };
    assert_eq!(lost(&rows[0]), 0.0);
    assert_eq!(lost(&rows[1]), value(bare, "lost", "lost"));
    assert!(rows[0]["power_cuts"].is_null() && rows[1]["promises"]["levels"].as_array().unwrap().is_empty());

    // What power cuts showed stands beside it as soon as there is a campaign.
    let cut = ["crash", "--fs", "ext4", "--workload", "creat a; sync | write a 0+4096; fsync a", "--device", "request"];
    lab.command(&[&cut[..], &["--out", &lab.out().to_string_lossy()]].concat()).ended_with(0);
    let csv = shown("csv");
    let images = csv.lines().find(|line| line.starts_with("ext4,images,")).unwrap();
    assert!(images.rsplit(',').next().unwrap().parse::<u32>().unwrap() > 5, "{csv}");
}

/// What if a flush took no time: only the disk is another, and its name makes it again.
#[test]
fn a_part_of_the_disk_is_changed_alone() {
    let Some(lab) = Lab::with_guests("a_part_of_the_disk_is_changed_alone", 1) else { return };
    let suite = lab.suite(
        "syncs",
        "[[task]]\nid = \"one\"\ntitle = \"one\"\nrun = \"for i in 1 2 3; do echo $i > $i; sync $i; done\"\n",
    );
    let run = |words: &[&str]| {
        let plan = ["--fs", "ext4", "--suite", &suite, "--repeat", "1"];
        lab.run(&[&plan[..], words].concat()).ended_with(0).results()
    };
    let (usual, free) = (run(&["--disk", "ssd"]), run(&["--disk", "ssd", "--if", "flush=0"]));
    let time = |results: &Results| results.value("ext4", "one", "durable");
    assert!(time(&free) < 0.8 * time(&usual), "{} of {}", time(&free), time(&usual));
    assert_equal_figures(&free, &run(&["--disk", "ssd:flush=0"]));
    let out = lab.out().to_string_lossy().into_owned();
    let shown = lab.command(&["show", "latest", "--out", &out]).ended_with(0).stdout;
    assert!(shown.contains("disk ssd:flush=0 of"), "{shown}");
    let refused = ["--fs", "ext4", "--suite", &suite, "--disk", "ssd", "--if", "seek=0.5"];
    lab.run(&refused).ended_with(2).says(&["disk ssd, if seek=0.5", "it has read, write, flush"]);
}

/// A table of speed says what its syncs are worth, of each file system that loses what it said to be durable and of no other.
#[test]
fn a_table_of_speed_says_who_loses_synced_files() {
    let Some(lab) = Lab::with_guests("a_table_of_speed_says_who_loses_synced_files", 1) else { return };
    let bare = "ext4:mount=nobarrier";
    let out = lab.out().to_string_lossy().into_owned();
    let told = |all: &str, suite: &str, disk: &str| {
        lab.run(&["--fs", all, "--suite", suite, "--scale", "0.02", "--disk", disk, "--repeat", "1"]).ended_with(0);
        lab.command(&["show", "latest", "--out", &out]).ended_with(0).stdout
    };
    let mail = told(&format!("ext4,jfs,{bare}"), "varmail", "ssd");
    assert!(mail.contains("jfs sends no flush for its syncs here, and a power cut took 100 of 100 files"), "{mail}");
    assert!(mail.contains("ext4:mount=nobarrier sends no flush for its syncs here"), "{mail}");
    assert!(!mail.contains("ext4 sends no flush") && !mail.contains("ext4 loses"), "{mail}");
    assert!(mail.lines().any(|line| line.starts_with("synced files lost (%)")), "{mail}");
    let verdict = |format: &str| {
        lab.command(&["show", "latest", "--verdict", "--format", format, "--out", &out]).ended_with(0).stdout
    };
    assert!(verdict("table").contains("jfs (loses synced files)"), "{}", verdict("table"));
    let found: Value = serde_json::from_str(&verdict("json")).unwrap();
    let loses: Vec<bool> =
        found["safety"].as_array().unwrap().iter().map(|one| one["loses_synced"].as_bool().unwrap()).collect();
    assert_eq!(loses, [false, true, true], "{}", found["safety"]);
    // Among equals: those that lose what was synced are left out, each with its reason.
    let among = |what: &str| lab.command(&["show", "latest", "--verdict", "--survive", what, "--out", &out]);
    let equals = among("fsync").ended_with(0);
    equals.says(&["jfs is left out by --survive fsync: it lost 100 of 100", "ext4:mount=nobarrier is left out"]);
    assert!(equals.stdout.starts_with("ext4 alone was measured"), "{}", equals.text());
    among("rename").ended_with(0);
    among("everything-returned").ended_with(3).says(&["leaves no file system", "ext4: it is not mounted with sync"]);
    among("all").ended_with(2).says(&["there are fsync, rename, everything-returned"]);
    let raw = lab.command(&["show", "latest", "--raw", "--survive", "fsync", "--out", &out]).ended_with(2);
    raw.says(&["--survive is for tables"]);
    // Nothing syncs: nothing is said.
    let web = told("jfs", "webserver", "ssd");
    assert!(!web.contains("flush for its syncs") && !web.contains("synced files lost"), "{web}");
    // Nothing is kept back from the medium: nothing is lost.
    let ram = told("jfs", "varmail", "ram");
    assert!(!ram.contains("flush for its syncs") && !ram.contains("synced files lost"), "{ram}");
}

#[test]
fn a_suite_without_columns_is_told_what_measures_safety() {
    let Some(lab) = Lab::with_guests("a_suite_without_columns_is_told_what_measures_safety", 1) else { return };
    let suite = lab.suite("plain", "[[task]]\nid = \"one\"\ntitle = \"nothing\"\nrun = \"true\"\n");
    lab.run(&["--fs", "ext2", "--suite", &suite, "--repeat", "1"]).ended_with(0);
    let refused = lab.command(&["show", "latest", "--safety", "--out", &lab.out().to_string_lossy()]).ended_with(2);
    assert!(refused.stderr.contains("mountmark run --suite safety"), "{}", refused.text());
}

/// What an article asked in 2010: is a document old, new, or neither?
#[test]
fn cases_say_what_is_left_of_a_document() {
    let Some(lab) = Lab::with_guests("cases_say_what_is_left_of_a_document", 1) else { return };
    let cases = ["crash", "--fs", "ext3", "--cases", "--images", "4", "--no-shrink", "--device", "request"];
    // Its promises may be broken at names of the file system itself; what became of files is said all the same.
    let shown = lab.command(&[&cases[..], &["--format", "json"]].concat());
    let answer: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {}", shown.text()));
    let seen = |id: &str| {
        let cases = answer["cases"].as_array().unwrap();
        cases.iter().find(|case| case["id"] == id).unwrap()["seen"][0][1].as_object().unwrap().clone()
    };
    assert_eq!(seen("C1").keys().collect::<Vec<_>>(), ["new"], "what fsync has covered is new");
    assert!(seen("J1").keys().all(|fate| fate == "old" || fate == "new"), "a rename is whole or not at all");
    assert_eq!(seen("J2").keys().collect::<Vec<_>>(), ["new"]);
    let claims = answer["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["id"] == "J17").unwrap();
    assert_eq!(claim["holds"][0], serde_json::json!(["ext3", true]));
    let table = lab.command(&["crash", "show", "--cases"]).ended_with(0).stdout;
    assert!(table.contains("while a document of 2") && table.contains("No images of it on jfs"), "{table}");
    // The article's claims are on one page without any run, and without a store of runs.
    let asked = ["report", "--study", "journaling-2010", "--claims", "--format", "json"];
    let report = lab.command(&asked).ended_with(0).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let claims = report["claims"].as_array().unwrap();
    let of = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap();
    assert_eq!(
        (claims.len(), &of("J17")["outcome"], &of("J17")["run"]),
        (25, &"holds".into(), &"".into()),
        "{claims:?}"
    );
    assert_eq!(of("J21")["outcome"], "not-measured");
    lab.command(&asked[..3]).ended_with(3);
}
