//! `mountmark crash`: a guest under a recorded disk, images of power cuts, and what they hold.

use serde_json::Value;

use crate::lab::{Lab, Ran};
use crate::report::readable;

/// What fsync has covered must be there.
const WRITTEN: &str = "creat foo; sync | write foo 0+4096; fsync foo";

/// The causes that were found on the only configuration of a JSON answer.
fn causes(text: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let causes = answer["configurations"][0]["causes"].as_array().expect("a list of causes");
    causes.iter().map(|cause| cause["signature"].as_str().expect("a signature").to_owned()).collect()
}

/// The words of a command, as a shell reads them.
pub fn words(command: &str) -> Vec<String> {
    let said = std::process::Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
    String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn crash(lab: &Lab, arguments: &[&str]) -> Ran {
    lab.command(&[&["crash"], arguments].concat())
}

#[test]
fn a_disk_that_keeps_its_promises_loses_nothing_and_one_that_leaves_writes_out_does() {
    let name = "a_disk_that_keeps_its_promises_loses_nothing_and_one_that_leaves_writes_out_does";
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let arguments = ["--fs", "ext4", "--workload", WRITTEN, "--format", "json"];
    let honest = crash(&lab, &[&arguments[..], &["--device", "request"]].concat()).ended_with(0);
    assert_eq!(causes(&honest.stdout), [] as [&str; 0]);
    let answer: Value = serde_json::from_str(&honest.stdout).unwrap();
    let explored = &answer["configurations"][0]["tried"][0]["explored"];
    let count = |key: &str| explored[key].as_u64().unwrap_or_else(|| panic!("no {key}: {}", honest.stdout));
    assert!(count("states") >= 10 && count("shown") <= count("states"), "{explored}");

    let faulty =
        crash(&lab, &[&arguments[..], &["--device", "request+i3:2", "--images", "16", "--no-shrink"]].concat())
            .ended_with(1);
    let found = causes(&faulty.stdout);
    assert!(found.iter().any(|signature| signature.starts_with("L1 ")), "fsync was not missed: {found:?}");

    // Every printed command shows its finding.
    let text = crash(&lab, &["show"]).ended_with(0).stdout;
    let commands: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("mountmark crash ")).collect();
    assert!(!commands.is_empty(), "{text}");
    for command in commands {
        for option in ["--device request+i3:2", "--disk-size 512MiB", "--kernel ", "--seed 1", "--policy fifo"] {
            assert!(command.contains(option), "{option}: {command}");
        }
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let again = crash(&lab, &words).ended_with(1);
        assert!(!again.stdout.contains("It breaks no promise"), "{command}: {}", again.text());
    }

    // The first of them, by the index that the report gives.
    let answer: Value = serde_json::from_str(&faulty.stdout).unwrap();
    let causes = answer["configurations"][0]["causes"].as_array().unwrap();
    let lost = causes.iter().find(|cause| cause["signature"].as_str().unwrap().starts_with("L1 ")).unwrap();
    let state = lost["finding"]["state"].as_str().unwrap();
    let number = causes.iter().position(|cause| cause == lost).unwrap() + 1;
    let image = lab.path("image");
    let one = ["show", "latest", "--finding", &number.to_string(), "--export", image.to_str().unwrap()];
    let again = crash(&lab, &one).ended_with(1);
    assert!(again.stdout.contains(state), "{}", again.text());
    for text in ["What is wrong with it", "fsync foo", "in the image"] {
        assert!(again.stdout.contains(text), "{text}: {}", again.text());
    }
    assert_eq!(std::fs::metadata(&image).unwrap().len(), 512 << 20);
    let page = lab.path("crash.html");
    std::fs::write(&page, crash(&lab, &["show", "--format", "html"]).ended_with(0).stdout).unwrap();
    readable(name, &page, |browser| {
        let drawn = browser.evaluate("document.querySelectorAll('svg.write-order rect.lost').length");
        assert!(drawn.as_u64() > Some(0), "no lost write is drawn: {drawn}");
    });
}

#[test]
fn a_fault_of_each_request_is_searched_for_in_one_recording() {
    let Some(lab) = Lab::with_guests("a_fault_of_each_request_is_searched_for_in_one_recording", 1) else { return };
    let arguments = ["--fs", "ext4", "--workload", WRITTEN, "--images", "2", "--no-shrink", "--recoveries", "0"];
    for fault in ["i5:each", "i10:each"] {
        let device = format!("request+{fault}");
        let found = crash(&lab, &[&arguments[..], &["--device", &device, "--format", "json"]].concat()).ended_with(1);
        let answer: Value = serde_json::from_str(&found.stdout).unwrap();
        let [requests, broken] = [0, 1].map(|index| {
            let in_turn = &answer["configurations"][0]["tried"][0]["explored"]["in_turn"];
            in_turn[index].as_u64().unwrap_or_else(|| panic!("{in_turn}"))
        });
        assert!(requests > 5 && (1..requests).contains(&broken), "{fault}: {broken} of {requests}");
        // A finding is of one of these disks, and is found there again.
        let finding = &answer["configurations"][0]["causes"][0]["finding"];
        let (device, state) = (finding["device"].as_str().unwrap(), finding["state"].as_str().unwrap());
        crash(&lab, &["--fs", "ext4", "--workload", WRITTEN, "--device", device, "--state", state]).ended_with(1);
    }
}

#[test]
fn fifos_and_nodes_of_devices_are_made_and_looked_at() {
    let Some(lab) = Lab::with_guests("fifos_and_nodes_of_devices_are_made_and_looked_at", 1) else { return };
    let made =
        "mkfifo fifo; mknod disk block 7:200; sync | mknod null char 1:3; rename fifo pipe; chmod null 0600; fsync .";
    let arguments = ["--fs", "ext4", "--workload", made, "--images", "16", "--no-shrink", "--recoveries", "0"];
    let honest = crash(&lab, &[&arguments[..], &["--device", "request", "--format", "json"]].concat()).ended_with(0);
    assert_eq!(causes(&honest.stdout), [] as [&str; 0]);
    let faulty =
        crash(&lab, &[&arguments[..], &["--device", "request+i3:2", "--format", "json"]].concat()).ended_with(1);
    let found = causes(&faulty.stdout);
    let lost = found.iter().position(|signature| signature.starts_with("L2 ") && signature.contains("mknod"));
    let lost = lost.unwrap_or_else(|| panic!("no node was lost: {found:?}")) + 1;
    let shown = crash(&lab, &["show", "latest", "--finding", &lost.to_string()]).ended_with(1);
    let all = ["null was what mknod null char 1:3", "fifo (a FIFO)", "disk (a node of block 7:200)"];
    assert!(all.iter().all(|text| shown.stdout.contains(text)), "{}", shown.text());
}

/// Labelled, so that the table fits its width.
#[test]
fn no_level_that_is_promised_stands_under_what_is_not() {
    let Some(lab) = Lab::with_guests("no_level_that_is_promised_stands_under_what_is_not", 1) else { return };
    let replaced = "creat foo; write foo 0+8192; fsync foo; sync | rename foo bar; fsync bar; creat foo; write foo 0+4096; fsync foo";
    let fs = r"ext4:mount=data=writeback\,journal_async_commit#async";
    let few = ["--device", "request", "--images", "24", "--no-shrink", "--recoveries", "0", "--format", "table"];
    let ran = crash(&lab, &[&["--fs", fs, "--workload", replaced], &few[..]].concat()).ended_with(0);
    let (promised, given_up) =
        ran.stdout.split_once("What it does not promise").unwrap_or_else(|| panic!("{}", ran.text()));
    assert!(promised.contains("(L0)") && promised.contains("(L1)") && !promised.contains("(L2)"), "{promised}");
    let levels: Vec<&str> = given_up.lines().filter_map(|line| line.trim_start().strip_prefix("- ")).collect();
    assert!(
        !levels.is_empty() && levels.iter().all(|line| !line.starts_with("L0") && !line.starts_with("L1")),
        "{given_up}"
    );
    assert!(ran.stdout.contains(r"labels  ext4#async = ext4:mount=data=writeback\,journal_async_commit"), "{promised}");
    assert!(
        ran.stdout.contains("\next4#async  ") && ran.stderr.contains("mountmark: ext4#async: 1 of 1 runs"),
        "{}",
        ran.text()
    );
}

#[test]
fn what_the_medium_loses_breaks_no_promise_and_the_check_finds_it() {
    let Some(lab) = Lab::with_guests("what_the_medium_loses_breaks_no_promise_and_the_check_finds_it", 1) else {
        return;
    };
    let arguments = ["--fs", "ext4", "--workload", "lost-name", "--device", "request", "--images", "2"];
    let found = causes(&crash(&lab, &[&arguments[..], &["--format", "json"]].concat()).ended_with(0).stdout);
    assert!(found.iter().any(|signature| signature.starts_with("L0 check")), "{found:?}");
    assert!(found.iter().any(|signature| signature.starts_with("L1 missing")), "{found:?}");
}

#[test]
fn a_campaign_is_kept_when_it_is_interrupted_and_goes_on() {
    let Some(lab) = Lab::with_guests("a_campaign_is_kept_when_it_is_interrupted_and_goes_on", 1) else { return };
    let course = ["--generate", "1", "--count", "8", "--images", "4", "--device", "request", "--jobs", "1"];
    let mut running = lab.start_command(&[&["crash", "--fs", "ext4"], &course[..]].concat());
    running.wait_for(" of 8 runs");
    running.signal(libc::SIGINT);
    running.wait().ended_with(128 + libc::SIGINT).says(&["crash resume"]);
    assert_eq!(lab.processes(), [""; 0]);
    let status = || -> String {
        let listed: Value =
            serde_json::from_str(&crash(&lab, &["list", "--format", "json"]).ended_with(0).stdout).unwrap();
        listed["campaigns"][0]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(), "interrupted");
    let shown = crash(&lab, &["show", "--format", "json"]).ended_with(0).stdout;
    let before: Value = serde_json::from_str(&shown).unwrap();
    let kept = before["configurations"][0]["tried"].as_array().unwrap();
    assert!((1..8).contains(&kept.len()), "{} of 8 were kept", kept.len());
    let resumed: Value =
        serde_json::from_str(&crash(&lab, &["resume", "--format", "json"]).ended_with(0).stdout).unwrap();
    let all = resumed["configurations"][0]["tried"].as_array().unwrap();
    assert_eq!(all.len(), 8);
    assert_eq!(all[..kept.len()], kept[..], "what was kept has changed");
    assert_eq!(status(), "done");
    crash(&lab, &["resume"]).ended_with(2).says(&["complete"]);
    crash(&lab, &["show", "--finding", "99"]).ended_with(2).says(&["--finding 99"]);
    crash(&lab, &["list", "--delete", "latest"]).ended_with(0);
    crash(&lab, &["show"]).ended_with(3);
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
    refused(&["--generate", "1", "--device", "sector+i12"], &["i12", "i1"]);
    refused(&["--generate", "1", "--device", "sector+i11:0"], &["--device sector+i11:0", "one disk", "ext4@raid5"]);
    let gone = |fs: &str, disk: &str, says: &[&str]| {
        refused(&["--generate", "1", "--fs", fs, "--device", &format!("sector+i11:{disk}")], says);
    };
    gone("ext4@raid0", "each", &["how ext4@raid0 is attached without one of its disks"]);
    gone("ext4@luks@raid5", "3", &["has the disks 0 to 2"]);
    gone("overlay@ext4@raid5", "3", &["has the disks 0 to 2"]);
    let export = ["--workload", WRITTEN, "--export-log", "new-log"];
    refused(&[&export[..], &["--fs", "ext4@raid1"]].concat(), &["--export-log is of one disk", "ext4@raid1 has 2"]);
    refused(&["--generate", "1", "--disk-size", "99TiB"], &["--disk-size", "at most"]);
    refused(&["--generate", "1", "--fs", "nfs"], &["--fs nfs", "servers"]);
    refused(&["--generate", "1", "--fs", "ext4@raid5", "--disk-size", "64MiB"], &["ext4@raid5 can only be made on"]);
    refused(&["--generate", "1", "--disk-size", "1"], &["--disk-size 1", "4096"]);
    refused(&["--generate", "1", "--disk-size", "64KiB"], &["ext4 can only be made on"]);
    refused(&["--workload", WRITTEN, "--pauses", "often"], &["--pauses", "none"]);
    refused(&["--generate", "1", "--policy", "later"], &["fifo", "held"]);
    refused(&["--generate", "1", "--format", "svg"], &["svg", "json"]);
    refused(&["--generate", "1", "--fs", "ext5"], &["ext5"]);
    refused(&["--workload", WRITTEN, "--device", "request+i5:each", "--state", "e0.t0.all"], &["--state", "each"]);
    refused(&["--workload", "creat doc | lose doc"], &["lose doc", "8"]);
    refused(&["--workload", "creat the-document | lose the-document; sync"], &["the last operation"]);
    refused(&["--workload", WRITTEN, "--state", "here"], &["--state", "here"]);
}
