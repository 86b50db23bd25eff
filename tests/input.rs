//! Wrong input: rejected before anything is started, with a sentence that names the fault and the correction.

use std::fs;

use crate::lab::Lab;
use crate::tasks::TRUE;

/// Asserts that a run is rejected as wrong use with these words, that no guest was started and no run recorded.
#[track_caller]
fn refused(lab: &Lab, arguments: &[&str], says: &[&str]) {
    let ran = lab.run(arguments).ended_with(2);
    ran.says(says);
    assert!(ran.stdout.is_empty(), "{}", ran.text());
    assert!(!ran.stderr.contains("cells ("), "it began: {}", ran.text());
    assert_eq!(lab.temporary_files(), [""; 0]);
    let runs = lab.command(&["runs", "--out", &lab.out().to_string_lossy()]).ended_with(0);
    assert!(!runs.stdout.contains("running") && !runs.stdout.contains("done"), "{}", runs.stdout);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_ones() {
    let lab = Lab::without_guests();
    refused(&lab, &["--fs", "ext4,etx3"], &["\"etx3\"", "did you mean", "ext3", "mountmark list filesystems"]);
    refused(&lab, &["--fs", "ext3:data=jurnal"], &["ext3:data=jurnal", "data=journal"]);
    refused(&lab, &["--fs", ""], &["--fs"]);
    refused(&lab, &["--suite", "piszz"], &["\"piszz\"", "did you mean piszcz-2006", "mountmark list suites"]);
    refused(&lab, &["--machine", "p3"], &["\"p3\"", "mountmark list machines"]);
    refused(&lab, &["--machine", "modren"], &["did you mean modern?"]);
    refused(&lab, &["--metric", "elapsd"], &["--metric", "elapsd", "elapsed"]);
    refused(&lab, &["--format", "jsno"], &["--format", "jsno", "json"]);
    refused(&lab, &["--fs", "ext4@raid5:chunk=3KiB"], &["give one of 4KiB, 8KiB, 16KiB, 32KiB"]);
    refused(&lab, &["--lab", "virtul"], &["virtul", "virtual"]);
    refused(&lab, &["--colour"], &["--colour"]);
}

#[test]
fn an_empty_variable_sets_nothing() {
    let lab = Lab::without_guests().under(&["env", "MOUNTMARK_OUT=", "MOUNTMARK_SHELF=", "MOUNTMARK_FRESH="]);
    lab.command(&["run", "--dry-run", "--fs", "ext4", "--", "true"]).ended_with(0).says(&[]);
}

#[test]
fn unknown_disks_and_corpora_are_refused_with_the_nearest_ones() {
    let lab = Lab::without_guests();
    refused(&lab, &["--fs", "ext4", "--disk", "nmve"], &["\"nmve\"", "did you mean nvme", "mountmark list disks"]);
    refused(&lab, &["--fs", "ext4", "--corpus", "linux-2.6"], &["\"linux-2.6\"", "linux-2.6.14-like"]);
    refused(&lab, &["--fs", "ext4", "--corpus", "./no/such.tar"], &["./no/such.tar", "no such file"]);
    let folder = lab.path("").to_string_lossy().into_owned();
    let here = Lab::without_guests().under(&["env", "-C", &folder]);
    refused(&here, &["--fs", "ext4", "--corpus", "config"], &["no corpus named \"config\": did you mean ./config?"]);
    let suite = lab.suite("none", TRUE);
    refused(&lab, &["--fs", "ext4", "--suite", &suite, "--corpus", "."], &["works on no corpus"]);
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    let lab = Lab::without_guests();
    for scale in ["0", "-1", "NaN", "inf", "1e9", "1/0", "", "a lot"] {
        refused(&lab, &["--fs", "ext4", "--scale", scale], &["--scale", "write a number from 0.000001 to 1000"]);
    }
    refused(&lab, &["--fs", "ext4", "--jobs", "0"], &["--jobs 0"]);
    refused(&lab, &["--fs", "ext4", "--jobs", "two"], &["--jobs"]);
    refused(&lab, &["--fs", "ext4", "--repeat=-3"], &["--repeat", "-3"]);
    refused(&lab, &["--fs", "ext4", "--seed", "-1"], &["'-1' for '--seed <SEED>'"]);
    refused(&lab, &["--fs", "ext4", "--disk-size", "big"], &["--disk-size", "write a number and a unit"]);
    refused(&lab, &["--fs", "ext4", "--image", "/tmp/image"], &["--image", "--lab host"]);
}

#[test]
fn sizes_and_repeats_that_do_not_fit_are_refused() {
    let Some(lab) = Lab::with_guests("sizes_and_repeats_that_do_not_fit_are_refused", 1) else { return };
    refused(&lab, &["--fs", "ext4", "--repeat", "0"], &["--repeat 0"]);
    refused(&lab, &["--fs", "ext4", "--repeat", "20000"], &["--repeat 20000", "10000"]);
    let suite = lab.suite("one", TRUE);
    let small = ["--fs", "ext4,btrfs", "--suite", &suite, "--scale", "1", "--disk-size", "8MiB"];
    let ran = lab.run(&small).ended_with(2);
    ran.says(&["--disk-size", "is too small", "btrfs", "would do"]);
    let enough = ran.stderr.split("--disk-size ").last().unwrap().split(' ').next().unwrap().to_owned();
    let fits = ["--fs", "ext4,btrfs", "--suite", &suite, "--scale", "1", "--disk-size", &enough, "--repeat", "1"];
    lab.run(&fits).ended_with(0).results().is_ok("btrfs", &["mkfs", "mount", "one", "umount", "fsck"]);

    fs::remove_dir_all(lab.out()).unwrap();
    refused(&lab, &small, &["is too small"]);
    refused(&lab, &["--fs", "ext4", "--suite", &suite, "--disk-size", "1001"], &["is too small"]);
    refused(&lab, &["--fs", "ext4", "--suite", &suite, "--disk-size", "900TiB"], &["ssd"]);
}

#[test]
fn suites_with_faults_are_refused_where_they_are() {
    let lab = Lab::without_guests();
    let at = |text: &str, place: &str, says: &[&str]| {
        let path = lab.write("own.toml", text);
        let mut all = vec![format!("{path}{place}")];
        all.extend(says.iter().map(|text| (*text).to_owned()));
        refused(&lab, &["--suite", &path], &all.iter().map(String::as_str).collect::<Vec<_>>());
    };
    at("name = \"own\"\nabout = \"x\"\nroom = 1 MiB\n", ":3:", &[]);
    at("name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\nroon = 2\n", ":4:1", &["roon"]);
    at(&format!("name = \"own\"\nabout = \"x\"\nroom = \"lots\"\n{TRUE}"), ":3:8", &["lots"]);
    at(&format!("name = \"other\"\nabout = \"x\"\nroom = \"1 MiB\"\n{TRUE}"), ":1", &["other", "own"]);
    let head = "name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\n";
    at(&format!("{head}task = []\n"), ": ", &["no task"]);
    at(&format!("{head}{TRUE}{TRUE}"), ": task one: ", &["two tasks"]);
    at(&format!("{head}{TRUE}limit_seconds = -1\n"), ": task one: ", &["limit_seconds"]);
    at(&format!("{head}{}", TRUE.replace("one", "mkfs")), ": task mkfs: ", &[]);
    let folder = lab.path("").to_string_lossy().into_owned();
    refused(&lab, &["--suite", &folder], &["cannot read"]);
    refused(&lab, &["--suite", "./nowhere.toml"], &["cannot read ./nowhere.toml"]);
    fs::write(lab.path("own.toml"), b"name = \"\xff\"").unwrap();
    refused(&lab, &["--suite", &lab.path("own.toml").to_string_lossy()], &["own.toml"]);
}

#[test]
fn what_cannot_be_recorded_is_refused_first() {
    let lab = Lab::without_guests();
    let (full, new) = (lab.path(""), lab.path("new"));
    for (options, command, says) in [
        (["--environment", "A=B"], "true", "--environment A=B: there is no such variable here"),
        (["--environment", "NO_SUCH_VARIABLE"], "true", "there is no such variable here"),
        (["--limit", "lots"], "true", "is not a size"),
        (["--out-dir", &full.to_string_lossy()], "true", "is not empty; name another folder"),
        (["--out-dir", &new.to_string_lossy()], "", "no command was given"),
        (["--out-dir", &new.to_string_lossy()], "no-such-program", "no-such-program: command not found"),
    ] {
        lab.command(&["record", options[0], options[1], "--", command]).ended_with(2).says(&[says]);
    }
    let in_tmp = lab.under(&["env", "-C", "/tmp"]);
    let words = ["record", "--out-dir", &new.to_string_lossy(), "--", "true"];
    in_tmp.command(&words).ended_with(2).says(&["is below /tmp", "/var/tmp"]);
    assert!(!new.exists());
}

#[test]
fn a_plan_file_stands_for_its_words() {
    let lab = Lab::without_guests();
    let plan = lab.write("nightly.plan", "# every night\nrun --scale 0.5\n  --fs 'ext4,etx3'\n");
    lab.command(&[&format!("@{plan}")]).ended_with(2).says(&["\"etx3\"", "did you mean"]);
    lab.command(&[&format!("@{plan}"), "--scale", "0"])
        .ended_with(2)
        .says(&["--scale", "write a number from 0.000001 to 1000"]);
    lab.command(&["@nowhere.plan"]).ended_with(2).says(&["nowhere.plan", "No such file"]);
    let open = lab.write("open.plan", "run --fs 'ext4\n");
    lab.command(&[&format!("@{open}")]).ended_with(2).says(&["open.plan", "a quote is not closed"]);
}

#[test]
fn runs_that_are_not_there_are_refused() {
    let lab = Lab::without_guests();
    let out = lab.out().to_string_lossy().into_owned();
    let runs = lab.command(&["runs", "--out", &out]).ended_with(0);
    runs.says(&["no runs yet"]);
    let show = lab.command(&["show", "--out", &out]);
    assert!([2, 3].contains(&show.code()), "{}", show.text());
    show.says(&["results.sqlite", "nothing has been run"]);
    assert!(!lab.out().exists(), "reading has made {out}");
    lab.command(&["show", "latest", "--metric", "elapsd", "--out", &out]).ended_with(2).says(&["elapsed"]);
}

#[test]
fn options_of_a_lab_are_refused_by_the_others() {
    let lab = Lab::without_guests();
    for (of, arguments, says) in [
        ("virtual", &["--device", "/dev/null"][..], "--device is an option of --lab host"),
        ("virtual", &["--dir", "/tmp", "--memory", "1GiB"], "--dir is an option of --lab host"),
        ("virtual", &["--memory", "1GiB"], "--memory is an option of --lab host"),
        ("virtual", &["--image", "/tmp/image", "--force-image"], "--image is an option of --lab host"),
        ("kvm", &["--precondition"], "--precondition: guest disks are models"),
        ("kvm", &["--profile"], "in the kvm lab: use perf there"),
        ("host", &["--profile"], "in the host lab: use perf there"),
        ("host", &["--disk", "hdd"], "--image says where the host lab's disk lies"),
        ("host", &["--machine", "modern"], "--machine and --kernel choose a guest"),
        ("host", &["--kernel", "6.1"], "--machine and --kernel choose a guest"),
        ("host", &["--memory", "1KiB"], "programs need some memory of their own"),
        // What the option itself cannot take is refused in any lab.
        ("host", &["--memory", "much"], "--memory <SIZE>"),
        ("host", &["--precondition=0"], "0 is not in 1..=3600"),
        ("host", &["--wipe", "S123"], "--device"),
        ("host", &["--dir", "/tmp", "--image", "/tmp/image"], "cannot be used with"),
    ] {
        lab.run(&[&["--lab", of], arguments].concat()).ended_with(2).says(&[says]);
    }
    for command in ["run", "list"] {
        let help = lab.command(&[command, "--help"]).ended_with(0).stdout;
        for option in mountmark_lab::options::all() {
            let shown = help
                .lines()
                .filter(|line| line.trim_start().split([' ', '[', '=']).next() == Some(&format!("--{}", option.name)));
            assert_eq!(shown.count(), 1, "--{} of {command}: {help}", option.name);
        }
    }
}

#[test]
fn files_that_came_while_a_command_was_recorded_stay() {
    let lab = Lab::without_guests();
    let folder = lab.path("mine").to_string_lossy().into_owned();
    for name in ["sh.toml", "sh.tar.zst"] {
        let script = format!("mkdir -p {folder}; rm -f {folder}/*; echo important > {folder}/{name}");
        let ran = lab.command(&["record", "--out-dir", &folder, "--", "sh", "-c", &script]);
        assert_ne!(ran.code(), 0, "{}", ran.text());
        assert_eq!(fs::read_to_string(lab.path("mine").join(name)).unwrap(), "important\n");
        assert_eq!(fs::read_dir(lab.path("mine")).unwrap().count(), 1, "half of a pack is left");
        fs::remove_dir_all(lab.path("mine")).unwrap();
    }
}

#[test]
fn help_offers_what_a_command_takes_and_nothing_that_it_refuses() {
    let lab = Lab::without_guests();
    for (command, says, lacks) in [
        ("advise", "--fill", "--compare"),
        ("advise", "--parameter", "--vary"),
        ("bisect", "--parameter", "--compare"),
        ("why", "--suite", "piszcz-2006]"),
        ("run", "--vary NAME=FROM..TO:POINTS", "profile's machine"),
        ("crash", "held[:EVERY]", "--compare"),
        ("show", "github-action-benchmark", "each test"),
        ("work", "--worker", "docs/"),
    ] {
        let help = lab.command(&[command, "--help"]).ended_with(0).stdout;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says) && !words.contains(lacks), "{command}: {says}, {lacks}: {words}");
    }
}

#[test]
fn options_of_which_nothing_would_come_are_refused() {
    let lab = Lab::without_guests();
    let study = ["--study", "hans-2006", "--suite", "hans-2006", "--fs", "ext4"];
    let of_study = |more: &[&str], says: &[&str]| refused(&lab, &[&study, more].concat(), says);
    of_study(&["--cold"], &["--cold is for a command, and there is none"]);
    of_study(&["--save", "q.toml"], &["--save is for a command, and there is none"]);
    of_study(&["--compare", "a,b"], &["--compare: a study has runs of its own"]);
    of_study(&["--advice", "answer.json"], &["--advice: a study has runs of its own"]);
    let why = |more: &[&str], says: &str| {
        lab.command(&[&["why", "latest", "--task", "write"], more].concat()).ended_with(2).says(&[says]);
    };
    why(&["--cold"], "--cold is for a command, and there is none");
    why(&["--with", "/nowhere"], "--with is for a command, and there is none");
    why(&["--compare", "a,b"], "--compare: a run has its cells");
    refused(&lab, &["--lab", "host", "--jobs", "2", "--fs", "ext4"], &["--jobs is about guests", "host"]);
}

#[test]
fn help_shows_no_option_that_is_always_refused() {
    let lab = Lab::without_guests();
    for (words, hidden, shown) in [
        (["baseline", "save"], ["--vary", "--compare", "--dry-run"], "--repeat"),
        (["work", "run"], ["--study", "--precision", "--profile"], "--shelf"),
    ] {
        let help = lab.command(&[&words[..], &["--help"]].concat()).ended_with(0).stdout;
        // Examples and other options' texts may name it.
        let is_of = |line: &str, option: &str| line == option || line.starts_with(&format!("{option} <"));
        let has = |option: &str| help.lines().any(|line| is_of(line.trim_start(), option));
        assert!(has(shown) && !hidden.into_iter().any(has), "{help}");
    }
}
