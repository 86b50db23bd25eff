//! `mountmark baseline`: exact figures in a file, checked by measuring the same again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::lab::{Lab, Ran};

const WORK: &str = "#!/bin/sh\nfor i in 1 2 3; do echo $i > f$i; done\n";

/// `mountmark baseline` in the test's folder, on its store.
fn baseline(lab: &Lab, words: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    lab.command(&[&["baseline", words[0], words[1], "--out", &out], &words[2..]].concat())
}

/// Commands start in the test's folder, as in a repository.
fn at_home(lab: Lab) -> Lab {
    let folder = lab.path("").to_string_lossy().into_owned();
    lab.under(&["env", "-C", &folder])
}

fn program(lab: &Lab, place: &str, text: &str) {
    let path = lab.path(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn figures_hold_until_the_program_does_more() {
    let Some(lab) = Lab::with_guests("figures_hold_until_the_program_does_more", 1) else { return };
    let lab = at_home(lab);
    program(&lab, "tool", WORK);
    let save = |options: &[&str], says: &str| {
        let words =
            [&["save", "bench.toml", "--fs", "ext4"], options, &["--jobs", "1"], &["--with", "./tool", "--", "./tool"]];
        baseline(&lab, &words.concat()).ended_with(0).says(&[says]);
        fs::read_to_string(lab.path("bench.toml")).unwrap()
    };
    let kept = save(&["--repeat", "2"], "bench.toml has the figures of 2 cells");
    assert!(
        kept.contains("words = [\"--fs\", \"ext4\", \"--repeat\", \"2\", \"--with\", \"./tool\", \"--\", \"./tool\"]")
    );
    assert!(kept.len() < 20_000, "{} bytes", kept.len());

    // Another comment moves nothing that matters.
    program(&lab, "tool", &WORK.replace("sh\n", "sh\n# it makes three files\n"));
    let same = baseline(&lab, &["check", "bench.toml", "--jobs", "1"]).ended_with(0);
    assert!(same.stdout.contains("none is worse by more than 2 %"), "{}", same.text());

    // From here on of one cell.
    let once = ["--repeat", "1", "--conditions", "fixed"];
    let kept = save(&once, "bench.toml has the figures of 1 cell");
    assert_eq!(save(&once, "1 cell"), kept, "the same figures are the same file");
    program(&lab, "tool", &format!("{WORK}dd if=/dev/zero of=big bs=4k count=24 oflag=sync status=none\n"));
    let files = ["verdict.md", "checks.xml", "changes.json", "changes.csv"];
    let also = files.map(|file| ["--also", file]).concat();
    let worse = baseline(&lab, &[&["check", "bench.toml", "--jobs", "1"], &also[..]].concat()).ended_with(1);
    worse.says(&["regression: ext4, tool"]);
    let first = worse.stderr.lines().find(|line| line.contains("regression")).unwrap();
    assert!(first.contains("write of dd"), "it names the cause: {first}");
    let verdict = fs::read_to_string(lab.path("verdict.md")).unwrap();
    assert!(verdict.contains("| ext4 | tool") && verdict.lines().count() < 15, "{verdict}");
    let checks = fs::read_to_string(lab.path("checks.xml")).unwrap();
    assert!(checks.contains("<failure message=\"ext4, tool"), "{checks}");

    // Made with another kernel, the file is no measure; a checkout is.
    let kernel = kept.lines().find(|line| line.starts_with("kernel_image")).unwrap();
    let other = kept.replace(kernel, "kernel_image = \"0\"");
    fs::write(lab.path("bench.toml"), other).unwrap();
    // Files of before are known again, and written anew.
    let unlike = baseline(&lab, &[&["check", "bench.toml", "--jobs", "1"], &also[..]].concat()).ended_with(3);
    unlike.says(&["cannot be compared: its kernel", "was built again since", "--old FOLDER"]);
    program(&lab, "old/tool", WORK);
    let beside = baseline(&lab, &["check", "bench.toml", "--jobs", "1", "--old", "old"]).ended_with(1);
    beside.says(&["regression: ext4, tool"]);

    let out = lab.out().to_string_lossy().into_owned();
    let exported = lab.command(&["show", "latest", "--format", "bencher", "--out", &out]);
    let exported: serde_json::Value = serde_json::from_str(&exported.ended_with(0).stdout).unwrap();
    assert!(exported["ext4/tool"]["durable (s)"]["value"].as_f64().unwrap() > 0.0, "{exported}");
    let words = ["show", "latest", "--format", "github-action-benchmark", "--out", &out];
    let exported: serde_json::Value = serde_json::from_str(&lab.command(&words).ended_with(0).stdout).unwrap();
    let of_tool = |one: &&serde_json::Value| one["name"] == "ext4/tool durable" && one["unit"] == "s";
    assert_eq!(exported.as_array().unwrap().iter().filter(of_tool).count(), 1, "{exported}");
}

/// With an emulator that says of itself that it is one without the profiler.
fn with_old_emulator(lab: Lab) -> Lab {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("qemu-system-x86_64")).find(|file| file.exists());
    let emulator = found.expect("an emulator").display().to_string();
    let says = "QEMU emulator version 8.2.2 (Debian 1:8.2.2)";
    let script = format!("#!/bin/sh\n[ \"$*\" != --version ] || {{ echo '{says}'; exit; }}\nexec {emulator} \"$@\"\n");
    program(&lab, "bin/qemu-system-x86_64", &script);
    let bin = lab.path("bin");
    lab.with_programs(&bin)
}

#[test]
fn without_a_profiler_figures_are_judged_and_it_is_said_that_no_cause_is_named() {
    let Some(lab) = Lab::with_guests("without_a_profiler_figures_are_judged", 1) else { return };
    let lab = with_old_emulator(at_home(lab));
    let no_profiler = "the profiler needs QEMU 10 or newer, and this is \"QEMU emulator version 8.2.2";
    program(&lab, "tool", WORK);
    let save = ["save", "bench.toml", "--fs", "ext2", "--repeat", "1", "--conditions", "fixed", "--with", "./tool"];
    let saved = baseline(&lab, &[&save[..], &["--", "./tool"]].concat()).ended_with(0);
    saved.says(&["bench.toml will have figures alone, and a check names no cause", no_profiler, "figures of 1 cell"]);
    program(&lab, "tool", &format!("{WORK}dd if=/dev/zero of=big bs=4k count=24 oflag=sync status=none\n"));
    let worse = baseline(&lab, &["check", "bench.toml"]).ended_with(1);
    worse.says(&["the cause is not known: the file has no profiles", "regression: ext2, tool"]);
    let out = lab.out().to_string_lossy().into_owned();
    let asked = ["advise", "--dry-run", "--out", &out, "--fs", "ext4", "--", "true"];
    lab.command(&asked).ended_with(0).says(&["nothing will say why a file system is faster", no_profiler]);
}

#[test]
fn what_is_no_baseline_is_refused() {
    let lab = at_home(Lab::without_guests());
    let refused = |words: &[&str], says: &[&str]| baseline(&lab, words).ended_with(2).says(says);
    refused(&["check", "none.toml"], &["there is no baseline none.toml", "baseline save none.toml"]);
    for (name, text, says) in [
        ("empty.toml", "", "missing field `format`"),
        ("cut.toml", "format = 1\nfolder = \".\"\nwords = [\"--fs\"", "cut.toml is no baseline"),
        ("newer.toml", "format = 2\n", "has format 2, and this mountmark reads 1"),
        ("bare.toml", "format = 1\nfolder = \".\"\n", "bare.toml is no baseline"),
        ("hidden.toml", "format = 1\n# \u{202e}\n", "U+202E"),
    ] {
        fs::write(lab.path(name), text).unwrap();
        refused(&["check", name], &[says]);
    }
    fs::create_dir(lab.path("folder.toml")).unwrap();
    refused(&["check", "folder.toml"], &["folder.toml is no baseline"]);
    let sound = "format = 1\nfolder = \"gone\"\nwords = [\"--fs\", \"ext4\"]\nplan = \"\"\ncell = []\n[made_with]\n";
    fs::write(lab.path("moved.toml"), sound).unwrap();
    refused(&["check", "moved.toml"], &["its command is given in", "gone"]);
    let foreign = sound.replace("gone", ".").replace("\"ext4\"", "\"ext4\", \"--no-such\"");
    fs::write(lab.path("foreign.toml"), foreign).unwrap();
    refused(&["check", "foreign.toml"], &["--no-such"]);
    // What is there and is no baseline stays, and what cannot be written is found before anything is measured.
    fs::write(lab.path("mine.toml"), "mine = 1\n").unwrap();
    refused(&["save", "mine.toml", "--fs", "ext4"], &["mine.toml is there already and is no baseline"]);
    assert_eq!(fs::read_to_string(lab.path("mine.toml")).unwrap(), "mine = 1\n");
    refused(&["save", ".", "--fs", "ext4"], &["is a folder: name a file in it"]);
    refused(&["save", "nowhere/bench.toml", "--fs", "ext4"], &["nowhere"]);
    baseline(&lab, &["save", "/proc/bench.toml", "--fs", "ext4"])
        .ended_with(3)
        .says(&["cannot write /proc/bench.toml"]);
    refused(&["save", "new.toml", "--fs", "ext4", "--repeat", "1"], &["shows no change", "--conditions fixed"]);
    fs::write(lab.path("mine.md"), "mine\n").unwrap();
    refused(&["check", "moved.toml", "--also", "mine.md"], &["mine.md is there already and is no markdown report"]);
    fs::write(lab.path("package.json"), "{\"name\": \"mine\"}\n").unwrap();
    refused(
        &["check", "moved.toml", "--also", "package.json"],
        &["package.json is there already and is no json report"],
    );
    refused(&["check", "moved.toml", "--also", "a.md", "--also", "a.md"], &["a.md is there twice"]);
    refused(&["check", "moved.toml", "--also", "nowhere/a.md"], &["there is no folder nowhere"]);
    refused(&["check", "moved.toml", "--old", "nowhere"], &["--old nowhere"]);
    refused(&["check", "moved.toml", "--also", "a.pdf"], &["--also a.pdf", ".md"]);
    refused(&["check", "moved.toml", "--fail-on", "2"], &["did you mean 2%"]);
    for (words, says) in [
        (&["--vary", "scale=1..2:2"][..], "--vary"),
        (&["--lab", "host", "--dir", "/tmp"], "--lab host"),
        (&["--compare", "/bin/cat,/bin/ls", "--", "./x"], "--compare"),
        (&["--dry-run"], "--dry-run"),
        (&["--precision", "2%"], "--precision"),
        (&["--format", "nonsense"], "--format: baseline save prints no figures"),
        (&["--metric", "durable"], "--metric"),
        (&["--advice", "answer.json"], "--advice"),
    ] {
        refused(&[&["save", "new.toml", "--fs", "ext4"], words].concat(), &[says]);
        assert!(!lab.path("new.toml").exists());
    }
}

#[test]
fn a_shelf_of_the_environment_is_that_of_the_folder_of_the_check() {
    let lab = Lab::without_guests();
    let folder = lab.path("").to_string_lossy().into_owned();
    let lab = lab.under(&["env", "-C", &folder, "MOUNTMARK_SHELF=letters"]);
    for name in ["letters", "below"] {
        fs::create_dir(lab.path(name)).unwrap();
    }
    fs::write(lab.path("letters/mine.txt"), "mine\n").unwrap();
    let text = "format = 1\nfolder = \"below\"\nwords = [\"--fs\", \"ext4\"]\nplan = \"\"\ncell = []\n[made_with]\n";
    fs::write(lab.path("bench.toml"), text).unwrap();
    baseline(&lab, &["check", "bench.toml"]).ended_with(2).says(&["letters is no shelf"]);
    assert!(!lab.path("below/letters").exists());
}
