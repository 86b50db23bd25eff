//! Ranges of costs: which are refused, and what a profiled run says for them.

use std::fs;

use serde_json::Value;

use crate::lab::Lab;
use crate::why;

#[test]
fn a_profiled_run_says_which_orders_hold_and_another_offers_it() {
    let Some(lab) = why::lab("a_profiled_run_says_which_orders_hold_and_another_offers_it") else { return };
    let task = |id: &str, run: &str| format!("[[task]]\nid = \"{id}\"\ntitle = \"{id}\"\nrun = \"{run}\"\n");
    let tasks =
        task("data", "dd if=/dev/zero of=f bs=64K count=64") + &task("names", "mkdir d; cd d; touch $(seq 200)");
    let suite = lab.suite("work", &tasks);
    let out = lab.out();
    let shown = |options: &[&str]| -> Value {
        let all = [&["show", "--verdict", "--format", "json", "--out", out.to_str().unwrap()], options].concat();
        serde_json::from_str(&lab.command(&all).ended_with(0).stdout).unwrap()
    };
    let plan = ["--fs", "ext4,xfs", "--suite", &suite, "--disk", "ssd", "--repeat", "1"];
    let plain = lab.run(&plan).ended_with(0).results();
    assert_eq!(shown(&[])["robustness"]["known"], "nothing");
    let profiled = lab.run(&[&plan[..], &["--profile"]].concat()).ended_with(0).results();
    crate::lab::assert_equal_figures(&plain, &profiled);
    let found = shown(&[]);
    let robustness = &found["robustness"];
    assert_eq!(robustness["known"], "classes", "{robustness}");
    let share = robustness["server"][1].as_f64().unwrap();
    assert!(share > 0.001 && share < 0.9, "the disk's server takes {share}");
    let orders = robustness["tasks"].as_array().unwrap();
    assert!(!orders.is_empty(), "{robustness}");
    // Where each class may cost anything, nothing holds that two classes are on both sides of; where nothing may, all does.
    let folder = lab.path("config/mountmark/catalog/costs");
    fs::create_dir_all(&folder).unwrap();
    let class = |work: &str, ends: (f64, f64)| {
        format!("[[class]]\nwork = \"{work}\"\nlowest = {:?}\nhighest = {:?}\nsource = \"a guess\"\n", ends.0, ends.1)
    };
    let write = |name: &str, ends: (f64, f64)| {
        let head = format!("name = \"{name}\"\nabout = \"made up\"\nsuite = \"none\"\nunit = []\n");
        let classes = ["modules", "programs", "copies", "driver", "waiting"].map(|work| class(work, ends)).concat();
        fs::write(folder.join(format!("{name}.toml")), head + &classes).unwrap();
    };
    write("narrow", (1.0, 1.0));
    write("wide", (0.0001, 10000.0));
    let turning = |costs: &str| {
        let found = shown(&["--costs", costs]);
        let tasks = found["robustness"]["tasks"].as_array().unwrap().clone();
        let pairs = tasks.iter().flat_map(|task| task["pairs"].as_array().unwrap().clone());
        let is_turned =
            |pair: &Value| pair["survival"]["kind"] != "holds" && pair["survival"]["kind"] != "turns-without-server";
        pairs.filter(is_turned).count()
    };
    assert_eq!(turning("narrow"), 0);
    assert!(turning("wide") > 0, "{}", shown(&["--costs", "wide"])["robustness"]);
}

#[test]
fn costs_that_no_machine_has_are_refused() {
    let lab = Lab::without_guests();
    let folder = lab.path("config/mountmark/catalog/costs");
    fs::create_dir_all(&folder).unwrap();
    let write = |lowest: &str, highest: &str| {
        let text = format!(
            "name = \"mine\"\nabout = \"\"\nsuite = \"none\"\nunit = []\n[[class]]\nwork = \"copies\"\nlowest = {lowest}\nhighest = \
             {highest}\nsource = \"a guess\"\n"
        );
        fs::write(folder.join("mine.toml"), text).unwrap();
    };
    for (lowest, highest, says) in [
        ("0.0", "1.0", "copies: lowest is 0, and no machine does work for a cost of 0 or less"),
        ("-1.0", "1.0", "lowest is -1"),
        ("2.0", "1.0", "the lowest cost, 2, is above the highest, 1"),
    ] {
        write(lowest, highest);
        lab.command(&["list", "costs"]).ended_with(2).says(&["mine.toml", says]);
    }
    write("0.5", "1.0");
    let listed = lab.command(&["list", "costs"]).ended_with(0);
    assert!(listed.stdout.contains("machines ") && listed.stdout.contains("mine"), "{}", listed.text());
    lab.command(&["show", "--costs", "mine"]).ended_with(2).says(&["add --verdict"]);
}
