//! `mountmark crash`: a guest under a recorded disk, images of power cuts, and what they hold.

use serde_json::Value;

use crate::lab::Lab;

/// What fsync has covered must be there.
const WRITTEN: &str = "creat foo; sync | write foo 0+4096; fsync foo";

/// The causes that were found on the only configuration of a JSON answer.
fn causes(text: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let causes = answer["configurations"][0]["causes"].as_array().expect("a list of causes");
    causes.iter().map(|cause| cause["signature"].as_str().expect("a signature").to_owned()).collect()
}

#[test]
fn a_disk_that_keeps_its_promises_loses_nothing_and_one_that_leaves_writes_out_does() {
    let name = "a_disk_that_keeps_its_promises_loses_nothing_and_one_that_leaves_writes_out_does";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let arguments = ["crash", "--fs", "ext4", "--workload", WRITTEN, "--format", "json"];
    let honest = lab.command(&[&arguments[..], &["--device", "request"]].concat()).ended_with(0);
    assert_eq!(causes(&honest.stdout), [] as [&str; 0]);
    let answer: Value = serde_json::from_str(&honest.stdout).unwrap();
    let explored = &answer["configurations"][0]["tried"][0]["explored"];
    let count = |key: &str| explored[key].as_u64().unwrap_or_else(|| panic!("no {key}: {}", honest.stdout));
    assert!(count("states") >= 10 && count("shown") <= count("states"), "{explored}");

    let faulty = lab.command(&[&arguments[..], &["--device", "request+i3:2"]].concat()).ended_with(1);
    let found = causes(&faulty.stdout);
    assert!(found.iter().any(|signature| signature.starts_with("L1 ")), "fsync was not missed: {found:?}");

    // The first of them, by the command that the report gives.
    let answer: Value = serde_json::from_str(&faulty.stdout).unwrap();
    let causes = answer["configurations"][0]["causes"].as_array().unwrap();
    let lost = causes.iter().find(|cause| cause["signature"].as_str().unwrap().starts_with("L1 ")).unwrap();
    let state = lost["finding"]["state"].as_str().unwrap();
    let image = lab.path("image");
    let one = ["crash", "--fs", "ext4", "--workload", WRITTEN, "--device", "request+i3:2", "--state", state];
    let again = lab.command(&[&one[..], &["--export", image.to_str().unwrap()]].concat()).ended_with(1);
    for text in ["What is wrong with it", "fsync foo", "in the image"] {
        assert!(again.stdout.contains(text), "{text}: {}", again.text());
    }
    assert_eq!(std::fs::metadata(&image).unwrap().len(), 512 << 20);
}

#[test]
fn what_cannot_be_cut_is_refused_before_anything_begins() {
    let lab = Lab::without_guests();
    let refused = |arguments: &[&str], says: &[&str]| {
        lab.command(&[&["crash"], arguments].concat()).ended_with(2).says(says);
    };
    refused(&[], &["--workload", "--generate"]);
    refused(&["--workload", "explode foo"], &["--workload", "explode"]);
    refused(&["--workload", "fsync foo"], &["--workload", "foo"]);
    refused(&["--generate", "4"], &["--generate"]);
    refused(&["--generate", "1", "--budget", "0"], &["--budget 0"]);
    refused(&["--generate", "1", "--budget", "soon"], &["soon", "30m"]);
    refused(&["--generate", "1", "--device", "sector+i9"], &["i9", "i1"]);
    refused(&["--generate", "1", "--policy", "later"], &["fifo", "held"]);
    refused(&["--generate", "1", "--format", "html"], &["html", "json"]);
    refused(&["--generate", "1", "--fs", "ext5"], &["ext5"]);
    refused(&["--workload", WRITTEN, "--state", "here"], &["--state", "here"]);
}
