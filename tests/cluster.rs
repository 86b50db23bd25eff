//! Other machines measure a run's cells: by Slurm, by ssh, or by workers that somebody starts.

mod slurm;
mod wrongs;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::{Lab, assert_equal_figures, outcome};
use crate::repeat::TASKS;
use slurm::Slurm;
use wrongs::Wrongs;

/// The longest that a campaign, or the same run of this machine, takes.
const LIMIT: Duration = Duration::from_secs(5400);

#[test]
fn options_of_which_a_worker_makes_nothing_are_refused() {
    let lab = Lab::without_guests().taking_cells();
    let shelf = lab.path("shelf").to_string_lossy().into_owned();
    let work = |options: &[&str]| {
        let first = ["work", "run", "--fs", "ext4", "--shelf", &shelf, "--until", "0"];
        lab.command(&[&first[..], options].concat()).ended_with(2)
    };
    for options in [
        &["--format", "nonsense"][..],
        &["--metric", "durable"],
        &["--advice", "answer.json"],
        &["--fresh"],
        &["--verify", "3%"],
        &["--on", "slurm"],
        &["--profile"],
    ] {
        work(options).says(&[&format!("{}: ", options[0])]);
    }
    // A campaign's plan has them from its run.
    work(&["--expect", "campaign.json", "--format", "csv", "--verify", "3%"]).says(&["--until 0"]);
}

/// A plan of so many cells.
fn plan(suite: &str, repeats: u32) -> Vec<String> {
    ["--suite", suite, "--fs", "ext2,ext4", "--repeat", &repeats.to_string()].map(str::to_owned).into()
}

fn words(plan: &[String]) -> Vec<&str> {
    plan.iter().map(String::as_str).collect()
}

/// Workers that are alive: this program with a campaign's plan.
fn workers(shelf: &Path) -> Vec<libc::pid_t> {
    let campaigns = shelf.join("campaigns").display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is_worker = |pid: &libc::pid_t| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(&campaigns) && line.split(' ').nth(1) == Some("work")
    };
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_worker).collect()
}

/// What a campaign has to survive.
struct Harm {
    repeats: u32,
    /// Workers that are killed.
    kills: usize,
    /// How often the controller is.
    controllers: usize,
    /// Cells that somebody else measured too, and whether one of them is forged.
    doubles: usize,
    /// Entries whose files are cut short.
    damaged: usize,
}

/// A campaign over Slurm whose workers and controller are killed, and whose shelf is harmed meanwhile, has the figures of a run
/// of this machine.
fn assert_campaign_survives(lab: Lab, mut slurm: Slurm, harm: &Harm) {
    let lab = lab.with_own_cells("cells-of-doubles").taking_cells().with_slurm(&slurm.config());
    let suite = lab.suite("campaign", TASKS);
    let shelf = lab.path("shelf");
    let mut wrongs = Wrongs::new(&lab, &suite, &shelf, (harm.doubles, harm.damaged));
    let lab = lab.with_own_cells(wrongs::OWN);
    let plan = plan(&suite, harm.repeats);
    let shelf_word = shelf.to_string_lossy().into_owned();
    let on = ["--shelf", &shelf_word, "--on", "slurm:workers=3,partition=test"];
    let mut run = lab.start_run(&[&words(&plan)[..], &on].concat());
    let (mut killed, mut lost, mut last) = (0, 0, Instant::now());
    while run.is_running() {
        let alive = workers(&shelf);
        if killed < harm.kills && !alive.is_empty() && last.elapsed() > Duration::from_secs(3) {
            let victim = alive[killed % alive.len()];
            // SAFETY: a signal to a process of this test.
            unsafe { libc::kill(victim, libc::SIGKILL) };
            (killed, last) = (killed + 1, Instant::now());
        }
        if lost < harm.controllers && killed * (harm.controllers + 1) >= harm.kills * (lost + 1) {
            slurm.lose_controller(Duration::from_secs(2));
            lost += 1;
        }
        wrongs.make_once(&lab);
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!((killed, lost), (harm.kills, harm.controllers), "{}", run.stderr());
    let mut campaign = run.wait();
    if harm.doubles > 0 {
        campaign = wrongs.found(&lab, campaign.ended_with(1), &[&words(&plan)[..], &on[..2]].concat()).ended_with(0);
    } else {
        campaign = campaign.ended_with(0);
        campaign.says(&["cells taken from the shelf, 0 measured"]);
    }
    let local = lab.start_run(&[&words(&plan)[..], &["--fresh"]].concat()).wait_within(LIMIT).ended_with(0);
    assert_equal_figures(&campaign.results(), &local.results());
}

#[test]
fn a_campaign_on_slurm_survives_killed_workers_and_a_lost_controller() {
    let test = "cluster::a_campaign_on_slurm_survives_killed_workers_and_a_lost_controller";
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let Some(slurm) = Slurm::start(test, &lab.path("slurm"), 3) else { return };
    let harm = Harm { repeats: 3, kills: 2, controllers: 1, doubles: 0, damaged: 0 };
    assert_campaign_survives(lab, slurm, &harm);
}

/// For `make drill`. `DRILL_REPEATS=20` makes a fifth of it.
#[test]
#[ignore = "takes half an hour"]
fn a_campaign_of_200_cells_survives_20_killed_workers() {
    let test = "cluster::a_campaign_of_200_cells_survives_20_killed_workers";
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let Some(slurm) = Slurm::start(test, &lab.path("slurm"), 3) else { return };
    let repeats = std::env::var("DRILL_REPEATS").map_or(100, |number| number.parse().unwrap());
    let harm = Harm { repeats, kills: repeats as usize / 5, controllers: 2, doubles: 5, damaged: 3 };
    assert_campaign_survives(lab, slurm, &harm);
}

/// With an ssh that runs the command here: what is tried is what becomes of the workers.
fn with_ssh(lab: Lab) -> Lab {
    let programs = lab.path("programs");
    fs::create_dir(&programs).unwrap();
    let ssh = programs.join("ssh");
    fs::write(&ssh, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nexec sh -c \"$2\"\n").unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    lab.with_programs(&programs)
}

/// The shelf keeps no cell that failed as a whole: workers note it, and nobody measures it again and again.
#[test]
fn a_cell_that_fails_as_a_whole_ends_no_campaign_and_is_waited_for_by_nobody() {
    let test = "cluster::a_cell_that_fails_as_a_whole_ends_no_campaign_and_is_waited_for_by_nobody";
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let lab = with_ssh(lab).with_own_cells("cells-of-failed").taking_cells();
    let suite = lab.suite("failed", TASKS);
    let hosts = lab.write("hosts", "a\nb\n");
    let (shelf, on) = (lab.path("shelf"), format!("ssh:{hosts}"));
    let shelf_word = shelf.to_string_lossy().into_owned();
    let plan = ["--suite", &suite, "--fs", "ext4:mount=nosuchoption,ext2", "--repeat", "2", "--shelf", &shelf_word];
    let local = lab.run(&plan[..6]).ended_with(1).results();
    let lab = lab.with_own_cells("cells-of-campaign");
    let campaign = lab.run(&[&plan[..], &["--on", &on]].concat()).ended_with(1);
    campaign.says(&["2 cells taken from the shelf, 2 measured", "ext4:mount=nosuchoption #1 failed: "]);
    assert_equal_figures(&local, &campaign.results());
    assert_eq!(outcome(campaign.results().cell("ext4:mount=nosuchoption")).0, "failed");
    let folders: Vec<_> = fs::read_dir(shelf.join("campaigns")).unwrap().flatten().collect();
    let names = fs::read_dir(folders[0].path()).unwrap().flatten().map(|entry| entry.file_name());
    let noted = names.filter(|name| name.to_string_lossy().starts_with("failed-")).count();
    assert_eq!((folders.len(), noted), (1, 2));
    assert!(!campaign.stderr.contains("workers ended"), "{}", campaign.text());
}

#[test]
fn workers_by_ssh_end_with_the_run() {
    let test = "cluster::workers_by_ssh_end_with_the_run";
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let lab = with_ssh(lab).with_own_cells("cells-of-ssh").taking_cells();
    let suite = lab.suite("ssh", TASKS);
    let hosts = lab.write("hosts", "a\nb # the second\n");
    let (shelf, on) = (lab.path("shelf"), format!("ssh:{hosts}"));
    let shelf_word = shelf.to_string_lossy().into_owned();
    let plan = plan(&suite, 2);
    let all = [&words(&plan)[..], &["--shelf", &shelf_word, "--on", &on]].concat();
    let run = lab.start_run(&all);
    let begin = Instant::now();
    while workers(&shelf).len() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(120), "no worker came");
        thread::sleep(Duration::from_millis(100));
    }
    run.signal(libc::SIGINT);
    let ended = run.wait();
    assert_eq!(ended.code(), 128 + libc::SIGINT, "{}", ended.text());
    ended.says(&["its cells stay on the shelf"]);
    let begin = Instant::now();
    while !workers(&shelf).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(20), "workers were left");
        thread::sleep(Duration::from_millis(100));
    }
    lab.run(&all).ended_with(0).says(&["cells taken from the shelf"]);
}

#[test]
fn workers_end_at_their_time_and_share_the_rest() {
    let test = "cluster::workers_end_at_their_time_and_share_the_rest";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let lab = lab.with_own_cells("cells-of-workers").taking_cells();
    let suite = lab.suite("work", TASKS);
    let shelf = lab.path("shelf").to_string_lossy().into_owned();
    let plan = plan(&suite, 2);
    let work = |more: &[&str]| {
        let all = [&["work", "run"], &words(&plan)[..], &["--shelf", &shelf, "--jobs", "1"], more].concat();
        lab.command(&all)
    };
    work(&["--until", "1s"]).ended_with(0).says(&["0 cells put there, 0 were there, 4 left, since its time was over"]);
    work(&["--worker", "1/2"]).ended_with(0).says(&["worker 1/2: 4 cells put there, 0 were there, 0 left"]);
    work(&["--worker", "2/2"]).ended_with(0).says(&["worker 2/2: 0 cells put there, 4 were there, 0 left"]);
    // What this machine would measure is not what the campaign wants.
    let expected = lab.write("expected.json", r#"{"emulator": {}, "version": 1}"#);
    let refused = work(&["--expect", &expected]);
    assert_eq!(refused.code(), 3, "{}", refused.text());
    refused.says(&["cell, emulator, image, kernel, machine, media differ", "it measures none"]);
    let gone = lab.path("nothing").to_string_lossy().into_owned();
    work(&["--expect", &gone]).ended_with(3).says(&["does not see the campaign's folder"]);
    work(&["--memory", "64MiB"]).ended_with(3).says(&["this worker may take 64.0 MiB"]);
}

#[test]
fn what_cannot_be_measured_elsewhere_is_refused_first() {
    let lab = Lab::without_guests().taking_cells();
    let hosts = lab.write("hosts", "a\n");
    let (on, shelf) = (format!("ssh:{hosts}"), lab.path("shelf").to_string_lossy().into_owned());
    let refused = |words: &[&str], code: i32, reason: &str| {
        let ran = lab.command(&[&["run", "--fs", "ext4"], words].concat());
        assert_eq!(ran.code(), code, "{}", ran.text());
        ran.says(&[reason]);
    };
    refused(&["--on", "slurm"], 2, "--on needs --shelf FOLDER");
    refused(&["--on", "pbs", "--shelf", &shelf], 2, "there is no engine \"pbs\"");
    refused(&["--on", &on, "--shelf", &shelf, "--precision", "2%"], 2, "whose cells are known before");
    refused(&["--on", &on, "--shelf", &shelf, "--fresh"], 2, "--on with --fresh");
    refused(&["--on", &on, "--shelf", &shelf, "--detach"], 2, "workers by ssh end with this process");
    for wrong in ["slurm:time=0s", "slurm:memory=0", "slurm:partition=", &format!("{on},time=1h")] {
        refused(&["--on", wrong, "--shelf", &shelf], 2, "invalid value");
    }
    for (wrong, reason) in [("# none\n", "names no node"), ("-oProxyCommand=x\n", "is no node")] {
        let wrong = format!("ssh:{}", lab.write("wrong-hosts", wrong));
        refused(&["--on", &wrong, "--shelf", &shelf], 2, reason);
    }
    refused(&["--on", "ssh:/nonexistent", "--shelf", &shelf], 2, "--on ssh:/nonexistent: No such file");
    refused(&["--detach"], 2, "--on <ENGINE>");
    refused(&["--on", &on, "--shelf", &shelf, "--", "printf", "a\u{7}"], 2, "the campaign's plan:1: it holds U+0007");
    lab.command(&["campaign", "list"]).ended_with(2).says(&["--shelf FOLDER"]);
    lab.command(&["campaign", "list", "--shelf", &shelf]).ended_with(2).says(&["there is no shelf at"]);
    let work = ["work", "run", "--fs", "ext4", "--shelf", &shelf, "--until", "0"];
    lab.command(&work).ended_with(2).says(&["--until 0: nothing can be measured"]);

    // A damaged campaign is in nobody's way, and is said to be damaged where it is named.
    lab.command(&["shelf", "export", &shelf]).ended_with(0);
    lab.command(&["campaign", "list", "--shelf", &shelf]).ended_with(0).says(&["there is no campaign on"]);
    let several = format!("/nonexistent:ro,{shelf}");
    lab.command(&["campaign", "list", "--shelf", &several]).ended_with(0).says(&["there is no campaign on"]);
    let state = "{\"on\":\"ssh:hosts\",\"from\":\"/nowhere\",\"workers\":[],\"started\":0}";
    for (name, state) in [("20260101-damaged", "{}"), ("20260102-sound", state)] {
        let folder = lab.path("shelf/campaigns").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("state.json"), state).unwrap();
        fs::write(folder.join("keys"), "a\n").unwrap();
    }
    let listed = lab.command(&["campaign", "list", "--shelf", &shelf]).ended_with(3);
    listed.says(&["20260101-damaged/state.json is damaged"]);
    assert!(listed.stdout.contains("20260102-sound  0 of 1 cells"), "{}", listed.text());
    let campaign = |verb: &str, name: &str, says: &str| {
        lab.command(&["campaign", verb, name, "--shelf", &shelf]).ended_with(3).says(&[says]);
    };
    campaign("watch", "20260101-damaged", "is damaged");
    campaign("collect", "latest", "cannot start this program once more in /nowhere");
}
