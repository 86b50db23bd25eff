//! `mountmark calibrate`: this machine's processor and a disk become profiles that a run takes; what is refused.

use std::fs;

use crate::host::obstacle;
use crate::lab::{Lab, Ran, skip};

fn calibrate(lab: &Lab, arguments: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    lab.command(&[&["calibrate"], arguments, &["--out", &out]].concat())
}

#[test]
fn a_machine_and_its_disk_become_profiles_that_a_run_takes() {
    let name = "a_machine_and_its_disk_become_profiles_that_a_run_takes";
    if let Some(obstacle) = obstacle() {
        return skip(name, obstacle);
    }
    let Some(lab) = Lab::with_guests(name, 1) else { return };
    let image = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = image.path().to_str().unwrap();
    let ran = calibrate(&lab, &["desk", "--image", image, "--repeat", "1", "--scale", "0.1"]).ended_with(0);
    for said in ["processor, ms", "clear", "s of the model are 1 s of the machine", "4 KiB written and flushed"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.text());
    }
    let profile = |kind: &str| lab.path(&format!("config/mountmark/catalog/{kind}/desk.toml"));
    let read = |kind: &str| fs::read_to_string(profile(kind)).unwrap();
    for (text, keys) in
        [(read("machines"), ["shift = ", "disk = \"desk\""]), (read("disks"), ["[flash]", "model   ratio"])]
    {
        assert!(text.starts_with("# ") && keys.iter().all(|key| text.contains(key)), "{text}");
    }
    assert!(fs::read_dir(image).unwrap().next().is_none(), "nothing is left");
    let suite = lab.suite("touch", "[[task]]\nid = \"touch\"\ntitle = \"touch\"\nrun = \"touch a && sync\"\n");
    let run = lab.run(&["--machine", "desk", "--fs", "ext4", "--suite", &suite, "--repeat", "1"]).ended_with(0);
    run.results().is_ok("ext4", &["touch"]);
    calibrate(&lab, &["desk"]).ended_with(2).says(&["machines/desk.toml is there already", "--force"]);
}

#[test]
fn what_cannot_be_calibrated_is_refused_and_a_dry_run_writes_nothing() {
    let lab = Lab::without_guests();
    calibrate(&lab, &["modern"]).ended_with(2).says(&["modern", "choose another"]);
    calibrate(&lab, &["nvme"]).ended_with(2).says(&["nvme", "choose another"]);
    calibrate(&lab, &["My machine"]).ended_with(2).says(&["lower-case letters"]);
    calibrate(&lab, &["desk", "--image", "a", "--device", "/dev/b"]).ended_with(2).says(&["--device"]);
    calibrate(&lab, &["desk", "--wipe", "X"]).ended_with(2).says(&["--device"]);
    calibrate(&lab, &["desk", "--scale", "0"]).ended_with(2).says(&["--scale"]);
    calibrate(&lab, &["desk", "--device", "/dev/null", "--dry-run"])
        .ended_with(3)
        .says(&["/dev/null is a character device"]);
    let dry = calibrate(&lab, &["desk", "--image", "/var/tmp", "--dry-run"]).ended_with(0);
    for said in ["mkfs.ext4", "dd if=/dev/zero of=/dev/null", "random-read", "machines/desk.toml and "] {
        assert!(dry.stdout.contains(said), "{said}: {}", dry.text());
    }
    assert!(!lab.path("config/mountmark").exists() && !lab.out().exists(), "nothing is written");
    // SAFETY: takes no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        calibrate(&lab, &["desk"]).ended_with(3).says(&["root"]);
    }
}
